"""The log store and the feed of counted logs: topics' data as consumers see it, in place of Fetch and ListOffsets.

Log ends are arithmetic (`traffic`), so a fetch knows beforehand when its first record comes: it plans its one event,
the arrival of the records at the client, and waits for nothing in between. What changes the plan (another rate, a
burst, a link that stalls or recovers, a broker that goes down) asks the waiting fetches to plan anew. A fetch that
waits for records that never come costs nothing.

Simplified: one fetch speaks for all partitions, whichever brokers lead them, with one round trip; a partition whose
leader cannot be reached is left out, and a fetch with none left waits for the link or fails. No retention, so logs
start at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from groupsim.cluster.counted.controller import CountedController
from groupsim.cluster.counted.reading import NEVER, UNREACHABLE, Desk, OnFetched, Reader
from groupsim.cluster.network.endpoint import broker_name
from groupsim.cluster.network.network import Network
from groupsim.eventloop.interface import Order
from groupsim.members.interfaces import FetchFailed
from groupsim.members.producer.load import DEFAULT_SIZES, Sizes
from groupsim.members.producer.traffic import Traffic
from groupsim.protocol.messages.cluster import NO_LEADER
from groupsim.protocol.messages.group import TopicPartition

Ends: TypeAlias = Mapping[TopicPartition, tuple[int, int]]

_MESSAGE = Order.MESSAGE


class Data:
    """Log ends and fetches of all topics; implements `members.interfaces.Data` and `parts.Feed`."""

    def __init__(self, network: Network, controller: CountedController) -> None:
        self._network = network
        self.loop = network.loop
        self._controller = controller
        self.traffic: dict[str, Traffic] = {}
        self._desks: dict[str, Desk] = {}
        self.waiting: dict[Reader, None] = {}  #: those with a fetch under way, in the order they sent it
        self.changed_us = 0  #: when the traffic of a topic last changed
        self.changes = 0  #: how often something has changed that a plan depends on
        self.sound = True  #: whether all leaders are up and within everybody's reach
        self.growth: list[dict[str, Any]] = []  #: what was done to the traffic, in order; for the trace's `log.ends`
        network.links.watchers.append(self.replan)

    # --- topics ----------------------------------------------------------------------------------------------

    def open(self, topic: str, weights: Sequence[int], rate: int, sizes: Sizes = DEFAULT_SIZES) -> None:
        """See `parts.Feed.open`; records have no size here."""
        self.traffic[topic] = Traffic(weights, rate, self.loop.now_us)
        self._changed(topic, rate=rate, weights=list(weights))

    def grow(self, topic: str, weights: Sequence[int]) -> None:
        self.traffic[topic].grow(weights, self.loop.now_us)
        self._changed(topic, more=list(weights))

    def close(self, topic: str) -> None:
        if self.traffic.pop(topic, None) is not None:
            self._changed(topic)

    def set_rate(self, topic: str, rate: int) -> None:
        """Produce at another rate (records per 10⁶ s, see `as_rate`) from now on; 0 stops."""
        self._known(topic).set_rate(rate, self.loop.now_us)
        self._changed(topic, rate=rate)

    def burst(self, topic: str, records: int) -> None:
        """Produce so many records at once."""
        self._known(topic).burst(records, self.loop.now_us)
        self._changed(topic, burst=records)

    def _changed(self, topic: str, **what: Any) -> None:
        """Note what was done: made (rate and weights), another rate, a burst, more partitions, or deleted (nothing)."""
        self.changed_us = self.loop.now_us
        self.growth.append({"t_us": self.changed_us, "topic": topic, **what})
        self.replan()

    def replan(self) -> None:
        """Something has changed that plans depend on: plan the waiting fetches anew."""
        self.changes += 1
        self.sound = self._controller.all_up and not self._network.links.conditions
        for reader in list(self.waiting):
            reader.replan()

    def end(self, partition: TopicPartition) -> int:
        """The log end offset now; 0 for what does not exist."""
        traffic = self.traffic.get(partition.topic)
        if traffic is None or partition.partition >= traffic.partitions:
            return 0
        return traffic.end(partition.partition, self.loop.now_us)

    def ends(self) -> dict[str, list[int]]:
        """Start, end and high watermark of every partition's log: they start at 0, and all of them is replicated."""
        found = {}
        for topic, traffic in self.traffic.items():
            for number in range(traffic.partitions):
                end = traffic.end(number, self.loop.now_us)
                found[f"{topic}-{number}"] = [0, end, end]
        return found

    def _known(self, topic: str) -> Traffic:
        traffic = self.traffic.get(topic)
        if traffic is None:
            raise ValueError(f"there is no topic {topic!r}; there are: {', '.join(self.traffic) or 'none'}")
        return traffic

    # --- members.interfaces.Data -----------------------------------------------------------------------------

    def reader(self, host: str, max_records: int, on_done: OnFetched) -> Reader:
        return Reader(self, self._desk(host), max_records, on_done)

    def offsets(
        self,
        host: str,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[Ends | FetchFailed], None],
    ) -> None:
        desk = self._desk(host)
        there, back = desk.round_trip()

        def answer(_: object) -> None:
            if not self.sound and all(self.is_down(tp) or self.is_held(host, tp) for tp in partitions):
                on_done(UNREACHABLE)
            else:
                on_done({tp: (0, self.end(tp)) for tp in partitions})

        desk.host.call_at(self.loop.now_us + there + back, answer, order=_MESSAGE)

    def _desk(self, host: str) -> Desk:
        desk = self._desks.get(host)
        if desk is None:
            desk = self._desks[host] = Desk(self.loop.host(host), self._network)
        return desk

    # --- what readers ask ------------------------------------------------------------------------------------

    def due_us(self, tp: TopicPartition, position: int) -> int:
        """When the record at `position` is there; NEVER when it never is."""
        topic, number = tp
        traffic = self.traffic.get(topic)
        due = traffic.due_us(number, position) if traffic is not None and number < traffic.partitions else None
        return NEVER if due is None else due

    def was_there(self, tp: TopicPartition, due: int, leaves: int) -> bool:
        """Whether a record was there when an answer left.

        Of the time before the topic's traffic last changed nothing is known but that what is there now was there then.
        """
        if due <= leaves or due == NEVER:
            return due <= leaves
        return leaves < self.changed_us and due <= self.traffic[tp.topic].since_us

    def is_down(self, tp: TopicPartition) -> bool:
        """Whether a partition has no leader that is up."""
        state = self._controller.image.partition(tp)
        return state is not None and state.leader == NO_LEADER

    def is_held(self, host: str, tp: TopicPartition) -> bool:
        """Whether a fault holds back what goes between a host and a partition's leader."""
        links = self._network.links
        if not links.conditions:
            return False
        state = self._controller.image.partition(tp)
        if state is None:
            return False
        broker = broker_name(state.leader)
        faults = links.between(host, broker, "data")
        return any(c.holds(host, broker) or c.holds(broker, host) for c in faults)
