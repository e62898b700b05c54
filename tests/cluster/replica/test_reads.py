"""Fetches of consumers: visible records, waiting, and reads from followers."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.config.replica import RACK_AWARE, ReplicaConfig
from groupsim.cluster.log.markers import marker_batch
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import EPOCH_MS, TRANSACTIONAL, LogRecord
from groupsim.protocol.batch.sizes import batch_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    EpochAsked,
    EpochEnd,
    FetchPartition,
    FetchRequest,
    LeaderIs,
    ListOffsetsRequest,
    OffsetAsked,
    OffsetForLeaderEpochRequest,
)
from tests.helpers.counted_batches import counted_batch

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
SECOND = 1_000_000


def test_a_consumer_sees_what_is_committed(simulate: Any, a_batch: Any) -> None:
    """Records above the high watermark are in the log, but are not returned."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.stall(0, 1)
        rig.produce(0, P0, a_batch(2))
        got = rig.fetch(0, FetchPartition(P0, 0)).answer.partitions[0]
        assert [one.base_offset for one in got.batches] == [0]
        assert got.high_watermark == 3

    simulate(story)


def test_a_parked_fetch_is_answered_when_the_records_are_committed(simulate: Any, a_batch: Any) -> None:
    """Not when they are appended, but a round of replication later."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(10 * SECOND)
        got = rig.fetch(0, FetchPartition(P0, 0), max_wait_ms=5_000)
        await rig.run(SECOND)
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        assert got.at_us == [11_001_000]
        assert got.answer.partitions[0].batches[0].count == 3

    simulate(story)


def test_a_parked_fetch_expires(simulate: Any) -> None:
    """After max_wait_ms it is answered with nothing; one with a negative wait stays, and costs nothing."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        await rig.run(SECOND)
        got = rig.fetch(0, FetchPartition(P0, 0), max_wait_ms=700)
        for_ever = rig.fetch(0, FetchPartition(P0, 0), renewed=True)
        await rig.run(600 * SECOND)
        assert got.at_us == [1_700_000]
        assert got.answer.partitions[0].batches == ()
        assert for_ever.answers == []

    simulate(story)


def test_fetches_with_different_waits_expire_independently(simulate: Any) -> None:
    """Each fetch waits max_wait_ms, independently of the others, and expires once."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        waits = (500, 300, 500, 100)
        got = []
        for number, wait in enumerate(waits):
            got.append(rig.fetch(0, FetchPartition(P0, 0), max_wait_ms=wait))
            await rig.run(10_000)
            assert number + 1 == len(got)
        await rig.run(2 * SECOND)
        assert [one.at_us for one in got] == [[500_000], [310_000], [520_000], [130_000]]

    simulate(story)


def test_a_fetch_given_up_is_never_answered(simulate: Any, a_batch: Any) -> None:
    """A fetch that was given up is answered neither with records nor at the end of its wait."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        got = rig.fetch(0, FetchPartition(P0, 0))
        got.give_up()
        rig.produce(0, P0, a_batch())
        await rig.run(2 * SECOND)
        assert got.answers == []

    simulate(story)


def test_min_bytes_are_counted_over_all_partitions(simulate: Any, a_batch: Any) -> None:
    """250 bytes are asked for: 200 of one partition do not do, 100 of another make them complete."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), (0,))
        got = rig.fetch(0, FetchPartition(P0, 0), FetchPartition(P1, 0), min_bytes=250, max_wait_ms=60_000)
        rig.produce(0, P0, a_batch(2))
        await rig.run(SECOND)
        assert got.answers == []
        rig.produce(0, P1, a_batch(1))
        assert [len(data.batches) for data in got.answer.partitions] == [1, 1]

    simulate(story)


def test_a_roll_completes_a_fetch_that_waits_for_bytes(simulate: Any, a_batch: Any) -> None:
    """A fetch of a segment that is closed by now is answered, with any number of bytes (`DelayedFetch`, case F)."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), segment_bytes="1048576")
        rig.produce(0, P0, a_batch(1, size=600_000))
        got = rig.fetch(0, FetchPartition(P0, 1), min_bytes=5_000_000, max_wait_ms=60_000)
        rig.produce(0, P0, a_batch(1, size=100))
        assert got.answers == []
        rig.produce(0, P0, a_batch(1, size=600_000))
        assert [batch.base_offset for batch in got.answer.partitions[0].batches] == [1]

    simulate(story)


