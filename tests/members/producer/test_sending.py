"""A producer without failures."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.members.producer.load import Arriving, Keys, Load, Sizes
from groupsim.members.producer.partitioners import partition_for_key
from groupsim.members.producer.sizes import batch_bytes
from groupsim.members.producer.traffic import Traffic, as_rate
from groupsim.protocol.batch.batch import EPOCH_MS
from tests.helpers.producer_fakes import SECOND, ProducerBench, steady


async def five_seconds(bench: ProducerBench) -> None:
    """Produce for five seconds and close."""
    bench.producer.start()
    await bench.run_for(5)
    await bench.producer.close()


def test_a_steady_load_is_delivered_whole(on_producer: Any) -> None:
    """Every record of a steady load is acknowledged once, and none fails."""
    bench = on_producer(five_seconds, loads=[steady(100, weights=(1, 1, 1, 1))])
    assert bench.broker.records() == bench.counted(Kind.RECORDS_ACKNOWLEDGED) == 500
    assert bench.emitted(Kind.PRODUCE_FAILED) == []
    assert bench.producer.state == "STOPPED"


def test_records_come_at_the_instants_of_traffic(on_producer: Any) -> None:
    """The timestamps of a steady load are the instants of traffic's arithmetic."""
    bench = on_producer(five_seconds, loads=[steady(7, weights=(2, 1, 1, 3))], properties={"linger.ms": 0})
    traffic = Traffic((2, 1, 1, 3), as_rate(7), 0)
    for partition, log in bench.broker.logs.items():
        expected = [traffic.due_us(partition.partition, number) for number in range(len(log))]
        assert [batch.timestamp_ms - EPOCH_MS for batch in log] == [at // 1_000 for at in expected if at is not None]


def test_linger_gathers_what_comes_within_it(on_producer: Any) -> None:
    """A batch lingers for linger.ms, and all partitions of its broker are sent with it."""
    slow = on_producer(five_seconds, loads=[steady(200, weights=(1, 1, 1, 1))], properties={"linger.ms": 100})
    fast = on_producer(five_seconds, loads=[steady(200, weights=(1, 1, 1, 1))], properties={"linger.ms": 0})
    assert slow.broker.records() == fast.broker.records()
    assert len(slow.requests()) < len(fast.requests()) / 4
    sizes = [batch.count for _, batch in slow.batches()]
    assert max(sizes) >= 5


def test_a_full_batch_does_not_wait_for_its_linger(on_producer: Any) -> None:
    """A batch is sent when its last record fills it."""
    properties = {"linger.ms": 10_000, "batch.size": 1_000, "delivery.timeout.ms": 120_000}
    bench = on_producer(five_seconds, loads=[steady(40, weights=(1,))], properties=properties, topics={"t": 1})
    full = {batch.count for _, batch in bench.batches()[:-1]}
    fits = full.pop()
    assert not full
    assert batch_bytes(fits, -1, 100) <= 1_000 < batch_bytes(fits + 1, -1, 100)
    at_us, _, _ = bench.broker.produced[0]
    assert at_us == fits * 25_000 + 500 + 0  # the last record's instant and half a millisecond on the wire


def test_sizes_are_those_of_the_format(on_producer: Any) -> None:
    """A counted batch has the size that its records would have."""
    bench = on_producer(five_seconds, loads=[steady(100, weights=(1, 1, 1, 1), sizes=Sizes(250, 250))])
    assert all(batch.size == batch_bytes(batch.count, -1, 250) for _, batch in bench.batches())


def test_sequences_follow_each_other(on_producer: Any) -> None:
    """An idempotent producer numbers the records of each partition without gaps."""
    bench = on_producer(five_seconds, loads=[steady(300, weights=(1, 2, 3, 4))])
    for log in bench.broker.logs.values():
        assert [batch.base_sequence for batch in log] == [batch.base_offset for batch in log]
        assert {(batch.producer_id, batch.producer_epoch) for batch in log} == {(4_000, 0)}


def test_without_idempotence_there_is_no_id(on_producer: Any) -> None:
    """acks=1 switches idempotence off: neither producer id nor sequence."""
    bench = on_producer(five_seconds, loads=[steady(50)], properties={"acks": "1"})
    assert {(batch.producer_id, batch.base_sequence) for _, batch in bench.batches()} == {(-1, -1)}
    assert {request.acks for request in bench.requests()} == {1}
    assert bench.broker.records() == 250


def test_the_sticky_partition_changes_with_batch_size(on_producer: Any) -> None:
    """Records without keys go to one partition until batch.size bytes have gone there, then another is drawn."""
    bench = on_producer(five_seconds, loads=[steady(1_000)], properties={"batch.size": 2_000})
    assert len(bench.broker.logs) == 4
    runs, before, so_far = [], None, 0
    for partition, batch in bench.batches():
        if partition != before:
            runs.append(so_far)
            before, so_far = partition, 0
        so_far += batch.size
    assert sum(runs) / len(runs) > 1_800
    assert bench.broker.records() == 5_000


def test_keyed_records_go_by_murmur2(on_producer: Any) -> None:
    """Each key's records are in the partition of its hash; the hot key has its share."""
    load = steady(200, keys=Keys(50, "1", hot_ppm=300_000), content=True)
    bench = on_producer(five_seconds, loads=[load])
    seen: dict[bytes, int] = {}
    for partition, batch in bench.batches():
        for record in batch.records or ():
            assert record.key is not None
            assert partition_for_key(record.key, 4) == partition.partition
            seen[record.key] = seen.get(record.key, 0) + 1
    assert sum(seen.values()) == 1_000
    assert 350 < seen[b"key-0"] < 600
    assert seen[b"key-1"] > seen[b"key-20"]


def test_round_robin_takes_partitions_in_turn(on_producer: Any) -> None:
    """RoundRobinPartitioner distributes records evenly."""
    bench = on_producer(five_seconds, loads=[steady(100)], properties={"partitioner.class": "roundrobin"})
    counts = [sum(batch.count for batch in log) for log in bench.broker.logs.values()]
    assert max(counts) - min(counts) <= 1


def test_poisson_records_do_not_depend_on_the_settings(on_producer: Any) -> None:
    """Two runs that differ in one setting have the same records at the same instants."""
    load = Load("t", as_rate(80), Arriving.POISSON, Sizes(10, 900), Keys(9), content=True)

    def instants(properties: dict[str, object], seed: int = 3) -> list[tuple[int, bytes | None, int]]:
        bench = on_producer(five_seconds, loads=[load], properties=properties, seed=seed)
        found = []
        for log in bench.broker.logs.values():
            for batch in log:
                for record in batch.records or ():
                    at = batch.timestamp_ms + record.timestamp_delta
                    found.append((at, record.key, len(record.value or b"")))
        return sorted(found, key=str)

    one = instants({"linger.ms": 0})
    assert one == instants({"linger.ms": 300})
    assert one != instants({"linger.ms": 0}, seed=4)
    assert 320 < len(one) < 480


def test_steps_and_bursts_change_the_rate(on_producer: Any) -> None:
    """A step changes the rate at its instant, a burst adds records at once."""
    load = steady(10, weights=(1, 1, 1, 1), steps=((SECOND, as_rate(100)), (2 * SECOND, 0)), bursts=((3 * SECOND, 40),))
    bench = on_producer(five_seconds, loads=[load])
    assert bench.broker.records() == 10 + 100 + 40
    late = [batch.count for at, _, request in bench.broker.produced if at > 3 * SECOND for _, batch in request.batches]
    assert sum(late) == 40


@pytest.mark.parametrize("weights", [None, (1, 1, 1, 1)])
def test_the_same_seed_gives_the_same_trace(on_producer: Any, weights: Any) -> None:
    """Two runs of one seed emit the same events."""
    runs = [on_producer(five_seconds, loads=[steady(123.4, weights=weights)], seed=7) for _ in range(2)]
    assert runs[0].events == runs[1].events
    assert len(runs[0].events) > 100


def test_acks_0_waits_for_nothing(on_producer: Any) -> None:
    """With acks=0 records count as sent at once, with an unknown offset."""
    bench = on_producer(five_seconds, loads=[steady(50)], properties={"acks": "0"})
    acknowledged = bench.emitted(Kind.RECORDS_ACKNOWLEDGED)
    assert sum(event.payload["count"] for event in acknowledged) == 250
    assert {event.payload["base"] for event in acknowledged} == {-1}


def test_a_process_that_stands_still_catches_up(on_producer: Any) -> None:
    """A paused producer sends the records of the pause afterwards."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(2)
        bench.producer.pause(2 * SECOND)
        before = bench.broker.records()
        await bench.run_for(1.9)
        assert bench.broker.records() == before
        await bench.run_for(1.1)

    bench = on_producer(body, loads=[steady(100, weights=(1, 1, 1, 1))])
    assert bench.broker.records() >= 498


def test_a_restart_after_a_crash_starts_the_load_again(on_producer: Any) -> None:
    """After a crash no record follows; the next process requests metadata, and its load starts again."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(1.001)
        bench.producer.crash()
        await bench.run_for(0.1)
        at_crash = bench.broker.records()
        await bench.run_for(1)
        assert bench.broker.records() == at_crash
        bench.producer.start()
        await bench.run_for(1)
        assert at_crash + 90 < bench.broker.records() < at_crash + 101

    on_producer(body, loads=[steady(100)])


def test_new_partitions_get_their_share(on_producer: Any) -> None:
    """Added partitions get records once metadata have them."""

    async def body(bench: ProducerBench) -> None:
        bench.producer.start()
        await bench.run_for(1)
        bench.broker.topics["t"] = 6
        await bench.run_for(5)
        assert {partition.partition for partition in bench.broker.logs} == set(range(6))

    on_producer(body, loads=[steady(100, weights=(1, 1, 1, 1))], properties={"metadata.max.age.ms": 1_000})
