"""The initial rebalance delay (reference 2.5)."""

from __future__ import annotations

from tests.conformance.script import DELAY_MS, Script, script


@script(rows=["2.5-single-member", "trap-04-initial-delay"], versions=(0, 3, 9))
async def one_member_waits_one_delay(s: Script) -> None:
    a = await s.actor()
    await a.enter(v=s.v)
    mark = await s.until("PreparingRebalance", 1)
    await a.answer(due=(DELAY_MS, mark))


@script(
    rows=["2.5-second-member-in-the-window", "2.5-second-member-late-in-the-window", "trap-04-initial-delay"],
    versions=(3, 9),
)
async def two_members_wait_two_delays(s: Script) -> None:
    a, b = await s.pair()
    await a.enter(v=s.v)
    mark = await s.until("PreparingRebalance", 1)
    await b.enter(v=s.v)
    await s.until("PreparingRebalance", 2)
    await a.answer(due=(2 * DELAY_MS, mark))
    await b.answer()


@script(rows=["2.5-one-in-every-window", "2.5-a-member-in-the-prolonged-window-prolongs-again"])
async def a_member_in_every_window(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await a.enter(rebalance=1_400)
    mark = await s.until("PreparingRebalance", 1)
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await s.sleep(DELAY_MS)
    await c.enter()
    await s.until("PreparingRebalance", 3)
    # 500 + 500 + what is left of the first member's 1,400: 400
    await a.answer(due=(1_400, mark))
    await s.joined(b, c)


@script(
    rows=[
        "2.5-rebalance-timeout-below-delay",
        "2.5-flag-left-over-when-nothing-remains",
        "trap-05-new-member-flag-leaks",
    ]
)
async def the_flag_is_left_over(s: Script) -> None:
    a, b = await s.pair()
    await a.enter(rebalance=100)
    mark = await s.until("PreparingRebalance", 1)
    await b.enter(rebalance=100)
    await s.until("PreparingRebalance", 2)
    await a.answer(due=(DELAY_MS, mark))
    await b.answer()
    await s.until("Empty", 0)
    c = await s.actor("c")
    await c.enter()
    mark = await s.until("PreparingRebalance", 1)
    await c.answer(due=(2 * DELAY_MS, mark))


@script(rows=["2.5-remaining-is-bounded-by-the-first-member-alone"])
async def the_first_members_timeout_bounds_the_delay(s: Script) -> None:
    a, b = await s.pair()
    await a.enter(rebalance=700)
    mark = await s.until("PreparingRebalance", 1)
    await b.enter(rebalance=60_000)
    await s.until("PreparingRebalance", 2)
    await a.answer(due=(700, mark))
    await b.answer()


@script(rows=["2.5-pending-ids-do-not-hold-the-initial-round"])
async def pending_ids_do_not_hold_the_delay(s: Script) -> None:
    a, b = await s.pair()
    await b.join(error="MEMBER_ID_REQUIRED")
    await a.enter()
    mark = await s.until("PreparingRebalance", 1)
    await a.answer(due=(DELAY_MS, mark))


@script(rows=["2.5-expiry-of-a-pending-id-can-end-the-delay"])
async def an_expiring_pending_id_ends_the_delay(s: Script) -> None:
    a, b = await s.pair()
    await b.join(session=400, error="MEMBER_ID_REQUIRED")
    mark = b.mark
    await s.sleep(150)
    await a.enter()
    await s.until("PreparingRebalance", 1)
    await a.answer(due=(400, mark))


@script(rows=["2.5-the-delay-begins-at-the-second-join-group"], versions=(4, 9))
async def the_delay_begins_at_the_second_join(s: Script) -> None:
    a = await s.actor()
    await a.join(v=s.v, error="MEMBER_ID_REQUIRED")
    await s.sleep(DELAY_MS)
    await s.until("Empty", 0)
    await a.park_join(v=s.v)
    mark = await s.until("PreparingRebalance", 1)
    await a.answer(due=(DELAY_MS, mark))


@script(rows=["2.5-a-group-that-was-left-waits-again"])
async def a_group_that_was_left_waits_again(s: Script) -> None:
    a, b = await s.pair()
    await s.emptied(a)
    await b.enter()
    mark = await s.until("PreparingRebalance", 1)
    await b.answer(due=(DELAY_MS, mark))


@script(rows=["2.5-everybody-leaves-during-the-delay"])
async def everybody_leaves_in_the_delay(s: Script) -> None:
    a, b = await s.pair()
    await a.enter()
    mark = await s.until("PreparingRebalance", 1)
    await b.leave(members=[(a.member_id, None)])
    await a.answer(error="UNKNOWN_MEMBER_ID")
    await s.until("Empty", 0, due=(DELAY_MS, mark))
    await b.describe()
    await b.enter()
    await b.answer()


@script(rows=["J1-flag-of-members-added-in-the-initial-round"])
async def a_later_round_sets_no_flag(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a)
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await a.leave()
    await b.answer()
    await b.leave()
    await s.until("Empty", 0)
    await c.enter()
    mark = await s.until("PreparingRebalance", 1)
    await c.answer(due=(DELAY_MS, mark))
