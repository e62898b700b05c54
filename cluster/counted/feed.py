"""The log ends and the feed of counted logs, in place of Fetch and ListOffsets.

Log ends are arithmetic (`traffic`), so the time of a fetch's first record is known in advance. A fetch plans one event,
the arrival of the records at the client. A change (another rate, a burst, a link that stalls or recovers, a broker that
goes down) makes the waiting fetches plan again. A fetch without coming records costs no event.

    fetch ──> plan ──> arrival at the client ──> on_done
               ^
               └── replan: the traffic, a link or a leader has changed

A fetch is planned and answered once for every few records; unchanged times are kept from one fetch to the next, and
faults are checked only while there are any.

Simplified: one fetch with one round trip covers all partitions, on any leaders. A partition whose leader cannot be
reached is left out; a fetch without partitions waits for the link or fails. There is no retention, so logs start at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeAlias

from groupsim.cluster.counted.controller import CountedController
from groupsim.cluster.network.endpoint import broker_name
from groupsim.cluster.network.latency import Draws
from groupsim.cluster.network.link_faults import stretched
from groupsim.cluster.network.network import Network
from groupsim.eventloop.interface import Handle, Host, Order
from groupsim.members.interfaces import Fetched, FetchFailed
from groupsim.members.producer.load import DEFAULT_SIZES, Sizes
from groupsim.members.producer.traffic import Traffic
from groupsim.protocol.messages.cluster import NO_LEADER
from groupsim.protocol.messages.group import TopicPartition

Ends: TypeAlias = Mapping[TopicPartition, tuple[int, int]]
OnFetched: TypeAlias = Callable[[tuple[Fetched, ...] | FetchFailed], None]

NEVER = 1 << 62  # the time of a record that never comes
UNREACHABLE = FetchFailed("no leader of these partitions can be reached")
_MESSAGE = Order.MESSAGE


class Data:
    """Log ends and fetches of all topics; implements `members.interfaces.Data` and `parts.Feed`."""

    def __init__(self, network: Network, controller: CountedController) -> None:
        self._network = network
        self.loop = network.loop
        self._controller = controller
        self.traffic: dict[str, Traffic] = {}
        self._clients: dict[str, ClientState] = {}
        self.waiting: dict[Reader, None] = {}  #: the readers with a fetch in flight, in the order of the fetches
        self.changed_us = 0  #: when the traffic of a topic last changed
        self.changes = 0  #: number of changes that plans depend on
        self.sound = True  #: whether all leaders are up and no link has a fault
        self.growth: list[dict[str, Any]] = []  #: changes of the traffic, in order; for the trace's `log.ends`
        network.link_faults.watchers.append(self.replan)

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
        """Set the rate (records per 10⁶ s, see `as_rate`); 0 stops the traffic."""
        self._known(topic).set_rate(rate, self.loop.now_us)
        self._changed(topic, rate=rate)

    def burst(self, topic: str, records: int) -> None:
        """Produce `records` records at once."""
        self._known(topic).burst(records, self.loop.now_us)
        self._changed(topic, burst=records)

    def _changed(self, topic: str, **change: Any) -> None:
        """Record a change: creation (rate and weights), a new rate, a burst, new partitions, or deletion (nothing)."""
        self.changed_us = self.loop.now_us
        self.growth.append({"t_us": self.changed_us, "topic": topic, **change})
        self.replan()

    def replan(self) -> None:
        """Plan the waiting fetches again after a change."""
        self.changes += 1
        self.sound = self._controller.all_up and not self._network.link_faults.conditions
        for reader in list(self.waiting):
            reader.replan()

    def end(self, partition: TopicPartition) -> int:
        """Return the current log end offset; 0 for an unknown partition."""
        traffic = self.traffic.get(partition.topic)
        if traffic is None or partition.partition >= traffic.partitions:
            return 0
        return traffic.end(partition.partition, self.loop.now_us)

    def ends(self) -> dict[str, list[int]]:
        """Return start, end and high watermark of every partition: 0, and twice the end offset."""
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
        return Reader(self, self._client(host), max_records, on_done)

    def offsets(
        self,
        host: str,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[Ends | FetchFailed], None],
    ) -> None:
        client = self._client(host)
        there, back = client.round_trip()

        def answer(_: object) -> None:
            if not self.sound and all(self.is_down(tp) or self.is_held(host, tp) for tp in partitions):
                on_done(UNREACHABLE)
            else:
                on_done({tp: (0, self.end(tp)) for tp in partitions})

        client.host.call_at(self.loop.now_us + there + back, answer, order=_MESSAGE)

    def _client(self, host: str) -> ClientState:
        client = self._clients.get(host)
        if client is None:
            client = self._clients[host] = ClientState(self.loop.host(host), self._network)
        return client

    # --- for readers -----------------------------------------------------------------------------------------

    def due_us(self, tp: TopicPartition, position: int) -> int:
        """Return when the record at `position` is appended, or NEVER."""
        topic, number = tp
        traffic = self.traffic.get(topic)
        due = traffic.due_us(number, position) if traffic is not None and number < traffic.partitions else None
        return NEVER if due is None else due

    def was_there(self, tp: TopicPartition, due: int, leaves: int) -> bool:
        """Whether a record was in the log when a response left.

        For times before the last change of the topic's traffic, only records present at that change count.
        """
        if due <= leaves or due == NEVER:
            return due <= leaves
        return leaves < self.changed_us and due <= self.traffic[tp.topic].since_us

    def is_down(self, tp: TopicPartition) -> bool:
        """Whether a partition has no live leader."""
        state = self._controller.image.partition(tp)
        return state is not None and state.leader == NO_LEADER

    def is_held(self, host: str, tp: TopicPartition) -> bool:
        """Whether a fault holds messages between a host and a partition's leader."""
        links = self._network.link_faults
        if not links.conditions:
            return False
        state = self._controller.image.partition(tp)
        if state is None:
            return False
        broker = broker_name(state.leader)
        faults = links.between(host, broker, "data")
        return any(c.holds(host, broker) or c.holds(broker, host) for c in faults)


