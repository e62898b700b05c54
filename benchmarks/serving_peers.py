"""The three servers that `benchmarks.serving` compares, each in its own process, with topics of four partitions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOOLS = Path(__file__).parents[1] / "tools"
MOCK_DELAY_MS = 3_000
"""librdkafka's mock waits so long before a group's first generation, and nothing outside C can change it."""
PARTITIONS = 4
"""Of every topic: so many the mock makes when a topic is asked for."""
MOCK, KAFKA, OURS = "rdkafka mock", "Kafka 4.4.0", "groupsim"
START_SECONDS = 60
NOTHING_MORE: Mapping[str, int] = {}


@frozen
class Peer:
    """A running server: its name, where it is, how long it holds a new group's first generation back, its process.

    `pid` is that of a server that is one process; 0 for Kafka.
    """

    name: str
    bootstrap: str
    delay_ms: int
    pid: int = 0


@contextmanager
def started(
    name: str, delay_ms: int, topics: Sequence[str], brokers: int = 1, more: Mapping[str, int] = NOTHING_MORE
) -> Iterator[Peer]:
    """A server while the block lasts; `more` are settings of its brokers, of which the mock takes none.

    Raises RuntimeError when it does not start, `kafka_jars.Unavailable`.
    """
    if name == MOCK:
        with _mock(topics) as bootstrap:
            yield Peer(name, bootstrap, MOCK_DELAY_MS)
        return
    settings = {"group.initial.rebalance.delay.ms": delay_ms, "group.min.session.timeout.ms": 1_000}
    settings |= {"offsets.topic.replication.factor": brokers, **more}
    with (_kafka if name == KAFKA else _ours)(settings, brokers) as (bootstrap, pid):
        create(bootstrap, topics)
        yield Peer(name, bootstrap, delay_ms, pid)


@contextmanager
def _kafka(settings: dict[str, int], brokers: int) -> Iterator[tuple[str, int]]:
    sys.path.insert(0, str(TOOLS))
    from kafka_broker import KafkaBroker

    os.environ["_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=4 -Xmx1g"  # as fast as it runs in production, not as a test's
    with KafkaBroker(brokers, settings) as broker:
        yield broker.bootstrap, 0


@contextmanager
def _ours(settings: dict[str, int], brokers: int) -> Iterator[tuple[str, int]]:
    with tempfile.TemporaryDirectory(prefix="groupsim-bench-") as folder:
        ready = Path(folder, "ready.json")
        command = [sys.executable, "-m", "groupsim", "serve", "--port", "0", "--control-port", "0"]
        command += ["--brokers", str(brokers), "--ready-file", str(ready)]
        for key, value in settings.items():
            command += ["--broker", f"{key}={value}"]
        with _running(command, Path(folder)) as process:
            _await(process, ready)
            yield json.loads(ready.read_text("utf-8"))["bootstrap"], process.pid


@contextmanager
def _mock(topics: Sequence[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="groupsim-bench-") as folder:
        ready = Path(folder, "ready.json")
        with _running([sys.executable, "-m", __name__, str(ready), *topics], Path(folder)) as process:
            _await(process, ready)
            yield json.loads(ready.read_text("utf-8"))["bootstrap"]


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "printed").open("wb") as printed:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=printed, stderr=printed)
        try:
            yield process
        except RuntimeError as error:
            raise RuntimeError(f"{error}:\n{(folder / 'printed').read_text('utf-8', 'replace')[-3000:]}") from None
        finally:
            process.kill()
            process.communicate()


def _await(process: subprocess.Popen[bytes], ready: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not ready.exists():
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        if time.monotonic() > end:
            raise RuntimeError(f"{process.args!r} was not ready within {START_SECONDS} s")
        time.sleep(0.02)


def create(bootstrap: str, topics: Sequence[str], replication: int = 1) -> None:
    """Make topics of four partitions. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, replication) for topic in topics]).values():
        future.result(START_SECONDS)


def _serve_mock(ready: Path, topics: Sequence[str]) -> None:
    """A mock cluster until the input ends: it lives in the first client that asks for one; others are led to it."""
    client = Producer({"bootstrap.servers": "unused:1", "test.mock.num.brokers": 1, "log_level": 0})
    for topic in topics:
        client.list_topics(topic, timeout=START_SECONDS)  # to ask for a topic makes it
    (broker,) = client.list_topics(timeout=START_SECONDS).brokers.values()
    draft = ready.with_suffix(".draft")
    draft.write_text(json.dumps({"bootstrap": f"{broker.host}:{broker.port}"}), "utf-8")
    draft.rename(ready)
    sys.stdin.read()


if __name__ == "__main__":
    _serve_mock(Path(sys.argv[1]), sys.argv[2:])
