"""A refused auto-commit before a rebalance, and the events that make `poll` repeat it."""

from __future__ import annotations

import pytest

from groupsim.eventloop.distributions import parse_distribution
from groupsim.members.behaviour import Behaviour
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse, TopicPartition
from tests.helpers.members_fakes import DROP, LATENCY_US, SECOND

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
#: No backoff passes in these tests.
SLOW = {"retry.backoff.ms": 60_000, "retry.backoff.max.ms": 60_000}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
ANSWERED_US = 2 * LATENCY_US


async def refused(bench, *errors):
    """A stable member learns of a rebalance, and its commits before it are refused."""
    await bench.stable()
    bench.broker.reply(Api.OFFSET_COMMIT, *errors)
    bench.broker.rebalance()


def test_a_refused_commit_before_a_rebalance_goes_out_again_with_the_next_heartbeat(on_bench):
    """A heartbeat wakes `poll`, which repeats the commit regardless of the backoff; its success allows the join."""

    async def body(bench):
        await refused(bench, LOADING)
        await bench.run_for(7)
        first, second = bench.broker.times(Api.OFFSET_COMMIT)
        learned, wakes, *_ = bench.broker.times(Api.HEARTBEAT)
        assert (first - learned, second - wakes) == (ANSWERED_US, 0)
        assert bench.consumer.generation == 2

    on_bench(body, properties=SLOW)


@pytest.mark.parametrize("profile", ["java-3.1", "kafka-python-2.x"])
def test_up_to_3_1_a_refused_commit_before_a_rebalance_waits_for_the_backoff(on_bench, profile):
    """In old releases this commit is synchronous, and heartbeats in the meantime change nothing."""

    async def body(bench):
        await refused(bench, LOADING)
        await bench.run_for(12)
        first, second = bench.broker.times(Api.OFFSET_COMMIT)
        assert second - first == 4 * SECOND + ANSWERED_US

    on_bench(body, profile=profile, properties={"retry.backoff.ms": 4_000})


@pytest.mark.parametrize("renewing", [True, False])
@pytest.mark.parametrize(("assignor", "again"), [({}, 1), (COOPERATIVE, 3)])
def test_a_fetch_that_comes_back_lets_a_refused_commit_go_out_again(on_pull_bench, renewing, assignor, again):
    """An eager member stops fetching; each fetch of a cooperative one repeats the commit."""

    async def body(bench):
        await refused(bench, *[LOADING] * again)
        await bench.run_for(4.9)
        first, *later = bench.broker.times(Api.OFFSET_COMMIT)
        assert len(later) == again
        apart = [after - before for before, after in zip([first, *later], later, strict=False)]
        assert all(pause <= 500_000 + 2 * ANSWERED_US for pause in apart)
        assert bench.consumer.generation == 2

    properties = {"fetch.max.wait.ms": 500, "metadata.max.age.ms": 600_000, **SLOW, **assignor}
    on_pull_bench(body, properties=properties, renewing=renewing)


def test_a_commit_without_a_coordinator_goes_out_when_one_is_found(on_bench):
    """A commit refused by an old coordinator is sent to the new one without another backoff."""

    async def body(bench):
        await refused(bench, ErrorCode.NOT_COORDINATOR)
        bench.broker.reply(Api.FIND_COORDINATOR, FindCoordinatorResponse(node=0, host="b0"))
        await bench.run_for(4)
        first, second = bench.broker.times(Api.OFFSET_COMMIT)
        found = bench.broker.times(Api.FIND_COORDINATOR)[-1]
        assert (found - first, second - found) == (ANSWERED_US, ANSWERED_US)

    on_bench(body, properties=SLOW)


def test_a_refused_commit_waits_while_the_application_is_away(on_bench):
    """A cooperative member continues to read; while it processes records the commit is not repeated."""

    async def body(bench):
        await refused(bench, LOADING, LOADING)
        await bench.run_for(3.2)
        bench.data.append(TopicPartition("t", 0), 1)
        away = bench.loop.now_us
        await bench.run_for(3)
        *_, second, third = bench.broker.times(Api.OFFSET_COMMIT)
        assert (second, third) == (away + LATENCY_US, away + 2 * SECOND + LATENCY_US)

    behaviour = Behaviour(processing=parse_distribution("2s"))
    on_bench(body, behaviour=behaviour, properties={"retry.backoff.ms": 500, **COOPERATIVE})


def test_a_rebalance_timeout_ends_commits_that_are_refused_and_refused(on_bench):
    """max.poll.interval.ms is the limit: the member then joins without the commit."""

    async def body(bench):
        await refused(bench, *[LOADING] * 100)
        learned = bench.loop.now_us
        await bench.run_for(11)
        join = bench.broker.times(Api.JOIN_GROUP)[-1]
        assert 6 * SECOND <= join - learned <= 6 * SECOND + 3.2 * SECOND
        assert bench.consumer.generation == 2

    on_bench(body, properties={"max.poll.interval.ms": 6_000})


def test_a_member_that_closes_meanwhile_closes(on_bench):
    """A refused commit does not delay a close, which commits once more."""

    async def body(bench):
        await refused(bench, LOADING)
        await bench.run_for(3.01)
        await bench.consumer.close()
        assert not bench.consumer.running
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == 2

    on_bench(body, properties=SLOW)


def test_a_connection_that_breaks_under_it_is_one_more_refusal(on_bench):
    """The coordinator is looked up, and the commit is sent when it is found and may be connected to."""

    async def body(bench):
        await refused(bench, DROP)
        await bench.run_for(4)
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == 2
        assert bench.consumer.generation == 2

    on_bench(body, properties={"retry.backoff.ms": 150})
