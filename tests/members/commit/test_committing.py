"""Automatic and manual commits, and the effects of their failures (classic-protocol reference, section 4.10)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorResponse, OffsetCommitResponse, TopicPartition
from tests.helpers.members_fakes import HOLD, LATENCY_US, SECOND, error_answer, parts

E = ErrorCode
T0 = TopicPartition("t", 0)
AFTER_BATCH = Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH)


def offsets(request):
    """Return the offsets of a commit request by partition number."""
    return {entry.partition.partition: entry.offset for entry in request.offsets}


def test_auto_commit_commits_positions_at_its_interval(on_bench):
    """The positions of all owned partitions are committed at each auto.commit.interval.ms."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 10)
        await bench.run_for(5.1)
        [commit] = bench.broker.all(Api.OFFSET_COMMIT)
        assert offsets(commit) == {0: 10, 1: 0, 2: 0, 3: 0}
        [committed] = bench.emitted(Kind.OFFSETS_COMMITTED)
        assert committed.payload["auto"] is True

    on_bench(body)


def test_auto_commit_repeats_unchanged_positions_but_the_trace_does_not(on_bench):
    """Java commits unchanged positions, too; only a change emits an event."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(20.1)
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == 4
        assert len(bench.emitted(Kind.OFFSETS_COMMITTED)) == 1

    on_bench(body)


def test_other_libraries_commit_only_what_moved(on_bench):
    """librdkafka sends no commit without new records since the last one."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 1)
        await bench.run_for(30)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)][1:] == []

    on_bench(body, profile="librdkafka-2.x")


def test_auto_commit_waits_for_poll(on_bench):
    """An auto-commit that is due within a batch is sent at the next poll."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 1)
        await bench.run_for(7)
        assert bench.broker.all(Api.OFFSET_COMMIT) == []
        await bench.run_for(2)
        assert offsets(bench.broker.last(Api.OFFSET_COMMIT))[0] == 1

    on_bench(body, behaviour=Behaviour(processing=parse_distribution("8s")))


def test_auto_commit_precedes_a_rebalance(on_bench):
    """A member commits in its old generation before it gives partitions up and joins."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 3)
        await bench.run_for(1)
        bench.broker.rebalance()
        await bench.run_for(3)
        kinds = [request.API for _, request in bench.broker.asked]
        commit = bench.broker.all(Api.OFFSET_COMMIT)[0]
        assert kinds.index(Api.OFFSET_COMMIT) < len(kinds) - 1 - kinds[::-1].index(Api.JOIN_GROUP)
        assert (commit.generation_id, offsets(commit)[0]) == (1, 3)
        assert bench.consumer.positions[T0] == 3

    on_bench(body)


def test_an_auto_commit_that_waited_for_poll_is_made_once(on_bench):
    """An interval that ended while the application was away: it commits at the next poll, then after an interval."""

    async def body(bench):
        await bench.stable()
        begun = bench.loop.now_us
        bench.consumer.block_poll("7s")
        for _ in range(110):
            bench.data.append(T0, 1)
            await bench.run_for(0.1)
        back, *later = bench.broker.times(Api.OFFSET_COMMIT)
        assert 7 * SECOND <= back - begun <= 7.1 * SECOND
        assert later == []
        await bench.run_for(2)
        assert [at - back for at in bench.broker.times(Api.OFFSET_COMMIT)] == [0, 5 * SECOND]

    on_bench(body)


def test_a_commit_before_a_rebalance_is_retried(on_bench):
    """A retriable failure of that commit delays the join until it succeeds, with retry.backoff.ms between attempts."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_LOAD_IN_PROGRESS)
        bench.broker.rebalance()
        await bench.run_for(3.9)
        tried = [later - earlier for earlier, later in pairwise(bench.broker.times(Api.OFFSET_COMMIT))]
        assert tried == [150_000 + 2 * LATENCY_US] * 2
        assert bench.consumer.generation == 2

    on_bench(body, properties={"retry.backoff.ms": 150})


def test_a_commit_before_a_rebalance_gives_up_at_other_errors(on_bench):
    """A failure that is not retriable does not delay the join."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, E.OFFSET_METADATA_TOO_LARGE)
        bench.broker.rebalance()
        await bench.run_for(3.9)
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == 1
        assert bench.consumer.generation == 2

    on_bench(body)


