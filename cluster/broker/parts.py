"""The protocols of the parts that depend on a cluster's kind of logs.

A cluster has one strategy, `broker.Logs`: the controller (`ClusterController`), the `Feed` of the topics, and the parts
of each broker (`broker.Broker`): how it receives the cluster's image (`Agent`), its partitions (`Replicas`), how its
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
    """A broker's session with the controller. `on_running` is called when clients may connect."""

    on_running: Callable[[], None]

    def start(self) -> None:
        """Begin a life of the broker: register and catch up."""

    def start_formed(self, epoch: int, image: ClusterImage) -> None:
        """Begin as a broker that registered before the run began."""

    def shut_down(self, on_done: Callable[[], None]) -> None:
        """Move the broker's leaderships; `on_done` is called when the broker may stop."""


class Replicas(Protocol):
    """The partitions of a broker. `on_leading` and `on_not_leading` are called with partition and leader epoch."""

    on_leading: list[Listener]
    on_not_leading: list[Listener]

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """Return the log of a partition on this broker; None without a replica."""

    def apply(self, image: ClusterImage, partitions: Sequence[TopicPartition]) -> None:
        """Lead, follow or drop partitions according to the image; `partitions` are the changed ones."""

    def start(self) -> None:
        """Begin a life without partitions; the next `apply` brings them."""

    def crash(self, *, machine: bool) -> None:
        """Lose the process's state; with `machine` the unflushed data, too."""

    def shut_down(self) -> None:
        """Close the logs in a controlled shutdown."""

    def set_clocked(self, clocked: bool) -> None:
        """Schedule long polls by the clock (while a host or link has a fault) or by events."""


class OffsetsLog(Log, Protocol):
    """`__consumer_offsets` as the coordinator of one broker uses it."""

    def fail_next(self, partition: int, error: ErrorCode, times: int) -> None:
        """Refuse the next `times` appends to a partition with `error`; none of their records reach the log."""


class Services(Protocol):
    """The handlers of one life of a broker beside group requests."""

    @property
    def handlers(self) -> Mapping[type, Handler]:
        """Request class → handler, for all requests that are not the group coordinator's."""

    def image_changes(self, image: ClusterImage) -> None:
        """Prepare for a new image, before metadata and replicas apply it."""

    def image_changed(self) -> None:
        """Follow up on a new image, after metadata and replicas have applied it."""

    def leading(self, partition: TopicPartition, epoch: int) -> None:
        """Begin to lead a partition of another topic than `__consumer_offsets`."""

    def not_leading(self, partition: TopicPartition, epoch: int) -> None:
        """Cease to lead a partition of another topic than `__consumer_offsets`."""

    def stop(self) -> None:
        """End the services in a controlled shutdown."""


class Feed(Protocol):
    """The load of topics: records per second, distributed by weights. Rates are per 10⁶ s (`as_rate`)."""

    def open(self, topic: str, weights: Sequence[int], rate: int, sizes: Sizes) -> None:
        """Write to a new topic at this rate; `weights` has one weight for each partition."""

    def grow(self, topic: str, weights: Sequence[int]) -> None:
        """Write to new partitions, too; `weights` are theirs."""

    def close(self, topic: str) -> None:
        """Stop writing to a deleted topic; without effect when it was closed before."""

    def set_rate(self, topic: str, rate: int) -> None:
        """Change the rate; 0 stops. Raises `ValueError` for an unknown topic."""

    def burst(self, topic: str, records: int) -> None:
        """Write this many records at once. Raises `ValueError` for an unknown topic."""


class ClusterController(Protocol):
    """The controller, which decides on topics and leaders. `on_image` are called with every image in force."""

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
        """Create a topic. Raises `ValueError`."""

    def add_partitions(self, name: str, total: int) -> None:
        """Add partitions to a topic, up to `total`. Raises `ValueError`."""

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises `ValueError`."""

    def set_group_config(self, group: str, settings: Mapping[str, str]) -> None:
        """Replace the settings of a group."""

    def move_leader(self, partition: TopicPartition, node: int) -> None:
        """Make a broker the leader of a partition. Raises `ValueError`."""