class ClientState:
    """The state of one client across restarts of its host: latencies, and the last partition of its last fetch."""

    __slots__ = ("_draws", "_incarnation", "_network", "host", "last")

    def __init__(self, host: Host, network: Network) -> None:
        self.host = host
        self.last: TopicPartition | None = None
        self._network = network
        self._incarnation = -1
        self._draws: Draws | None = None

    def draws(self) -> Draws:
        """Return the latencies of the host's current incarnation."""
        host, draws = self.host, self._draws
        if draws is None or self._incarnation != host.incarnation:
            self._incarnation = host.incarnation
            stream = self._network.loop.stream("latency", f"{host.name}->data", host.incarnation)
            draws = self._draws = Draws(self._network.timing.latency, stream)
        return draws

    def round_trip(self) -> tuple[int, int]:
        """Return the latency (µs) of a request and its response, with the faults of the host's links."""
        there, back = self.draws().pair()
        if not self._network.link_faults.conditions:
            return there, back
        slow = self._network.link_faults.between(self.host.name, broker_name(0), "data")
        return stretched(there, slow), stretched(back, slow)


class Reader:
    """The fetches of one client process, at most one at a time; implements `members.interfaces.Reader`.

    `_due` has the time of each partition's next record, or NEVER. It is valid for the positions `_at`, and while
    `Data.changes` equals `_changes`.
    """

    __slots__ = (
        "_arrives_us",
        "_at",
        "_back_us",
        "_changes",
        "_client",
        "_data",
        "_draws",
        "_due",
        "_handle",
        "_host",
        "_leaves_us",
        "_loop",
        "_max_records",
        "_on_done",
        "_positions",
    )

    def __init__(self, data: Data, client: ClientState, max_records: int, on_done: OnFetched) -> None:
        self._data = data
        self._client = client
        self._host, self._draws = client.host, client.draws()
        self._loop = data.loop
        self._max_records = max_records
        self._on_done = on_done
        self._positions: Mapping[TopicPartition, int] = {}
        self._at: dict[TopicPartition, int] = {}
        self._due: dict[TopicPartition, int] = {}
        self._changes = -1
        self._handle: Handle | None = None
        self._arrives_us = self._back_us = self._leaves_us = 0

    def fetch(self, positions: Mapping[TopicPartition, int]) -> None:
        data = self._data
        there, self._back_us = self._draws.pair() if data.sound else self._client.round_trip()
        self._arrives_us = self._loop.now_us + there
        self._positions = positions
        data.waiting[self] = None
        self._plan()

    def give_up(self) -> None:
        self._data.waiting.pop(self, None)
        self._cancel()

    def replan(self) -> None:
        """Plan again, unless the response has left already or the process has ended."""
        if not self._host.alive:
            del self._data.waiting[self]
        elif self._handle is None or self._leaves_us >= self._loop.now_us:
            self._cancel()
            self._plan()

    # --- planning --------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Schedule the arrival of the first record, if one will come."""
        data = self._data
        if not data.sound:
            first = self._first_reachable()
        elif self._at == self._positions and self._changes == data.changes:
            first = min(self._due.values(), default=NEVER)
        else:
            first = min(self._dues().values(), default=NEVER)
        if first < NEVER:
            earliest, now = self._arrives_us, self._loop.now_us
            if earliest < now:
                earliest = now
            self._leaves_us = leaves = first if first > earliest else earliest
            self._handle = self._host.call_at(leaves + self._back_us, _arrive, self, order=_MESSAGE)

    def _first_reachable(self) -> int:
        """Return the time of the first reachable record; without reachable partitions NEVER or, to fail at once, 0."""
        blocked = self._blocked()
        if blocked and len(blocked) == len(self._positions):
            return NEVER if any(self._data.is_held(self._host.name, tp) for tp in blocked) else 0
        return min((due for tp, due in self._dues().items() if tp not in blocked), default=NEVER)

    def _cancel(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._host.cancel(handle)

    def _dues(self) -> dict[TopicPartition, int]:
        """Return the time of the record at each partition's position."""
        if self._changes != self._data.changes:
            self._changes = self._data.changes
            self._at = {}
        if self._at != self._positions:
            at, due, when = self._at, self._due, self._data.due_us
            self._due = {
                tp: due[tp] if at.get(tp) == position else when(tp, position)
                for tp, position in self._positions.items()
            }
            self._at = dict(self._positions)
        return self._due

    # --- the answer ------------------------------------------------------------------------------------------

    def _arrive(self) -> None:
        """Deliver the response to the client."""
        data, positions = self._data, self._positions
        data.waiting.pop(self, None)
        self._handle = None  # breaks the reference cycle of reader and handle
        if data.sound and self._changes == data.changes:
            due, leaves = self._due, self._leaves_us
            ready = [tp for tp, when in due.items() if when <= leaves]  # in any order: there is rarely more than one
            if len(ready) > 1:
                ready = [tp for tp in positions if due[tp] <= leaves]
        else:
            blocked = self._blocked()
            if blocked and len(blocked) == len(positions):
                self._on_done(UNREACHABLE)
                return
            ready = self._ready_after_changes(blocked)
        self._on_done(self._gather(ready if len(ready) < 2 else self._in_turn(ready)))

    def _ready_after_changes(self, blocked: Set[TopicPartition]) -> list[TopicPartition]:
        """Return the reachable partitions that had records when the response left, after a change of the traffic."""
        due, leaves, was_there = self._dues(), self._leaves_us, self._data.was_there
        return [tp for tp in self._positions if tp not in blocked and was_there(tp, due[tp], leaves)]

    def _in_turn(self, ready: list[TopicPartition]) -> list[TopicPartition]:
        """Rotate the partitions so that they begin after the last one of the last fetch."""
        positions, last = self._positions, self._client.last
        if last is None or last not in positions:
            return ready
        order = list(positions)
        after = set(order[order.index(last) + 1 :])
        return [tp for tp in ready if tp in after] + [tp for tp in ready if tp not in after]

    def _gather(self, ready: list[TopicPartition]) -> tuple[Fetched, ...]:
        """Take at most `max_records` records from the partitions in turn, and keep the next record's times."""
        positions, left, leaves, found = self._positions, self._max_records, self._leaves_us, []
        for tp in ready:
            topic, number = tp
            position, traffic = positions[tp], self._data.traffic[topic]
            there_us = leaves if leaves > traffic.since_us else traffic.since_us
            count, following = 1, traffic.due_us(number, position + 1)
            if following is not None and following <= there_us:
                count = min(traffic.end(number, there_us) - position, left)
                following = traffic.due_us(number, position + count)
            self._at[tp], self._due[tp] = position + count, NEVER if following is None else following
            found.append(Fetched(tp, position, count))
            left -= count
            self._client.last = tp
            if not left:
                break
        return tuple(found)

    def _blocked(self) -> Set[TopicPartition]:
        """Return the partitions whose leaders are down or cannot be reached."""
        data, host = self._data, self._host.name
        return {tp for tp in self._positions if data.is_down(tp) or data.is_held(host, tp)}


# A plain function, because a bound method would be one more object for every fetch.
_arrive = Reader._arrive
