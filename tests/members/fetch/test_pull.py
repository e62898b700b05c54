"""A pulling consumer: positions, fetches in flight, and the records of polls."""

from __future__ import annotations

import pytest

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import FULL
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.protocol.batch.batch import EPOCH_MS, TRANSACTIONAL, LogRecord
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import FetchResponse, PartitionData
from groupsim.protocol.messages.group import Api, TopicPartition
from tests.helpers.members_fakes import HOLD, SECOND, parts
from tests.helpers.members_log_fakes import LeaderIs, counted, marker, with_records

E = ErrorCode
T0 = TopicPartition("t", 0)
MS = 1_000
both_ways = pytest.mark.parametrize("renewing", [False, True], ids=["long-polls", "renewed"])


@both_ways
def test_records_are_pulled_from_the_leaders(on_pull_bench, renewing):
    """Each leader gets one Fetch for its partitions, and its records are delivered once."""

    async def body(bench):
        for number, partition in enumerate(parts(0, 1, 2, 3)):
            bench.broker.produce(partition, 10 + number)
        await bench.stable()
        await bench.run_for(2)
        assert sorted(bench.delivered) == [(0, 0, 10), (1, 0, 11), (2, 0, 12), (3, 0, 13)]
        asked = {node: bench.broker.fetches(node)[0] for node in (0, 1, 2)}
        assert [entry.partition.partition for entry in asked[0].partitions] == [0, 3]
        assert [entry.partition.partition for entry in asked[1].partitions] == [1]
        bench.broker.produce(T0, 5)
        await bench.run_for(1)
        assert bench.offsets(0) == list(range(15))

    on_pull_bench(body, renewing=renewing)


def test_an_empty_partition_is_asked_for_twice_a_second(on_pull_bench):
    """A long poll without records is answered after fetch.max.wait.ms and sent again, without spinning."""

    async def body(bench):
        await bench.stable()
        before = len(bench.broker.fetches())
        await bench.run_for(10)
        assert 19 <= len(bench.broker.fetches()) - before <= 20

    on_pull_bench(body, topics={"t": 1})


def test_brod_rests_for_a_second_after_an_empty_answer(on_pull_bench):
    """A client with min_bytes 0 gets an answer at once from an empty partition; its sleep_timeout avoids spinning."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(2)
        before = len(bench.broker.fetches())
        await bench.run_for(10)
        assert 9 <= len(bench.broker.fetches()) - before <= 10
        bench.broker.produce(T0, 5)
        await bench.run_for(2)
        assert bench.offsets(0) == list(range(5))

    on_pull_bench(body, topics={"t": 1}, profile="brod")


def test_a_quiet_long_poll_costs_nothing_where_it_can_be_left_out(on_pull_bench):
    """A connection that renews carries one Fetch without a timer; a full trace lists every long poll."""

    def quiet(*, noisy):
        async def body(bench):
            await bench.stable()
            await bench.run_for(1)
            before = len(bench.broker.fetches())
            await bench.run_for(10)
            assert (len(bench.broker.fetches()) - before > 18) == noisy

        return body

    on_pull_bench(quiet(noisy=False), topics={"t": 1}, renewing=True)
    on_pull_bench(quiet(noisy=True), topics={"t": 1}, renewing=True, level=FULL)


def test_a_fetch_says_what_the_settings_say(on_pull_bench):
    """Every request has fetch.min.bytes and the other fetch settings; a Fetch for many bytes keeps its timer."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(0.1)
        fetch = bench.broker.fetches()[-1]
        assert (fetch.min_bytes, fetch.max_wait_ms, fetch.max_bytes) == (100, 700, 5_000)
        assert (fetch.isolation_level, fetch.rack_id, fetch.version) == (1, "a", 17)
        assert fetch.partitions[0].max_bytes == 900
        assert fetch.partitions[0].current_leader_epoch == 0

    properties = {
        "fetch.min.bytes": 100,
        "fetch.max.wait.ms": 700,
        "fetch.max.bytes": 5_000,
        "max.partition.fetch.bytes": 900,
        "isolation.level": "read_committed",
        "client.rack": "a",
    }
    on_pull_bench(body, topics={"t": 1}, properties=properties, renewing=True)


def test_few_bytes_wait_for_the_end_of_the_long_poll(on_pull_bench):
    """Fewer bytes than fetch.min.bytes are returned after fetch.max.wait.ms."""

    async def body(bench):
        await bench.stable()
        bench.broker.produce(T0, 1)
        at = bench.loop.now_us
        await bench.loop.until(lambda: bench.delivered, 2 * SECOND)
        assert 100 * MS < bench.loop.now_us - at <= 501 * MS

    on_pull_bench(body, topics={"t": 1}, properties={"fetch.min.bytes": 1_000})


