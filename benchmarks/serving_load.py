"""What a served cluster of three brokers bears, and what it costs when nobody wants anything.

    python -m benchmarks.serving_load [--records 200000] [--consumers 20] [--seconds 10] [--memory 1000000] [--json]

Records per second: confluent-kafka's producer (100-byte records, its default batching, acks=all) and then its consumer,
on topics of replication 1 and 3, on ours and on Kafka, interleaved; the best of three.

The quiet server: CPU time as a share of one core with no client and with idle consumers (their heartbeats and long
polls, a partition for each), after the offsets topic of 50 partitions was made (ours alone; the aim is less than 3 %);
milliseconds that a single heartbeat takes while they are there; and the bytes of memory that a produced record of 100
bytes costs, replication 1, memory stores (ours alone).

CPU and memory are read in /proc, so those rows need Linux; Kafka's need Java and its jars (`tools/kafka_jars.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from benchmarks import serving_raw
from benchmarks.common import table
from benchmarks.serving_peers import KAFKA, OURS, PARTITIONS, Peer, create, started

BROKERS = 3
TOPICS = tuple(f"idle{number}" for number in range(5))
RECORD = bytes(range(100))
REPEATS = 3
_SECONDS = 120
_SETTLE_SECONDS = 8  # those who come late make the others join again, at their next heartbeat: three seconds

Row = dict[str, Any]


def run(
    records: int = 200_000,
    consumers: int = 20,
    seconds: float = 10,
    memory: int = 1_000_000,
    names: Sequence[str] = (OURS, KAFKA),
) -> list[Row]:
    """Measure; a row for each server and measure. The first of `names` has to be ours.

    Raises as `serving_peers.started`, RuntimeError, TimeoutError.
    """
    rows: list[Row] = []
    with ExitStack() as stack:
        peers = []
        for name in names:  # ours is asked before the next one takes the machine's time
            peers.append(stack.enter_context(started(name, 0, TOPICS, BROKERS)))
            rows += _quiet(peers[-1], consumers, seconds)
        rows += [row for replication in (1, BROKERS) for row in _throughput(peers, records, replication)]
        return rows + _memory(peers[0], memory)


# --- Records per second ----------------------------------------------------------------------------------------


def _throughput(peers: Sequence[Peer], records: int, replication: int) -> list[Row]:
    found: dict[tuple[str, str], list[float]] = {}
    for number in range(REPEATS):
        for peer in peers:
            topic = f"load-{replication}-{number}"
            create(peer.bootstrap, (topic,), replication)
            found.setdefault(("produced", peer.name), []).append(records / produce(peer.bootstrap, topic, records))
            found.setdefault(("consumed", peer.name), []).append(records / consume(peer.bootstrap, topic, records))
    return [
        {"server": name, "measure": f"records {what}, replication {replication}", "value": max(all_), "all": all_}
        for (what, name), all_ in found.items()
    ]


def produce(bootstrap: str, topic: str, records: int) -> float:
    """Seconds to produce so many records, all acknowledged. Raises RuntimeError when one was not."""
    wrong: list[object] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            wrong.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    producer.list_topics(topic, timeout=_SECONDS)
    began = time.perf_counter()
    for number in range(records):
        while True:
            try:
                producer.produce(topic, RECORD, partition=number % PARTITIONS, on_delivery=delivered)
                break
            except BufferError:  # the producer's own queue is full
                producer.poll(0.01)
    left = producer.flush(_SECONDS)
    took = time.perf_counter() - began
    if left or wrong:
        raise RuntimeError(f"{left + len(wrong)} of {records} records were not taken: {wrong[:1]}")
    return took


def consume(bootstrap: str, topic: str, records: int) -> float:
    """Seconds until so many records of a topic were read, from its beginning. Raises RuntimeError, TimeoutError."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    try:
        consumer.list_topics(topic, timeout=_SECONDS)
        began = time.perf_counter()
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        found = 0
        while found < records:
            for message in consumer.consume(10_000, 1):
                if message.error() is not None:
                    raise RuntimeError(f"a consumer was told {message.error()}")
                found += 1
            if time.perf_counter() - began > _SECONDS:
                raise TimeoutError(f"{found} of {records} records after {_SECONDS} s")
        return time.perf_counter() - began
    finally:
        consumer.close()


