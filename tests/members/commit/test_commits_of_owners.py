"""Offsets of processed records belong to the owner of the partition at that time."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, TopicPartition
from tests.helpers.members_fakes import HOLD, parts

T0 = TopicPartition("t", 0)
AFTER_BATCH = Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH)


def offsets(request):
    """Return the offsets of a commit request by partition number."""
    return {entry.partition.partition: entry.offset for entry in request.offsets}


async def owning_the_first(bench):
    """Start a member that owns partition 0, and has processed nine records of it."""
    bench.broker.follow(parts(0))
    await bench.stable()
    bench.data.append(T0, 9)
    await bench.run_for(1)


def test_what_was_processed_before_a_rebalance_is_committed_when_it_is_given_up(on_bench):
    """A cooperative member that keeps a partition keeps its processed offset."""

    async def body(bench):
        await owning_the_first(bench)
        for following in (parts(0, 1), parts(1)):
            bench.broker.follow(following)
            bench.broker.rebalance()
            await bench.run_for(4)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}]

    properties = {"partition.assignment.strategy": "cooperative-sticky"}
    on_bench(body, properties=properties, behaviour=Behaviour(commit=CommitPolicy.ON_REVOKE))


def test_what_was_processed_under_an_earlier_ownership_is_not_committed_under_the_next(on_bench):
    """A partition that returns has no processed offset: another owner may have come further."""

    async def body(bench):
        await owning_the_first(bench)
        for following in (parts(1), parts(0), parts(1)):
            bench.broker.follow(following)
            bench.broker.rebalance()
            await bench.run_for(4)
            bench.broker.committed[T0] = 20
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}]

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ON_REVOKE))


def test_what_was_committed_under_an_earlier_ownership_is_committed_again(on_bench):
    """An owner in between went back to the beginning: records processed again are committed again."""

    async def body(bench):
        await owning_the_first(bench)
        for following in (parts(1), parts(0)):
            bench.broker.follow(following)
            bench.broker.rebalance()
            await bench.run_for(2)
            bench.broker.committed[T0] = 0
        await bench.run_for(4)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}, {0: 9}]

    on_bench(body, behaviour=AFTER_BATCH)


@pytest.mark.parametrize("profile", ["aiokafka", "franz-go"])
@pytest.mark.parametrize("regains", [True, False])
def test_a_batch_of_an_earlier_ownership_is_not_committed_under_a_later_one(on_bench, profile, regains):
    """A record finished after its partition was lost is not committed: another owner has come to 305 meanwhile.

    Neither commit() of aiokafka nor CommitUncommittedOffsets of franz-go has offsets of the lost assignment.
    """

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        bench.data.append(T0, 400)
        await bench.run_for(0.5)
        assert bench.broker.all(Api.OFFSET_COMMIT) == []
        bench.broker.committed[T0] = 305
        bench.broker.follow(parts(0) if regains else parts(1))
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(6)
        # aiokafka asks for a new member id first; franz-go joins with its old one, which this broker takes
        assert len(bench.broker.all(Api.JOIN_GROUP)) == (3 if profile == "franz-go" else 4)
        assert bench.broker.all(Api.OFFSET_COMMIT) == []
        await bench.run_for(40)
        committed = [offsets(commit)[0] for commit in bench.broker.all(Api.OFFSET_COMMIT)]
        assert min(committed, default=305) >= 305
        assert bool(committed) is regains

    properties = {"max.poll.records": 50, "heartbeat.interval.ms": 1_000, "auto.offset.reset": "earliest"}
    slowly = Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH, processing="200ms")
    on_bench(body, profile=profile, properties=properties, behaviour=slowly)


def test_a_commit_that_failed_is_not_made_up_for_under_a_later_ownership(on_bench):
    """The zombie's batch stays uncommitted: the next commit has only the partitions of its own batch."""

    async def body(bench):
        bench.broker.follow(parts(0, 1))
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, ErrorCode.UNKNOWN_MEMBER_ID)
        bench.broker.committed[T0] = 305
        bench.data.append(T0, 9)
        await bench.run_for(4)
        bench.data.append(TopicPartition("t", 1), 3)
        await bench.run_for(4)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}, {1: 3}]

    on_bench(body, behaviour=AFTER_BATCH)


def test_a_batch_that_ends_without_a_membership_has_nothing_to_commit(on_bench):
    """Partition 0 is finished and partition 1 in processing when both are lost: neither is committed."""

    async def body(bench):
        bench.broker.follow(parts(0, 1))
        bench.data.append(T0, 4)
        bench.data.append(TopicPartition("t", 1), 40)
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
        bench.broker.reply(Api.JOIN_GROUP, None, None, None, HOLD)
        bench.consumer.start()
        await bench.run_for(10)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked"]
        assert bench.emitted(Kind.RECORDS_PROCESSED)[-1].partition == 1
        callback = bench.emitted(Kind.CALLBACK_BEGUN)[-1]
        assert [event.t_us for event in bench.emitted(Kind.COMMIT_FAILED)] == [callback.t_us]  # the callback tries to

    properties = {"heartbeat.interval.ms": 1_000, "auto.offset.reset": "earliest"}
    slowly = Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH, processing="100ms")
    on_bench(body, profile="aiokafka", properties=properties, behaviour=slowly)
