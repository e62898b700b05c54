"""The initial rebalance delay (2.5, KIP-134): the table's five scenarios and what is not obvious."""

from __future__ import annotations

import pytest

from groupsim.coordinator.testing import GROUP, Bench
from tests.helpers.tables_kit import COMPLETING, EMPTY, PREPARING, E, bench, broker, is_parked, scene

JOIN = f"join-{GROUP}"


def closed_after_ms(made: Bench, arrivals: dict[int, int], *, rebalance_ms: int) -> int:
    """When the first round closes, given members per millisecond of arrival."""
    first = None
    for at_ms in range(0, 60_001, 100):
        made.advance_to(1_000 * at_ms)
        if first is not None and first.answered:
            return at_ms
        for _ in range(arrivals.get(at_ms, 0)):
            sent = made.join("m", rebalance_ms=rebalance_ms)
            first = first or sent
    raise AssertionError("the round never closed")


SCENARIOS = [
    pytest.param({0: 1}, 300_000, 3_000, 3_000, id="2.5-single-member"),
    pytest.param({0: 1, 1_000: 1}, 300_000, 3_000, 6_000, id="2.5-second-member-in-the-window"),
    pytest.param({0: 1, 2_900: 1}, 300_000, 3_000, 6_000, id="2.5-second-member-late-in-the-window"),
    pytest.param({0: 1, 1_000: 1, 4_000: 1, 7_000: 1, 9_500: 1}, 10_000, 3_000, 10_000, id="2.5-one-in-every-window"),
    pytest.param({0: 1, 1_000: 1}, 2_000, 3_000, 3_000, id="2.5-rebalance-timeout-below-delay"),
    pytest.param({0: 3}, 300_000, 0, 100, id="2.5-delay-zero"),
]


@pytest.mark.parametrize(("arrivals", "rebalance_ms", "delay_ms", "closed"), SCENARIOS)
def test_scenario(arrivals: dict[int, int], rebalance_ms: int, delay_ms: int, closed: int) -> None:
    """2.5: when the first join phase completes."""
    made = bench({"group.initial.rebalance.delay.ms": delay_ms})
    assert closed_after_ms(made, arrivals, rebalance_ms=rebalance_ms) == closed


def test_no_delay_is_the_next_event() -> None:
    """2.5: with delay 0 the timer is due at once, and still everyone of that instant is in."""
    made = bench({"group.initial.rebalance.delay.ms": 0})
    first = made.join("a")
    assert is_parked(first)
    assert made.timers()[JOIN] == 0
    made.advance_ms(0)
    assert first.joined.generation_id == 1


def test_a_member_in_the_prolonged_window_prolongs_again() -> None:
    """2.5: the flag is cleared when the wait is prolonged; without a further member the next expiry completes."""
    made = bench()
    made.join("a")
    made.join("b")
    made.advance_ms(3_000)
    assert made.state == PREPARING
    assert not made.snapshot().new_member_added
    made.join("c")
    made.advance_ms(3_000)
    assert made.state == PREPARING
    made.advance_ms(3_000)
    assert made.state == COMPLETING


def test_remaining_is_bounded_by_the_first_member_alone() -> None:
    """2.5: a second member's longer rebalance timeout gives no more time."""
    made = bench()
    made.join("a", rebalance_ms=4_000)
    made.join("b", rebalance_ms=300_000)
    made.advance_ms(3_000)
    assert made.timers()[JOIN] == 1_000
    made.join("c", rebalance_ms=300_000)
    made.advance_ms(1_000)
    assert made.state == COMPLETING


def test_flag_left_over_when_nothing_remains() -> None:
    """2.5: set while remaining is 0 the flag stays, and the next initial round waits one extension too long."""
    made = bench()
    made.join("a", rebalance_ms=2_000)
    made.join("b", rebalance_ms=2_000)
    made.advance_ms(3_000)
    assert made.state == COMPLETING
    assert made.snapshot().new_member_added
    made.leave("a-1", "b-2")
    assert made.state == EMPTY
    alone = made.join("c")
    made.advance_ms(3_000)
    assert is_parked(alone)
    made.advance_ms(3_000)
    assert alone.joined.error is E.NONE


def test_pending_ids_do_not_hold_the_initial_round() -> None:
    """2.5: the delay's end completes the join phase even when some ids are pending."""
    made = bench()
    first = made.join("a")
    made.join("x", version=4)
    made.advance_ms(3_000)
    assert first.joined.generation_id == 1


def test_joins_and_leaves_cannot_end_the_delay() -> None:
    """2.5: while the previous state is Empty neither a join nor a leave completes the join phase."""
    made = bench()
    first = made.join("a")
    made.join("a", member_id="a-1")
    made.join("b")
    made.leave("b-2")
    assert made.state == PREPARING
    assert first.dropped is not None


def test_expiry_of_a_pending_id_can_end_the_delay() -> None:
    """2.5: session expiry does not look at the previous state: a pending id that expires completes the round early."""
    made = bench({"group.initial.rebalance.delay.ms": 60_000})
    first = made.join("a")
    made.join("x", version=4, session_ms=6_000)
    made.advance_ms(6_000)
    assert first.joined.generation_id == 1


def test_expiry_of_a_member_can_end_the_delay() -> None:
    """2.5: so does a new member's five-minute timer."""
    made = bench({"group.initial.rebalance.delay.ms": 400_000})
    gone = made.join("a", rebalance_ms=900_000)
    made.advance_ms(10_000)
    second = made.join("b", rebalance_ms=900_000)
    made.advance_ms(290_000)
    assert gone.joined.error is E.UNKNOWN_MEMBER_ID
    assert second.joined.generation_id == 1


def test_old_coordinator_never_ends_the_delay_early() -> None:
    """2.5 [old]: the Scala coordinator's delayed operation sits the delay out."""
    made = bench({"group.initial.rebalance.delay.ms": 60_000, "broker.version": "3.9"})
    first = made.join("a")
    made.join("x", version=4, session_ms=6_000)
    made.advance_ms(6_000)
    assert is_parked(first)
    made.advance_ms(54_000)
    assert first.joined.generation_id == 1


def test_everybody_leaves_during_the_delay() -> None:
    """2.5: the state stays PreparingRebalance without members until the timer, then Empty, generation + 1."""
    made = bench()
    made.join("a")
    made.advance_ms(1_000)
    made.leave("a-1")
    assert (made.state, made.snapshot().members) == (PREPARING, ())
    made.advance_ms(1_999)
    assert made.state == PREPARING
    made.advance_ms(1)
    assert (made.state, made.snapshot().generation) == (EMPTY, 1)


def test_the_delay_begins_at_the_second_join_group() -> None:
    """2.5: a dynamic v4+ member's first JoinGroup only yields an id; the delay runs from its second."""
    made = bench()
    fresh = made.join("a", version=4).joined.member_id
    assert JOIN not in made.timers()
    made.advance_ms(1_000)
    made.join("a", member_id=fresh, version=4)
    assert made.timers()[JOIN] == 3_000


def test_a_group_that_was_left_waits_again() -> None:
    """2.5: the delay applies whenever the group was Empty, also after it had members."""
    stage = scene(EMPTY)
    sent = stage.bench.join("b")
    stage.bench.advance_ms(2_999)
    assert is_parked(sent)
    stage.bench.advance_ms(1)
    assert sent.joined.generation_id == 3


def test_before_kip_134_there_is_no_delay() -> None:
    """A broker older than 0.11 completes the first round as soon as everybody has joined."""
    assert broker("0.10.2").join("a", version=1).joined.generation_id == 1
