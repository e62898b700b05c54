"""Changes of the cluster's image: a draft over the image in force, and the difference of two images.

An image is immutable. A draft collects the changes of one transaction of the controller and makes one new image, which
shares the unchanged parts with the image before. So the difference of two images follows from the identity of their
parts, without a history of changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from groupsim.cluster.controller.elections import Reassignment
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.messages.cluster import BrokerState, ClusterImage, PartitionState, TopicState
from groupsim.protocol.values import frozen

EMPTY = ClusterImage()


@frozen
class Proposal:
    """A proposed commit: the image before and after, and the parts that may differ.

    `topics` were created, changed or deleted; `configs` are brokers and `groups` groups with changed settings;
    `reassignments` began, changed or (None) ended.
    """

    before: ClusterImage
    image: ClusterImage
    topics: tuple[str, ...]
    configs: tuple[str, ...]
    groups: tuple[str, ...]
    reassignments: Mapping[TopicPartition, Reassignment | None]


Persist = Callable[[Proposal], None]


class Draft:
    """Uncommitted changes of an image. Reads through the draft see them; `commit` puts them in force.

    `reassignments` are those in progress in the image in force.
    """

    def __init__(self, image: ClusterImage = EMPTY) -> None:
        self.image = image
        self.reassignments: dict[TopicPartition, Reassignment] = {}
        self._brokers: dict[int, BrokerState]
        self._topics: dict[str, TopicState | None]
        self._partitions: dict[str, dict[int, PartitionState]]
        self._configs: dict[str, Mapping[str, str]]
        self._groups: dict[str, Mapping[str, str]]
        self._acls: frozenset[Acl] | None
        self._moves: dict[TopicPartition, Reassignment | None]
        self.discard()

    @property
    def next_version(self) -> int:
        """The version of the next commit."""
        return self.image.version + 1

    # --- reading ---------------------------------------------------------------------------------------------

    def broker(self, node: int) -> BrokerState | None:
        """Return a broker's registration with all changes so far."""
        return self._brokers.get(node) or self.image.brokers.get(node)

    def brokers(self) -> list[BrokerState]:
        """Return all brokers with all changes so far, by node."""
        return [broker for node in sorted({*self.image.brokers, *self._brokers}) if (broker := self.broker(node))]

    def is_active(self, node: int) -> bool:
        """Whether a broker is registered, not fenced and not in controlled shutdown: only such a broker may lead."""
        broker = self.broker(node)
        return broker is not None and not broker.fenced and not broker.in_controlled_shutdown

    def topic(self, name: str) -> TopicState | None:
        """Return a topic with its changed settings; `partition` returns changed partitions."""
        return self._topics[name] if name in self._topics else self.image.topics.get(name)

    def partition(self, partition: TopicPartition) -> PartitionState | None:
        """Return a partition with all changes so far."""
        changed = self._partitions.get(partition.topic, {}).get(partition.partition)
        if changed is not None:
            return changed
        topic = self.topic(partition.topic)
        if topic is None or not 0 <= partition.partition < len(topic.partitions):
            return None
        return topic.partitions[partition.partition]

    def partitions(self) -> Iterator[tuple[TopicPartition, PartitionState]]:
        """Yield all partitions of the image in force, topics in the order of creation."""
        for name, topic in self.image.topics.items():
            for number, state in enumerate(topic.partitions):
                yield TopicPartition(name, number), state

    def reassignment(self, partition: TopicPartition) -> Reassignment | None:
        """Return the reassignment of a partition with all changes so far."""
        return self._moves[partition] if partition in self._moves else self.reassignments.get(partition)

    # --- changing --------------------------------------------------------------------------------------------

    def set_broker(self, broker: BrokerState) -> None:
        """Register a broker, or change its registration."""
        self._brokers[broker.node] = broker

    def set_partition(self, partition: TopicPartition, state: PartitionState) -> None:
        """Change an existing partition."""
        self._partitions.setdefault(partition.topic, {})[partition.partition] = state

    def set_reassignment(self, partition: TopicPartition, moving: Reassignment | None) -> None:
        """Set the reassignment of a partition, or (None) end it."""
        if moving is not None or self.reassignment(partition) is not None:
            self._moves[partition] = moving

    def set_topic(self, topic: TopicState) -> None:
        """Create a topic, or change its settings or the number of its partitions."""
        self._topics[topic.name] = topic

    def config(self, broker: str) -> Mapping[str, str]:
        """Return the dynamic settings of a broker ("": of all brokers) with all changes so far."""
        changed = self._configs.get(broker)
        return self.image.configs.get(broker, {}) if changed is None else changed

    def set_config(self, broker: str, settings: Mapping[str, str]) -> None:
        """Replace the dynamic settings of a broker ("": of all brokers)."""
        self._configs[broker] = settings

    def group_config(self, group: str) -> Mapping[str, str]:
        """Return the settings of a group with all changes so far."""
        changed = self._groups.get(group)
        return self.image.groups.get(group, {}) if changed is None else changed

    def set_group_config(self, group: str, settings: Mapping[str, str]) -> None:
        """Replace the settings of a group; without any the group is removed."""
        self._groups[group] = settings

    @property
    def acls(self) -> frozenset[Acl]:
        """The ACLs with all changes so far."""
        return self.image.acls if self._acls is None else self._acls

    def set_acls(self, acls: frozenset[Acl]) -> None:
        """Replace all ACLs."""
        self._acls = acls

    def drop_topic(self, name: str) -> None:
        """Delete a topic."""
        self._topics[name] = None
        self._partitions.pop(name, None)

    def commit(self, keep: Persist | None = None) -> bool:
        """Put the changes in force as one new version; return False without changes.

        `keep` is called first; an exception of it is raised here, and the image in force stays as it was.
        """
        changed = self._brokers or self._topics or self._partitions or self._configs or self._moves or self._groups
        if not changed and self._acls is None:
            return False
        image = self._image_now()
        if keep is not None:
            topics = tuple(dict.fromkeys((*self._topics, *self._partitions)))
            keep(Proposal(self.image, image, topics, tuple(self._configs), tuple(self._groups), self._moves))
        self.image = image
        for partition, moving in self._moves.items():
            if moving is None:
                self.reassignments.pop(partition, None)
            else:
                self.reassignments[partition] = moving
        self.discard()
        return True

    def discard(self) -> None:
        """Drop all changes since the last commit."""
        self._brokers, self._topics, self._partitions, self._configs, self._moves = {}, {}, {}, {}, {}
        self._groups = {}
        self._acls = None

    def _image_now(self) -> ClusterImage:
        image = self.image
        brokers = {**image.brokers, **self._brokers} if self._brokers else image.brokers
        topics = self._topics_now() if self._topics or self._partitions else image.topics
        configs = {**image.configs, **self._configs} if self._configs else image.configs
        return ClusterImage(image.version + 1, brokers, topics, configs, self.acls, self._groups_now())

    def _groups_now(self) -> Mapping[str, Mapping[str, str]]:
        if not self._groups:
            return self.image.groups
        return {group: settings for group, settings in {**self.image.groups, **self._groups}.items() if settings}

    def _topics_now(self) -> dict[str, TopicState]:
        merged: dict[str, TopicState | None] = {**self.image.topics, **self._topics}
        topics = {name: topic for name, topic in merged.items() if topic is not None}
        for name, changed in self._partitions.items():
            topic = topics[name]
            states = tuple(changed.get(number, state) for number, state in enumerate(topic.partitions))
            topics[name] = evolve(topic, partitions=states)
        return topics


@frozen
class Difference:
    """The difference of two images, including deleted partitions and topics."""

    partitions: tuple[TopicPartition, ...]
    topics: tuple[str, ...]
    brokers: tuple[int, ...]


def difference(before: ClusterImage, after: ClusterImage) -> Difference:
    """Return the new, changed and deleted parts, in the order of names and numbers."""
    topics = tuple(
        name
        for name in sorted({*before.topics, *after.topics})
        if before.topics.get(name) is not after.topics.get(name)
    )
    brokers = tuple(
        node
        for node in sorted({*before.brokers, *after.brokers})
        if before.brokers.get(node) is not after.brokers.get(node)
    )
    partitions = tuple(
        TopicPartition(name, number)
        for name in topics
        for number in _changed(before.topics.get(name), after.topics.get(name))
    )
    return Difference(partitions, topics, brokers)


def _changed(before: TopicState | None, after: TopicState | None) -> Iterator[int]:
    old = before.partitions if before is not None else ()
    new = after.partitions if after is not None else ()
    other = before is not None and after is not None and before.topic_id != after.topic_id
    for number in range(max(len(old), len(new))):
        if other or number >= len(old) or number >= len(new) or old[number] is not new[number]:
            yield number