def test_a_poll_empties_one_partition_before_the_next(on_pull_bench):
    """A poll returns max.poll.records, first from the rest of a piece, then from the next partition."""

    async def body(bench):
        bench.broker.produce(T0, 25)
        bench.broker.produce(TopicPartition("t", 3), 5)
        await bench.stable()
        await bench.run_for(5)
        assert bench.delivered == [(0, 0, 10), (0, 10, 10), (0, 20, 5), (3, 0, 5)]

    behaviour = Behaviour(processing=parse_distribution("1ms"))
    on_pull_bench(body, properties={"max.poll.records": 10}, behaviour=behaviour)


def test_a_partition_is_not_fetched_while_something_of_it_is_buffered(on_pull_bench):
    """The next fetch of a partition is sent when a poll has returned its buffered records."""

    async def body(bench):
        bench.broker.produce(T0, 30)
        await bench.stable()
        await bench.loop.until(lambda: len(bench.delivered) == 3, 5 * SECOND)
        assert len(bench.broker.fetches()) == 1
        await bench.run_for(0.5)
        assert bench.broker.fetches()[1].partitions[0].fetch_offset == 30

    behaviour = Behaviour(processing=parse_distribution("10ms"))
    on_pull_bench(body, topics={"t": 1}, properties={"max.poll.records": 10}, behaviour=behaviour)


def test_the_next_records_travel_while_the_application_works(on_pull_bench):
    """A fetch is in flight while the records of the last one are processed."""

    async def body(bench):
        await bench.stable()
        bench.broker.produce(T0, 1)
        await bench.run_for(0.1)
        bench.broker.produce(T0, 1)
        await bench.loop.until(lambda: len(bench.delivered) == 2, 10 * SECOND)
        first = bench.emitted(Kind.RECORDS_PROCESSED)[0]
        assert bench.emitted(Kind.RECORDS_DELIVERED)[1].t_us == first.t_us

    on_pull_bench(body, topics={"t": 1}, behaviour=Behaviour(processing=parse_distribution("2s")))


def test_a_new_process_goes_on_from_the_last_commit(on_pull_bench):
    """After a crash uncommitted records are delivered again, and none is left out."""

    async def body(bench):
        bench.broker.produce(T0, 10)
        await bench.stable()
        await bench.run_for(6)  # the auto-commit of position 10
        bench.broker.produce(T0, 5)
        await bench.run_for(1)
        bench.consumer.crash()
        await bench.stable()
        await bench.run_for(1)
        assert bench.offsets() == [*range(15), *range(10, 15)]

    on_pull_bench(body, topics={"t": 1})


def test_what_is_fetched_of_a_revoked_partition_is_dropped(on_pull_bench):
    """Records that arrive after a revocation, or are buffered then, are never delivered."""

    async def body(bench):
        bench.broker.follow(parts(0, 3))
        await bench.stable()
        bench.broker.produce(T0, 1)
        await bench.run_for(0.01)
        bench.broker.produce(T0, 1)  # fetched while the first is processed
        bench.broker.follow(parts(3))
        bench.broker.rebalance()
        await bench.run_for(20)
        assert bench.offsets(0) == [0]

    on_pull_bench(body, behaviour=Behaviour(processing=parse_distribution("6s")))


def test_what_arrives_while_the_last_commit_is_under_way_is_not_delivered(on_pull_bench):
    """No record is delivered from the commit before an eager rebalance on, or it would come again (KAFKA-14196)."""

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        bench.broker.produce(T0, 1)
        await bench.loop.until(lambda: bench.offsets(0), SECOND)
        bench.broker.reply(Api.OFFSET_COMMIT, HOLD)
        bench.broker.rebalance()
        await bench.loop.until(lambda: bench.broker.held, 10 * SECOND)
        bench.broker.produce(T0, 1)  # answers a fetch that has been waiting since before
        await bench.run_for(2)
        assert bench.offsets(0) == [0]

    on_pull_bench(body)


