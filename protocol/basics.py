"""The basic types of every message: Kafka's api keys, the name of a partition, and the numbers that mean "none".

Source: `ApiKeys`, `TopicPartition`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Generic, NamedTuple, TypeVar

NO_GENERATION = -1
NO_OFFSET = -1
NO_EPOCH = -1


class Api(IntEnum):
    """Kafka's api keys of the messages here.

    METADATA_LOG is our own: it stands for a Fetch of `__cluster_metadata`. ZOOKEEPER stands for ZooKeeper's protocol.
    """

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    DESCRIBE_LOG_DIRS = 35
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    ALTER_PARTITION = 56
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    METADATA_LOG = 1_000
    ZOOKEEPER = 2_000

    @property
    def title(self) -> str:
        """The name in Kafka's documentation, e.g. `JoinGroup`."""
        return _TITLES[self]


_TITLES = {api: "".join(part.capitalize() for part in api.name.split("_")) for api in Api}

Answer_co = TypeVar("Answer_co", covariant=True)


class AnsweredBy(Generic[Answer_co]):
    """A request with the type of its response, for type checkers alone: `class XRequest(AnsweredBy["XResponse"])`."""

    __slots__ = ()


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic, then number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Return `orders-0` as a partition. Raises ValueError for another text."""
        topic, _, number = text.rpartition("-")
        if not topic or not number.isdecimal():
            raise ValueError(f"{text!r} is not a partition; write topic and number, as in 'orders-0'")
        return cls(topic, int(number))
