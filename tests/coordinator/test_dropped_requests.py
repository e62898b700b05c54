"""What a broker's coordinator says in the trace beside what happens in its groups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from groupsim.coordinator.base.records import Producer, TransactionEnd
from groupsim.coordinator.partition_driver import summary
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import FULL, Level
from groupsim.protocol.messages.group import OffsetCommitRequest, OffsetToCommit, TopicPartition
from tests.helpers.tables_kit import Broker, watched


def told(story: Callable[[Broker], Awaitable[None]], *kinds: Kind, level: Level = Level.NORMAL) -> list[TraceEvent]:
    """The events of these kinds that a story with a broker leaves."""
    return [event for event in watched(story, level) if event.kind in kinds]


def test_a_parked_request_that_will_not_be_answered_is_told() -> None:
    """A second JoinGroup of the same member takes the first one's place."""

    async def story(made: Broker) -> None:
        made.join(version=3)
        await made.loop.sleep(10_000)
        (member,) = made.coordinator.snapshot("g").members
        for _ in range(2):
            made.join(member_id=member.member_id, version=3)

    dropped = told(story, Kind.REQUEST_DROPPED)
    assert [(event.group, event.api) for event in dropped] == [("g", "JoinGroup")] * 2


def test_timers_of_the_partition_itself_are_not_told() -> None:
    """Those of groups and members are, where anybody asks; what looks after the log's partition is nobody's story."""

    async def story(made: Broker) -> None:
        made.send(OffsetCommitRequest("g", (OffsetToCommit(TopicPartition("t", 0), 1),)))
        made.join(version=3)
        await made.loop.sleep(3_600_000_000)

    reasons = {event.reason for event in told(story, Kind.TIMER_SET, Kind.TIMER_FIRED, level=FULL)}
    assert "join-g" in reasons
    assert {reason for reason in reasons if reason and reason.startswith(("write-timeout", "expire-group"))} == set()


@pytest.mark.parametrize(("committed", "word"), [(True, "committed"), (False, "aborted")])
def test_the_end_of_a_transaction_says_which(committed: bool, word: str) -> None:
    """What is said of a record that is appended: its type, its key, and what one wants to see of its value."""
    record = TransactionEnd(Producer(7, 0), committed)
    assert summary(record) == {"type": "transaction-end", "key": 7, "value": word}