def test_the_limits_of_a_fetch_never_forbid_its_first_batch(simulate: Any, a_batch: Any) -> None:
    """One batch above both limits is returned, and nothing else; then the limits hold."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,), (0,))
        for part in (P0, P1):
            rig.produce(0, part, a_batch(10), a_batch(10))
        small = rig.fetch(0, FetchPartition(P0, 0, 50), FetchPartition(P1, 0, 50), max_bytes=60).answer.partitions
        assert [len(data.batches) for data in small] == [1, 0]
        large = rig.fetch(0, FetchPartition(P0, 0), FetchPartition(P1, 0), max_bytes=3_000).answer.partitions
        assert [len(data.batches) for data in large] == [2, 1]

    simulate(story)


def test_offsets_outside_the_log_are_out_of_range(simulate: Any, a_batch: Any) -> None:
    """Above the end is OFFSET_OUT_OF_RANGE; between high watermark and end an empty response comes at once."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.stall(0, 1)
        rig.produce(0, P0, a_batch(2), acks=1)
        assert rig.fetch(0, FetchPartition(P0, 3)).answer.partitions[0].error is ErrorCode.OFFSET_OUT_OF_RANGE
        above = rig.fetch(0, FetchPartition(P0, 1)).answer.partitions[0]
        assert (above.error, above.batches) == (ErrorCode.NONE, ())

    simulate(story)


@pytest.mark.parametrize(("offset", "result"), [(0, "out of range"), (2, "diverging")])
def test_below_the_start_is_out_of_range_whatever_the_epoch(
    simulate: Any, a_batch: Any, offset: int, result: str
) -> None:
    """A diverging fetch gets the diverging epoch, unless its offset is below the start (`Partition.readRecords`)."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.produce(0, P0, a_batch(), a_batch(), a_batch())
        for _ in range(3):
            rig.elect(P0, 0)
        await rig.run(SECOND)
        rig.produce(0, P0, a_batch())  # of epoch 3
        await rig.run(SECOND)
        rig.log(0, P0).advance_start(2)
        asked = FetchPartition(P0, offset, last_fetched_epoch=2)
        got: list[Any] = []
        rig.managers[0].fetch(FetchRequest(0, 1, (asked,), replica_id=1, replica_epoch=11, session_epoch=0), got.append)
        (data,) = got[0].partitions
        assert (data.error is ErrorCode.OFFSET_OUT_OF_RANGE) is (result == "out of range")
        assert data.diverging == (EpochEnd(0, 3) if result == "diverging" else None)

    simulate(story)


def test_leader_epochs_are_checked(simulate: Any) -> None:
    """An older epoch is fenced, with the leader named; a newer one is unknown; so in all three requests."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.elect(P0, 1)
        rig.elect(P0, 0)
        manager = rig.managers[0]
        for epoch, error in ((1, ErrorCode.FENCED_LEADER_EPOCH), (3, ErrorCode.UNKNOWN_LEADER_EPOCH)):
            data = rig.fetch(0, FetchPartition(P0, 0, current_leader_epoch=epoch)).answer.partitions[0]
            assert (data.error, data.current_leader) == (error, LeaderIs(0, 2))
            listed = manager.list_offsets(ListOffsetsRequest((OffsetAsked(P0, LATEST_TIMESTAMP, epoch),)))
            assert listed.partitions[0].error is error
            ends = manager.epoch_ends(OffsetForLeaderEpochRequest((EpochAsked(P0, 0, epoch),)))
            assert ends.partitions[0].error is error

    simulate(story)


