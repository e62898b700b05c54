"""A log that cannot be opened, written or read costs its partition alone: KAFKA_STORAGE_ERROR."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.log.log import PartitionLog
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import FetchPartition, ListOffsetsRequest, OffsetAsked

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
FULL = OSError(24, "Too many open files", "orders-0/00000000000000000000.log")


def failing(*_: Any, **__: Any) -> Any:
    """Any access to a file fails."""
    raise FULL


def warnings(rig: Any) -> list[Any]:
    """Warnings of brokers so far."""
    return [event.reason for event in rig.sink.events if event.kind is Kind.WARNING]


def test_a_log_that_cannot_be_opened_leaves_the_others_alone(simulate: Any, a_batch: Any) -> None:
    """Its partition is offline until the metadata name it again; the partition beside it is led."""

    async def story(rig: Any) -> None:
        manager = rig.managers[0]
        opens = manager._open_store
        manager._open_store = lambda name: failing() if name == P0 else opens(name)
        rig.topic("orders", (0,), (0,))
        await rig.run(1_000)
        assert rig.produce(0, P0, a_batch()).answer.results[0].error is STORAGE
        assert rig.fetch(0, FetchPartition(P0, 0)).answer.partitions[0].error is STORAGE
        assert rig.produce(0, P1, a_batch()).answer.results[0].error is ErrorCode.NONE
        assert [name for _, name, _ in rig.leading] == [P1]
        warning = "orders-0 has no storage: Too many open files (orders-0/00000000000000000000.log)"
        assert warnings(rig) == [warning]
        manager._open_store = opens
        rig.send_image([P0])
        assert rig.produce(0, P0, a_batch()).answer.results[0].error is ErrorCode.NONE

    simulate(story)


def test_a_log_that_cannot_be_written_refuses_the_batch(
    simulate: Any, a_batch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Producers and the broker's own coordinators get the error; one warning names the log."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        with monkeypatch.context() as full:
            full.setattr(PartitionLog, "append", failing)
            answers = [rig.produce(0, P0, a_batch(), acks=acks).answer.results[0].error for acks in (1, -1)]
            ends: list[Any] = []
            rig.managers[0].append(P0, [a_batch()], ends.append)
            await rig.run(1_000)
        assert answers == [STORAGE, STORAGE]
        assert ends == [STORAGE]
        assert len(warnings(rig)) == 1
        assert rig.produce(0, P0, a_batch()).answer.results[0].error is ErrorCode.NONE

    simulate(story)


def test_a_log_that_cannot_be_read_fails_the_read(simulate: Any, a_batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch and ListOffsets get the error, and the next ones the records."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        rig.produce(0, P0, a_batch())
        with monkeypatch.context() as full:
            full.setattr(PartitionLog, "read", failing)
            full.setattr(PartitionLog, "find_time", failing)
            fetched = rig.fetch(0, FetchPartition(P0, 0)).answer.partitions[0]
            listed = rig.managers[0].list_offsets(ListOffsetsRequest((OffsetAsked(P0, 5),))).partitions[0]
        assert (fetched.error, listed.error) == (STORAGE, STORAGE)
        assert rig.fetch(0, FetchPartition(P0, 0)).answer.partitions[0].batches

    simulate(story)


def test_a_follower_that_cannot_write_copies_again_later(
    simulate: Any, a_batch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition rests for replica.fetch.backoff.ms, then is copied from where it stood."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(1_000_000)
        with monkeypatch.context() as full:
            full.setattr(PartitionLog, "append_copied", failing)
            rig.produce(0, P0, a_batch(), acks=1)
            await rig.run(100_000)
        assert rig.ends(P0, 1) == [(0, 0)]
        await rig.run(3_000_000)
        assert rig.ends(P0, 0, 1) == [(1, 1), (1, 1)]
        assert len(warnings(rig)) == 1

    simulate(story)


def test_a_leader_that_cannot_read_for_a_follower_is_asked_again(
    simulate: Any, a_batch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The follower gets KAFKA_STORAGE_ERROR, rests, and has the records when the leader can read again."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(1_000_000)
        with monkeypatch.context() as full:
            full.setattr(PartitionLog, "read", failing)
            rig.produce(0, P0, a_batch(), acks=1)
            await rig.run(100_000)
        assert rig.ends(P0, 1) == [(0, 0)]
        await rig.run(3_000_000)
        assert rig.ends(P0, 0, 1) == [(1, 1), (1, 1)]

    simulate(story)
