"""Topics, their partitions and where the replicas lie; what brokers answer to Metadata.

Placement is simple: partition p is led by broker p mod n, its replicas are the brokers after it. `__consumer_offsets`
is one more topic, whose leaders are the coordinators; its leadership moves, and brokers may learn of that late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import define, frozen

from groupsim.eventloop.events import Kind
from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import MetadataResponse, PartitionInfo, TopicInfo

OFFSETS_TOPIC = "__consumer_offsets"


@frozen
class Topic:
    """One topic: for each partition its replicas, the leader first."""

    name: str
    replicas: tuple[tuple[int, ...], ...]

    @property
    def partitions(self) -> int:
        """How many partitions it has."""
        return len(self.replicas)


@define
class Leadership:
    """Who leads one partition of `__consumer_offsets`, and whom brokers still name until `seen_us`."""

    leader: int | None
    epoch: int
    before: int | None = None
    seen_us: int = 0


class Topics:
    """All topics of the cluster; implements `coordinator.interfaces.Metadata`.

    `version` goes up with every change. `stale_us` is how long brokers go on answering Metadata as before a change.
    """

    def __init__(
        self,
        loop: EventLoop,
        brokers: Sequence[tuple[int, str]],
        racks: Sequence[str] = (),
        *,
        offsets_partitions: int = 50,
    ) -> None:
        self._loop = loop
        self._brokers = tuple(brokers)
        self._nodes = tuple(node for node, _ in brokers)
        self._racks = {node: racks[i % len(racks)] for i, node in enumerate(self._nodes)} if racks else {}
        self._topics: dict[str, Topic] = {}
        self._live = dict.fromkeys(self._nodes, True)
        self.all_live = True
        self._offsets = [Leadership(self._nodes[p % len(self._nodes)], 0) for p in range(offsets_partitions)]
        self._answers: dict[tuple[str, ...] | None, MetadataResponse] = {}
        self.offsets_partitions = offsets_partitions
        self.version = 0
        self.watchers: list[Callable[[str], None]] = []

    # --- topics ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._topics.values())

    def get(self, name: str) -> Topic | None:
        """The topic of that name, if there is one."""
        return self._topics.get(name)

    def partition_count(self, topic: str) -> int | None:
        """Number of partitions, None for an unknown topic."""
        known = self._topics.get(topic)
        return None if known is None else known.partitions

    def create(self, name: str, partitions: int, replication: int = 1) -> Topic:
        """Add a topic. Raises `ValueError` when it exists or the numbers make no sense."""
        if name in self._topics or name == OFFSETS_TOPIC:
            raise ValueError(f"topic {name!r} exists already")
        if partitions < 1:
            raise ValueError(f"topic {name!r}: {partitions} partitions; a topic has at least one")
        if not 1 <= replication <= len(self._nodes):
            raise ValueError(
                f"topic {name!r}: replication {replication} with {len(self._nodes)} brokers; choose 1 to that many"
            )
        return self._set(name, partitions, replication, 0)

    def grow(self, name: str, total: int) -> Topic:
        """Give a topic more partitions. Raises `ValueError` for an unknown topic or fewer than it has."""
        topic = self._known(name)
        if total <= topic.partitions:
            raise ValueError(
                f"topic {name!r} has {topic.partitions} partitions; asked for {total}, and partitions are only added"
            )
        return self._set(name, total, len(topic.replicas[0]), topic.partitions)

    def delete(self, name: str) -> None:
        """Remove a topic. Raises `ValueError` when there is none."""
        before = self._known(name).partitions
        del self._topics[name]
        self._changed(name, 0, before)

    def _known(self, name: str) -> Topic:
        topic = self._topics.get(name)
        if topic is None:
            raise ValueError(f"there is no topic {name!r}; there are: {', '.join(self._topics) or 'none'}")
        return topic

    def _set(self, name: str, partitions: int, replication: int, before: int) -> Topic:
        nodes = self._nodes
        replicas = tuple(tuple(nodes[(p + i) % len(nodes)] for i in range(replication)) for p in range(partitions))
        topic = self._topics[name] = Topic(name, replicas)
        self._changed(name, partitions, before)
        return topic

    def _changed(self, name: str, partitions: int, before: int) -> None:
        self.version += 1
        self._answers.clear()
        trace = self._loop.trace
        if trace.wants(Kind.METADATA_CHANGED):
            payload = {"partitions": partitions, "before": before}
            trace.begin(trace.emit(Kind.METADATA_CHANGED, topic=name, payload=payload))
        for watcher in self.watchers:
            watcher(name)

    # --- leaders ---------------------------------------------------------------------------------------------

    def leader(self, topic: Topic, partition: int) -> int:
        """The first replica on a broker that is up; -1 when there is none."""
        return next((node for node in topic.replicas[partition] if self._live[node]), -1)

    def set_live(self, node: int, live: bool) -> None:
        """A broker went down or came back: the partitions it led have other leaders now."""
        self._live[node] = live
        self.all_live = all(self._live.values())
        self.version += 1
        self._answers.clear()

    def is_live(self, node: int) -> bool:
        """Whether a broker is up."""
        return self._live[node]

    @property
    def live(self) -> tuple[int, ...]:
        """The brokers that are up."""
        return tuple(node for node in self._nodes if self._live[node])

    def offsets_leader(self, partition: int) -> int | None:
        """Who leads a partition of `__consumer_offsets` in truth; None while nobody does."""
        return self._offsets[partition].leader

    def offsets_epoch(self, partition: int) -> int:
        """The leader epoch of a partition of `__consumer_offsets`."""
        return self._offsets[partition].epoch

    def offsets_leader_seen(self, partition: int) -> int | None:
        """Whom brokers name as its leader: for a while after a move, still the one before."""
        leadership = self._offsets[partition]
        return leadership.before if self._loop.now_us < leadership.seen_us else leadership.leader

    def set_offsets_leader(self, partition: int, leader: int | None, stale_us: int = 0) -> int:
        """Move the leadership; brokers name the old leader for `stale_us` more. Returns the new leader epoch.

        Every change has an epoch of its own, also that to no leader: the old one has resigned in it.
        """
        old = self._offsets[partition]
        before = self.offsets_leader_seen(partition)
        epoch = old.epoch + 1
        self._offsets[partition] = Leadership(leader, epoch, before, self._loop.now_us + stale_us)
        return epoch

    # --- Metadata --------------------------------------------------------------------------------------------

    def describe(self, names: tuple[str, ...] | None) -> MetadataResponse:
        """The answer to a Metadata request; one answer serves all who ask the same until something changes."""
        answer = self._answers.get(names)
        if answer is None:
            wanted = sorted(self._topics) if names is None else sorted(set(names))
            brokers = tuple(pair for pair in self._brokers if self._live[pair[0]])
            answer = MetadataResponse(brokers, tuple(self._info(name) for name in wanted))
            self._answers[names] = answer
        return answer

    def _info(self, name: str) -> TopicInfo:
        topic = self._topics.get(name)
        if topic is None:
            return TopicInfo(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return TopicInfo(name, partitions=tuple(self._partition(topic, p) for p in range(topic.partitions)))

    def _partition(self, topic: Topic, partition: int) -> PartitionInfo:
        replicas = topic.replicas[partition]
        racks = tuple(self._racks[node] for node in replicas) if self._racks else ()
        return PartitionInfo(partition, self.leader(topic, partition), replicas, racks)
