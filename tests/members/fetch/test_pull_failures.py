"""A pulling consumer when brokers refuse, die, move leaderships or have lost records."""

from __future__ import annotations

import pytest

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.data import FetchResponse, PartitionData
from groupsim.protocol.messages.group import Api, TopicPartition
from tests.helpers.members_fakes import LATENCY_US, SECOND, parts
from tests.helpers.members_log_fakes import LeaderIs, counted

E = ErrorCode
T0 = TopicPartition("t", 0)
MS = 1_000
both_ways = pytest.mark.parametrize("renewing", [False, True], ids=["long-polls", "renewed"])


def refused(error, **fields):
    """Return a Fetch answer that refuses t-0."""
    return FetchResponse(partitions=(PartitionData(T0, error, **fields),))


@pytest.mark.parametrize(
    ("error", "asks_metadata"),
    [
        (E.NOT_LEADER_OR_FOLLOWER, True),
        (E.KAFKA_STORAGE_ERROR, True),
        (E.FENCED_LEADER_EPOCH, True),
        (E.OFFSET_NOT_AVAILABLE, True),
        (E.UNKNOWN_TOPIC_OR_PARTITION, True),
        (E.UNKNOWN_LEADER_EPOCH, False),
        (E.UNKNOWN_SERVER_ERROR, False),
    ],
)
def test_a_refusal_is_answered_with_metadata_and_another_fetch(on_pull_bench, error, asks_metadata):
    """A refused partition is soon fetched again; most refusals refresh metadata."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(0.2)
        asked = len(bench.broker.all(Api.METADATA))
        bench.broker.reply(Api.FETCH, *[refused(error)] * 3)
        bench.broker.produce(T0, 1)
        await bench.run_for(1)
        bench.broker.produce(T0, 1)
        await bench.run_for(1)
        assert bench.offsets() == [0, 1]
        assert (len(bench.broker.all(Api.METADATA)) > asked) == asks_metadata

    on_pull_bench(body, topics={"t": 1})


def test_refusals_in_a_row_slow_down(on_pull_bench):
    """A broker that keeps refusing is asked at most every retry.backoff.ms."""

    async def body(bench):
        bench.broker.reply(Api.FETCH, *[refused(E.UNKNOWN_SERVER_ERROR)] * 200)
        await bench.stable()
        await bench.run_for(1)
        assert 10 < len(bench.broker.fetches()) < 25

    on_pull_bench(body, topics={"t": 1})


@both_ways
def test_a_new_leader_is_found_through_metadata(on_pull_bench, renewing):
    """The old leader refuses the waiting fetch; the new one validates the position, and the fetch goes on there."""

    async def body(bench):
        bench.broker.names_leader = False
        bench.broker.produce(T0, 5)
        await bench.stable()
        await bench.run_for(3)
        bench.broker.elect(T0, 1)
        bench.broker.produce(T0, 5)
        await bench.run_for(2)
        assert bench.offsets() == list(range(10))
        assert [entry.leader_epoch for entry in bench.broker.last(Api.OFFSET_FOR_LEADER_EPOCH).partitions] == [0]
        assert bench.broker.fetches(1)[-1].partitions[0].current_leader_epoch == 1

    on_pull_bench(body, topics={"t": 1}, renewing=renewing)


@pytest.mark.parametrize(("profile", "quick"), [("java-3.9", True), ("java-2.8", False)])
def test_a_refusal_that_names_the_leader_saves_waiting_for_metadata(on_pull_bench, profile, quick):
    """Since Java 3.7 the consumer uses the named leader at once (KIP-951); older ones wait for metadata."""

    async def body(bench):
        bench.broker.produce(T0, 5)
        await bench.stable()
        await bench.run_for(3)
        bench.broker.named_leaders[T0] = LeaderIs(0, 0)  # the brokers asked for metadata know nothing of it yet
        bench.broker.elect(T0, 1)
        bench.broker.produce(T0, 5)
        await bench.run_for(0.05)
        assert (len(bench.offsets()) == 10) == quick

    on_pull_bench(body, topics={"t": 1}, profile=profile)


def test_metadata_of_the_past_is_not_believed(on_pull_bench):
    """An answer with an older leader epoch than the known one changes nothing (KIP-320)."""

    async def body(bench):
        bench.broker.elect(T0, 1)
        await bench.stable()
        await bench.run_for(1)
        bench.broker.named_leaders[T0] = LeaderIs(0, 0)
        bench.consumer._member.metadata.refresh()
        await bench.run_for(1)
        bench.broker.produce(T0, 3)
        await bench.run_for(1)
        assert bench.offsets() == [0, 1, 2]
        assert not bench.broker.fetches(0)

    on_pull_bench(body, topics={"t": 1})


@both_ways
def test_a_dead_leader_is_left_for_the_next(on_pull_bench, renewing):
    """A connection that breaks under a waiting fetch is noticed at once; metadata then name the leader."""

    async def body(bench):
        bench.broker.produce(T0, 2)
        await bench.stable()
        await bench.run_for(2)
        bench.broker.kill(0)
        for link in bench.net.connections:
            if link.node == 0 and link.open:
                link.break_()
        bench.loop.call_at(bench.loop.now_us + 3 * SECOND, lambda _: bench.broker.elect(T0, 2))
        await bench.run_for(3)
        bench.broker.produce(T0, 2)
        await bench.run_for(3)
        assert bench.offsets() == [0, 1, 2, 3]

    on_pull_bench(body, topics={"t": 1}, renewing=renewing)


# --- positions that are void --------------------------------------------------------------------------------------


def test_an_offset_out_of_range_is_reset(on_pull_bench):
    """The log was deleted beyond the position: auto.offset.reset decides the new one."""

    async def body(bench):
        bench.broker.committed[T0] = 3
        bench.broker.logs[T0].start = 10
        bench.broker.produce(T0, 5)
        await bench.stable()
        await bench.run_for(1)
        assert bench.offsets() == list(range(10, 15))
        reasons = [(event.reason, event.payload["offset"]) for event in bench.emitted(Kind.POSITION_SET)]
        assert reasons == [("committed", 3), ("reset", 10)]
        assert any("out of range" in reason for reason in bench.reasons(Kind.WARNING))

    on_pull_bench(body, topics={"t": 1})


def test_an_offset_out_of_range_without_a_policy_is_thrown(on_pull_bench):
    """auto.offset.reset=none: poll throws OffsetOutOfRangeException."""

    async def body(bench):
        bench.broker.committed[T0] = 3
        bench.broker.logs[T0].start = 10
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "OffsetOutOfRangeException"

    on_pull_bench(body, topics={"t": 1}, properties={"auto.offset.reset": "none"})


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException"),
        (E.CORRUPT_MESSAGE, "KafkaException"),
        (E.INVALID_REQUEST, "IllegalStateException"),
    ],
)
def test_other_refusals_are_thrown(on_pull_bench, error, name):
    """Poll throws an error that the fetch cannot handle."""

    async def body(bench):
        bench.broker.reply(Api.FETCH, refused(error))
        bench.consumer.start()
        await bench.consumer.ended()
        assert bench.consumer.failed.error == name

    on_pull_bench(body, topics={"t": 1})


def lose_records(bench, partition, keep):
    """An unclean election: the new leader's log ends at `keep`, and other records follow."""
    bench.broker.logs[partition].cut(keep)
    bench.broker.elect(partition, 1)
    bench.broker.produce(partition, 1)


