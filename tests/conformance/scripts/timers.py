"""Timers: sessions, pending ids, rebalance and sync time-outs (reference 2.4 to 2.9)."""

from __future__ import annotations

from tests.conformance.script import LATER, Actor, Script, script

BEFORE, SINCE = 3, 4


@script(rows=["2.9-{dynamic-expires,Stable-expiry}", "2.9-expired-member-is-unknown"], versions=(0, 3, 4, 9))
async def a_session_ends_in_stable(s: Script) -> None:
    a = await s.actor()
    await s.gather(a, v=s.v, session=700)
    await a.answer()
    await s.synced(a)
    mark = a.mark
    await s.until("Empty", 0, due=(700, mark))
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")
    await a.sync(error="UNKNOWN_MEMBER_ID")
    await a.join(error="UNKNOWN_MEMBER_ID")
    await a.describe()


@script(rows=["2.9-static-expires"])
async def a_static_members_session_ends(s: Script) -> None:
    a = await s.actor("a", instance="i")
    await s.form(a, session=700)
    mark = a.mark
    await s.until("Empty", 0, due=(700, mark))
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")
    await s.gather(await s.actor("b", instance="i"))
    await s.actors["b"].answer()


@script(rows=["2.9-Stable-expiry", "2.9-silence-while-preparing"])
async def a_silent_followers_session_ends(s: Script) -> None:
    a, b = await s.pair_in_session(800)
    mark = b.mark
    await s.until("PreparingRebalance", 1, due=(800, mark))
    await a.join()


@script(rows=["2.9-Completing-expiry"])
async def a_session_ends_in_completing(s: Script) -> None:
    a, b = await s.pair()
    await a.enter(session=800)
    await s.until("PreparingRebalance", 1)
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await s.joined(a, b)
    mark = a.mark
    await b.park_sync()
    await b.answer(error="REBALANCE_IN_PROGRESS", due=(800, mark))
    await s.until("PreparingRebalance", 1)
    await b.join()
    await b.describe()


@script(rows=["2.9-parked-sync-excuses-a-member"])
async def a_parked_sync_excuses_its_member(s: Script) -> None:
    a, b = await s.pair()
    await a.enter()
    await s.until("PreparingRebalance", 1)
    await b.enter(session=500)
    await s.until("PreparingRebalance", 2)
    await s.joined(a, b)
    await b.park_sync()
    await b.silence(900)
    await s.until("CompletingRebalance", 2)
    await a.sync(give={b: "for b"})
    await b.answer()
    await b.heartbeat()


