"""The log ends of counted topics over a whole run, from the entry `growth` of the trace's `log.ends`.

Producers of counted logs are arithmetic (`members/producer/traffic.py`), so a few entries describe the whole log: when
a topic was created, with which weights and rate, and when it was expanded, got another rate or a burst, or was deleted.
`changes` has them in order. `LogEnds` adds sums and integrals to `Traffic`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from attrs import Factory

from groupsim.members.producer.traffic import Traffic
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import define, frozen


class LogEnds(Traffic):
    """The log ends of one topic, with their sum and their integrals. Exact integers throughout."""

    __slots__ = ("_lowest", "_seen", "_sum")

    def __init__(self, weights: Sequence[int], rate: int, now_us: int) -> None:
        super().__init__(weights, rate, now_us)
        self._seen = (-1, 0)
        self._sum = 0
        self._lowest: int | None = None

    def total(self, now_us: int) -> int:
        """Return the sum of all log ends.

        As long as equal partitions come in turn, evenly apart, ⌊x⌋ + ⌊x + 1/n⌋ + … + ⌊x + (n-1)/n⌋ = ⌊n·x⌋ (Hermite).
        """
        if self._seen != (self.since_us, len(self._base)):
            self._look()
        elapsed, whole = self.rate * (now_us - self.since_us), self._whole
        if self._lowest is not None:
            return self._sum + len(self._base) * (self._lowest + self._weights[0] * elapsed) // whole
        parts = zip(self._carry, self._weights, strict=True)
        return self._sum + sum((carry + weight * elapsed) // whole for carry, weight in parts)

    def _look(self) -> None:
        """Set `_lowest` if the partitions grow in turn, evenly apart; None if not."""
        self._seen = (self.since_us, len(self._base))
        self._sum = sum(self._base)
        apart, rest = divmod(self._whole, len(self._base))
        lowest = min(self._carry)
        even = not rest and sorted(self._carry) == [lowest + apart * k for k in range(len(self._base))]
        self._lowest = lowest if even and len(set(self._weights)) == 1 else None

    def area(self, partition: int, begin_us: int, end_us: int) -> int:
        """Return the log end summed over every microsecond of [begin, end), in record-microseconds.

        The rate must not have changed since `begin_us`.
        """
        length = end_us - begin_us
        speed = self.rate * self._weights[partition]
        start = self._carry[partition] + speed * (begin_us - self.since_us)
        return self._base[partition] * length + floor_sum(length, self._whole, speed, start)


def floor_sum(count: int, divisor: int, step: int, start: int) -> int:
    """Return the sum of ⌊(start + step·i) / divisor⌋ over i = 0 … count-1, in logarithmic time (Euclid)."""
    total = 0
    while True:
        quotient, step = divmod(step, divisor)
        total += quotient * (count * (count - 1) // 2)
        quotient, start = divmod(start, divisor)
        total += quotient * count
        reached = step * count + start
        if reached < divisor:
            return total
        count, start = divmod(reached, divisor)
        step, divisor = divisor, step


@frozen
class TopicChange:
    """A topic is created by `make`, changed by `change`, or, without either, deleted, at `t_us`."""

    t_us: int
    topic: str
    make: Callable[[int], LogEnds] | None = None
    change: Callable[[LogEnds, int], None] | None = None

    def after(self, ends: LogEnds | None) -> LogEnds | None:
        """Return the topic's log ends from now on, perhaps the same object; None without such a topic."""
        if self.make is not None:
            return self.make(self.t_us)
        if self.change is None or ends is None:
            return None
        self.change(ends, self.t_us)
        return ends


def changes(growth: Iterable[Mapping[str, Any]]) -> list[TopicChange]:
    """Return the changes of counted topics, in order, from the entry `growth` of `log.ends`."""
    return [_change(one) for one in growth]


def _change(entry: Mapping[str, Any]) -> TopicChange:
    t_us, topic = int(entry["t_us"]), str(entry["topic"])
    if "weights" in entry:
        return TopicChange(t_us, topic, make=lambda at_us: LogEnds(entry["weights"], entry["rate"], at_us))
    if "rate" in entry:
        return TopicChange(t_us, topic, change=lambda ends, at_us: ends.set_rate(entry["rate"], at_us))
    if "burst" in entry:
        return TopicChange(t_us, topic, change=lambda ends, at_us: ends.burst(entry["burst"], at_us))
    if "more" in entry:
        return TopicChange(t_us, topic, change=lambda ends, at_us: ends.grow(entry["more"], at_us))
    return TopicChange(t_us, topic)


_STATES = 16  # so many last states of a topic are kept


@define
class Growth:
    """The growth of counted logs, as far as it is known: `listed` is the entry of `log.ends`.

    `listed` is None for logs that leaders wrote. For a trace that is read while it is written, the growth is not
    `known` until the end.
    """

    listed: Sequence[Mapping[str, Any]] | None = None
    known: bool = False
    _read: int = 0
    _states: dict[str, list[tuple[int, LogEnds | None]]] = Factory(dict)

    @property
    def counted(self) -> bool:
        """Whether the logs are counted."""
        return self.listed is not None

    def end(self, partition: TopicPartition, t_us: int) -> int:
        """Return the log end after all events of an instant; 0 without such a log."""
        self._catch_up()
        states = self._states.get(partition.topic, [])
        index = bisect_right(states, t_us, key=lambda state: state[0])
        ends = states[index - 1][1] if index else None
        return ends.end(partition.partition, t_us) if ends is not None and partition.partition < ends.partitions else 0

    def beyond(self, partition: TopicPartition, done: int, began_us: int, ended_us: int, long_us: int) -> int | None:
        """Return since when in [began, ended] the log ended beyond `done`; None if for less than `long_us`."""
        low, high = began_us, ended_us - long_us
        if self.end(partition, high) <= done:
            return None
        if self.end(partition, low) > done:
            return low
        while high - low > 1:
            middle = (low + high) // 2
            if self.end(partition, middle) > done:
                high = middle
            else:
                low = middle
        return high

    def _catch_up(self) -> None:
        """Read the entries that were listed since the last call."""
        listed = self.listed or ()
        for change in changes(listed[self._read :]):
            states = self._states.setdefault(change.topic, [])
            before = deepcopy(states[-1][1]) if states and change.make is None else None
            states.append((change.t_us, change.after(before)))
            del states[:-_STATES]
        self._read = len(listed)
