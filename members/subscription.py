"""What the application subscribed to: a list of topics, a pattern that each member resolves for itself, or nothing but
partitions of its own choice.

Source: `SubscriptionState`, `ConsumerCoordinator.updatePatternSubscription`; classic-protocol reference, section 4.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from attrs import frozen

from groupsim.members.settings import SettingError
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import TopicInfo, TopicPartition


@frozen
class Topics:
    """A subscription by list."""

    names: tuple[str, ...]


@frozen
class Pattern:
    """A subscription by regular expression, which has to match the whole topic name, as in Java."""

    text: str

    def __attrs_post_init__(self) -> None:
        try:
            re.compile(self.text)
        except re.error as error:
            remedy = "write a regular expression such as orders\\..*"
            raise SettingError("pattern", self.text, f"not a regular expression: {error}", remedy) from None


@frozen
class Assigned:
    """Partitions the application chose itself (`assign()`): no group membership, only its offsets."""

    partitions: tuple[TopicPartition, ...]


Wanted = Topics | Pattern | Assigned
Name = TypeVar("Name")


def partition_of(name: str | TopicPartition) -> TopicPartition:
    """`orders-0` as a partition. Raises ValueError for what is none."""
    if isinstance(name, TopicPartition):
        return name
    topic, _, number = str(name).rpartition("-")
    if not topic or not number.isdecimal():
        raise ValueError(f"{name!r} is no partition; write topic and number, such as 'orders-0'")
    return TopicPartition(topic, int(number))


def listed(names: Iterable[Name], what: str) -> tuple[Name, ...]:
    """Names as a tuple. Raises ValueError for one name alone, which would be taken for its letters."""
    __tracebackhide__ = True
    if isinstance(names, str):
        pattern = f", or pattern={names!r} for all whose names match" if what == "topics" else ""
        raise ValueError(f"{what}={names!r}: write a list, [{names!r}]{pattern}")
    return tuple(names)


class SubscriptionState:
    """The present subscription and the topics it comes to."""

    __slots__ = ("_wanted", "active", "by_pattern", "joined", "topics")

    def __init__(self) -> None:
        #: Whether there is a subscription for which one joins the group.
        self.active = False
        self._wanted: Wanted | None = None
        #: Whether it is a pattern.
        self.by_pattern = False
        #: The topics it comes to, sorted as Java sorts.
        self.topics: tuple[str, ...] = ()
        #: The topics of the last JoinGroup; None before the first.
        self.joined: tuple[str, ...] | None = None

    def change(self, wanted: Wanted | None) -> None:
        """Subscribe anew; None unsubscribes. A pattern keeps nothing until metadata has come."""
        self._wanted = wanted
        self.active = wanted is not None and not isinstance(wanted, Assigned)
        self.by_pattern = isinstance(wanted, Pattern)
        names: Iterable[str] = ()
        if isinstance(wanted, Topics):
            names = wanted.names
        elif isinstance(wanted, Assigned):
            names = (partition.topic for partition in wanted.partitions)
        self.topics = tuple(java_sorted(set(names)))

    @property
    def assigned(self) -> tuple[TopicPartition, ...] | None:
        """The partitions the application assigned to itself; None when it did not."""
        return self._wanted.partitions if isinstance(self._wanted, Assigned) else None

    def covers(self, topic: str) -> bool:
        """Whether a topic belongs to the subscription, also one that only the leader knows of yet."""
        if isinstance(self._wanted, Pattern):
            return re.fullmatch(self._wanted.text, topic) is not None
        return topic in self.topics

    @property
    def is_other(self) -> bool:
        """Whether it has come to other topics since the last JoinGroup."""
        return self.joined is not None and self.joined != self.topics

    def adopt(self, assigned: Iterable[str]) -> bool:
        """A pattern's leader may know of topics that this member has not seen yet: take its word for them.

        Returns whether there were any: then the member's own view of topics is out of date.
        """
        if not self.by_pattern or self.joined is None:
            return False
        unseen = [topic for topic in assigned if topic not in self.joined]
        if unseen:
            self.topics = tuple(java_sorted({*self.topics, *unseen}))
            self.joined = tuple(java_sorted({*self.joined, *unseen}))
        return bool(unseen)

    def resolve(self, topics: Iterable[TopicInfo], *, exclude_internal: bool) -> bool:
        """Match the pattern against all topics; True when that changed what it comes to."""
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
