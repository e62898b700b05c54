"""The topics' data as consumers see it: a light stand-in for the brokers' logs and their Fetch and ListOffsets.

Log ends are arithmetic (`traffic`), so a fetch knows beforehand when its first record comes: it plans its one event,
the arrival of the records at the client, and waits for nothing in between. What changes the plan (another rate, a
burst, a link that stalls or recovers, a broker that goes down) asks the waiting fetches to plan anew. A fetch that
waits for records that never come costs nothing.

Simplified: one fetch speaks for all partitions, whichever brokers lead them, with one round trip; a partition whose
leader cannot be reached is left out, and a fetch with none left waits for the link or fails. No retention, so logs
start at 0. The real logs will take this module's place behind `members.interfaces.Data`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, TypeAlias

from groupsim.cluster.broker import broker_name
from groupsim.cluster.latency import Draws
from groupsim.cluster.links import stretched
from groupsim.cluster.network import Network
from groupsim.cluster.topics import Topics
from groupsim.cluster.traffic import Traffic
from groupsim.eventloop.interface import Handle, Host, Order
from groupsim.members.interfaces import Fetched, FetchFailed
from groupsim.protocol.messages import TopicPartition

OnFetched: TypeAlias = Callable[[tuple[Fetched, ...] | FetchFailed], None]
Ends: TypeAlias = Mapping[TopicPartition, tuple[int, int]]

_UNREACHABLE = FetchFailed("no leader of these partitions can be reached")
_NO_PARTITIONS: Set[TopicPartition] = frozenset()
_MESSAGE = Order.MESSAGE


class Desk:
    """What is known of one client's fetches, over the lives of its host.

    From one fetch to the next mostly one position has moved, so the instants at which the others' next records come
    are kept: partition → (position, when its record is there, or None for never). `last` is the partition the last
    fetch ended with.
    """

    __slots__ = ("draws", "due", "host", "incarnation", "last")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.due: dict[TopicPartition, tuple[int, int | None]] = {}
        self.last: TopicPartition | None = None
        self.incarnation = -1
        self.draws: Draws | None = None


class Fetch:
    """One fetch that waits: where it stands, until when, and its one planned event."""

    __slots__ = (
        "arrives_us",
        "back_us",
        "desk",
        "gives_up_us",
        "handle",
        "leaves_us",
        "most",
        "on_done",
        "positions",
        "sole",
    )

    gives_up_us: int | None
    handle: Handle | None
    sole: TopicPartition | None  # the one partition with records when the answer leaves, if one can tell beforehand

    def __init__(
        self,
        desk: Desk,
        positions: Mapping[TopicPartition, int],
        most: int,
        on_done: OnFetched,
        arrives_us: int,
        back_us: int,
    ) -> None:
        self.desk = desk
        self.positions = positions
        self.most = most
        self.on_done = on_done
        self.arrives_us = arrives_us
        self.back_us = back_us
        self.leaves_us = 0
        self.gives_up_us = self.handle = self.sole = None


class Data:
    """Log ends and fetches of all topics; implements `members.interfaces.Data`."""

    def __init__(self, network: Network, topics: Topics) -> None:
        self._network = network
        self._loop = network.loop
        self._topics = topics
        self._traffic: dict[str, Traffic] = {}
        self._waiting: dict[Fetch, None] = {}
        self._desks: dict[str, Desk] = {}
        self._changed_us = 0  # when the traffic of a topic last changed
        self.growth: list[dict[str, Any]] = []  #: what was done to the traffic, in order; for the trace's `log.ends`
        network.links.watchers.append(self.replan)

    # --- topics ----------------------------------------------------------------------------------------------

    def open(self, topic: str, weights: Sequence[int], rate: int) -> None:
        """Begin to produce to a topic; one weight per partition."""
        self._traffic[topic] = Traffic(weights, rate, self._loop.now_us)
        self._changed(topic, rate=rate, weights=list(weights))

    def grow(self, topic: str, weights: Sequence[int]) -> None:
        """The topic has more partitions now; `weights` are those of the new ones."""
        self._traffic[topic].grow(weights, self._loop.now_us)
        self._changed(topic, more=list(weights))

    def close(self, topic: str) -> None:
        """The topic is gone."""
        del self._traffic[topic]
        self._changed(topic)

    def set_rate(self, topic: str, rate: int) -> None:
        """Produce at another rate (records per 10⁶ s, see `as_rate`) from now on; 0 stops."""
        self._known(topic).set_rate(rate, self._loop.now_us)
        self._changed(topic, rate=rate)

    def burst(self, topic: str, records: int) -> None:
        """Produce so many records at once."""
        self._known(topic).burst(records, self._loop.now_us)
        self._changed(topic, burst=records)

    def _changed(self, topic: str, **what: Any) -> None:
        """Note what was done: made (rate and weights), another rate, a burst, more partitions, or deleted (nothing)."""
        self._changed_us = self._loop.now_us
        self.growth.append({"t_us": self._changed_us, "topic": topic, **what})
        self.replan()

    def end(self, partition: TopicPartition) -> int:
        """The log end offset now; 0 for what does not exist."""
        traffic = self._traffic.get(partition.topic)
        if traffic is None or partition.partition >= traffic.partitions:
            return 0
        return traffic.end(partition.partition, self._loop.now_us)

    def ends(self) -> dict[str, list[int]]:
        """Start, end and high watermark of every partition's log: they start at 0, and all of them is replicated."""
        found = {}
        for topic, traffic in self._traffic.items():
            for number in range(traffic.partitions):
                end = traffic.end(number, self._loop.now_us)
                found[f"{topic}-{number}"] = [0, end, end]
        return found

    def _known(self, topic: str) -> Traffic:
        traffic = self._traffic.get(topic)
        if traffic is None:
            raise ValueError(f"there is no topic {topic!r}; there are: {', '.join(self._traffic) or 'none'}")
        return traffic

    # --- members.interfaces.Data -----------------------------------------------------------------------------

    def fetch(
        self,
        host: str,
        positions: Mapping[TopicPartition, int],
        max_records: int,
        max_wait_us: int | None,
        on_done: OnFetched,
    ) -> Callable[[], None]:
        """See `members.interfaces.Data.fetch`."""
        desk = self._desk(host)
        there, back = self._round_trip(desk)
        fetch = Fetch(desk, positions, max_records, on_done, self._loop.now_us + there, back)
        if max_wait_us is not None:
            fetch.gives_up_us = fetch.arrives_us + max_wait_us
        self._waiting[fetch] = None
        self._plan(fetch)
        return partial(self._give_up, fetch)

    def offsets(
        self,
        host: str,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[Ends | FetchFailed], None],
    ) -> None:
        """See `members.interfaces.Data.offsets`."""
        desk = self._desk(host)
        there, back = self._round_trip(desk)

        def answer(_: object) -> None:
            blocked = self._blocked(host, partitions)
            if blocked and len(blocked) == len(partitions):
                on_done(_UNREACHABLE)
            else:
                on_done({tp: (0, self.end(tp)) for tp in partitions})

        desk.host.call_at(self._loop.now_us + there + back, answer, order=_MESSAGE)

    # --- planning --------------------------------------------------------------------------------------------

    # A fetch is planned and answered once for every few records, so what is asked of each of its partitions is asked in
    # place, and of faults only while there are any.

    def _plan(self, fetch: Fetch) -> None:
        """Find out when the fetch has something to say, and schedule the arrival of just that."""
        host = fetch.desk.host
        if fetch.handle is not None:
            host.cancel(fetch.handle)
            fetch.handle = None
        leaves = self._due(fetch)
        if leaves is not None:
            fetch.leaves_us = leaves
            fetch.handle = host.call_at(leaves + fetch.back_us, self._arrive, fetch, order=_MESSAGE)

    def _due(self, fetch: Fetch) -> int | None:
        """When the answer leaves the brokers: at the first record, or when the time is up; None for never."""
        earliest = max(fetch.arrives_us, self._loop.now_us)
        desk, positions = fetch.desk, fetch.positions
        blocked = self._blocked(desk.host.name, positions)
        if blocked and len(blocked) == len(positions):
            return None if any(self._is_held(desk.host.name, tp) for tp in positions) else earliest
        first, known, sole = fetch.gives_up_us, desk.due, None
        fetch.sole = None
        for tp, position in positions.items():
            at = known.get(tp)
            due = at[1] if at is not None and at[0] == position else self._first_us(desk, tp, position)
            if due is not None and (first is None or due <= first) and tp not in blocked:
                if due <= earliest:
                    return earliest
                sole = tp if first is None or due < first else None
                first = due
        fetch.sole = sole
        return None if first is None else max(first, earliest)

    def _first_us(self, desk: Desk, tp: TopicPartition, position: int) -> int | None:
        """When the record at `position` is there, None for never; remembered, so look into `desk.due` first."""
        topic, number = tp
        traffic = self._traffic.get(topic)
        due = traffic.due_us(number, position) if traffic is not None and number < traffic.partitions else None
        desk.due[tp] = (position, due)
        return due

    def _arrive(self, fetch: Fetch) -> None:
        """The answer arrives at the client."""
        self._waiting.pop(fetch, None)
        fetch.handle = None  # or fetch and entry would keep each other alive until the garbage collector comes
        blocked = self._blocked(fetch.desk.host.name, fetch.positions)
        if blocked and len(blocked) == len(fetch.positions):
            fetch.on_done(_UNREACHABLE)
        else:
            fetch.on_done(self._gather(fetch, blocked))

    def _gather(self, fetch: Fetch, blocked: Set[TopicPartition]) -> tuple[Fetched, ...]:
        """Up to `most` records: in turn, from the partition after the one the last fetch ended with."""
        desk, left = fetch.desk, fetch.most
        found: list[Fetched] = []
        sole = fetch.sole
        foreseen = sole is not None and not blocked and fetch.leaves_us >= self._changed_us
        for tp in (sole,) if sole is not None and foreseen else self._in_turn(fetch, blocked):
            traffic, position = self._traffic[tp.topic], fetch.positions[tp]
            there_us = max(fetch.leaves_us, traffic.since_us)
            following_us = self._first_us(desk, tp, position + 1)  # the next fetch wants to know
            if following_us is None or following_us > there_us:
                count = 1
            else:
                count = min(traffic.end(tp.partition, there_us) - position, left)
            found.append(Fetched(tp, position, count))
            left -= count
            desk.last = tp
            if not left:
                break
        return tuple(found)

    def _in_turn(self, fetch: Fetch, blocked: Set[TopicPartition]) -> list[TopicPartition]:
        """The partitions that have records, beginning after the one the last fetch ended with."""
        desk, leaves = fetch.desk, fetch.leaves_us
        ready, known = [], desk.due
        for tp, position in fetch.positions.items():
            at = known.get(tp)
            due = at[1] if at is not None and at[0] == position else self._first_us(desk, tp, position)
            if due is not None and (due <= leaves or self._was_there(tp, due, leaves)) and tp not in blocked:
                ready.append(tp)
        last = desk.last
        if len(ready) > 1 and last is not None and last in fetch.positions:
            order = list(fetch.positions)
            after = set(order[order.index(last) + 1 :])
            ready = [tp for tp in ready if tp in after] + [tp for tp in ready if tp not in after]
        return ready

    def _was_there(self, tp: TopicPartition, due: int, leaves: int) -> bool:
        """Whether a record was there when the answer left, though the topic's traffic has changed since then: of what
        was before that, nothing is known but that it is there."""
        return leaves < self._changed_us and due <= self._traffic[tp.topic].since_us

    def _give_up(self, fetch: Fetch) -> None:
        self._waiting.pop(fetch, None)
        if fetch.handle is not None:
            fetch.desk.host.cancel(fetch.handle)
            fetch.handle = None

    def replan(self) -> None:
        """Plan the waiting fetches anew, but those whose answer is on its way already."""
        now = self._loop.now_us
        for desk in self._desks.values():
            desk.due.clear()
        for fetch in list(self._waiting):
            if not fetch.desk.host.alive:
                del self._waiting[fetch]
            elif fetch.handle is None or fetch.leaves_us >= now:
                self._plan(fetch)

    # --- the network -----------------------------------------------------------------------------------------

    def _desk(self, host: str) -> Desk:
        desk = self._desks.get(host)
        if desk is None:
            desk = self._desks[host] = Desk(self._loop.host(host))
        return desk

    def _round_trip(self, desk: Desk) -> tuple[int, int]:
        """Latency there and back, under whatever faults slow the host's links."""
        client, draws = desk.host, desk.draws
        if draws is None or desk.incarnation != client.incarnation:
            desk.incarnation = client.incarnation
            stream = self._loop.stream("latency", f"{client.name}->data", client.incarnation)
            draws = desk.draws = Draws(self._network.timing.latency, stream)
        there, back = draws.pair()
        links = self._network.links
        if links.conditions:
            slow = links.between(client.name, broker_name(0), "data")
            there, back = stretched(there, slow), stretched(back, slow)
        return there, back

    def _blocked(self, host: str, partitions: Iterable[TopicPartition]) -> Set[TopicPartition]:
        """The partitions whose leaders are down or out of reach; looked at one by one only when something is wrong."""
        if self._topics.all_live and not self._network.links.conditions:
            return _NO_PARTITIONS
        return {tp for tp in partitions if self._is_down(tp) or self._is_held(host, tp)}

    def _is_down(self, tp: TopicPartition) -> bool:
        topic = self._topics.get(tp.topic)
        return topic is not None and tp.partition < topic.partitions and self._topics.leader(topic, tp.partition) < 0

    def _is_held(self, host: str, tp: TopicPartition) -> bool:
        """Whether a fault holds back what goes between a host and a partition's leader."""
        links = self._network.links
        if not links.conditions:
            return False
        topic = self._topics.get(tp.topic)
        if topic is None or tp.partition >= topic.partitions:
            return False
        broker = broker_name(self._topics.leader(topic, tp.partition))
        faults = links.between(host, broker, "data")
        return any(c.holds(host, broker) or c.holds(broker, host) for c in faults)
