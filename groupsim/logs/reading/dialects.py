"""The client libraries as their lines show them, and their names of the settings that advice names.

Sources: documentation and source of the libraries, of the releases that `members/profiles` models; ruby-kafka 1.5 and
segmentio/kafka-go 0.4 for theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from groupsim.protocol.values import frozen

_FIRST = 500
"""Number of lines in which a client's own are looked for."""


@frozen
class Dialect:
    """A client library: how its lines are known, and its names of settings."""

    name: str
    mark: re.Pattern[str]
    settings: Mapping[str, str]


def _dialect(name: str, mark: str, **settings: str) -> Dialect:
    return Dialect(name, re.compile(mark), settings)


JAVA = _dialect(
    "java",
    r"\[(?:Consumer|Worker|ShareConsumer) |o\.a\.k\.c|org\.apache\.kafka\.(?:clients|connect)",
    session="session.timeout.ms",
    poll="max.poll.interval.ms",
    batch="lower max.poll.records",
    rebalance="max.poll.interval.ms",
    request="request.timeout.ms",
    instance="group.instance.id",
    assignor="partition.assignment.strategy",
)
_OTHERS = (
    _dialect(
        "librdkafka",
        r"thrd:|rdkafka|librdkafka|%\d\|\d{10}",
        session="session.timeout.ms",
        poll="max.poll.interval.ms",
        batch="hand records to a worker and go on polling",
        rebalance="max.poll.interval.ms",
        request="socket.timeout.ms",
        instance="group.instance.id",
        assignor="partition.assignment.strategy",
    ),
    _dialect(
        "aiokafka",
        r"aiokafka",
        session="session_timeout_ms",
        poll="max_poll_interval_ms",
        batch="lower max_poll_records",
        rebalance="rebalance_timeout_ms",
        request="request_timeout_ms",
        instance="group_instance_id",
        assignor="partition_assignment_strategy",
    ),
    _dialect(
        "kafka-python",
        r"kafka\.(?:coordinator|cluster|consumer|conn)\b(?!\.group|[\w.]*Coordinator)|BrokerConnection|Request_v\d|"
        r"Marking the coordinator dead \(node|TopicPartition\(topic=",
        session="session_timeout_ms",
        poll="max_poll_interval_ms",
        batch="lower max_poll_records",
        rebalance="max_poll_interval_ms",
        request="request_timeout_ms",
        instance="group_instance_id",
        assignor="partition_assignment_strategy",
    ),
    _dialect(
        "kafkajs",
        r"kafkajs|KafkaJS|\[(?:Connection|Runner|ConsumerGroup)\] ",
        session="sessionTimeout",
        poll="sessionTimeout",
        batch="await heartbeat() between the records of eachBatch",
        rebalance="rebalanceTimeout",
        request="requestTimeout",
        instance="groupInstanceId",
        assignor="partitionAssigners",
    ),
    _dialect(
        "franz-go",
        r"franz-go|\bkgo\b|heartbeat errored|group manage loop|join and sync loop",
        session="SessionTimeout",
        poll="SessionTimeout",
        batch="poll fewer records (PollRecords)",
        rebalance="RebalanceTimeout",
        request="RequestTimeoutOverhead",
        instance="InstanceID",
        assignor="Balancers",
    ),
    _dialect(
        "sarama",
        r"(?i)sarama|kafka server: |kafka: error while consuming|consumergroup/",
        session="Consumer.Group.Session.Timeout",
        poll="Consumer.MaxProcessingTime",
        batch="return from ConsumeClaim when session.Context() is done",
        rebalance="Consumer.Group.Rebalance.Timeout",
        request="Net.ReadTimeout",
        instance="Consumer.Group.InstanceId",
        assignor="Consumer.Group.Rebalance.GroupStrategies",
    ),
    _dialect(
        "brod",
        r"Group member \(|brod",
        session="session_timeout_seconds",
        poll="session_timeout_seconds",
        batch="handle records in another process",
        rebalance="rebalance_timeout_seconds",
        request="request_timeout",
        instance="group_instance_id",
        assignor="partition_assignment_strategy",
    ),
    _dialect(
        "ruby-kafka",
        r"Kafka::\w|ruby-kafka|racecar",
        session="session_timeout",
        poll="session_timeout",
        batch="call trigger_heartbeat between records",
        rebalance="rebalance_timeout",
        request="socket_timeout",
        instance="group_instance_id",
        assignor="assignment_strategy",
    ),
    _dialect(
        "kafka-go",
        r"segmentio/kafka-go|entering loop for consumer group|joinGroup succeeded|Failed to join group ",
        session="SessionTimeout",
        poll="SessionTimeout",
        batch="handle records in another goroutine",
        rebalance="RebalanceTimeout",
        request="JoinGroupBackoff",
        instance="group.instance.id",
        assignor="GroupBalancers",
    ),
)


def dialect_of(texts: Iterable[str]) -> Dialect | None:
    """Return the library that wrote the first of these lines that a client wrote; None where only brokers wrote."""
    for text in islice(texts, _FIRST):
        found = next((one for one in (JAVA, *_OTHERS) if one.mark.search(text)), None)
        if found:
            return found
    return None
