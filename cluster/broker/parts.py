"""The protocols of what depends on a cluster's kind of logs.

A cluster has one strategy, `broker.Logs`: the controller (`ClusterController`), the `Feed` of the topics, and the parts
of each broker (`broker.Node`): how it receives the cluster's image (`Agent`), its partitions (`Replicas`), how its
coordinator appends records (`OffsetsLog`), and which requests it serves beside those of groups (`Services`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from groupsim.coordinator.base.interfaces import Log
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import ClusterImage

if TYPE_CHECKING:
    from groupsim.cluster.log.log import PartitionLog
    from groupsim.members.producer.load import Sizes

Listener = Callable[[TopicPartition, int], None]
Handler = Callable[[Any, Any], None]


class Agent(Protocol):
    """A broker's end of the talk with the controller. `on_running` is called when clients may connect."""

    on_running: Callable[[], None]

    def start(self) -> None:
        """Begin a life of the broker."""

    def start_formed(self, epoch: int, image: ClusterImage) -> None:
        """Go on as a broker that registered before the run began."""

    def shut_down(self, on_done: Callable[[], None]) -> None:
        """Hand over what the broker leads; `on_done` is called when it may stop."""


class Replicas(Protocol):
    """The partitions of a broker. `on_leading` and `on_not_leading` are called with partition and leader epoch."""

    on_leading: list[Listener]
    on_not_leading: list[Listener]

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """The log of a partition on this broker; None where there is none."""

    def apply(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> None:
        """Lead, follow or drop partitions as the image says; `partitions` are those that changed."""

    def start(self) -> None:
        """The broker is back; its partitions come with the next `apply`."""

    def crash(self, *, machine: bool) -> None:
        """The process has died, or the machine with it."""

    def shut_down(self) -> None:
        """The broker stops in order."""

    def set_clocked(self, clocked: bool) -> None:
        """Say whether hosts or links are in trouble anywhere: then long polls go by the clock."""


class OffsetsLog(Log, Protocol):
    """`__consumer_offsets` as the coordinator of one broker uses it."""

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """Refuse the next `times` appends to a partition with `error`; nothing of them gets into the log."""


class Services(Protocol):
    """What one life of a broker serves beside groups."""

    @property
    def handlers(self) -> Mapping[type, Handler]:
        """What takes a request, by its class: all that are not for the group coordinator."""

    def image_changes(self, image: ClusterImage) -> None:
        """Another image is about to be taken."""

    def image_changed(self) -> None:
        """The broker has taken an image, and acts on it."""

    def leading(self, partition: TopicPartition, epoch: int) -> None:
        """The broker leads a partition that is none of `__consumer_offsets`."""

    def not_leading(self, partition: TopicPartition, epoch: int) -> None:
        """The broker leads such a partition no longer."""

    def stop(self) -> None:
        """The broker stops in order."""


class Feed(Protocol):
    """What writes a topic's own records: so many per second, shared out by weights. Rates are per 10⁶ s (`as_rate`)."""

    def open(self, topic: str, weights: Sequence[int], rate: int, sizes: Sizes) -> None:
        """A topic was made; its records come at this rate, one weight for each partition."""

    def grow(self, topic: str, weights: Sequence[int]) -> None:
        """The topic has more partitions now; `weights` are those of the new ones."""

    def close(self, topic: str) -> None:
        """The topic is gone; nothing happens when it has been closed already."""

    def set_rate(self, topic: str, rate: int) -> None:
        """Write at another rate from now on; 0 stops. Raises `ValueError` for an unknown topic."""

    def burst(self, topic: str, records: int) -> None:
        """Write so many records at once. Raises `ValueError` for an unknown topic."""


class ClusterController(Protocol):
    """A controller: it decides on topics and leaders. `on_image` are called with every image that is in force."""

    on_image: list[Callable[[ClusterImage], None]]

    @property
    def image(self) -> ClusterImage:
        """The image in force."""

    def create_topic(
        self,
        name: str,
        partitions: int,
        *,
        replication: int,
        config: Mapping[str, str] | None,
        assignment: Sequence[Sequence[int]] | None,
    ) -> None:
        """Make a topic. Raises `ValueError`."""

    def add_partitions(self, name: str, total: int) -> None:
        """Give a topic more partitions, `total` in all. Raises `ValueError`."""

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises `ValueError`."""

    def move_leader(self, partition: TopicPartition, node: int) -> None:
        """Let a broker lead a partition. Raises `ValueError`."""