def test_a_truncated_log_sends_the_consumer_back_to_where_it_parted(on_pull_bench):
    """With a new leader whose log ends before the position, consumption continues where the logs diverge (KIP-320)."""

    async def body(bench):
        bench.broker.append(T0, counted(4), counted(6))
        await bench.stable()
        await bench.run_for(1)
        lose_records(bench, T0, keep=4)
        await bench.run_for(2)
        assert bench.offsets() == [*range(10), 4]
        assert bench.emitted(Kind.POSITION_SET)[-1].reason == "truncated"
        assert any("Truncation detected" in reason for reason in bench.reasons(Kind.WARNING))

    on_pull_bench(body, topics={"t": 1})


def test_truncation_without_a_policy_is_thrown(on_pull_bench):
    """auto.offset.reset=none: poll throws LogTruncationException."""

    async def body(bench):
        bench.broker.append(T0, counted(4), counted(6))
        bench.broker.committed[T0] = 0
        await bench.stable()
        await bench.run_for(1)
        lose_records(bench, T0, keep=4)
        await bench.consumer.ended()
        assert bench.consumer.failed.error == "LogTruncationException"

    on_pull_bench(body, topics={"t": 1}, properties={"auto.offset.reset": "none"})


def test_a_committed_offset_is_checked_with_its_epoch(on_pull_bench):
    """A commit has the leader epoch; a later process detects that the records before it are gone."""

    async def body(bench):
        bench.broker.append(T0, counted(4), counted(6))
        await bench.stable()
        await bench.run_for(6)
        assert bench.broker.committed_epochs[T0] == 0
        bench.consumer.crash()
        lose_records(bench, T0, keep=4)
        await bench.stable()
        await bench.run_for(1)
        assert bench.offsets()[10:] == [4]

    on_pull_bench(body, topics={"t": 1})


