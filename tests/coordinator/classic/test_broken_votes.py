"""A member that names a protocol twice breaks the vote: a known defect of Kafka, which counts names, not members.

A real 4.4.0 broker leaves such a group in PreparingRebalance: "Member does not support any of the candidate protocols"
in its log, no answer to the client, until the member's session (five minutes for one that has just joined) ends it.
"""

from __future__ import annotations

from groupsim.coordinator.testing import Bench
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from tests.helpers.tables_kit import is_parked, offering

TWICE = offering("range", "range")


def test_a_name_said_twice_leaves_the_first_round_open() -> None:
    """The join timer's work fails and is not done again: the join stays parked, others are refused, five minutes."""
    bench = Bench()
    stuck = bench.join("a", protocols=TWICE)
    bench.advance_ms(10_000)
    assert is_parked(stuck)
    assert bench.state == "PreparingRebalance"
    assert any("supports none of the candidate protocols" in (note.reason or "") for note in bench.emitted)
    assert bench.join("b", protocols=offering("range")).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    bench.advance_ms(300_000)
    assert bench.state == "Empty"
    assert bench.join("c", protocols=offering("range")).parked


def test_a_round_that_cannot_close_fails_the_request_that_would_close_it() -> None:
    """The member that ends the round gets UNKNOWN_SERVER_ERROR, once; its join counts as parked all the same."""
    bench = Bench()
    (only,) = bench.stable("a")
    again = bench.join("a", member_id=only, protocols=TWICE)
    assert again.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.state == "PreparingRebalance"
    assert bench.heartbeat(only, 1).error is ErrorCode.ILLEGAL_GENERATION
    assert bench.heartbeat(only, 2).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.join("a", member_id=only).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert len(again.responses) == 1


def test_a_timer_that_fails_is_told_in_the_trace() -> None:
    """The warning names the timer and what was wrong."""
    bench = Bench()
    bench.join("a", protocols=TWICE)
    bench.advance_ms(3_000)
    (told,) = [note.reason or "" for note in bench.emitted if note.kind is Kind.WARNING]
    assert told.startswith("the timer join-g failed: member ")