def test_sync_commits_after_each_batch(on_bench):
    """sync-after-batch commits what the handler has finished and waits for the answer."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 10)
        await bench.run_for(1)
        bench.data.append(T0, 5)
        await bench.run_for(1)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 10}, {0: 15}]

    on_bench(body, behaviour=AFTER_BATCH)


def test_commit_sync_retries_with_growing_backoff(on_bench):
    """commitSync retries retriable errors after 100 ms doubling, each ± 20 %."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 3)
        bench.data.append(T0, 1)
        await bench.run_for(5)
        times = bench.broker.times(Api.OFFSET_COMMIT)
        waits = [b - a - 1_000 for a, b in pairwise(times)]
        assert len(waits) == 3
        assert all(0.8 * 2**n <= wait / 100_000 <= 1.2 * 2**n for n, wait in enumerate(waits))

    on_bench(body, behaviour=AFTER_BATCH)


def test_commit_sync_gives_up_after_the_api_timeout(on_bench):
    """commitSync throws TimeoutException after default.api.timeout.ms."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
        bench.data.append(T0, 1)
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "TimeoutException"

    on_bench(
        body,
        behaviour=Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH, on_commit_failure=OnError.STOP),
        properties={"default.api.timeout.ms": 40_000},
    )


def test_a_commit_that_succeeds_ends_no_process(on_bench):
    """An application that ends at the first failed commitSync continues without a failure."""

    async def body(bench):
        await bench.stable()
        for _ in range(3):
            bench.data.append(T0, 1)
            await bench.run_for(1)
        assert bench.consumer.running
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 1}, {0: 2}, {0: 3}]

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH, on_commit_failure=OnError.STOP))


def test_an_async_commit_is_not_retried(on_bench):
    """A failed asynchronous commit only emits an event."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS)
        bench.data.append(T0, 1)
        await bench.run_for(5)
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == 1
        assert [event.error for event in bench.emitted(Kind.COMMIT_FAILED)] == ["COORDINATOR_LOAD_IN_PROGRESS"]

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ASYNC_AFTER_BATCH))


def test_an_async_commit_waits_for_the_look_up_under_way(on_bench):
    """commitAsync without a coordinator is sent when the look-up finds one, and fails when it does not."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.FIND_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, HOLD)
        bench.broker.reply(Api.HEARTBEAT, E.NOT_COORDINATOR)
        await bench.run_for(5)
        found = FindCoordinatorResponse(node=bench.broker.coordinator_node)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        assert (bench.broker.all(Api.OFFSET_COMMIT), bench.emitted(Kind.COMMIT_FAILED)) == ([], [])
        bench.broker.release(found)
        await bench.run_for(1)
        assert [offsets(commit)[0] for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [1]
        bench.broker.reply(Api.FIND_COORDINATOR, HOLD)
        bench.broker.reply(Api.HEARTBEAT, E.NOT_COORDINATOR)
        await bench.run_for(5)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        bench.broker.release(FindCoordinatorResponse(E.COORDINATOR_NOT_AVAILABLE))
        await bench.run_for(1)
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == 1
        assert [event.error for event in bench.emitted(Kind.COMMIT_FAILED)] == ["CoordinatorNotAvailableException"]

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ASYNC_AFTER_BATCH))


def test_a_commit_told_of_a_rebalance_keeps_the_membership(on_bench):
    """REBALANCE_IN_PROGRESS for a commit: rejoin with the generation, RebalanceInProgressException."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, E.REBALANCE_IN_PROGRESS)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        assert bench.broker.last(Api.JOIN_GROUP).reason == "offset commit failed since group is already rebalancing"
        assert bench.emitted(Kind.GENERATION_RESET) == []
        assert bench.emitted(Kind.COMMIT_FAILED)[0].reason == "RebalanceInProgressException"

    on_bench(body, behaviour=AFTER_BATCH)


