"""The client libraries as their lines show them, and what advice says in their words.

Names of settings are those of the profiles (`members/profiles`); segmentio/kafka-go has none, and its own are here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice

import attrs

from groupsim.members.profiles import PROFILES
from groupsim.protocol.values import frozen

_FIRST = 500
"""Number of lines in which a client's own are looked for."""
_SESSION, _POLL, _REBALANCE = "session.timeout.ms", "max.poll.interval.ms", "rebalance.timeout.ms"


@frozen
class Dialect:
    """A client library: how its lines are known, and the parts of advice that differ between libraries.

    `mark` is a regular expression; `slow` is the setting that ends a member whose records take too long, `late` the one
    that ends a member that does not join a rebalance, both by Kafka's names; `batch` is how less is done between two
    polls or heartbeats.
    """

    name: str
    mark: str
    slow: str
    late: str
    batch: str
    assignor: str = "partition.assignment.strategy"
    static: bool = True
    cooperative: bool = False
    own: Mapping[str, str] = attrs.field(factory=dict)

    def words(self) -> dict[str, str]:
        """Return the words for the names in braces that the table of signs has."""
        profile = PROFILES.get(self.name)
        own = {name.key: known for known, name in profile.setting_names.items()} if profile else self.own
        instance = own.get("group.instance.id", "group.instance.id")
        cheaper = [*(["cooperative-sticky"] if self.cooperative else []), *([f"a stable {instance}"] * self.static)]
        return {
            "session": own.get(_SESSION, _SESSION),
            "poll": own.get(self.slow, self.slow),
            "rebalance": own.get(self.late, self.late),
            "request": own.get("request.timeout.ms", "request.timeout.ms"),
            "instance": instance,
            "assignor": self.assignor,
            "batch": self.batch,
            "static": f"; a stable {instance} avoids the rebalance" if self.static else "",
            "cheaper": f" ({' or '.join(cheaper)} makes it cheaper)" if cheaper else "",
        }


JAVA = Dialect(
    "java",
    r"\[(?:Consumer|Worker|ShareConsumer) |o\.a\.k\.c|org\.apache\.kafka\.(?:clients|connect)",
    _POLL,
    _POLL,
    "lower max.poll.records",
    cooperative=True,
)
_DIALECTS = (
    JAVA,
    Dialect(
        "librdkafka",
        r"thrd:|rdkafka|librdkafka|%\d\|\d{10}",
        _POLL,
        _POLL,
        "hand records to a worker and go on polling",
        cooperative=True,
    ),
    Dialect(
        "aiokafka", r"aiokafka", _POLL, _REBALANCE, "lower max_poll_records", assignor="partition_assignment_strategy"
    ),
    Dialect(
        "kafka-python",
        r"kafka\.(?:coordinator|cluster|consumer|conn)\b(?!\.group|[\w.]*Coordinator)|BrokerConnection|Request_v\d|"
        r"Marking the coordinator dead \(node|TopicPartition\(topic=",
        _POLL,
        _POLL,
        "lower max_poll_records",
        assignor="partition_assignment_strategy",
    ),
    Dialect(
        "kafkajs",
        r"kafkajs|KafkaJS|\[(?:Connection|Runner|ConsumerGroup)\] ",
        _SESSION,
        _REBALANCE,
        "await heartbeat() between the records of eachBatch",
        assignor="partitionAssigners",
        static=False,
    ),
    Dialect(
        "franz-go",
        r"franz-go|\bkgo\b|heartbeat errored|group manage loop|join and sync loop|unable to join group session",
        _REBALANCE,
        _REBALANCE,
        "poll fewer records (PollRecords)",
        assignor="Balancers",
        cooperative=True,
    ),
    Dialect(
        "sarama",
        r"(?i)sarama|kafka server: |kafka: error while consuming|consumergroup/",
        _REBALANCE,
        _REBALANCE,
        "return from ConsumeClaim when session.Context() is done",
        assignor="Consumer.Group.Rebalance.GroupStrategies",
    ),
    Dialect(
        "brod",
        r"Group member \(|brod",
        _REBALANCE,
        _REBALANCE,
        "handle records in another process",
        assignor="partition_assignment_strategy",
    ),
    Dialect(
        "ruby-kafka",
        r"Kafka::\w|ruby-kafka|racecar",
        _SESSION,
        _REBALANCE,
        "call trigger_heartbeat between records",
        assignor="assignment_strategy",
        static=False,
    ),
    Dialect(
        "kafka-go",
        r"segmentio/kafka-go|entering loop for consumer group|joinGroup succeeded|Failed to join group ",
        _REBALANCE,
        _REBALANCE,
        "handle records in another goroutine",
        assignor="GroupBalancers",
        static=False,
        own={_SESSION: "SessionTimeout", _REBALANCE: "RebalanceTimeout", "request.timeout.ms": "RebalanceTimeout"},
    ),
)


_MARKS = tuple((one, re.compile(one.mark)) for one in _DIALECTS)


def dialect_of(texts: Iterable[str]) -> Dialect | None:
    """Return the library that wrote the first of these lines that a client wrote; None where only brokers wrote."""
    for text in islice(texts, _FIRST):
        found = next((one for one, mark in _MARKS if mark.search(text)), None)
        if found:
            return found
    return None
