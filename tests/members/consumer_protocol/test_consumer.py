"""A consumer under group.protocol=consumer: records, commits, callbacks, close, crash. In virtual time.

The coordinator is scripted (`tests/helpers/consumer_fakes.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import NORMAL, Level, Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.behaviour import Behaviour
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatResponse
from groupsim.protocol.messages.group import Api
from tests.helpers.consumer_fakes import BEAT, ConsumerGroupBench
from tests.helpers.members_fakes import parts

Body = Callable[[ConsumerGroupBench], Awaitable[None]]


@pytest.fixture
def on_bench() -> Callable[..., None]:
    """Run an async test body with a consumer of a consumer group: `on_bench(body, properties=…)`."""

    def run(body: Body, *, level: Any = NORMAL, **options: Any) -> None:
        async def main(loop: Any) -> None:
            await body(ConsumerGroupBench(loop, **options))

        run_virtual(main, seed=0, trace=Trace(level))

    return run


def epochs(bench: ConsumerGroupBench) -> list[int]:
    """Return the member epochs of all heartbeats."""
    return [request.member_epoch for request in bench.broker.all(BEAT)]


def test_a_consumer_joins_consumes_and_commits(on_bench):
    """It owns what it was assigned, reads from the start, and commits its positions at the interval with its epoch."""

    async def body(bench):
        await bench.stable()
        assert bench.consumer.assignment == parts(0, 1, 2, 3)
        assert (bench.consumer.generation, bench.consumer.settled) == (1, True)
        bench.data.append(parts(2)[0], 5)
        await bench.run_for(11)
        assert bench.broker.committed[parts(2)[0]] == 5
        commit = bench.broker.last(Api.OFFSET_COMMIT)
        assert (commit.generation_id, commit.member_id) == (1, bench.consumer.member_id)

    on_bench(body)


def test_the_states_are_in_the_trace(on_bench):
    """CLIENT_STATE events carry the ten states; callbacks and owned partitions have the kinds of a classic member."""

    async def body(bench):
        await bench.stable()
        bench.broker.target(0)
        await bench.run_for(11)
        states = [(event.from_, event.to) for event in bench.emitted(Kind.CLIENT_STATE)]
        assert states[:4] == [
            ("UNSUBSCRIBED", "JOINING"),
            ("JOINING", "RECONCILING"),
            ("RECONCILING", "ACKNOWLEDGING"),
            ("ACKNOWLEDGING", "STABLE"),
        ]
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        assert [event.partition for event in bench.emitted(Kind.PARTITION_RELEASED)] == [1, 2, 3]
        assert bench.consumer.assignment == parts(0)

    on_bench(body)


def test_partitions_that_stay_are_consumed_while_others_are_revoked(on_bench):
    """A target that takes partitions away does not reset the position of those that stay."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 3)
        await bench.run_for(1)
        asked = len(bench.broker.all(Api.OFFSET_FETCH))
        bench.broker.target(0, 1)
        await bench.run_for(6)
        assert bench.consumer.positions[parts(0)[0]] == 3
        assert len(bench.broker.all(Api.OFFSET_FETCH)) == asked
        bench.data.append(parts(0)[0], 3)
        await bench.run_for(1)
        assert bench.consumer.positions[parts(0)[0]] == 6

    on_bench(body)


@pytest.mark.parametrize("leave", [None, False, True])
def test_a_close_commits_calls_back_and_leaves(on_bench, leave):
    """Commit, revoked callback, then the heartbeat that leaves, also with REMAIN_IN_GROUP (seen of Kafka 4.4.0)."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(1)[0], 2)
        await bench.run_for(1)
        await bench.consumer.close(leave)
        assert bench.consumer.state == "STOPPED"
        assert bench.broker.committed[parts(1)[0]] == 2
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked"]
        assert epochs(bench)[-1] == -1

    on_bench(body)


def test_a_close_in_the_middle_of_a_reconciliation_ends(on_bench):
    """A process that closes while its revoked callback runs finishes the callback, and gives up the rest."""

    async def body(bench):
        await bench.stable()
        bench.broker.target(0)
        await bench.run_for(6)
        await bench.consumer.close()
        assert bench.consumer.state == "STOPPED"
        released = [event.partition for event in bench.emitted(Kind.PARTITION_RELEASED)]
        assert sorted(released) == [0, 1, 2, 3]

    on_bench(body, behaviour=Behaviour(on_revoked="20s"))


def test_an_expelled_member_joins_again(on_bench):
    """UNKNOWN_MEMBER_ID: partitions are lost, and assigned again at a new epoch to the same member id."""

    async def body(bench):
        await bench.stable()
        member_id = bench.consumer.member_id
        bench.broker.expel()
        await bench.run_for(6)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "lost", "assigned"]
        assert (bench.consumer.member_id, bench.consumer.generation) == (member_id, 2)
        assert bench.consumer.settled

    on_bench(body)


def test_a_slow_application_is_stale_and_comes_back(on_bench):
    """max.poll.interval.ms: it leaves in the middle of a batch, and joins when the batch is done."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 1)
        await bench.run_for(15)
        assert (bench.consumer.state, epochs(bench)[-1]) == ("STALE", -1)
        await bench.run_for(10)
        assert (bench.consumer.state, bench.consumer.generation) == ("STABLE", 2)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "lost", "assigned"]

    on_bench(body, properties={"max.poll.interval.ms": 10_000}, behaviour=Behaviour(processing="20s"))