@pytest.mark.parametrize(("error", "member_id"), [(E.ILLEGAL_GENERATION, "m1"), (E.UNKNOWN_MEMBER_ID, "m2")])
def test_a_zombies_commit_fails_and_it_joins_again(on_bench, error, member_id):
    """ILLEGAL_GENERATION and UNKNOWN_MEMBER_ID for a commit: CommitFailedException, reset, records again."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, error)
        bench.data.append(T0, 4)
        await bench.run_for(2)
        assert bench.emitted(Kind.COMMIT_FAILED)[0].reason == "CommitFailedException"
        assert bench.consumer.member_id == member_id
        again = [event.payload for event in bench.emitted(Kind.RECORDS_DELIVERED)]
        assert again == [{"base": 0, "count": 4}] * 2

    on_bench(body, behaviour=AFTER_BATCH)


def test_committing_outside_a_stable_group_sends_nothing(on_bench):
    """During a rebalance a commit fails locally with RebalanceInProgressException, without a request."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, HOLD)
        bench.data.append(T0, 1)
        bench.broker.rebalance()
        await bench.run_for(8)
        before = len(bench.broker.all(Api.OFFSET_COMMIT))
        bench.data.append(T0, 1)
        await bench.run_for(1)
        assert len(bench.broker.all(Api.OFFSET_COMMIT)) == before
        assert bench.emitted(Kind.COMMIT_FAILED)[-1].error == "RebalanceInProgressException"

    on_bench(body, behaviour=AFTER_BATCH, properties={"partition.assignment.strategy": "cooperative-sticky"})


def test_a_member_thrown_out_while_it_works_fails_its_commit(on_bench):
    """After the poll limit the commit of the slow batch fails locally with CommitFailedException."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 1)
        await bench.run_for(21)
        assert bench.broker.all(Api.OFFSET_COMMIT) == []
        assert bench.emitted(Kind.COMMIT_FAILED)[0].error == "CommitFailedException"

    on_bench(
        body,
        properties={"max.poll.interval.ms": "10s"},
        behaviour=Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH, processing=parse_distribution("20s")),
    )


def test_committing_in_the_revoked_callback(on_bench):
    """on-revoke commits finished records before the callback returns, and never at intervals."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 9)
        await bench.run_for(20)
        assert bench.broker.all(Api.OFFSET_COMMIT) == []
        bench.broker.rebalance()
        await bench.run_for(4)
        assert [offsets(commit) for commit in bench.broker.all(Api.OFFSET_COMMIT)] == [{0: 9}]
        assert bench.consumer.positions[T0] == 9

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ON_REVOKE))


def test_never_committing_reads_everything_again(on_bench):
    """Without commits a rebalance starts again at the reset position."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 9)
        await bench.run_for(1)
        bench.broker.rebalance()
        await bench.run_for(4)
        assert [event.payload["base"] for event in bench.emitted(Kind.RECORDS_DELIVERED)] == [0, 0]

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.NEVER))


def test_kafkajs_commits_after_each_batch(on_bench):
    """A library that commits after batches does so at any interval."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(1)[0], 3)
        await bench.run_for(1)
        assert bench.broker.committed[parts(1)[0]] == 3

    on_bench(body, profile="kafkajs")


