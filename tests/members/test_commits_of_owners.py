"""What was processed and committed belongs to who owned the partition then."""

from __future__ import annotations

from members_fakes import parts

from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.protocol.messages import Api, TopicPartition

T0 = TopicPartition("t", 0)
AFTER_BATCH = Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH)


def offsets(request):
    """The offsets of a commit request by partition number."""
    return {entry.partition.partition: entry.offset for entry in request.offsets}


async def owning_the_first(bench):
    """A member that owns partition 0, and has processed nine records of it."""
    bench.broker.follow(parts(0))
    await bench.stable()
    bench.data.append(T0, 9)
    await bench.run_for(1)


def test_what_was_processed_before_a_rebalance_is_committed_when_it_is_given_up(on_bench):
    """A cooperative member that keeps a partition has not forgotten what it has processed of it."""

    async def story(bench):
        await owning_the_first(bench)
        for following in (parts(0, 1), parts(1)):
            bench.broker.follow(following)
            bench.broker.rebalance()
            await bench.run_for(4)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}]

    properties = {"partition.assignment.strategy": "cooperative-sticky"}
    on_bench(story, properties=properties, behaviour=Behaviour(commit=CommitPolicy.ON_REVOKE))


def test_what_was_processed_under_an_earlier_ownership_is_not_committed_under_the_next(on_bench):
    """In between another owner may have come further: a partition that comes back begins with nothing processed."""

    async def story(bench):
        await owning_the_first(bench)
        for following in (parts(1), parts(0), parts(1)):
            bench.broker.follow(following)
            bench.broker.rebalance()
            await bench.run_for(4)
            bench.broker.committed[T0] = 20
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}]

    on_bench(story, behaviour=Behaviour(commit=CommitPolicy.ON_REVOKE))


def test_what_was_committed_under_an_earlier_ownership_is_committed_again(on_bench):
    """The owner in between went back to the beginning: what has been processed once more is committed once more."""

    async def story(bench):
        await owning_the_first(bench)
        for following in (parts(1), parts(0)):
            bench.broker.follow(following)
            bench.broker.rebalance()
            await bench.run_for(2)
            bench.broker.committed[T0] = 0
        await bench.run_for(4)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}, {0: 9}]

    on_bench(story, behaviour=AFTER_BATCH)