def test_a_fatal_error_ends_the_process(on_bench):
    """An error that ends the membership is thrown from poll, and ends an application without a handler."""

    async def body(bench):
        bench.broker.reply(BEAT, ConsumerGroupHeartbeatResponse(ErrorCode.GROUP_MAX_SIZE_REACHED))
        bench.start()
        await bench.run_for(5)
        assert (bench.consumer.state, bench.consumer.failed.error) == ("FAILED", "GroupMaxSizeReachedException")

    on_bench(body)


def test_quiet_heartbeats_are_counted_and_not_listed(on_bench):
    """A heartbeat without news is no event at the usual level; at the full level it is."""

    async def body(bench):
        await bench.stable()
        listed = len(bench.emitted(Kind.REQUEST_SENT))
        sent, counted = len(bench.broker.all(BEAT)), bench.consumer.heartbeats
        await bench.run_for(20)
        assert len(bench.broker.all(BEAT)) == sent + 4 == sent + bench.consumer.heartbeats - counted
        news = [event for event in bench.emitted(Kind.REQUEST_SENT)[listed:] if event.api == BEAT.title]
        assert len(news) == (4 if bench.loop.trace.level is Level.FULL else 0)

    on_bench(body, properties={"enable.auto.commit": False})
    on_bench(body, properties={"enable.auto.commit": False}, level=Level.FULL)


def test_a_paused_process_looks_at_its_heartbeat_first(on_bench):
    """After a pause longer than the interval a heartbeat follows at once."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause("17s")
        before = len(bench.broker.all(BEAT))
        await bench.run_for(16.9)
        assert len(bench.broker.all(BEAT)) - before <= 1
        await bench.run_for(0.2)
        assert bench.broker.times(BEAT)[-1] > 16_900_000

    on_bench(body)


def test_a_blocked_thread_sends_no_heartbeats(on_bench):
    """While the background thread does not run the application goes on, and one heartbeat follows at the end."""

    async def body(bench):
        await bench.stable()
        bench.consumer.block_heartbeats("30s")
        before = len(bench.broker.all(BEAT))
        await bench.run_for(29)
        assert len(bench.broker.all(BEAT)) == before
        await bench.run_for(2)
        assert len(bench.broker.all(BEAT)) == before + 1

    on_bench(body)


def test_enforcing_a_rebalance_is_a_warning(on_bench):
    """`enforceRebalance` has no effect under this protocol."""

    async def body(bench):
        await bench.stable()
        bench.consumer.enforce_rebalance()
        await bench.run_for(1)
        assert bench.consumer.settled
        assert "enforceRebalance" in str(bench.reasons(Kind.WARNING)[-1])

    on_bench(body)


def test_a_pattern_is_resolved_by_the_client(on_bench):
    """java.util.regex.Pattern: the client sends the names that match, and others as they appear."""

    async def body(bench):
        await bench.stable()
        assert bench.broker.all(BEAT)[0].subscribed_topic_names in ((), ("t",))
        bench.broker.topics["t2"] = 1
        await bench.run_for(11)
        sent = [request.subscribed_topic_names for request in bench.broker.all(BEAT)]
        assert [names for names in sent if names][-1] == ("t", "t2")

    on_bench(body, subscribe={"pattern": "t.*"}, properties={"metadata.max.age.ms": 1_000})


def test_the_member_id_is_drawn_for_each_process(on_bench):
    """A restart is another member, with another id of 22 letters."""

    async def body(bench):
        await bench.stable()
        first = bench.consumer.member_id
        bench.consumer.crash()
        assert bench.consumer.state == "CRASHED"
        await bench.stable()
        assert len(first) == len(bench.consumer.member_id) == 22
        assert bench.consumer.member_id != first

    on_bench(body)
