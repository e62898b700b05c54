"""Kafka's command-line tools as a case uses them: a class of the release's jars, run to its end."""

from __future__ import annotations

import subprocess

import kafka_jars

from tests.interop.bench import Bench

# What the tools need besides what `DumpLogSegments` does.
_MORE = (
    "com.fasterxml.jackson.dataformat:jackson-dataformat-csv:2.21.7",
    "com.google.re2j:re2j:1.8",
    "net.sourceforge.argparse4j:argparse4j:0.7.0",
    f"org.apache.kafka:kafka-server:{kafka_jars.TOOLS_VERSION}",
    "org.slf4j:slf4j-nop:1.7.36",
)
CLASSES = {
    "kafka-topics": "TopicCommand",
    "kafka-console-producer": "ConsoleProducer",
    "kafka-console-consumer": "consumer.ConsoleConsumer",
    "kafka-consumer-groups": "consumer.group.ConsumerGroupCommand",
    "kafka-groups": "GroupsCommand",
    "kafka-get-offsets": "GetOffsetShell",
    "kafka-broker-api-versions": "BrokerApiVersionsCommand",
    "kafka-cluster": "ClusterTool",
    "kafka-acls": "AclCommand",
    "kafka-reassign-partitions": "reassign.ReassignPartitionsCommand",
    "kafka-leader-election": "LeaderElectionCommand",
    "kafka-delete-records": "DeleteRecordsCommand",
    "kafka-log-dirs": "LogDirsCommand",
    "kafka-transactions": "TransactionsCommand",
}
SECONDS = 240


def command(name: str) -> list[str]:
    """How a tool is started. Raises `kafka_jars.Unavailable`."""
    path = kafka_jars.class_path((*kafka_jars.TOOLS, *_MORE))
    start = [kafka_jars.java(), "-Xmx128m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path]
    return [*start, f"org.apache.kafka.tools.{CLASSES[name]}"]


def tool(bench: Bench, name: str, *arguments: str, told: str = "", fails: bool = False) -> str:
    """What a tool printed, errors included. Raises AssertionError when it ends otherwise than it should."""
    line = [*command(name), *_placed(name, bench.peer.bootstrap, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, input=told, check=False)
    printed = done.stdout + done.stderr
    if bool(done.returncode) != fails:
        said = " ".join(arguments)
        raise AssertionError(f"{name} {said} ended with {done.returncode}: {printed}\n{bench.peer.told()}")
    return printed


def _placed(name: str, bootstrap: str, arguments: tuple[str, ...]) -> list[str]:
    where = ["--bootstrap-server", bootstrap]
    return [*arguments, *where] if name == "kafka-cluster" else [*where, *arguments]


def table(printed: str) -> list[dict[str, str]]:
    """The rows of a printed table, by the names in its head; cells have no blanks in them."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    heads = [number for number, cells in enumerate(lines) if "GROUP" in cells[:1]]
    if not heads:
        return []
    names = lines[heads[0]]
    return [dict(zip(names, cells, strict=False)) for cells in lines[heads[0] + 1 :] if len(cells) >= 2]
