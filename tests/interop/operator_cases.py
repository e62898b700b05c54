"""What an operator does with Kafka's own command-line tools: leaders, replicas, records, disks, producers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.interop.bench import Bench, records, until
from tests.interop.cases import Case
from tests.interop.tools import tool

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def _file(bench: Bench, name: str, **said: Any) -> str:
    """A file of JSON, as these tools want it."""
    path = Path(bench.folder) / f"{name}.json"
    path.write_text(json.dumps({"version": 1, **said}), encoding="utf-8")
    return str(path)


def _made(bench: Bench, replicas: str) -> str:
    """A topic of one partition on these brokers."""
    topic = f"topic-{bench.group}"
    tool(bench, "kafka-topics", "--create", "--topic", topic, "--replica-assignment", replicas)
    return topic


def _nodes(bench: Bench) -> list[int]:
    """The ids of the brokers."""
    printed = tool(bench, "kafka-broker-api-versions")
    return sorted(int(line.split("id: ")[1].split()[0]) for line in printed.splitlines() if "id: " in line)


def moves_replicas(bench: Bench) -> None:
    """kafka-reassign-partitions moves a partition and says that it is done; kafka-leader-election gives the leader."""
    one, two, three = _nodes(bench)[:3]
    topic = _made(bench, f"{one}:{two}")
    bench.producer().send(topic, records(20))
    plan = _file(bench, "move", partitions=[{"topic": topic, "partition": 0, "replicas": [three, one]}])
    begun = tool(bench, "kafka-reassign-partitions", "--reassignment-json-file", plan, "--execute")
    assert f"Successfully started partition reassignment for {topic}-0" in begun
    asked = ("--reassignment-json-file", plan, "--verify")
    done = f"Reassignment of partition {topic}-0 is completed."
    until(lambda: done in tool(bench, "kafka-reassign-partitions", *asked), "the replicas have moved")
    assert "No partition reassignments found." in tool(bench, "kafka-reassign-partitions", "--list")
    election = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    elected = tool(bench, "kafka-leader-election", *election)
    assert f"{topic}-0" in elected
    led = f"Leader: {three}\tReplicas: {three},{one}"
    until(lambda: led in tool(bench, "kafka-topics", "--describe", "--topic", topic), "the preferred replica leads")
    again = tool(bench, "kafka-leader-election", *election)
    assert "Valid replica already elected for partitions" in again


def deletes_records(bench: Bench) -> None:
    """kafka-delete-records lets a log begin later; kafka-get-offsets shows it, kafka-log-dirs how much lies where."""
    one, two, _ = _nodes(bench)[:3]
    topic = _made(bench, f"{one}:{two}")
    bench.producer().send(topic, records(20))
    dirs = tool(bench, "kafka-log-dirs", "--describe", "--topic-list", topic)
    told = json.loads(next(line for line in dirs.splitlines() if line.startswith("{")))
    sizes = {
        broker["broker"]: part["size"]
        for broker in told["brokers"]
        for found in broker["logDirs"]
        for part in found["partitions"]
    }
    assert sizes.keys() == {one, two}
    assert sizes[one] > 500
    plan = _file(bench, "delete", partitions=[{"topic": topic, "partition": 0, "offset": 7}])
    assert f"partition: {topic}-0\tlow_watermark: 7" in tool(bench, "kafka-delete-records", "--offset-json-file", plan)
    assert f"{topic}:0:7" in tool(bench, "kafka-get-offsets", "--topic", topic, "--time", "earliest")
    plan = _file(bench, "far", partitions=[{"topic": topic, "partition": 0, "offset": 99}])
    assert "OffsetOutOfRange" in tool(bench, "kafka-delete-records", "--offset-json-file", plan)


def looks_at_producers(bench: Bench) -> None:
    """kafka-transactions tells the producers of a partition, and of an id that nobody knows that it is not there."""
    (one,) = _nodes(bench)[:1]
    topic = _made(bench, str(one))
    tool(bench, "kafka-console-producer", "--topic", topic, told="a\nb\n")
    asked = ("describe-producers", "--topic", topic, "--partition", "0")
    head, row = tool(bench, "kafka-transactions", *asked).splitlines()[:2]
    assert dict(zip(head.split(), row.split(), strict=False))["ProducerEpoch"] == "0"
    assert "TransactionalId" in tool(bench, "kafka-transactions", "list")
    none = tool(bench, "kafka-transactions", "describe", "--transactional-id", bench.group, fails=True)
    assert "could not be found" in none


def codecs(bench: Bench) -> None:
    """kafka-console-producer writes with every codec, and kafka-console-consumer reads it all."""
    topic = bench.topic(1)
    for codec in CODECS:
        tool(
            bench,
            "kafka-console-producer",
            "--topic",
            topic,
            "--compression-codec",
            codec,
            told=f"{codec} {'x' * 99}\n",
        )
    asked = ("--topic", topic, "--from-beginning", "--timeout-ms", "60000", "--max-messages", str(len(CODECS)))
    printed = tool(bench, "kafka-console-consumer", *asked)
    assert [line.split()[0] for line in printed.splitlines() if "xxx" in line] == list(CODECS)


OPERATOR_CASES = (
    Case("reassign", "kafka-reassign-partitions, kafka-leader-election", moves_replicas),
    Case("delete-records", "kafka-delete-records, kafka-log-dirs", deletes_records),
    Case("producers", "kafka-transactions", looks_at_producers),
    Case("codecs", "kafka-console-producer with every codec", codecs),
)
