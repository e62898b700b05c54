"""What a broker needs of the parts that depend on its kind of logs: small protocols, and who makes the parts.

A broker (`node.Node`) is the same over replicated and over counted logs. What differs is made for it by a `Parts`: how
it hears of the cluster's image (`Agent`), its partitions (`Replicas`), how its coordinator's records are appended
(`OffsetsLog`), and which requests it serves beside those of groups (`Services`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from groupsim.coordinator.interfaces import Log
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.cluster_messages import ClusterImage
from groupsim.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from groupsim.cluster.log.log import PartitionLog
    from groupsim.cluster.metadata import BrokerMetadata
    from groupsim.cluster.node import Node

Listener = Callable[[TopicPartition, int], None]
Handler = Callable[[Any, Any], None]


class Agent(Protocol):
    """A broker's end of the talk with the controller. `on_running` is called when clients may connect."""

    on_running: Callable[[], None]

    def start(self) -> None:
        """Begin a life of the broker."""
        ...

    def start_formed(self, epoch: int, image: ClusterImage) -> None:
        """Go on as a broker that registered before the run began."""
        ...

    def shut_down(self, on_done: Callable[[], None]) -> None:
        """Hand over what the broker leads; `on_done` is called when it may stop."""
        ...


class Replicas(Protocol):
    """The partitions of a broker. `on_leading` and `on_not_leading` are called with partition and leader epoch."""

    on_leading: list[Listener]
    on_not_leading: list[Listener]

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """The log of a partition on this broker; None where there is none."""
        ...

    def apply(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> None:
        """Lead, follow or drop partitions as the image says; `partitions` are those that changed."""
        ...

    def start(self) -> None:
        """The broker is back; its partitions come with the next `apply`."""
        ...

    def crash(self, *, machine: bool) -> None:
        """The process has died, or the machine with it."""
        ...

    def shut_down(self) -> None:
        """The broker stops in order."""
        ...

    def set_clocked(self, clocked: bool) -> None:
        """Say whether hosts or links are in trouble anywhere: then long polls go by the clock."""
        ...


class OffsetsLog(Log, Protocol):
    """`__consumer_offsets` as the coordinator of one broker uses it."""

    def loading_us(self, partition: int) -> int:
        """How long it takes to load a partition as it is now."""
        ...

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """Refuse the next `times` appends to a partition with `error`; nothing of them gets into the log."""
        ...


class Services(Protocol):
    """What one life of a broker serves beside groups."""

    @property
    def handlers(self) -> Mapping[type, Handler]:
        """What takes a request, by its class: all that are not for the group coordinator."""
        ...

    def image_changes(self, image: ClusterImage) -> None:
        """Another image is about to be taken."""
        ...

    def image_changed(self) -> None:
        """The broker has taken an image, and acts on it."""
        ...

    def leading(self, partition: TopicPartition, epoch: int) -> None:
        """The broker leads a partition that is none of `__consumer_offsets`."""
        ...

    def not_leading(self, partition: TopicPartition, epoch: int) -> None:
        """The broker leads such a partition no longer."""
        ...

    def stop(self) -> None:
        """The broker stops in order."""
        ...


class Parts(Protocol):
    """Makes the parts of brokers."""

    def metadata(self) -> BrokerMetadata:
        """What one life of a broker knows of the cluster."""
        ...

    def agent(self, broker: Node) -> Agent:
        """The broker's agent, for all of its lives."""
        ...

    def replicas(self, broker: Node) -> Replicas:
        """The broker's partitions, for all of its lives."""
        ...

    def offsets(self, broker: Node) -> OffsetsLog:
        """The coordinator's log, for one life."""
        ...

    def services(self, broker: Node) -> Services:
        """The other requests, for one life; made after the broker's coordinator."""
        ...
