"""The last commits of a consumer that closes (classic-protocol reference, section 4.7)."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, TopicPartition
from tests.helpers.members_fakes import HOLD, SECOND, error_answer

E = ErrorCode
T0 = TopicPartition("t", 0)


def test_closing_commits_once_more(on_bench):
    """close() commits the positions before LeaveGroup."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 2)
        await bench.run_for(1)
        await bench.consumer.close()
        kinds = [request.API for _, request in bench.broker.asked]
        assert kinds.index(Api.OFFSET_COMMIT) < kinds.index(Api.LEAVE_GROUP)
        assert bench.broker.committed[T0] == 2

    on_bench(body)


def test_a_failing_commit_on_close_is_swallowed(on_bench):
    """The consumer leaves within its close timeout, whatever happens to the last commit."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
        begun = bench.loop.now_us
        await bench.consumer.close()
        assert bench.consumer.state == "STOPPED"
        assert len(bench.broker.all(Api.LEAVE_GROUP)) == 1
        assert bench.loop.now_us - begun <= 31 * SECOND

    on_bench(body)


def test_closing_without_a_coordinator_waits_for_it_and_then_gives_up(on_bench):
    """The last commit looks the coordinator up until the close timeout; then no LeaveGroup is sent."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 1)
        await bench.run_for(1)
        bench.net.unreachable = bench.net.refuses = True
        bench.net.break_all()
        begun = bench.loop.now_us
        await bench.consumer.close()
        assert 30 * SECOND <= bench.loop.now_us - begun <= 31 * SECOND
        assert len(bench.emitted(Kind.COMMIT_FAILED)) <= 2

    on_bench(body)


def test_close_waits_for_asynchronous_commits(on_bench):
    """A process that closes waits for the answers to commits in flight before it leaves."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, HOLD)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        bench.consumer.begin_close()
        await bench.run_for(2)
        assert bench.broker.all(Api.LEAVE_GROUP) == []
        bench.broker.release(error_answer(bench.broker.held[0][2], E.NONE))
        await bench.consumer.ended()
        assert [event.payload["offsets"] for event in bench.emitted(Kind.OFFSETS_COMMITTED)] == [{"t-0": 1}]
        assert len(bench.broker.all(Api.LEAVE_GROUP)) == 1

    on_bench(body, behaviour=Behaviour(commit=CommitPolicy.ASYNC_AFTER_BATCH))


def test_close_waits_for_asynchronous_commits_as_long_as_it_may(on_bench):
    """A commit without an answer delays the close until its 30 s are over (`ConsumerCoordinator.close`)."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.OFFSET_COMMIT, HOLD)
        bench.data.append(T0, 1)
        await bench.run_for(1)
        begun = bench.loop.now_us
        await bench.consumer.close()
        assert 30 * SECOND <= bench.loop.now_us - begun <= 30.01 * SECOND

    properties = {"request.timeout.ms": 60_000}
    on_bench(body, properties=properties, behaviour=Behaviour(commit=CommitPolicy.ASYNC_AFTER_BATCH))