@script(rows=["2.9-parked-join-excuses-a-member-without-a-new-timer"])
async def a_parked_join_excuses_its_member(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await a.enter()
    await s.until("PreparingRebalance", 1)
    await b.enter(session=500)
    await s.until("PreparingRebalance", 2)
    await s.joined(a, b)
    await s.synced(a, b)
    await b.heartbeat()
    await b.park_join(session=500, protocols={"range": "changed"})
    await s.until("PreparingRebalance", 2)
    await b.silence(1_200)
    await s.until("PreparingRebalance", 2)
    await c.enter()
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await s.joined(a, b, c)


@script(rows=["2.9-silence-while-preparing"])
async def silence_while_preparing_ends_the_round(s: Script) -> None:
    a, b = await s.pair_in_session(900)
    mark = b.mark
    await a.park_join()
    await a.answer(due=(900, mark))
    await a.describe()


@script(
    rows=[
        "2.9-new-timeout-takes-effect-with-the-next-heartbeat",
        "2.9-answers-given-at-once-move-nothing",
        "trap-03-what-refreshes-a-session",
    ]
)
async def what_does_not_move_a_session(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await a.enter()
    await s.until("PreparingRebalance", 1)
    await b.enter(session=1_000)
    await s.until("PreparingRebalance", 2)
    await s.joined(a, b)
    await s.synced(a, b)
    await b.heartbeat()
    mark = b.mark
    await s.sleep(500)
    await b.sync()
    await b.join(session=10_000)
    await b.fetch(topics={t: [0]})
    await b.fetch(topics={t: [0]}, stable=True)
    await b.heartbeat(generation=9, error="ILLEGAL_GENERATION")
    await b.commit(offsets={t: {0: 1}}, generation=9, error="ILLEGAL_GENERATION")
    await s.until("PreparingRebalance", 1, due=(1_000, mark))


@script(rows=["1.5-Stable-valid", "trap-03-what-refreshes-a-session"])
async def heartbeats_move_a_session(s: Script) -> None:
    a = await s.actor()
    await s.form(a, session=900)
    for _ in range(3):
        await s.sleep(500)
        await a.heartbeat()
    await s.until("Empty", 0, due=(900, a.mark))


@script(rows=["1.7-Stable-valid", "trap-03-what-refreshes-a-session"])
async def commits_move_a_session(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a, session=900)
    for offset in range(3):
        await s.sleep(500)
        await a.commit(offsets={t: {0: offset}})
    await s.until("Empty", 0, due=(900, a.mark))


@script(rows=["1.7-Completing-valid"])
async def commits_in_completing_move_no_session(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.complete(a, session=1_000)
    mark = a.mark
    await s.sleep(500)
    await a.commit(offsets={t: {0: 1}}, error="REBALANCE_IN_PROGRESS")
    await s.until("Empty", 0, due=(1_000, mark))


@script(rows=["1.4-commit-refreshes-sessions-of-those-answered-only"])
async def an_assignment_moves_sessions_of_those_who_wait(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    for count, actor in enumerate((a, b, c), 1):
        await actor.enter(session=60_000 if actor is a else 1_200)
        await s.until("PreparingRebalance", count)
    await s.joined(a, b, c)
    mark = c.mark
    await b.park_sync()
    await s.sleep(700)
    await a.sync(give={b: "for b"})
    await b.answer()
    later = b.mark
    await s.until("PreparingRebalance", 2, due=(1_200, mark))
    await s.until("PreparingRebalance", 1, due=(1_200, later))
    await a.join()


@script(
    rows=[
        "2.4-join-timer-is-the-longest-rebalance-timeout-at-that-moment",
        "2.6-completion-removes-absent-dynamic-members",
    ],
    versions=(1, 4, 9),
)
async def the_rebalance_timeout_puts_the_absent_out(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a, b, rebalance=700)
    await c.enter(v=s.v, rebalance=900)
    mark = await s.until("PreparingRebalance", 3)
    await a.park_join(rebalance=5_000)
    await a.answer(due=(900, mark))
    await c.answer()
    await s.until("CompletingRebalance", 2)
    await b.heartbeat(error="UNKNOWN_MEMBER_ID")
    await b.join(error="UNKNOWN_MEMBER_ID")


@script(rows=["2.4-rebalance-timeout-{v0,v1}"], versions=(0, 1))
async def version_0_has_the_session_for_its_rebalance_timeout(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, rebalance=500)
    await b.park_join(v=s.v, session=900, rebalance=1_400)
    mark = await s.until("PreparingRebalance", 2)
    await b.answer(due=(900 if s.v == 0 else 1_400, mark))
    await s.until("CompletingRebalance", 1)


@script(rows=["1.1-a-new-cause-never-restarts-the-join-timer", "1.1-can-rebalance"], hash_order=True)
async def a_new_cause_does_not_restart_the_timer(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a, rebalance=900)
    await b.enter(rebalance=900)
    mark = await s.until("PreparingRebalance", 2)
    await s.sleep(500)
    await c.enter(rebalance=5_000)
    await s.until("PreparingRebalance", 3)
    await b.answer(due=(900, mark))
    await c.answer()


@script(rows=["2.6-completion-with-absent-static-members-only-waits-on", "2.6-completion-without-members"])
async def absent_static_members_alone(s: Script) -> None:
    a = await s.actor("a", instance="i")
    b = await s.actor("b")
    await a.enter(session=1_500, rebalance=600)
    await s.until("PreparingRebalance", 1)
    await b.enter(rebalance=600)
    await s.until("PreparingRebalance", 2)
    await s.joined(a, b)
    await s.synced(a, b)
    await a.heartbeat()
    mark = a.mark
    await b.leave()
    await s.until("PreparingRebalance", 1)
    await s.sleep(900)
    await s.until("PreparingRebalance", 1)
    await s.until("Empty", 0, due=(1_500, mark))
    c = await s.actor("c")
    await s.gather(c)
    await c.answer()


@script(rows=["trap-08-absent-static-members"])
async def an_absent_static_member_is_reckoned_with(s: Script) -> None:
    a, b = await s.actor("a"), await s.actor("b", instance="i")
    c, d, e = await s.actor("c"), await s.actor("d"), await s.actor("e")
    await s.form(a, b, rebalance=900)
    await c.enter(rebalance=900)
    mark = await s.until("PreparingRebalance", 3)
    await d.enter(rebalance=900)
    await s.until("PreparingRebalance", 4)
    await a.park_join(rebalance=900)
    await a.answer(due=(900, mark))
    done = a.mark
    await s.joined(c, d)
    await e.join(error="GROUP_MAX_SIZE_REACHED")
    await c.park_sync()
    await d.park_sync()
    await s.settle()
    await a.sync(give={a: "for a", b: "for b", c: "for c"})
    await c.answer()
    await d.answer()
    await s.still("Stable", 4)
    await s.until("PreparingRebalance", 3, due=(900, done))
    await b.heartbeat(error="UNKNOWN_MEMBER_ID")
    await s.again(a, c, d)


@script(rows=["2.7-pending-id-expires-from-the-request"], versions=(4, 9))
async def a_pending_id_expires(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.join(v=s.v, session=500, error="MEMBER_ID_REQUIRED")
    await s.sleep(300)
    watch = await s.actor("watch")
    await watch.heartbeat(member=b.member_id, generation=1, error="UNKNOWN_MEMBER_ID")
    await s.sleep(450)
    await b.join(v=s.v, session=500, error="UNKNOWN_MEMBER_ID")
    await s.until("Stable", 1)


@script(
    rows=["2.7-round-waits-until-{joins,expires}", "2.7-abandoned-pending-id-stalls-for-its-session-timeout"],
    versions=(4, 9),
)
async def an_abandoned_pending_id_stalls_the_round(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a)
    await c.join(v=s.v, session=1_000, error="MEMBER_ID_REQUIRED")
    mark = c.mark
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await a.park_join()
    await a.answer(due=(1_000, mark))
    await b.answer()


@script(rows=["2.6-pending-ids-outlive-the-completion"])
async def pending_ids_outlive_the_round(s: Script) -> None:
    a, b = await s.pair()
    c = await s.actor("c")
    await s.form(a, rebalance=500)
    await c.join(error="MEMBER_ID_REQUIRED")
    await b.enter(rebalance=500)
    mark = await s.until("PreparingRebalance", 2)
    await a.park_join(rebalance=500)
    await a.answer(due=(500, mark))
    await b.answer()
    await s.synced(a, b)
    await c.park_join()
    await s.until("PreparingRebalance", 3)
    await a.park_join()
    await b.park_join()
    await s.joined(a, b, c)


@script(rows=["2.7-only-pending-ids-left"])
async def only_pending_ids_are_left(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.join(error="MEMBER_ID_REQUIRED")
    await a.leave()
    await s.until("Empty", 0, due=(0, a.mark))
    await b.park_join()
    await b.answer()


@script(rows=["2.8-sync-timer-is-armed-for-the-longest-rebalance-timeout", "2.8-silent-follower-is-removed"])
async def a_follower_never_syncs(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, rebalance=1_000)
    await s.joined(a, b)
    mark = b.mark
    await a.sync(give={a: "for a", b: "for b"})
    await s.until("Stable", 2)
    await b.heartbeat()
    await s.until("PreparingRebalance", 1, due=(1_000, mark))
    await b.heartbeat(error="UNKNOWN_MEMBER_ID")
    await a.join()


@script(rows=["2.8-silent-leader-is-removed"])
async def a_leader_never_syncs(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, rebalance=1_000)
    await s.joined(a, b)
    mark = a.mark
    await b.park_sync()
    await s.settle()
    await a.heartbeat()
    await b.answer(error="REBALANCE_IN_PROGRESS", due=(1_000, mark))
    await s.until("PreparingRebalance", 1)
    await b.join()
    await a.heartbeat(error="UNKNOWN_MEMBER_ID")


@script(rows=["2.8-sync-timer-of-an-older-generation-does-nothing"])
async def a_new_round_stops_the_sync_timer(s: Script) -> None:
    a, b = await s.pair()
    await s.gather(a, b, rebalance=1_200)
    await s.joined(a, b)
    await a.park_join(protocols={"range": "changed"}, rebalance=60_000)
    await s.until("PreparingRebalance", 2)
    await b.park_join(rebalance=60_000)
    await s.joined(a, b)
    await s.sleep(1_500)
    await s.until("CompletingRebalance", 2)
    await s.synced(a, b)


@script(rows=["2.9-no-disconnect-detection"])
async def a_dead_connection_keeps_its_member(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a)
    await b.enter()
    await s.until("PreparingRebalance", 2)
    await b.hang_up()
    await s.settle()
    await s.until("PreparingRebalance", 2)
    await a.join()
    await s.until("CompletingRebalance", 2)


async def _newcomer_outlasts_its_session(s: Script, a: Actor, b: Actor) -> None:
    """b joins a's group and is silent past its session, which begins when the round closes."""
    await s.form(a)
    await b.enter(session=300)
    await s.until("PreparingRebalance", 2)
    await b.silence(800)
    await s.until("PreparingRebalance", 2)
    await a.park_join()
    await s.joined(a, b)
    await s.until("PreparingRebalance", 1, due=(300, b.mark))
    await a.join()


@script(rows=["2.9-new-member-has-five-minutes-until-the-round-closes", "2.9-new-members-timer-ends-with-the-round"])
async def a_new_members_session_begins_when_the_round_closes(s: Script) -> None:
    await _newcomer_outlasts_its_session(s, *await s.pair())


@script(rows=["2.9-new-member-is-never-excused"], long=True)
async def a_new_member_waits_five_minutes_at_most(s: Script) -> None:
    a, b = await s.pair()
    await s.form(a, rebalance=400_000, session=60_000)
    await b.enter(rebalance=400_000)
    mark = await s.until("PreparingRebalance", 2)
    for _ in range(7):
        await b.silence(40_000)
        await a.heartbeat(error="REBALANCE_IN_PROGRESS")
    await b.silence(15_000)
    await b.answer(error="UNKNOWN_MEMBER_ID", due=(300_000, mark))


@script(rows=["J1-newcomer-with-an-instance-is-new"])
async def a_static_newcomers_session_begins_when_the_round_closes(s: Script) -> None:
    await _newcomer_outlasts_its_session(s, await s.actor("a"), await s.actor("b", instance="i"))


@script(rows=["2.13-setting-a-timer-again-replaces-it"])
async def heartbeats_move_one_timer(s: Script) -> None:
    a = await s.actor()
    await s.form(a, session=900)
    for _ in range(3):
        await s.sleep(300)
        await a.heartbeat()
    await s.until("Empty", 0, due=(900, a.mark))
    await s.sleep(1_000)
    a.member_id = ""
    await s.gather(a)
    await a.answer()


@script(rows=["trap-20-only-the-broker-expels"])
async def a_client_that_hears_nothing_stays_a_member(s: Script) -> None:
    a = await s.actor()
    await s.form(a, session=800)
    for _ in range(8):
        await a.heartbeat(error=LATER)
        await s.sleep(250)
    await s.still("Stable", 1)
    for _ in range(8):
        await a.answer()
    await a.describe()
