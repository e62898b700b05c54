"""`groupsim serve --data-dir` with few descriptors, and with a log that cannot be opened."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from groupsim.control import Control, Served

PARTITIONS = 1_000


@contextmanager
def limited(ready: Path, descriptors: int, *options: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A server that may open so many files, and what its ready file says."""
    command = [sys.executable, "-m", "groupsim", "serve", "--port", "0", "--control-port", "0", *options]
    process = subprocess.Popen(
        [*command, "--ready-file", str(ready)],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors // 4, descriptors)),
    )
    try:
        until = time.monotonic() + 90
        while not ready.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        yield process, json.loads(ready.read_text("utf-8"))
    finally:
        process.terminate()
        process.wait(60)


def sent(bootstrap: str, topic: str, partitions: int) -> list[KafkaError | None]:
    """Send one record to each partition; how each ended."""
    ends: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap, "retries": 0, "message.timeout.ms": 30_000})
    for partition in range(partitions):
        producer.produce(topic, str(partition), partition=partition, on_delivery=lambda error, _: ends.append(error))
    assert not producer.flush(60)
    return ends


def test_a_thousand_partitions_work_under_a_limit_of_1024_files(tmp_path: Path) -> None:
    """The soft limit is raised to the hard one, and log files are closed and opened again as they are used."""
    options = ("--brokers", "1", "--topic", f"orders:{PARTITIONS}", "--data-dir", str(tmp_path / "data"))
    with limited(tmp_path / "ready.json", 1_024, *options) as (process, ready):
        limits = Path(f"/proc/{process.pid}/limits").read_text("utf-8")
        assert [line.split()[3] for line in limits.splitlines() if line.startswith("Max open files")] == ["1024"]
        assert sent(ready["bootstrap"], "orders", PARTITIONS) == [None] * PARTITIONS
        consumer = Consumer({"bootstrap.servers": ready["bootstrap"], "group.id": "g"})
        consumer.assign([TopicPartition("orders", partition, 0) for partition in range(PARTITIONS)])
        found: set[int] = set()
        until = time.monotonic() + 60
        while len(found) < PARTITIONS and time.monotonic() < until:
            found.update(message.partition() for message in consumer.consume(500, 1) if message.error() is None)
        consumer.close()
        assert len(found) == PARTITIONS
        opened = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        assert opened < 800
        assert Control.connect(ready["control"]).cluster()["bootstrap"] == ready["bootstrap"]


def test_a_log_that_cannot_be_opened_costs_its_partition_alone(tmp_path: Path) -> None:
    """Its records are refused with KAFKA_STORAGE_ERROR; other topics and the control port go on."""
    data = tmp_path / "data"
    options = ("--brokers", "1", "--data-dir", str(data), "--broker", "offsets.topic.num.partitions=1")
    with Served(*options, "--topic", "broken:1", "--topic", "orders:1") as first:
        assert sent(first.bootstrap, "broken", 1) == [None]
    log = data / "broker-0" / "broken-0" / "00000000000000000000.log"
    log.rename(log.with_suffix(".kept"))
    log.mkdir()
    with Served(*options) as second:
        (error,) = sent(second.bootstrap, "broken", 1)
        assert error is not None
        assert error.code() == KafkaError.KAFKA_STORAGE_ERROR
        assert sent(second.bootstrap, "orders", 1) == [None]
        assert second.control.cluster()["bootstrap"] == second.bootstrap
        assert "broken-0 has no storage: Is a directory" in second.log