def test_epoch_ends_are_those_of_the_log(simulate: Any, a_batch: Any) -> None:
    """Epoch 0 ended where epoch 2 began; an epoch between is answered with the one before; a follower refuses."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(3))
        await rig.run(SECOND)
        rig.elect(P0, 1)
        rig.elect(P0, 0)
        rig.produce(0, P0, a_batch(2))
        await rig.run(SECOND)
        asked = OffsetForLeaderEpochRequest(tuple(EpochAsked(P0, epoch) for epoch in (0, 1, 2, 3)))
        ends = [(end.leader_epoch, end.end_offset) for end in rig.managers[0].epoch_ends(asked).partitions]
        assert ends == [(0, 3), (0, 3), (2, 5), (-1, -1)]
        refused = rig.managers[1].epoch_ends(asked).partitions[0].error
        assert refused is ErrorCode.NOT_LEADER_OR_FOLLOWER

    simulate(story)


def test_a_parked_fetch_of_an_old_epoch_is_fenced(simulate: Any) -> None:
    """Leadership moves away: a fetch with the epoch is fenced; one without may go on at the follower."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        named = rig.fetch(0, FetchPartition(P0, 0, current_leader_epoch=0), renewed=True)
        unnamed = rig.fetch(0, FetchPartition(P0, 0), renewed=True)
        rig.elect(P0, 1)
        assert named.answer.partitions[0].error is ErrorCode.FENCED_LEADER_EPOCH
        assert unnamed.answers == []

    simulate(story)


def test_old_consumers_read_from_leaders_only(simulate: Any) -> None:
    """Before version 11 of Fetch a follower answers NOT_LEADER_OR_FOLLOWER; since then it serves."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        old = rig.fetch(1, FetchPartition(P0, 0), version=10).answer.partitions[0]
        assert old.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        new = rig.fetch(1, FetchPartition(P0, 0), version=11, max_wait_ms=0).answer.partitions[0]
        assert new.error is ErrorCode.NONE

    simulate(story)


def test_a_follower_serves_up_to_its_own_high_watermark(simulate: Any, a_batch: Any) -> None:
    """A fetch parked at a follower is answered when the follower gets the high watermark, later than the leader."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(10 * SECOND)
        got = rig.fetch(1, FetchPartition(P0, 0), max_wait_ms=5_000)
        rig.produce(0, P0, a_batch(2))
        await rig.run(100_000)
        assert rig.ends(P0, 0, 1) == [(2, 2), (2, 0)]
        assert got.answers == []
        await rig.run(SECOND)
        assert got.answer.partitions[0].batches[0].count == 2

    simulate(story)


def test_the_leader_names_a_replica_in_the_consumers_rack(simulate: Any, a_batch: Any) -> None:
    """With RackAwareReplicaSelector a consumer is sent to the in-sync replica of its rack; else it reads here."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1, 2))
        rig.produce(0, P0, a_batch(2))
        await rig.run(SECOND)

        def preferred(rack: str, offset: int = 0) -> int:
            data = rig.fetch(0, FetchPartition(P0, offset), rack_id=rack, max_wait_ms=0).answer.partitions[0]
            assert (data.preferred_read_replica >= 0) == (data.batches == ())
            number: int = data.preferred_read_replica
            return number

        assert [preferred(rack) for rack in ("east", "west", "south", "north")] == [-1, 1, 2, -1]
        rig.change(P0, isr=(0, 2))
        rig.obey = False
        assert preferred("west") == -1

    racks = {0: "east", 1: "west", 2: "south"}
    simulate(story, racks=racks, config=ReplicaConfig(replica_selector_class=RACK_AWARE))


def test_without_a_selector_all_consumers_read_from_the_leader(simulate: Any, a_batch: Any) -> None:
    """A consumer's rack has no effect without replica.selector.class."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        rig.produce(0, P0, a_batch(2))
        await rig.run(SECOND)
        data = rig.fetch(0, FetchPartition(P0, 0), rack_id="west").answer.partitions[0]
        assert (data.preferred_read_replica, len(data.batches)) == (-1, 1)

    simulate(story, racks={0: "east", 1: "west"})


