"""What the consumers of a group write to ZooKeeper, and where.

    /consumers/<group>/ids/<consumer>                    ephemeral: what the consumer subscribes to
    /consumers/<group>/owners/<topic>/<partition>        ephemeral: the stream that has claimed the partition
    /consumers/<group>/offsets/<topic>/<partition>       persistent: the offset to go on at

Source: Kafka 0.8.2, `ZKGroupDirs`, `ZKGroupTopicDirs`, `TopicCount`, `ZkUtils`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from attrs import frozen

from groupsim.protocol.messages.group import TopicPartition

BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
STATIC, WHITE_LIST = "static", "white_list"


@frozen
class GroupPaths:
    """The nodes of one group."""

    group: str

    @property
    def ids(self) -> str:
        """Where its consumers register."""
        return f"/consumers/{self.group}/ids"

    def consumer(self, consumer: str) -> str:
        """The registration of one consumer."""
        return f"{self.ids}/{consumer}"

    def owner(self, partition: TopicPartition) -> str:
        """The claim on a partition."""
        return f"/consumers/{self.group}/owners/{partition.topic}/{partition.partition}"

    def offset(self, partition: TopicPartition) -> str:
        """The committed offset of a partition."""
        return f"/consumers/{self.group}/offsets/{partition.topic}/{partition.partition}"


@frozen
class Registration:
    """What a consumer subscribes to, by name or by pattern, each with one stream."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None

    def written(self, at_ms: int) -> str:
        """As it stands in the consumer's node."""
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
        """What stands in a consumer's node."""
        content = json.loads(text)
        names = tuple(content["subscription"])
        return cls(names) if content["pattern"] == STATIC else cls(pattern=names[0])

    def resolved(self, known: Iterable[str]) -> tuple[str, ...]:
        """The topics it comes to, given those there are; a name stands also for a topic there is not."""
        if self.pattern is None:
            return self.topics
        matches = re.compile(self.pattern).fullmatch
        return tuple(name for name in known if matches(name))


def partitions_in(text: str) -> tuple[int, ...]:
    """The partitions that a topic's node lists, in order."""
    return tuple(sorted(int(number) for number in json.loads(text)["partitions"]))


def stream_of(consumer: str, number: int = 0) -> str:
    """The id of one of a consumer's streams, which is what claims say."""
    return f"{consumer}-{number}"
