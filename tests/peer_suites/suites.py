"""The peer suites, as data: which release, where its sources come from, what is run and in front of which cluster."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

HERE = Path(__file__).parent
NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@frozen
class Suite:
    """One suite. `tests` are patterns of the suite's own runner, `source` a module, package or sdist of a registry."""

    name: str
    release: str
    source: str
    tests: tuple[str, ...]
    brokers: int = 3
    properties: Mapping[str, object] = NO_DELAY
    port: int = 0
    """Of the first broker; 0 means any. sarama's tests know their brokers' ports."""


FRANZ_GO = Suite(
    "franz-go",
    "1.22.2",
    "github.com/twmb/franz-go@v1.22.2",
    (
        *("TestGroupETL", "TestTxnEtl", "TestGroupSimple", "TestConsumeRegex", "TestUnknownGroupOffsetFetchPinned"),
        *("TestPing", "TestIssue434", "TestIssue523", "TestIssue648", "TestIssue810", "TestIssue865"),
        *("TestAddRemovePartitions", "TestPauseIssue489"),
    ),
)
SARAMA = Suite(
    "sarama",
    "1.61.1",
    "github.com/IBM/sarama@v1.61.1",
    (
        *("TestFuncConsumerGroup.*", "TestConsumerGroupDeadlock", "TestFuncJoinGroupVersionSelection"),
        *("TestFuncOffsetManager", "TestFuncClientCoordinator", "TestFuncInitProducerId3", "TestFuncTxn.*"),
        *("TestFuncAdmin.*", "TestFuncDescribe.*", "TestFuncListTransactions"),
    ),
    brokers=5,
    properties={**NO_DELAY, "auto.create.topics.enable": "false", "default.replication.factor": 2},
    port=29091,
)
KAFKA_PYTHON = Suite(
    "kafka-python",
    "3.0.12",
    "kafka-python==3.0.12",
    tuple(f"test/integration/test_{what}_integration.py" for what in ("consumer", "admin", "producer")),
    brokers=1,
    properties={
        **NO_DELAY,
        "num.partitions": 4,
        "group.min.session.timeout.ms": 1_000,  # its tests have sessions of 3 s
        **AUTHORIZER,
    },
)
LIBRDKAFKA = Suite(
    "librdkafka",
    "2.15.1",
    "@confluentinc/kafka-javascript@1.10.1",
    (
        *("0018", "0019", "0029", "0030", "0033", "0045", "0050", "0051", "0056", "0081", "0089", "0098", "0099"),
        *("0102", "0103", "0112", "0113", "0118", "0130", "0140"),
    ),
    properties={"num.partitions": 4, **AUTHORIZER},
)
KAFKAJS = Suite("kafkajs", "2.2.4", "kafkajs@2.2.4", ("kafkajs_groups.js",))

SUITES = {suite.name: suite for suite in (FRANZ_GO, SARAMA, KAFKA_PYTHON, LIBRDKAFKA, KAFKAJS)}


@frozen
class Skip:
    """A test that is not run, or not counted, and why."""

    suite: str
    test: str
    reason: str


def skips() -> list[Skip]:
    """The rows of skips.csv."""
    with (HERE / "skips.csv").open(newline="") as file:
        return [Skip(row["suite"], row["test"], row["reason"]) for row in csv.DictReader(file)]
