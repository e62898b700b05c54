"""The application's subscription: topics by name, a pattern, or assigned partitions.

A pattern is resolved by each member itself (`Pattern`, `java.util.regex.Pattern`), or by the coordinator of a consumer
group (`Regex`, Kafka's `SubscriptionPattern`, RE2/J).

Source: `SubscriptionState`, `ConsumerCoordinator.updatePatternSubscription`; classic-protocol reference, section 4.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from groupsim.members.settings import SettingError
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import TopicInfo, TopicPartition
from groupsim.protocol.values import frozen


@frozen
class Topics:
    """A subscription by topic names."""

    names: tuple[str, ...]


@frozen
class Pattern:
    """A subscription by regular expression, which must match the whole topic name, as in Java."""

    text: str

    def __attrs_post_init__(self) -> None:
        try:
            re.compile(self.text)
        except re.error as error:
            remedy = "write a regular expression such as orders\\..*"
            raise SettingError("pattern", self.text, f"not a regular expression: {error}", remedy) from None


@frozen
class Regex:
    """A subscription by a regular expression of RE2/J, which the coordinator of a consumer group compiles and resolves.

    The client does not check it: an invalid one is answered with INVALID_REGULAR_EXPRESSION.
    """

    text: str


@frozen
class Assigned:
    """Partitions that the application assigned itself (`assign()`): no membership, only the group's offsets."""

    partitions: tuple[TopicPartition, ...]


Wanted = Topics | Pattern | Regex | Assigned
Name = TypeVar("Name")


def partition_of(name: str | TopicPartition) -> TopicPartition:
    """Parse `orders-0` as a partition. Raises ValueError for other text."""
    return name if isinstance(name, TopicPartition) else TopicPartition.parse(name)


def listed(names: Iterable[Name], what: str) -> tuple[Name, ...]:
    """Return names as a tuple. Raises ValueError for a single string, which would be split into letters."""
    __tracebackhide__ = True
    if isinstance(names, str):
        pattern = f", or pattern={names!r} for all whose names match" if what == "topics" else ""
        raise ValueError(f"{what}={names!r}: write a list, [{names!r}]{pattern}")
    return tuple(names)


class SubscriptionState:
    """The current subscription and the topics it resolves to."""

    __slots__ = ("_wanted", "active", "assigned_ids", "by_pattern", "changes", "joined", "regex", "topics")

    def __init__(self) -> None:
        #: Whether there is a subscription that needs a group membership.
        self.active = False
        self._wanted: Wanted | None = None
        #: How often the application has changed it.
        self.changes = 0
        #: Whether the subscription is a pattern.
        self.by_pattern = False
        #: The regular expression that the coordinator resolves; None for other subscriptions.
        self.regex: str | None = None
        #: The ids of the topics of the target, by which metadata are requested under `regex`.
        self.assigned_ids: tuple[str, ...] = ()
        #: The topics it resolves to, in Java's order of strings.
        self.topics: tuple[str, ...] = ()
        #: The topics of the last JoinGroup; None before the first.
        self.joined: tuple[str, ...] | None = None

    def change(self, wanted: Wanted | None) -> None:
        """Replace the subscription; None unsubscribes. A pattern has no topics until metadata arrive."""
        self._wanted = wanted
        self.changes += 1
        self.active = wanted is not None and not isinstance(wanted, Assigned)
        self.by_pattern = isinstance(wanted, Pattern)
        self.regex = wanted.text if isinstance(wanted, Regex) else None
        names: Iterable[str] = ()
        if isinstance(wanted, Topics):
            names = wanted.names
        elif isinstance(wanted, Assigned):
            names = (partition.topic for partition in wanted.partitions)
        self.topics = tuple(java_sorted(set(names)))

    @property
    def assigned(self) -> tuple[TopicPartition, ...] | None:
        """The partitions that the application assigned itself; None without `assign()`."""
        return self._wanted.partitions if isinstance(self._wanted, Assigned) else None

    def covers(self, topic: str) -> bool:
        """Whether a topic belongs to the subscription, even if only the leader knows the topic yet."""
        if isinstance(self._wanted, Pattern):
            return re.fullmatch(self._wanted.text, topic) is not None
        return topic in self.topics

    @property
    def is_other(self) -> bool:
        """Whether the topics have changed since the last JoinGroup."""
        return self.joined is not None and self.joined != self.topics

    def adopt(self, assigned: Iterable[str]) -> bool:
        """Add assigned topics that match a pattern and are unknown to this member: the leader's metadata may be newer.

        Returns whether there were any; then this member's metadata are outdated.
        """
        if not self.by_pattern or self.joined is None:
            return False
        unseen = [topic for topic in assigned if topic not in self.joined]
        if unseen:
            self.topics = tuple(java_sorted({*self.topics, *unseen}))
            self.joined = tuple(java_sorted({*self.joined, *unseen}))
        return bool(unseen)

    def resolve(self, topics: Iterable[TopicInfo], *, exclude_internal: bool) -> bool:
        """Match the pattern against all topics; True when that changed the topics of the subscription."""
        if not isinstance(self._wanted, Pattern):
            return False
        matches = re.compile(self._wanted.text).fullmatch
        found = [
            topic.name
            for topic in topics
            if not topic.error and not (topic.internal and exclude_internal) and matches(topic.name)
        ]
        before, self.topics = self.topics, tuple(java_sorted(found))
        return before != self.topics
