"""A broker's coordinator over a log that cannot be read, that moves by itself, or that ends transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from attrs import evolve

from groupsim.coordinator.base.interfaces import AppendRefused, LoadFailed, OutOfSync
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.base.records import GroupRecord, GroupValue, Loaded, Record, StoredMember
from groupsim.coordinator.partition_driver import PartitionDriver
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.group import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    TopicPartition,
)
from groupsim.protocol.messages.transactions import (
    OffsetInTxn,
    TxnMarker,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from tests.helpers.tables_kit import Broker, on_broker, watched

Done = Callable[[E | None], None]
TP = TopicPartition("t", 0)
UNKNOWN = TopicPartition("nowhere", 0)
PARTITION = 3  # of group "g"
MARKER = TxnMarker(7, 0, True, ())


def commit(offset: int, group: str = "g") -> OffsetCommitRequest:
    """A commit from outside the group."""
    return OffsetCommitRequest(group, (OffsetToCommit(TP, offset),))


def commit_in_transaction(offset: int, *others: TopicPartition, group: str = "g") -> TxnOffsetCommitRequest:
    """A commit of producer 7, of topic t and these others."""
    return TxnOffsetCommitRequest("x", group, 7, 0, tuple(OffsetInTxn(tp, offset) for tp in (TP, *others)))


def fetched(made: Broker) -> int:
    """The committed offset, as read without waiting."""
    answer = made.ask(OffsetFetchRequest("g", (TP,), False))
    assert isinstance(answer, OffsetFetchResponse)
    return answer.offsets[0].offset


def commit_errors(response: object) -> list[E]:
    """Partition by partition."""
    assert isinstance(response, OffsetCommitResponse)
    return [error for _, error in response.partitions]


def test_what_is_not_led_here_is_neither_rebalanced_nor_lost() -> None:
    """Neither before an election nor while the partition loads; and there is no such group afterwards."""

    async def story(made: Broker) -> None:
        coordinator = made.coordinator
        assert (coordinator.force_rebalance("g", "asked"), coordinator.forget("g", "asked")) == (False, False)
        coordinator.elect(PARTITION, 1, load_us=1_000_000)
        assert (coordinator.force_rebalance("g", "asked"), coordinator.forget("g", "asked")) == (False, False)
        await made.loop.sleep(2_000_000)
        assert (coordinator.force_rebalance("g", "asked"), coordinator.forget("g", "asked")) == (False, False)

    on_broker(story, lead=False)


def test_load_that_was_given_up_reads_nothing() -> None:
    """3.3: a partition that moves on while it loads is not loaded any more, and the election after that loads it."""

    async def story(made: Broker) -> None:
        read, asked = made.log.read, []

        def noted(partition: int) -> Sequence[Loaded]:
            asked.append(made.loop.now_us)
            return read(partition)

        made.log.read = noted  # type: ignore[method-assign]
        made.coordinator.elect(PARTITION, 1, load_us=5_000_000)
        await made.loop.sleep(1_000_000)
        made.coordinator.resign(PARTITION, 2)
        await made.loop.sleep(1_000_000)
        made.coordinator.elect(PARTITION, 3, load_us=7_000_000)
        await made.loop.sleep(20_000_000)
        assert asked == [9_000_000]

    on_broker(story, lead=False)


def test_partition_that_cannot_be_read_has_no_coordinator() -> None:
    """3.3: a load that fails leaves NOT_COORDINATOR, Heartbeat included, until a newer election; the trace says why."""

    async def story(made: Broker) -> None:
        def broken(partition: int) -> Sequence[Loaded]:
            raise LoadFailed(f"__consumer_offsets-{partition}, offset 4: not a record")

        whole, made.log.read = made.log.read, broken  # type: ignore[method-assign]
        made.coordinator.elect(PARTITION, 1)
        assert made.ask(HeartbeatRequest("g", 1, "m")).error is E.NOT_COORDINATOR  # type: ignore[union-attr]
        assert PARTITION not in made.coordinator.led_partitions
        groups = made.ask(ListGroupsRequest())
        assert isinstance(groups, ListGroupsResponse)
        assert groups.error is E.NONE
        made.log.read = whole  # type: ignore[method-assign]
        made.coordinator.elect(PARTITION, 1)
        assert made.ask(HeartbeatRequest("g", 1, "m")).error is E.NOT_COORDINATOR  # type: ignore[union-attr]
        made.coordinator.elect(PARTITION, 2)
        assert made.ask(HeartbeatRequest("g", 1, "m")).error is E.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]

    (said,) = warnings(watched(story))
    assert "offset 4: not a record" in said


def test_partition_with_a_group_that_cannot_be_has_no_coordinator() -> None:
    """3.3: two members of one instance in a group's record make the load fail."""

    async def story(made: Broker) -> None:
        member = StoredMember("m", "i", "c", "/h", 1, 1, b"", b"")
        value = GroupValue("consumer", 1, "range", "m", None, (member, evolve(member, member_id="n")))
        made.log.read = lambda partition: (GroupRecord("g", value),)  # type: ignore[method-assign]
        made.coordinator.elect(PARTITION, 1)
        assert made.ask(HeartbeatRequest("g", 1, "m")).error is E.NOT_COORDINATOR  # type: ignore[union-attr]

    (said,) = warnings(watched(story))
    assert "static member i" in said


