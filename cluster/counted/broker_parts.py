"""The parts of brokers with counted logs: they get every image at once, and lead only `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from groupsim.cluster.broker.metadata import GROUP_KEY, BrokerMetadata
from groupsim.cluster.counted.controller import CountedController
from groupsim.cluster.counted.offsets import CountedOffsets
from groupsim.cluster.network.endpoint import broker_name
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import NO_LEADER, ClusterImage, MetadataLogResponse
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    TopicInfo,
)

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.broker.parts import Handler, Listener
    from groupsim.cluster.log.log import PartitionLog
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.eventloop.interface import Host


class CountedMetadata(BrokerMetadata):
    """A broker's metadata: always current, but for a coordinator that has moved.

    `__consumer_offsets` is hidden from clients, because it has no records that they could read.
    """

    def __init__(self, controller: CountedController) -> None:
        super().__init__()
        self._controller = controller

    def describe(self, names: tuple[str, ...] | None) -> MetadataResponse:
        """Answer a Metadata request; without `names`, for all topics but `__consumer_offsets`."""
        if names is None:
            names = tuple(name for name in self.image.topics if name != OFFSETS_TOPIC)
        return super().describe(names)

    def _info(self, name: str) -> TopicInfo:
        if name == OFFSETS_TOPIC:
            return TopicInfo(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return super()._info(name)

    def find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """Return the leader of the group's partition that brokers name (classic-protocol reference, 1.12)."""
        count = self.partition_count(OFFSETS_TOPIC)
        if request.key_type != GROUP_KEY or count is None:
            return super().find_coordinator(request)
        return _coordinator(self._controller.named_leader(partition_for(request.key, count)))


@lru_cache(maxsize=1024)
def _coordinator(node: int) -> FindCoordinatorResponse:
    """Return the response for a node; it is cached, because a thousand members may ask in turn."""
    if node == NO_LEADER:
        return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(ErrorCode.NONE, node, broker_name(node))


class CountedAgent:
    """A broker's communication with the controller, which takes no time; implements `parts.Agent`."""

    def __init__(self, controller: CountedController, broker: Broker) -> None:
        self.on_running: Callable[[], None] = lambda: None
        self._controller = controller
        self._broker = broker
        controller.agents.append(self._take)

    def _take(self, changed: MetadataLogResponse) -> None:
        if self._broker.host.alive:
            self._broker.take(changed.image, changed)

    def start(self) -> None:
        self.on_running()
        self._controller.broker_up(self._broker.node)

    def start_formed(self, epoch: int, image: ClusterImage) -> None:
        """See `parts.Agent.start_formed`: apply the first image."""
        topics = image.topics.items()
        partitions = tuple(TopicPartition(name, p) for name, topic in topics for p in range(len(topic.partitions)))
        self._broker.take(image, MetadataLogResponse(image, partitions, tuple(image.topics), tuple(image.brokers)))

    def shut_down(self, on_done: Callable[[], None]) -> None:
        """See `parts.Agent.shut_down`: all leaderships move at once."""
        self._controller.broker_down(self._broker.node)
        on_done()


class CountedReplicas:
    """The partitions of `__consumer_offsets` that a broker leads; implements `parts.Replicas`."""

    def __init__(self, log: CountedOffsets, host: Host, node: int) -> None:
        self.on_leading: list[Listener] = []
        self.on_not_leading: list[Listener] = []
        self._log = log
        self._host = host
        self._node = node
        self._led: dict[int, None] = {}

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """See `parts.Replicas.log`: there are no logs."""
        return None

    def apply(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> None:
        for name in partitions:
            if name.topic == OFFSETS_TOPIC:
                state = image.topics[OFFSETS_TOPIC].partitions[name.partition]
                if state.leader == self._node:
                    self._led[name.partition] = None
                    for listener in self.on_leading:
                        listener(name, state.leader_epoch)
                elif name.partition in self._led:
                    for listener in self.on_not_leading:
                        listener(name, state.leader_epoch)
                    self._give_up(name.partition)

    def _give_up(self, partition: int) -> None:
        del self._led[partition]
        self._log.abandon(partition, self._host)

    def start(self) -> None:
        self._led.clear()

    def crash(self, *, machine: bool) -> None:
        """See `parts.Replicas.crash`: the records of pending appends stay in the log."""
        for partition in tuple(self._led):
            self._give_up(partition)

    def shut_down(self) -> None:
        self.crash(machine=False)

    def set_clocked(self, clocked: bool) -> None:
        """See `parts.Replicas.set_clocked`: there are no long polls."""


class CountedServices:
    """Only Metadata and FindCoordinator; implements `parts.Services`."""

    def __init__(self, broker: Broker) -> None:
        metadata = broker.metadata
        self.handlers: Mapping[type, Handler] = {
            MetadataRequest: lambda call, request: _answer_metadata(metadata, call, request),
            FindCoordinatorRequest: lambda call, request: call.answer(metadata.find_coordinator(request)),
        }

    def image_changes(self, image: ClusterImage) -> None:
        """See `parts.Services.image_changes`: these brokers have no settings that could change."""

    def image_changed(self) -> None:
        """See `parts.Services.image_changed`."""

    def leading(self, partition: TopicPartition, epoch: int) -> None:
        """See `parts.Services.leading`."""

    def not_leading(self, partition: TopicPartition, epoch: int) -> None:
        """See `parts.Services.not_leading`."""

    def stop(self) -> None:
        """See `parts.Services.stop`."""


def _answer_metadata(metadata: BrokerMetadata, call: BrokerConnection, request: MetadataRequest) -> None:
    call.answer(metadata.describe(metadata.named(request)))