@both_ways
def test_a_partition_joins_a_fetch_under_way_at_the_end_of_its_long_poll(on_pull_bench, renewing):
    """A broker gets one Fetch at a time: a partition added meanwhile is requested after the answer."""

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        await bench.run_for(2)
        bench.broker.produce(TopicPartition("t", 3), 7)
        bench.broker.follow(parts(0, 3))
        bench.broker.rebalance()
        await bench.loop.until(lambda: bench.offsets(3), 10 * SECOND)
        asked = bench.emitted(Kind.PARTITION_OWNED)[-1].t_us
        assert 0 < bench.loop.now_us - asked < 1_100 * MS  # ListOffsets and Fetch may each wait for a long poll

    on_pull_bench(body, renewing=renewing, properties={"partition.assignment.strategy": "cooperative-sticky"})


# --- offsets to begin at ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "begin"), [("earliest", 5), ("latest", 20)])
def test_the_reset_policy_is_asked_of_the_leader(on_pull_bench, policy, begin):
    """ListOffsets to the leader decides the position only without a committed offset."""

    async def body(bench):
        for partition in parts(0, 1):
            bench.broker.logs[partition].start = 5
            bench.broker.produce(partition, 15)
        bench.broker.committed[T0] = 7
        await bench.stable()
        found = {event.partition: (event.payload["offset"], event.reason) for event in bench.emitted(Kind.POSITION_SET)}
        assert found == {0: (7, "committed"), 1: (begin, "reset")}

    on_pull_bench(body, topics={"t": 2}, properties={"auto.offset.reset": policy})


@pytest.mark.parametrize(("age_ms", "begin"), [(3_600_000, 10), (1_000, 15)])
def test_a_reset_by_duration_begins_at_the_first_record_so_young(on_pull_bench, age_ms, begin):
    """by_duration requests an offset by time, and begins at the log end without a record so young (KIP-1106)."""

    async def body(bench):
        bench.broker.append(
            T0, counted(10, timestamp_ms=EPOCH_MS - 7_200_000), counted(5, timestamp_ms=EPOCH_MS - 60_000)
        )
        await bench.stable()
        assert bench.emitted(Kind.POSITION_SET)[0].payload == {"offset": begin}

    policy = f"by_duration:PT{age_ms // 1_000}S"
    on_pull_bench(body, topics={"t": 1}, profile="java-4.x", properties={"auto.offset.reset": policy})


def test_read_committed_begins_at_the_last_stable_offset(on_pull_bench):
    """`latest` under read_committed is the start of open transactions."""

    async def body(bench):
        bench.broker.produce(T0, 10)
        bench.broker.logs[T0].stable = 4
        await bench.stable()
        assert bench.consumer.positions[T0] == 4

    properties = {"auto.offset.reset": "latest", "isolation.level": "read_committed"}
    on_pull_bench(body, topics={"t": 1}, properties=properties)


def test_without_a_policy_a_missing_offset_is_thrown(on_pull_bench):
    """auto.offset.reset=none: poll throws NoOffsetForPartitionException."""

    async def body(bench):
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "NoOffsetForPartitionException"

    on_pull_bench(body, properties={"auto.offset.reset": "none"})


def test_a_refused_look_up_is_repeated_with_fresh_metadata(on_pull_bench):
    """ListOffsets to an old leader refreshes metadata; the new one is asked after retry.backoff.ms."""

    async def body(bench):
        bench.broker.named_leaders[T0] = LeaderIs(2, 0)
        bench.loop.call_at(300 * MS, lambda _: bench.broker.named_leaders.clear())
        bench.broker.produce(T0, 3)
        await bench.stable()
        await bench.run_for(1)
        assert bench.offsets() == [0, 1, 2]
        assert len(bench.broker.all(Api.LIST_OFFSETS)) > 1

    on_pull_bench(body, topics={"t": 1})


# --- what batches hold --------------------------------------------------------------------------------------------


def test_a_batch_that_begins_before_the_position_is_delivered_from_there(on_pull_bench):
    """Brokers return whole batches; records before the position are skipped."""

    async def body(bench):
        bench.broker.produce(T0, 10)
        bench.broker.committed[T0] = 6
        await bench.stable()
        await bench.run_for(1)
        assert bench.delivered == [(0, 6, 4)]

    on_pull_bench(body, topics={"t": 1})


def test_what_compaction_has_left_is_delivered_with_its_gaps(on_pull_bench):
    """Only existing records are delivered, and the position moves past the batch."""

    async def body(bench):
        left = with_records(LogRecord(0, b"a", b"1"), LogRecord(1, b"b", b"2"), LogRecord(5, b"c", b"3"), count=8)
        bench.broker.append(T0, left)
        await bench.stable()
        await bench.run_for(1)
        assert bench.delivered == [(0, 0, 2), (0, 5, 1)]
        assert bench.consumer.positions[T0] == 8

    on_pull_bench(body, topics={"t": 1})