def test_a_stored_group_without_a_protocol_cannot_be_described() -> None:
    """1.10: a Stable group without a protocol, as a foreign record makes it, trips all of its partition's groups."""

    async def story(made: Broker) -> None:
        member = StoredMember("m", None, "c", "/h", 1_000, 60_000, b"", b"")
        value = GroupValue("consumer", 1, None, "m", None, (member,))
        beside = next(name for name in map(str, range(1_000)) if partition_for(name) == PARTITION)
        sound = GroupRecord(beside, evolve(value, protocol="range"))
        made.log.read = lambda partition: (GroupRecord("g", value), sound)  # type: ignore[method-assign]
        made.coordinator.elect(PARTITION, 1)
        told = made.ask(DescribeGroupsRequest((beside, "g", "elsewhere")))
        assert isinstance(told, DescribeGroupsResponse)
        tripped = (E.UNKNOWN_SERVER_ERROR, E.UNKNOWN_SERVER_ERROR, E.GROUP_ID_NOT_FOUND)
        assert tuple(group.error for group in told.groups) == tripped

    watched(story)


def test_many_groups_are_described_without_asking_each_for_all_that_tripped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition is known to have tripped without going through all the groups that did."""
    asked: list[object] = []

    def same(self: object, other: object) -> bool:
        asked.append(self)
        return self is other

    async def story(made: Broker) -> None:
        member = StoredMember("m", None, "c", "/h", 1_000, 60_000, b"", b"")
        value = GroupValue("consumer", 1, None, "m", None, (member,))
        here = [name for name in map(str, range(2_000)) if partition_for(name) == PARTITION]
        made.log.read = lambda partition: tuple(GroupRecord(name, value) for name in here)  # type: ignore[method-assign]
        made.coordinator.elect(PARTITION, 1)
        made.coordinator.elect(PARTITION + 1, 1)
        elsewhere = [name for name in map(str, range(2_000)) if partition_for(name) == PARTITION + 1]
        monkeypatch.setattr(PartitionDriver, "__eq__", same)
        made.ask(DescribeGroupsRequest((*here, *elsewhere)))
        assert len(asked) <= len(here) + len(elsewhere)

    watched(story)


def test_coordinator_whose_log_moved_reads_it_anew() -> None:
    """3.3: an append that would not follow what was read fails NOT_COORDINATOR; the partition is loaded again."""

    async def story(made: Broker) -> None:
        first = made.send(commit(1))
        await made.loop.sleep(10_000)
        assert commit_errors(first.response) == [E.NONE]
        append = made.log.append

        def moved(partition: int, records: Sequence[Record], done: Done, within_ms: int | None = None) -> None:
            raise OutOfSync("the log ends at 9, expected 5")

        made.log.append = moved  # type: ignore[method-assign]
        second = made.send(commit(2))
        made.log.append = append  # type: ignore[method-assign]
        assert not second.responses
        await made.loop.sleep(1)
        assert commit_errors(second.response) == [E.NOT_COORDINATOR]
        assert fetched(made) == 1
        third = made.send(commit(3))
        await made.loop.sleep(10_000)
        assert commit_errors(third.response) == [E.NONE]

    (said,) = warnings(watched(story))
    assert "the log ends at 9, expected 5" in said


def test_transaction_from_commit_to_marker() -> None:
    """A broker takes TxnOffsetCommit, unknown topics sorted out, and ends the transaction for its coordinator."""

    async def story(made: Broker) -> None:
        ended: list[E] = []
        sent = made.send(commit_in_transaction(5, UNKNOWN))
        await made.loop.sleep(10_000)
        assert isinstance(sent.response, TxnOffsetCommitResponse)
        assert sent.response.results == ((TP, E.NONE), (UNKNOWN, E.UNKNOWN_TOPIC_OR_PARTITION))
        assert fetched(made) == -1
        made.coordinator.end_transaction(PARTITION, MARKER, ended.append)
        assert ended == []
        await made.loop.sleep(10_000)
        assert ended == [E.NONE]
        assert fetched(made) == 5

    watched(story)


def test_marker_where_nobody_coordinates() -> None:
    """Loading, not led, stopped: the transaction coordinator is told NOT_LEADER_OR_FOLLOWER, which it knows."""

    async def story(made: Broker) -> None:
        ended: list[E] = []
        made.coordinator.end_transaction(PARTITION, MARKER, ended.append)
        made.coordinator.elect(PARTITION, 1, load_us=1_000)
        made.coordinator.end_transaction(PARTITION, MARKER, ended.append)
        made.coordinator.stop()
        made.coordinator.end_transaction(PARTITION, MARKER, ended.append)
        assert ended == [E.NOT_LEADER_OR_FOLLOWER] * 3

    on_broker(story, lead=False)


def test_transactional_commit_needs_a_group() -> None:
    """1.2: an empty group id is INVALID_GROUP_ID; where nothing but unknown topics is asked, nobody looks."""

    async def story(made: Broker) -> None:
        refused = made.ask(commit_in_transaction(5, group=""))
        assert isinstance(refused, TxnOffsetCommitResponse)
        assert refused.results == ((TP, E.INVALID_GROUP_ID),)
        request = TxnOffsetCommitRequest("x", "g", 7, 0, (OffsetInTxn(UNKNOWN, 1),), 99, "stranger")
        unknown = made.ask(request)
        assert isinstance(unknown, TxnOffsetCommitResponse)
        assert unknown.results == ((UNKNOWN, E.UNKNOWN_TOPIC_OR_PARTITION),)

    on_broker(story)


def test_refused_transactional_offsets_are_nobody_elses_trouble() -> None:
    """A transaction's batch is written alone: its refusal is told to its sender at once, and to nobody who waits."""

    async def story(made: Broker) -> None:
        append = made.log.append

        def fenced(partition: int, records: Sequence[Record], done: Done, within_ms: int | None = None) -> None:
            raise AppendRefused(E.INVALID_PRODUCER_EPOCH)

        earlier = made.send(commit(1))
        beat = made.send(HeartbeatRequest("g", 1, "m"))
        made.log.append = fenced  # type: ignore[method-assign]
        zombie = made.ask(commit_in_transaction(5))
        made.log.append = append  # type: ignore[method-assign]
        assert isinstance(zombie, TxnOffsetCommitResponse)
        assert zombie.results == ((TP, E.INVALID_PRODUCER_EPOCH),)
        behind = made.send(HeartbeatRequest("g", 1, "m"))
        await made.loop.sleep(10_000)
        assert commit_errors(earlier.response) == [E.NONE]
        assert [sent.response.error for sent in (beat, behind)] == [E.UNKNOWN_MEMBER_ID] * 2  # type: ignore[union-attr]
        assert fetched(made) == 1

    watched(story)


def warnings(events: Sequence[TraceEvent]) -> list[str]:
    """What the trace warns of."""
    return [event.reason or "" for event in events if event.kind is Kind.WARNING]
