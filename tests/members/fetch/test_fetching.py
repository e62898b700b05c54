"""Positions and records."""

from __future__ import annotations

from itertools import pairwise

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FetchedOffset, OffsetFetchResponse, TopicPartition
from tests.helpers.members_fakes import DROP, HOLD, SECOND, parts

E = ErrorCode
T0 = TopicPartition("t", 0)


def test_a_committed_offset_wins_over_the_reset_policy(on_bench):
    """Partitions start at the committed offset; without one by auto.offset.reset."""

    async def body(bench):
        bench.data.ends.update(dict.fromkeys(parts(0, 1), 50))
        bench.broker.committed[T0] = 17
        await bench.stable()
        found = {event.partition: (event.payload["offset"], event.reason) for event in bench.emitted(Kind.POSITION_SET)}
        assert found == {0: (17, "committed"), 1: (50, "reset")}

    on_bench(body, topics={"t": 2}, properties={"auto.offset.reset": "latest"})


def test_without_a_reset_policy_a_missing_offset_is_an_error(on_bench):
    """auto.offset.reset=none: poll throws NoOffsetForPartitionException."""

    async def body(bench):
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "NoOffsetForPartitionException"

    on_bench(body, properties={"auto.offset.reset": "none"})


def test_offset_fetch_is_retried(on_bench):
    """OffsetFetch is repeated after the backoff on loading, a wrong coordinator and unstable offsets."""

    async def body(bench):
        unstable = OffsetFetchResponse(offsets=(FetchedOffset(T0, error=E.UNSTABLE_OFFSET_COMMIT),))
        bench.broker.reply(Api.OFFSET_FETCH, E.COORDINATOR_LOAD_IN_PROGRESS, unstable, E.NOT_COORDINATOR)
        bench.consumer.start()
        for _ in range(120):  # whatever wakes the application meanwhile
            bench.consumer.change_behaviour()
            await bench.run_for(0.01)
        times = bench.broker.times(Api.OFFSET_FETCH)
        assert len(times) == 4
        assert all(later - sooner >= 80_000 for sooner, later in pairwise(times))

    on_bench(body, topics={"t": 1})


def test_committed_offsets_are_not_asked_for_while_a_rebalance_is_under_way(on_bench):
    """`ConsumerCoordinator.poll` handles a rebalance before positions: OffsetFetch waits for the new generation."""

    async def body(bench):
        bench.broker.reply(Api.OFFSET_FETCH, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 90)
        bench.consumer.start()
        await bench.run_for(1)
        before = len(bench.broker.all(Api.JOIN_GROUP))
        bench.broker.reply(Api.JOIN_GROUP, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 6)
        bench.broker.rebalance()
        await bench.run_for(6)
        first, *_, last = bench.broker.times(Api.JOIN_GROUP)[before:]
        assert last - first > SECOND // 2
        asked = bench.broker.times(Api.OFFSET_FETCH)
        assert [at for at in asked if first < at <= last] == []
        assert [at for at in asked if at > last] != []

    on_bench(body, properties={"partition.assignment.strategy": "cooperative-sticky"})


def test_a_broken_connection_is_made_again_after_the_backoff_of_the_look_up(on_bench):
    """The reconnect backoff counts from the break, so the coordinator can be connected to when it is found."""

    async def body(bench):
        bench.broker.reply(Api.OFFSET_FETCH, DROP)
        await bench.stable()
        assert len(bench.emitted(Kind.COORDINATOR_LOST)) == 1
        assert len(bench.emitted(Kind.COORDINATOR_FOUND)) == 2

    on_bench(body)


def test_an_answer_to_a_look_up_before_the_last_is_ignored(on_bench):
    """Partitions added meanwhile are requested with the others, and only that answer counts (`sameRequest`)."""

    async def body(bench):
        bench.broker.follow(parts(0))
        bench.broker.reply(Api.OFFSET_FETCH, HOLD, HOLD)
        bench.consumer.start()
        await bench.run_for(4)
        bench.broker.follow(parts(0, 1))
        bench.broker.rebalance()
        await bench.run_for(4)
        assert [request.partitions for request in bench.broker.all(Api.OFFSET_FETCH)] == [parts(0), parts(0, 1)]
        for offset in (5, 7):
            answered = bench.broker.held[0][2].partitions
            bench.broker.release(OffsetFetchResponse(offsets=tuple(FetchedOffset(one, offset) for one in answered)))
            await bench.run_for(1)
        assert bench.consumer.positions == dict.fromkeys(parts(0, 1), 7)
        assert len(bench.broker.all(Api.OFFSET_FETCH)) == 2

    on_bench(body)


