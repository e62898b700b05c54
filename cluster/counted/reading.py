"""One client's fetches from counted logs (`data.py`): each is a single planned event.

Log ends are arithmetic, so a fetch knows when its first record comes, and so when its answer arrives at the client:

    fetch ──> plan ──> arrival at the client ──> on_done
               ^
               └── replan: the traffic, a link or a leader has changed

A fetch is planned and answered once for every few records, so from one to the next is kept what has not changed, and
faults are asked for only while there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, TypeAlias

from groupsim.cluster.network.endpoint import broker_name
from groupsim.cluster.network.latency import Draws
from groupsim.cluster.network.link_faults import stretched
from groupsim.cluster.network.network import Network
from groupsim.eventloop.interface import Handle, Host, Order
from groupsim.members.interfaces import Fetched, FetchFailed
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.cluster.counted.data import Data

OnFetched: TypeAlias = Callable[[tuple[Fetched, ...] | FetchFailed], None]

NEVER = 1 << 62  # when a record comes that never does
UNREACHABLE = FetchFailed("no leader of these partitions can be reached")
_MESSAGE = Order.MESSAGE


class Desk:
    """What is known of one client over the lives of its host: its luck, and the partition the last fetch ended with."""

    __slots__ = ("_draws", "_incarnation", "_network", "host", "last")

    def __init__(self, host: Host, network: Network) -> None:
        self.host = host
        self.last: TopicPartition | None = None
        self._network = network
        self._incarnation = -1
        self._draws: Draws | None = None

    def draws(self) -> Draws:
        """The latencies of the host's present life."""
        client, draws = self.host, self._draws
        if draws is None or self._incarnation != client.incarnation:
            self._incarnation = client.incarnation
            stream = self._network.loop.stream("latency", f"{client.name}->data", client.incarnation)
            draws = self._draws = Draws(self._network.timing.latency, stream)
        return draws

    def round_trip(self) -> tuple[int, int]:
        """Latency there and back (µs), under whatever faults slow the host's links."""
        there, back = self.draws().pair()
        if not self._network.links.conditions:
            return there, back
        slow = self._network.links.between(self.host.name, broker_name(0), "data")
        return stretched(there, slow), stretched(back, slow)


class Reader:
    """The fetches of one client process, at most one at a time; implements `members.interfaces.Reader`.

    `_due` says when the next record of each partition is there (NEVER: never): right for the positions `_at`, and as
    long as `Data.changes` is `_changes`.
    """

    __slots__ = (
        "_arrives_us",
        "_at",
        "_back_us",
        "_changes",
        "_data",
        "_desk",
        "_draws",
        "_due",
        "_handle",
        "_host",
        "_leaves_us",
        "_loop",
        "_most",
        "_on_done",
        "_positions",
    )

    def __init__(self, data: Data, desk: Desk, max_records: int, on_done: OnFetched) -> None:
        self._data = data
        self._desk = desk
        self._host, self._draws = desk.host, desk.draws()
        self._loop = data.loop
        self._most = max_records
        self._on_done = on_done
        self._positions: Mapping[TopicPartition, int] = {}
        self._at: dict[TopicPartition, int] = {}
        self._due: dict[TopicPartition, int] = {}
        self._changes = -1
        self._handle: Handle | None = None
        self._arrives_us = self._back_us = self._leaves_us = 0

    def fetch(self, positions: Mapping[TopicPartition, int]) -> None:
        data = self._data
        there, self._back_us = self._draws.pair() if data.sound else self._desk.round_trip()
        self._arrives_us = self._loop.now_us + there
        self._positions = positions
        data.waiting[self] = None
        self._plan()

    def give_up(self) -> None:
        self._data.waiting.pop(self, None)
        self._take_back()

    def replan(self) -> None:
        """Something has changed: plan anew, unless the answer is on its way already or the process is no more."""
        if not self._host.alive:
            del self._data.waiting[self]
        elif self._handle is None or self._leaves_us >= self._loop.now_us:
            self._take_back()
            self._plan()

    # --- planning --------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Schedule the arrival of the first record there is to tell of; of none, when that is never."""
        data = self._data
        if not data.sound:
            first = self._first_in_trouble()
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

    def _first_in_trouble(self) -> int:
        """When the first record is there of a partition within reach; a fetch with none waits for a held link, or
        fails at once."""
        blocked = self._blocked()
        if blocked and len(blocked) == len(self._positions):
            return NEVER if any(self._data.is_held(self._host.name, tp) for tp in blocked) else 0
        return min((due for tp, due in self._dues().items() if tp not in blocked), default=NEVER)

    def _take_back(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._host.cancel(handle)

    def _dues(self) -> dict[TopicPartition, int]:
        """When the record at each partition's position is there."""
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
        """The answer arrives at the client."""
        data, positions = self._data, self._positions
        data.waiting.pop(self, None)
        self._handle = None  # or reader and entry would keep each other alive until the garbage collector comes
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
        """The partitions within reach that had records when the answer left, under traffic that may be another now."""
        due, leaves, was_there = self._dues(), self._leaves_us, self._data.was_there
        return [tp for tp in self._positions if tp not in blocked and was_there(tp, due[tp], leaves)]

    def _in_turn(self, ready: list[TopicPartition]) -> list[TopicPartition]:
        """Beginning after the one the last fetch ended with."""
        positions, last = self._positions, self._desk.last
        if last is None or last not in positions:
            return ready
        order = list(positions)
        after = set(order[order.index(last) + 1 :])
        return [tp for tp in ready if tp in after] + [tp for tp in ready if tp not in after]

    def _gather(self, ready: list[TopicPartition]) -> tuple[Fetched, ...]:
        """Up to so many records, in turn. What comes after them is noted: the next fetch wants to know."""
        positions, left, leaves, found = self._positions, self._most, self._leaves_us, []
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
            self._desk.last = tp
            if not left:
                break
        return tuple(found)

    def _blocked(self) -> Set[TopicPartition]:
        """The partitions whose leaders are down or out of reach."""
        data, host = self._data, self._host.name
        return {tp for tp in self._positions if data.is_down(tp) or data.is_held(host, tp)}


# As a plain function: a bound method for every fetch would be one more object to make.
_arrive = Reader._arrive