def test_old_clients_do_not_notice_truncation(on_pull_bench):
    """Without OffsetForLeaderEpoch a position beyond the new log's end is out of range, and reset by the policy."""

    async def body(bench):
        bench.broker.append(T0, counted(4), counted(6))
        await bench.stable()
        await bench.run_for(1)
        lose_records(bench, T0, keep=4)
        await bench.run_for(2)
        assert not bench.broker.all(Api.OFFSET_FOR_LEADER_EPOCH)
        assert bench.offsets() == [*range(10), *range(5)]

    on_pull_bench(body, topics={"t": 1}, profile="sarama", properties={"max.poll.records": 100})


# --- the closest replica ------------------------------------------------------------------------------------------


@both_ways
def test_a_consumer_reads_from_the_replica_it_is_sent_to(on_pull_bench, renewing):
    """The leader names a replica in the consumer's rack, and is asked again after metadata.max.age.ms (KIP-392)."""

    async def body(bench):
        bench.broker.prefers[T0] = 2
        bench.broker.produce(T0, 5)
        await bench.stable()
        await bench.run_for(5)
        assert bench.offsets() == list(range(5))
        assert len(bench.broker.fetches(0)) == 1
        assert bench.broker.fetches(2)
        await bench.run_for(10)
        assert len(bench.broker.fetches(0)) == 2

    properties = {"client.rack": "a", "metadata.max.age.ms": 10_000}
    on_pull_bench(body, topics={"t": 1}, properties=properties, renewing=renewing)


def test_a_follower_that_is_behind_sends_the_consumer_back_to_the_leader(on_pull_bench):
    """OFFSET_OUT_OF_RANGE from a follower clears the preference and moves no position."""

    async def body(bench):
        bench.broker.prefers[T0] = 2
        bench.broker.produce(T0, 5)
        sent = PartitionData(T0, preferred_read_replica=2)
        bench.broker.reply(Api.FETCH, FetchResponse(partitions=(sent,)), refused(E.OFFSET_OUT_OF_RANGE))
        await bench.stable()
        await bench.run_for(1)
        assert bench.offsets() == list(range(5))
        assert len(bench.emitted(Kind.POSITION_SET)) == 1
        assert len(bench.broker.fetches(0)) == 2

    on_pull_bench(body, topics={"t": 1}, properties={"client.rack": "a"})


# --- others ask, too ----------------------------------------------------------------------------------------------


@both_ways
def test_a_metadata_request_does_not_wait_long_behind_a_fetch(on_pull_bench, renewing):
    """Where every broker has a Fetch of this consumer, another request waits for one long poll at most."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(2)
        asked = bench.loop.now_us
        version = bench.consumer._member.metadata.version
        bench.consumer._member.metadata.refresh()
        await bench.loop.until(lambda: bench.consumer._member.metadata.version > version, 10 * SECOND)
        assert bench.loop.now_us - asked <= 500 * MS + 4 * LATENCY_US

    on_pull_bench(body, renewing=renewing)


def test_a_failure_that_is_shrugged_off_does_not_stop_the_others(on_pull_bench):
    """A partition whose fetch is thrown does not stop the others."""

    async def body(bench):
        bench.broker.reply(Api.FETCH, refused(E.CORRUPT_MESSAGE))
        for partition in parts(0, 1):
            bench.broker.produce(partition, 3)
        await bench.stable()
        await bench.run_for(5)
        assert (bench.offsets(0), bench.offsets(1)) == ([0, 1, 2], [0, 1, 2])

    behaviour = Behaviour(on_error=OnError.RETRY, processing=parse_distribution("1ms"))
    on_pull_bench(body, topics={"t": 2}, behaviour=behaviour)


def test_positions_and_membership_for_a_transactional_producer(on_pull_bench):
    """A transactional producer gets the consumer's membership, and positions with leader epochs."""

    async def body(bench):
        bench.broker.produce(T0, 3)
        await bench.stable()
        await bench.run_for(1)
        member = bench.consumer._member
        assert (member.group, *member.joined[:2], member.settings.group_instance_id) == ("g", 1, "m1", None)
        assert (member.fetcher.positions, member.fetcher.leader_epoch(T0)) == ({T0: 3}, 0)

    on_pull_bench(body, topics={"t": 1})