def test_an_unauthorised_offset_fetch_is_thrown(on_bench):
    """Poll throws GROUP_AUTHORIZATION_FAILED of OffsetFetch."""

    async def body(bench):
        bench.broker.reply(Api.OFFSET_FETCH, E.GROUP_AUTHORIZATION_FAILED)
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "GroupAuthorizationException"

    on_bench(body)


def test_a_poll_returns_at_most_max_poll_records(on_bench):
    """Polls return a backlog max.poll.records at a time."""

    async def body(bench):
        bench.data.ends[T0] = 25
        await bench.stable()
        await bench.run_for(5)
        assert [event.payload for event in bench.emitted(Kind.RECORDS_DELIVERED)] == [
            {"base": 0, "count": 10},
            {"base": 10, "count": 10},
            {"base": 20, "count": 5},
        ]

    on_bench(body, properties={"max.poll.records": 10}, behaviour=Behaviour(processing=parse_distribution("1ms")))


def test_a_backlog_of_thousands_of_polls_in_one_instant_is_handed_out(on_bench):
    """5,000 waiting records, one per poll and without processing time, are delivered in order."""

    async def body(bench):
        bench.data.ends[T0] = 5_000
        await bench.stable()
        await bench.run_for(5)
        assert [event.payload["base"] for event in bench.emitted(Kind.RECORDS_DELIVERED)] == list(range(5_000))

    on_bench(body, properties={"max.poll.records": 1})


def test_records_travel_while_the_application_works(on_bench):
    """The next fetch is sent before the records of the last one are processed."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 1)
        await bench.run_for(0.1)
        bench.data.append(T0, 1)
        await bench.loop.until(lambda: len(bench.emitted(Kind.RECORDS_DELIVERED)) == 2, 10 * SECOND)
        first = bench.emitted(Kind.RECORDS_PROCESSED)[0]
        assert bench.emitted(Kind.RECORDS_DELIVERED)[1].t_us == first.t_us

    on_bench(body, behaviour=Behaviour(processing=parse_distribution("2s")))


def test_processing_takes_what_the_records_take(on_bench):
    """A batch takes the sum of its records' times, plus per_batch."""

    async def body(bench):
        await bench.stable()
        bench.data.append(T0, 4)
        await bench.run_for(5)
        [begun], [ended] = bench.emitted(Kind.RECORDS_DELIVERED), bench.emitted(Kind.RECORDS_PROCESSED)
        assert ended.t_us - begun.t_us == 4 * 250_000 + 500_000

    on_bench(body, behaviour=Behaviour(processing=parse_distribution("250ms"), per_batch=parse_distribution("500ms")))


def test_a_failed_fetch_is_tried_again(on_bench):
    """A fetch to an unreachable leader is repeated after retry.backoff.ms, with new metadata."""

    async def body(bench):
        bench.data.fails = 2
        await bench.stable()
        bench.data.append(T0, 1)
        asked = len(bench.broker.all(Api.METADATA))
        await bench.run_for(2)
        assert len(bench.emitted(Kind.RECORDS_DELIVERED)) == 1
        assert len(bench.broker.all(Api.METADATA)) > asked

    on_bench(body)


def test_records_of_a_revoked_partition_are_dropped_from_the_buffer(on_bench):
    """Records fetched but not returned before a revocation are never delivered."""

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        bench.data.append(T0, 1)
        await bench.run_for(0.01)
        bench.data.append(T0, 1)  # fetched while the first is processed
        bench.broker.follow(parts(1))
        bench.broker.rebalance()
        await bench.run_for(20)
        assert [event.payload["base"] for event in bench.emitted(Kind.RECORDS_DELIVERED)] == [0]

    on_bench(body, behaviour=Behaviour(processing=parse_distribution("6s")))


def test_one_record_takes_as_long_in_any_batch(on_bench):
    """Processing times depend on partition and offset, not on the size of batches."""
    spans = []

    async def body(bench):
        bench.data.ends[T0] = 200
        await bench.stable()
        await bench.loop.until(lambda: bench.consumer.positions.get(T0) == 200, 600 * SECOND)
        await bench.run_for(60)
        begun, ended = bench.emitted(Kind.RECORDS_DELIVERED), bench.emitted(Kind.RECORDS_PROCESSED)
        spans.append(sum(b.t_us - a.t_us for a, b in zip(begun, ended, strict=True)))

    for records in (7, 200):
        on_bench(
            body,
            properties={"max.poll.records": records},
            behaviour=Behaviour(processing=parse_distribution("exponential(mean=20ms)")),
        )
    assert spans[0] == spans[1] > 0