# --- A quiet server --------------------------------------------------------------------------------------------


def _quiet(peer: Peer, consumers: int, seconds: float) -> list[Row]:
    serving_raw.heartbeats(peer.bootstrap, 0.1)  # the first group makes the offsets topic
    rows = [_row(peer, "idle, no client: % of a core", cpu_percent(peer.pid, seconds))] if peer.pid else []
    with idle_consumers(peer.bootstrap, consumers):
        if peer.pid:
            share = cpu_percent(peer.pid, seconds)
            rows.append(_row(peer, f"idle, {consumers} consumers: % of a core", share))
        cuts = quantiles(serving_raw.heartbeat_times(peer.bootstrap, round(100 * seconds), 0.005), n=100)
    rows.append(_row(peer, f"a heartbeat beside {consumers} consumers, p50: ms", 1_000 * cuts[49]))
    rows.append(_row(peer, f"a heartbeat beside {consumers} consumers, p99: ms", 1_000 * cuts[98]))
    return rows


@contextmanager
def idle_consumers(bootstrap: str, count: int) -> Iterator[None]:
    """So many consumers of one group, on the topics without records, with default intervals; they have joined."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "idle",
        "partition.assignment.strategy": "roundrobin",  # to each a partition of the twenty there are
        "log_level": 0,
    }
    consumers = [Consumer(settings) for _ in range(count)]
    try:
        for consumer in consumers:
            consumer.subscribe(list(TOPICS))
        until = time.monotonic() + _SETTLE_SECONDS
        while time.monotonic() < until or sum(bool(one.assignment()) for one in consumers) < count:
            if time.monotonic() > until + _SECONDS:
                raise TimeoutError(f"{count} consumers did not join")
            for consumer in consumers:
                consumer.poll(0.01)
        yield
    finally:
        for consumer in consumers:
            consumer.close()


def cpu_percent(pid: int, seconds: float) -> float:
    """The CPU time of a process in the next seconds, as a share of one core. Raises OSError without /proc."""
    before = _cpu_seconds(pid)
    time.sleep(seconds)
    return 100 * (_cpu_seconds(pid) - before) / seconds


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(peer: Peer, records: int) -> list[Row]:
    create(peer.bootstrap, ("memory",))
    before = _resident(peer.pid)
    produce(peer.bootstrap, "memory", records)
    each = (_resident(peer.pid) - before) / records
    return [_row(peer, f"memory per record of 100 bytes, after {records:,}: bytes", each)]


def _resident(pid: int) -> int:
    """Bytes of memory that a process has. Raises OSError without /proc."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


# --- The table -------------------------------------------------------------------------------------------------


def _row(peer: Peer, measure: str, value: float) -> Row:
    return {"server": peer.name, "measure": measure, "value": value, "all": [value]}


def shown(rows: Sequence[Row]) -> None:
    """Print the rows, each beside Kafka's where there is one."""
    kafka = {row["measure"]: row["value"] for row in rows if row["server"] == KAFKA}
    table(
        "Three brokers: records per second, and the price of quiet",
        ("measure", "server", "value", "/ Kafka"),
        [
            (
                row["measure"],
                row["server"],
                f"{row['value']:,.0f}" if row["value"] >= 100 else f"{row['value']:.2f}",
                f"{row['value'] / kafka[row['measure']]:.2f}" if row["measure"] in kafka else "",
            )
            for row in rows
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=200_000, help="of each run of producer and consumer")
    parser.add_argument("--consumers", type=int, default=20, help="idle ones")
    parser.add_argument(
        "--seconds", type=float, default=10, help="over which CPU time is measured; a hundred heartbeats for each"
    )
    parser.add_argument("--memory", type=int, default=1_000_000, help="records, for the bytes that each costs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = run(options.records, options.consumers, options.seconds, options.memory)
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        shown(rows)


if __name__ == "__main__":
    main()
