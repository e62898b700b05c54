"""The nodes of a consumer group in ZooKeeper.

    /consumers/<group>/ids/<consumer>                    ephemeral: the consumer's subscription
    /consumers/<group>/owners/<topic>/<partition>        ephemeral: the stream that has claimed the partition
    /consumers/<group>/offsets/<topic>/<partition>       persistent: the committed offset

Source: Kafka 0.8.2, `ZKGroupDirs`, `ZKGroupTopicDirs`, `TopicCount`, `ZkUtils`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
STATIC, WHITE_LIST = "static", "white_list"


@frozen
class GroupPaths:
    """The nodes of one group."""

    group: str

    @property
    def ids(self) -> str:
        """The parent of its consumers' registrations."""
        return f"/consumers/{self.group}/ids"

    def consumer(self, consumer: str) -> str:
        """Return the path of a consumer's registration."""
        return f"{self.ids}/{consumer}"

    def owner(self, partition: TopicPartition) -> str:
        """Return the path of the claim on a partition."""
        return f"/consumers/{self.group}/owners/{partition.topic}/{partition.partition}"

    def offset(self, partition: TopicPartition) -> str:
        """Return the path of a partition's committed offset."""
        return f"/consumers/{self.group}/offsets/{partition.topic}/{partition.partition}"


@frozen
class Registration:
    """A consumer's subscription, by names or by pattern, with one stream for each."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None

    def written(self, at_ms: int) -> str:
        """Return the content of the consumer's node."""
        names = self.topics if self.pattern is None else (self.pattern,)
        content = {
            "pattern": STATIC if self.pattern is None else WHITE_LIST,
            "subscription": dict.fromkeys(names, 1),
            "timestamp": str(at_ms),
            "version": 1,
        }
        return json.dumps(content, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Registration:
        """Parse the content of a consumer's node."""
        content = json.loads(text)
        names = tuple(content["subscription"])
        return cls(names) if content["pattern"] == STATIC else cls(pattern=names[0])

    def resolved(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the topics among the known ones; a subscription by name includes unknown topics."""
        if self.pattern is None:
            return self.topics
        matches = re.compile(self.pattern).fullmatch
        return tuple(name for name in known if matches(name))


def partitions_in(text: str) -> tuple[int, ...]:
    """Return the partitions in a topic's node, in order."""
    return tuple(sorted(int(number) for number in json.loads(text)["partitions"]))


def stream_of(consumer: str, number: int = 0) -> str:
    """Return the id of a consumer's stream, which is the content of its claims."""
    return f"{consumer}-{number}"