def test_records_with_a_content_are_shown(on_pull_bench):
    """`on_record` is called for every record that poll returns, with key and value."""
    seen = []

    async def body(bench):
        bench.consumer.on_record = lambda *what: seen.append((what[0], what[1], what[3].key, what[3].value))
        bench.broker.append(T0, with_records(LogRecord(0, b"a", b"1"), LogRecord(1, b"b", None)), counted(2))
        await bench.stable()
        await bench.run_for(1)

    on_pull_bench(body, topics={"t": 1}, properties={"max.poll.records": 1})
    assert seen == [(T0, 0, b"a", b"1"), (T0, 1, b"b", None)]


@pytest.mark.parametrize(
    ("level", "offsets"),
    [("read_uncommitted", [0, 1, 2, 3, 4, 6, 7]), ("read_committed", [0, 1, 6, 7])],
)
def test_aborted_transactions_are_skipped_under_read_committed(on_pull_bench, level, offsets):
    """Markers are never delivered; records of aborted transactions only under read_uncommitted."""

    async def body(bench):
        mine = {"producer_id": 7, "attributes": TRANSACTIONAL}
        bench.broker.append(T0, counted(2), counted(3, **mine), marker(7, commit=False))
        bench.broker.append(T0, counted(2, **mine), marker(7, commit=True))
        bench.broker.logs[T0].aborted.append((7, 2))
        await bench.stable()
        await bench.run_for(1)
        assert bench.offsets() == offsets
        assert bench.consumer.positions[T0] == 9

    on_pull_bench(body, topics={"t": 1}, properties={"isolation.level": level})


def test_a_commit_of_finished_records_goes_behind_the_marker(on_pull_bench):
    """The position, and the commit of an application that has finished all records, are past skipped offsets."""

    async def body(bench):
        bench.broker.append(T0, counted(2, producer_id=7, attributes=TRANSACTIONAL), marker(7, commit=True))
        await bench.stable()
        await bench.run_for(1)
        bench.consumer.begin_close()
        await bench.consumer.ended()
        assert bench.broker.committed[T0] == 3
        assert bench.broker.committed_epochs[T0] == 0

    on_pull_bench(body, topics={"t": 1}, behaviour=Behaviour(commit=CommitPolicy.SYNC_AFTER_BATCH))


def test_a_consumer_of_internal_topics_matches_them_if_it_may(on_pull_bench):
    """A pattern excludes `__consumer_offsets` unless exclude.internal.topics=false; a name never does."""
    internal = {"__consumer_offsets": 1, "t": 1}

    def subscribed_to(*topics):
        async def body(bench):
            await bench.stable()
            assert sorted({partition.topic for partition in bench.consumer.assignment}) == sorted(topics)

        return body

    by_pattern = {"pattern": ".*"}
    on_pull_bench(subscribed_to("t"), topics=internal, subscribe=by_pattern)
    properties = {"exclude.internal.topics": "false"}
    on_pull_bench(
        subscribed_to("t", "__consumer_offsets"), topics=internal, subscribe=by_pattern, properties=properties
    )
    by_name = {"topics": ["__consumer_offsets"]}
    on_pull_bench(subscribed_to("__consumer_offsets"), topics=internal, subscribe=by_name)


def test_stale_answers_are_not_delivered(on_pull_bench):
    """An answer to a fetch from another offset than the position is dropped."""

    async def body(bench):
        bench.broker.produce(T0, 4)
        old = PartitionData(T0, batches=(counted(4).placed(0, 0),))
        bench.broker.committed[T0] = 4
        bench.broker.reply(Api.FETCH, FetchResponse(partitions=(old,)))
        await bench.stable()
        await bench.run_for(1)
        assert bench.delivered == []

    on_pull_bench(body, topics={"t": 1})


@both_ways
def test_the_same_seed_gives_the_same_trace(on_pull_bench, renewing):
    """Two runs with records, a rebalance and a new leader are equal, event by event."""
    traces = []

    async def body(bench):
        for step in range(40):
            bench.loop.call_at(step * 237 * MS, lambda _, step=step: bench.broker.produce(parts(step % 4)[0], 3))
        bench.loop.call_at(5 * SECOND, lambda _: bench.broker.elect(T0, 2))
        bench.loop.call_at(7 * SECOND, lambda _: bench.broker.rebalance())
        await bench.stable()
        await bench.run_for(15)
        assert sorted(bench.offsets(0)) == list(range(30))
        traces.append(bench.events)

    for _ in range(2):
        on_pull_bench(body, renewing=renewing)
    assert traces[0] == traces[1]
