"""The controller of a cluster with counted logs: it decides at once, and every broker gets its image at once.

It makes images like the controller of replicated logs, but without sessions, requests or placement rules. The leader of
partition p is broker p mod n, its replicas are the next brokers, and another of them leads while the first is down.
Only partitions of `__consumer_offsets` are without a leader for a time: the next leader, on any broker, is elected
`election_us` after the end of the last one, and for `metadata_stale_us` brokers name the old one in answers to
FindCoordinator (classic-protocol reference, 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from attrs import evolve

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.counted import CountedConfig
from groupsim.cluster.controller.topic_changes import topic_id
from groupsim.cluster.network.endpoint import broker_name
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import (
    NO_LEADER,
    BrokerState,
    ClusterImage,
    MetadataLogResponse,
    PartitionState,
    TopicState,
)


class CountedController:
    """`image` is the current image. A new one goes to `agents` with its changes, then to the listeners `on_image`."""

    def __init__(self, loop: EventLoop, config: ClusterConfig, counted: CountedConfig) -> None:
        self._loop = loop
        self._nodes = nodes = config.nodes
        self._election_us = counted.election_us
        self._stale_us = config.metadata_stale_us
        self._to_be_elected: dict[int, int] = {}  # partition → the broker to be elected
        self._named: dict[int, tuple[int, int]] = {}  # partition → leader named by brokers, and until when
        self.agents: list[Callable[[MetadataLogResponse], None]] = []
        self.on_image: list[Callable[[ClusterImage], None]] = []
        racks = config.racks
        brokers = {
            node: BrokerState(node, broker_name(node), racks[index % len(racks)] if racks else None)
            for index, node in enumerate(nodes)
        }
        self.image = ClusterImage(1, brokers)
        offsets = self._states(range(config.offsets_partitions), 1)
        self.image = evolve(self.image, topics={OFFSETS_TOPIC: TopicState(OFFSETS_TOPIC, "", offsets, internal=True)})
        self.all_up = True  #: whether every broker is up

    # --- topics ----------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int,
        *,
        replication: int = 1,
        config: Mapping[str, str] | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic; `assignment` has no effect, because no replica stores records.

        Raises `ValueError` if the topic exists or a number is out of range.
        """
        if name in self.image.topics:
            raise ValueError(f"topic {name!r} exists already")
        if partitions < 1:
            raise ValueError(f"topic {name!r}: {partitions} partitions; a topic has at least one")
        if not 1 <= replication <= len(self._nodes):
            raise ValueError(
                f"topic {name!r}: replication {replication} with {len(self._nodes)} brokers; choose 1 to that many"
            )
        states = self._states(range(partitions), replication)
        identity = topic_id(self._loop.stream("topic-id", name, self.image.version))
        self._set_topic(TopicState(name, identity, states, config or {}), 0)

    def add_partitions(self, name: str, total: int) -> None:
        """Add partitions to a topic. Raises `ValueError` for an unknown topic or a total that is not larger."""
        topic = self._known(name)
        before = len(topic.partitions)
        if total <= before:
            raise ValueError(
                f"topic {name!r} has {before} partitions; asked for {total}, and partitions are only added"
            )
        more = self._states(range(before, total), len(topic.partitions[0].replicas))
        self._set_topic(evolve(topic, partitions=(*topic.partitions, *more)), before)

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises `ValueError` for an unknown topic."""
        before = len(self._known(name).partitions)
        self._emit_changed(name, 0, before)
        topics = {other: topic for other, topic in self.image.topics.items() if other != name}
        self._publish(topics, map(partial(TopicPartition, name), range(before)), (name,))

    def set_group_config(self, group: str, settings: Mapping[str, str]) -> None:
        """Replace the settings of a group."""
        groups = {name: own for name, own in {**self.image.groups, group: settings}.items() if own}
        self._publish_image(evolve(self.image, version=self.image.version + 1, groups=groups), (), ())

    def _known(self, name: str) -> TopicState:
        topic = self.image.topics.get(name)
        if topic is None or topic.internal:
            there = ", ".join(other for other, known in self.image.topics.items() if not known.internal)
            raise ValueError(f"there is no topic {name!r}; there are: {there or 'none'}")
        return topic

    def _states(self, numbers: Iterable[int], replication: int) -> tuple[PartitionState, ...]:
        nodes = self._nodes
        lists = [tuple(nodes[(p + i) % len(nodes)] for i in range(replication)) for p in range(len(nodes))]
        # One state for all partitions with the same replicas: a topic may have thousands.
        states = [PartitionState(replicas, replicas, self._first_up(replicas)) for replicas in lists]
        return tuple([states[number % len(nodes)] for number in numbers])

    def _first_up(self, replicas: tuple[int, ...]) -> int:
        return next((node for node in replicas if self.image.is_up(node)), NO_LEADER)

    def _set_topic(self, topic: TopicState, before: int) -> None:
        name, count = topic.name, len(topic.partitions)
        self._emit_changed(name, count, before)
        topics = {**self.image.topics, name: topic}
        self._publish(topics, map(partial(TopicPartition, name), range(before, count)), (name,))

    def _emit_changed(self, name: str, partitions: int, before: int) -> None:
        trace = self._loop.trace
        if trace.wants(Kind.METADATA_CHANGED):
            payload = {"partitions": partitions, "before": before}
            trace.begin(trace.emit(Kind.METADATA_CHANGED, topic=name, payload=payload))

    def _publish(
        self, topics: Mapping[str, TopicState], partitions: Iterable[TopicPartition], changed: Sequence[str]
    ) -> None:
        image = evolve(self.image, version=self.image.version + 1, topics=topics)
        self._publish_image(image, tuple(partitions), tuple(changed))

    def _publish_image(
        self, image: ClusterImage, partitions: tuple[TopicPartition, ...], changed: tuple[str, ...]
    ) -> None:
        self.image = image
        changes = MetadataLogResponse(image, partitions, changed, ())
        for take in self.agents:
            take(changes)
        for listener in self.on_image:
            listener(image)

    # --- brokers ---------------------------------------------------------------------------------------------

    def broker_down(self, node: int) -> None:
        """Fence a broker; the next live broker gets the partitions that it led or was to lead."""
        self._set_up(node, up=False)
        for partition, state in enumerate(self._offsets):
            if state.leader == node or self._to_be_elected.get(partition) == node:
                self._vacate(partition, self._successor(partition))

    def broker_up(self, node: int) -> None:
        """Unfence a broker; it gets the partitions of `__consumer_offsets` without a leader or a pending election."""
        self._set_up(node, up=True)
        for partition, state in enumerate(self._offsets):
            if state.leader == NO_LEADER and partition not in self._to_be_elected:
                self._vacate(partition, node)

    def _set_up(self, node: int, *, up: bool) -> None:
        """Set whether a broker is up; the first live replica becomes the leader of a topic's partition."""
        image = self.image
        if image.is_up(node) == up:
            return
        brokers = {**image.brokers, node: evolve(image.brokers[node], fenced=not up)}
        self.image = evolve(image, brokers=brokers)
        self.all_up = not any(broker.fenced for broker in brokers.values())
        topics, changed = {}, []
        for name, topic in image.topics.items():
            states = topic.partitions if topic.internal else tuple(map(self._elect_first, topic.partitions))
            moved = [number for number, pair in enumerate(zip(states, topic.partitions)) if pair[0] is not pair[1]]
            topics[name] = evolve(topic, partitions=states) if moved else topic
            changed += [TopicPartition(name, number) for number in moved]
        self._publish(topics, changed, ())

    def _elect_first(self, state: PartitionState) -> PartitionState:
        leader = self._first_up(state.replicas)
        return state if leader == state.leader else evolve(state, leader=leader, leader_epoch=state.leader_epoch + 1)

    # --- coordinators ----------------------------------------------------------------------------------------

    def move_leader(self, partition: TopicPartition, node: int) -> None:
        """Move the leadership of a partition of `__consumer_offsets`. Raises `ValueError` for a broker that is down."""
        if not self.image.is_up(node):
            raise ValueError(f"cannot move {partition} to broker {node}: it is not up")
        if self._offsets[partition.partition].leader != node:
            self._vacate(partition.partition, node)

    def named_leader(self, partition: int) -> int:
        """Return the leader of a partition of `__consumer_offsets` that brokers name; for a time the previous one."""
        named = self._named.get(partition)
        if named is not None and self._loop.now_us < named[1]:
            return named[0]
        return self._offsets[partition].leader

    @property
    def _offsets(self) -> tuple[PartitionState, ...]:
        return self.image.topics[OFFSETS_TOPIC].partitions

    def _successor(self, partition: int) -> int | None:
        live = [node for node in self._nodes if self.image.is_up(node)]
        return live[partition % len(live)] if live else None

    def _vacate(self, partition: int, to_node: int | None) -> None:
        """End a partition's leadership, and elect the next leader after `election_us`."""
        self._named[partition] = self.named_leader(partition), self._loop.now_us + self._stale_us
        self._lead(partition, NO_LEADER)
        if to_node is None:
            self._to_be_elected.pop(partition, None)
            return
        self._to_be_elected[partition] = to_node
        self._loop.call_at(self._loop.now_us + self._election_us, self._elect, (partition, to_node))

    def _elect(self, election: tuple[int, int]) -> None:
        partition, node = election
        if self._to_be_elected.get(partition) != node or not self.image.is_up(node):
            return
        del self._to_be_elected[partition]
        self._named.pop(partition, None)
        self._lead(partition, node)

    def _lead(self, partition: int, leader: int) -> None:
        """Set the leader under a new leader epoch, also for no leader: the old one resigns at that epoch."""
        topic = self.image.topics[OFFSETS_TOPIC]
        states = list(topic.partitions)
        states[partition] = evolve(states[partition], leader=leader, leader_epoch=states[partition].leader_epoch + 1)
        topics = {**self.image.topics, OFFSETS_TOPIC: evolve(topic, partitions=tuple(states))}
        self._publish(topics, (TopicPartition(OFFSETS_TOPIC, partition),), ())
