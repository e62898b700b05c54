"""A partition of `__consumer_offsets` that its coordinator gives up, beside others that it keeps."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.placement import partition_for
from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    SyncAssignment,
    SyncGroupRequest,
    TopicPartition,
)
from tests.helpers.tables_kit import Broker, on_broker


@pytest.mark.parametrize("gives_up", ["resign", "abandon", "elect"])
def test_a_partition_that_is_given_up_leaves_the_groups_of_others_alone(gives_up: str) -> None:
    """Heartbeats, commits and fetches of another partition's group go on; its session and parked joins stay."""

    async def story(broker: Broker) -> None:
        tp, lost, kept = TopicPartition("t", 0), partition_for("g"), partition_for("other")
        first, other = broker.join("g", version=3), broker.join("other", version=3)
        await broker.loop.sleep(3_100_000)
        mine, member = first.response.member_id, other.response.member_id
        broker.send(SyncGroupRequest("g", 1, mine, assignments=(SyncAssignment(mine, b""),)))
        broker.send(SyncGroupRequest("other", 1, member, assignments=(SyncAssignment(member, b""),)))
        broker.send(OffsetCommitRequest("other", (OffsetToCommit(tp, 5),), 1, member))
        broker.send(OffsetCommitRequest("g", (OffsetToCommit(tp, 6),), 1, mine))
        await broker.loop.sleep(5_000_000)
        parked = broker.join("other", version=3)
        held = broker.send(OffsetCommitRequest("other", (OffsetToCommit(TopicPartition("t", 1), 7),), 1, member))
        assert (parked.responses, held.responses) == ([], [])
        if gives_up == "abandon":
            broker.coordinator.abandon(lost)
        elif gives_up == "resign":
            broker.coordinator.resign(lost, 1)
        else:
            broker.coordinator.elect(lost, 1, load_us=60_000_000)
        gone = E.COORDINATOR_LOAD_IN_PROGRESS if gives_up == "elect" else E.NOT_COORDINATOR
        assert broker.send(OffsetFetchRequest("g", (tp,))).response.error is gone
        assert kept in broker.coordinator.led_partitions
        await broker.loop.sleep(2_000)
        assert held.response.partitions == ((TopicPartition("t", 1), E.NONE),)
        beat = broker.send(HeartbeatRequest("other", 1, member)).response
        assert beat.error is E.REBALANCE_IN_PROGRESS
        commit = broker.send(OffsetCommitRequest("other", (OffsetToCommit(tp, 8),), 1, member))
        await broker.loop.sleep(2_000)
        assert commit.response.partitions == ((tp, E.NONE),)
        fetched = broker.send(OffsetFetchRequest("other", (tp, TopicPartition("t", 1)), require_stable=False))
        assert [offset.offset for offset in fetched.response.offsets] == [8, 7]
        again = broker.join("other", member, version=3)
        assert (again.response.generation_id, parked.response.generation_id) == (2, 2)
        await broker.loop.sleep(10_001_000)
        assert broker.send(HeartbeatRequest("other", 2, member)).response.error is E.UNKNOWN_MEMBER_ID

    assert partition_for("g") != partition_for("other")
    on_broker(story)