@pytest.mark.parametrize("error", [E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID])
def test_a_commit_of_an_old_generation_refused_after_the_rebalance_costs_the_new_one(on_bench, error):
    """An answer for the old generation resets the new one, unless the client is preparing (KAFKA-8104's rule)."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, HOLD)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        bench.broker.rebalance()
        await bench.loop.until(lambda: bench.consumer.generation == 2, 10 * SECOND)
        await bench.run_for(0.1)
        bench.broker.release(error_answer(bench.broker.held[0][2], error))
        await bench.run_for(1)
        assert f"encountered {error.name} from OFFSET_COMMIT response" in bench.reasons(Kind.GENERATION_RESET)
        assert bench.emitted(Kind.COMMIT_FAILED)[-1].reason == "CommitFailedException"

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ASYNC_AFTER_BATCH))


def test_a_commit_of_an_old_generation_refused_while_preparing_costs_nothing(on_bench):
    """While JoinGroup is parked the same answer is a RebalanceInProgressException, and the member id stays."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, HOLD)
        bench.broker.reply(Api.SYNC_GROUP, E.REBALANCE_IN_PROGRESS)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        bench.broker.reply(Api.JOIN_GROUP, None, HOLD)
        bench.broker.rebalance()
        await bench.run_for(5)
        assert bench.consumer.state == "PREPARING_REBALANCE"
        bench.broker.release(error_answer(bench.broker.held[0][2], E.UNKNOWN_MEMBER_ID))
        await bench.run_for(1)
        assert bench.emitted(Kind.COMMIT_FAILED)[-1].reason == "RebalanceInProgressException"
        assert (bench.consumer.member_id, bench.emitted(Kind.GENERATION_RESET)) == ("m1", [])

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ASYNC_AFTER_BATCH))


def test_a_rebalance_does_not_wait_for_an_unanswered_commit_for_ever(on_bench):
    """The commit before a rebalance delays it until the rebalance timeout, with or without an answer."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, *[HOLD] * 5)
        bench.data.append(T0, 3)
        bench.broker.rebalance()
        await bench.run_for(8.5)
        assert len(bench.broker.all(Api.JOIN_GROUP)) == 2
        await bench.run_for(1)
        assert len(bench.broker.all(Api.JOIN_GROUP)) == 3

    on_bench(body, properties={"max.poll.interval.ms": "6s", "auto.commit.interval.ms": "1h"})


def test_no_interval_commits_while_a_cooperative_join_is_parked(on_bench):
    """`ConsumerCoordinator.poll` handles a rebalance before an auto-commit, so its interval fails no commit."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 3)
        bench.broker.reply(Api.JOIN_GROUP, HOLD)
        bench.broker.rebalance()
        await bench.run_for(20)
        assert bench.consumer.state == "PREPARING_REBALANCE"
        assert [len(bench.emitted(kind)) for kind in (Kind.OFFSETS_COMMITTED, Kind.COMMIT_FAILED)] == [1, 0]

    on_bench(body, properties={"partition.assignment.strategy": "cooperative-sticky"})


@pytest.mark.parametrize(
    ("errors", "thrown"),
    [
        ((E.TOPIC_AUTHORIZATION_FAILED, E.NONE), "TopicAuthorizationException"),
        ((E.TOPIC_AUTHORIZATION_FAILED, E.OFFSET_METADATA_TOO_LARGE), "OffsetMetadataTooLarge"),
        ((E.OFFSET_METADATA_TOO_LARGE, E.INVALID_COMMIT_OFFSET_SIZE), "OffsetMetadataTooLarge"),
    ],
)
def test_of_several_errors_the_first_decides_but_for_topics_that_are_not_authorized(on_bench, errors, thrown):
    """Topics without authorization are collected, and thrown if there is no other error."""

    def answer(request):
        return OffsetCommitResponse(tuple((entry.partition, errors[at]) for at, entry in enumerate(request.offsets)))

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, answer)
        await bench.run_for(5.1)
        assert bench.reasons(Kind.COMMIT_FAILED) == [thrown]

    on_bench(body, topics={"t": 2})