def test_read_committed_stops_at_an_open_transaction(simulate: Any, a_batch: Any) -> None:
    """Records behind the first open transaction wait for its marker; an aborted one is listed with the records."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))
        rig.produce(0, P0, a_batch(2))
        first = a_batch(1, producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL)
        rig.produce(0, P0, first)
        asked = FetchPartition(P0, 0)
        got = rig.fetch(0, asked, isolation_level=READ_COMMITTED, min_bytes=250, renewed=True)
        seen = rig.fetch(0, asked, isolation_level=READ_COMMITTED).answer.partitions[0]
        assert (seen.last_stable_offset, seen.high_watermark) == (2, 3)
        assert [one.base_offset for one in seen.batches] == [0]
        assert rig.fetch(0, asked).answer.partitions[0].batches[-1].base_offset == 2
        assert got.answers == []

    simulate(story)


@pytest.mark.parametrize("version", [4, 10])
def test_a_new_leader_does_not_say_where_the_end_is_before_it_knows(simulate: Any, a_batch: Any, version: int) -> None:
    """While the high watermark lags behind the epoch's start the latest offset is not available; the earliest is."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(10 * SECOND)
        rig.produce(0, P0, a_batch(4))
        await rig.run(10_000)
        rig.stall(0, 1)
        rig.elect(P0, 1)

        def ask(timestamp: int, replica_id: int = -1) -> Any:
            asked = (OffsetAsked(P0, timestamp),)
            request = ListOffsetsRequest(asked, replica_id=replica_id, version=version)
            return rig.managers[1].list_offsets(request).partitions[0]

        error = ErrorCode.OFFSET_NOT_AVAILABLE if version >= 5 else ErrorCode.LEADER_NOT_AVAILABLE
        assert ask(LATEST_TIMESTAMP).error is error
        assert ask(EPOCH_MS).error is error
        assert (ask(EARLIEST_TIMESTAMP).error, ask(EARLIEST_TIMESTAMP).offset) == (ErrorCode.NONE, 0)
        assert ask(LATEST_TIMESTAMP, replica_id=0).offset == 4
        rig.heal(0, 1)
        await rig.run(3 * SECOND)
        assert (ask(LATEST_TIMESTAMP).offset, ask(LATEST_TIMESTAMP).leader_epoch) == (4, 1)
        assert (ask(EPOCH_MS).offset, ask(EPOCH_MS + 1).offset) == (0, -1)

    simulate(story)


def test_the_largest_timestamp_is_found_wherever_it_stands(simulate: Any, a_batch: Any) -> None:
    """It is the first record with it that consumers may read; without tiered storage its timestamps have no offsets."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0,))

        def ask(timestamp: int, **more: Any) -> tuple[int, int, int]:
            (found,) = (
                rig.managers[0].list_offsets(ListOffsetsRequest((OffsetAsked(P0, timestamp),), **more)).partitions
            )
            assert found.error is ErrorCode.NONE
            return found.offset, found.timestamp, found.leader_epoch

        assert ask(MAX_TIMESTAMP) == (-1, -1, -1)
        records = [LogRecord(n, b"k", b"v", delta) for n, delta in enumerate((0, 40, 7, 40, 3))]
        rig.produce(0, P0, a_batch(2))
        rig.produce(0, P0, batch_of(records, EPOCH_MS))
        rig.produce(0, P0, a_batch(3))
        assert ask(MAX_TIMESTAMP) == (3, EPOCH_MS + 40, 0)
        rig.produce(0, P0, a_batch(1, producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL))
        late = counted_batch(2, 10, EPOCH_MS, max_timestamp_ms=EPOCH_MS + 50)
        rig.produce(0, P0, late)
        assert ask(MAX_TIMESTAMP) == (12, EPOCH_MS + 50, 0)
        assert ask(MAX_TIMESTAMP, isolation_level=READ_COMMITTED) == (-1, -1, -1)
        assert ask(EARLIEST_LOCAL_TIMESTAMP) == ask(EARLIEST_TIMESTAMP) == (0, -1, 0)
        assert ask(LATEST_TIERED_TIMESTAMP) == ask(EARLIEST_PENDING_UPLOAD_TIMESTAMP) == (-1, -1, -1)

    simulate(story)


def test_the_marker_of_a_transaction_lets_its_readers_go_on(simulate: Any, a_batch: Any) -> None:
    """An abort marker is appended like any batch; parked fetches get all records and the aborted transaction."""

    async def story(rig: Any) -> None:
        rig.topic("orders", (0, 1))
        await rig.run(SECOND)
        rig.produce(0, P0, a_batch(2, producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL))
        await rig.run(SECOND)
        got = rig.fetch(0, FetchPartition(P0, 0), isolation_level=READ_COMMITTED, renewed=True)
        aborted = marker_batch(7, 0, committed=False, coordinator_epoch=0, timestamp_ms=EPOCH_MS)
        rig.managers[0].append(P0, (aborted,), lambda error: None)
        assert got.answers == []
        await rig.run(SECOND)
        seen = got.answer.partitions[0]
        assert (seen.aborted, seen.last_stable_offset, len(seen.batches)) == (((7, 0),), 3, 2)

    simulate(story)
