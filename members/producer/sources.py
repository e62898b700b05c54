"""Records from a load, for the partition queues.

Where a record's number alone determines its partition (by weights or round robin, one size, steady), each queue gets a
`Share`, and nothing happens per record. All other loads are a `Flow`: records in order of time, each with size, key and
partition, drawn when they are needed, without an event for each. A flow is checked when the batch of its next record
would have lingered, and as often as batches would fill at the mean rate; a batch that random sizes fill earlier is
noticed at that check.

The random streams belong to the load (topic and producer), one each for instants, sizes, keys and the sticky partition,
so a change of one does not change the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from groupsim.eventloop.distributions import exponential
from groupsim.members.producer.accumulator import NEVER, PartitionQueue, Share
from groupsim.members.producer.load import Arriving, Load
from groupsim.members.producer.partitioners import RoundRobin, Sticky, partition_for_key
from groupsim.members.producer.sizes import capacity, record_bytes
from groupsim.members.producer.traffic import Traffic

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.producer.settings import ProducerSettings

_PER_RATE = 10**12  # µs in 10⁶ s


def shares_out(load: Load, settings: ProducerSettings) -> bool:
    """Whether record numbers alone determine the partitions."""
    by_number = load.weights is not None or (settings.partitioner == "roundrobin" and load.keys is None)
    return by_number and load.arriving is Arriving.STEADY and load.sizes.constant and not load.content


class Shared:
    """A load whose queues have shares of it. `traffic` is made when the partitions are known."""

    def __init__(self, load: Load, start_us: int) -> None:
        self.load = load
        self.next_us = NEVER  # the queues have their own instants
        self.rate = load.rate
        self._start_us = start_us
        self._burst = 0
        self.traffic: Traffic | None = None

    def partitions(self, queues: list[PartitionQueue], now_us: int) -> None:
        """Set the topic's partitions, of which more may come; weights beyond the list are 1."""
        given = self.load.weights or ()
        weights = [given[number] if number < len(given) else 1 for number in range(len(queues))]
        known = 0
        if self.traffic is None:
            self.traffic = Traffic(weights, self.rate, self._start_us)
            self._give(queues)
            self.traffic.burst(self._burst, now_us)
        else:
            known = self.traffic.partitions
            if len(queues) > known:
                self.traffic.grow(weights[known:], now_us)
                self._give(queues[known:])
        self.changed(queues)

    def _give(self, queues: list[PartitionQueue]) -> None:
        assert self.traffic is not None
        for queue in queues:
            share = Share(self.traffic, queue.partition.partition, self.load.sizes.least, queue.batch_size)
            queue.share = share

    def changed(self, queues: list[PartitionQueue]) -> None:
        """Compute the next records again, after rate or weights changed."""
        for queue in queues:
            if queue.share is not None:
                queue.share.look()

    def set_rate(self, rate: int, now_us: int) -> None:
        """Change the rate from now on."""
        self.rate = rate
        if self.traffic is None:
            self._start_us = now_us
        else:
            self.traffic.set_rate(rate, now_us)

    def burst(self, records: int, now_us: int) -> None:
        """Add so many records at once."""
        if self.traffic is None:
            self._burst += records
        else:
            self.traffic.burst(records, now_us)

    def fill(self, queues: list[PartitionQueue], now_us: int, accepted_us: int) -> None:
        """Do nothing: `PartitionQueue.catch_up` fills batches."""


class Flow:
    """A load drawn record by record, or in runs of equal records for one sticky partition."""

    def __init__(self, loop: EventLoop, host: str, load: Load, settings: ProducerSettings, start_us: int) -> None:
        name = f"{host} {load.topic}"
        self.load = load
        self.rate = load.rate
        self._ignore_keys = settings.ignore_keys
        self._linger_us = settings.linger_ms * 1_000
        self._sizes = loop.stream("record-sizes", name)
        self._keys = loop.stream("record-keys", name)
        self._hot = loop.stream("record-hot-keys", name)
        self._empty = loop.stream("record-tombstones", name)
        self._sums = load.keys.cumulative() if load.keys else ()
        batch_size = settings.batch_size
        self._sticky = Sticky(loop.stream("sticky-partition", name), batch_size)
        self._in_turn = RoundRobin() if settings.partitioner == "roundrobin" else None
        self._weight_sums = _cumulative_weights(load.weights)
        self._weight_draws = loop.stream("partition-weights", name)
        self._fits = capacity(batch_size, -1, max(load.sizes.least, 1))
        self._instants: Steady | Poisson = (
            Steady(load.rate, start_us)
            if load.arriving is Arriving.STEADY
            else Poisson(loop, name, load.rate, start_us)
        )
        self._drawn: tuple[bytes | None, int] | None = None  # key and size of a record that waits for memory
        self.next_us = NEVER

    def partitions(self, queues: list[PartitionQueue], now_us: int) -> None:
        """Set the topic's partitions."""
        self._plan(now_us)

    def set_rate(self, rate: int, now_us: int) -> None:
        """Change the rate from now on."""
        self.rate = rate
        self._instants.set_rate(rate, now_us)
        self._plan(now_us)

    def burst(self, records: int, now_us: int) -> None:
        """Add so many records at once."""
        self._instants.burst(records, now_us)
        self._plan(now_us)

    def changed(self, queues: list[PartitionQueue]) -> None:
        """Do nothing."""

    @property
    def due_us(self) -> int:
        """Instant of the next record."""
        return self._instants.due_us

    def drop(self, count: int) -> int:
        """Drop the next `count` records; return their number."""
        self._drawn = None
        for _ in range(count):
            self._instants.take_one()
        return count

    def fill(self, queues: list[PartitionQueue], now_us: int, accepted_us: int) -> bool:
        """Batch the records that have come; False when memory is exhausted."""
        fits = True
        while fits and self._instants.due_us <= now_us:
            plain = self.load.keys is None and self.load.sizes.constant and not self.load.content
            if plain and self._in_turn is None and not self._weight_sums:
                fits = self._fill_run(queues, now_us, accepted_us)
            else:
                fits = self._fill_one(queues, accepted_us)
        self._plan(now_us)
        return fits

    def _plan(self, now_us: int) -> None:
        due = self._instants.due_us
        if due >= NEVER or not self.rate:
            self.next_us = due
            return
        fill_us = self._fits * _PER_RATE // self.rate
        self.next_us = max(due, min(due + self._linger_us, now_us + fill_us))

    def _fill_run(self, queues: list[PartitionQueue], now_us: int, accepted_us: int) -> bool:
        """Append as many records as the sticky partition takes before another is drawn."""
        available = _available(queues)
        number = self._sticky.choose(available)
        if number not in available:
            self._sticky.lost()
            number = self._sticky.choose(available)
        size = self.load.sizes.least
        each = record_bytes(0, -1, size)
        first_us, count, last_us = self._instants.take_run(now_us, max(-(-self._sticky.left // each), 1))
        first_us, last_us = max(first_us, accepted_us), max(last_us, accepted_us)
        done = queues[number].append(count, size, first_us, last_us)
        self._sticky.count(done * each)
        self._instants.give_back(count - done)
        return done == count

    def _fill_one(self, queues: list[PartitionQueue], accepted_us: int) -> bool:
        key, size = self._drawn or self._draw()
        queue = queues[self._partition(key, size, queues)]
        content: bytes | bool | None = False
        if self.load.content:
            gone = self.load.tombstones_ppm and self._empty.chance(self.load.tombstones_ppm)
            content = None if gone else bytes(size)
            size = -1 if gone else size
        now_us = max(self._instants.due_us, accepted_us)
        if not queue.append_record(key, size, now_us, content):
            self._drawn = (key, max(size, 0))
            return False
        self._drawn = None
        self._instants.take_one()
        return True

    def _draw(self) -> tuple[bytes | None, int]:
        sizes = self.load.sizes
        size = sizes.least + (0 if sizes.constant else self._sizes.below(sizes.most - sizes.least + 1))
        return self._key(), size

    def _key(self) -> bytes | None:
        keys = self.load.keys
        if keys is None:
            return None
        hot = keys.hot_ppm and self._hot.chance(keys.hot_ppm)
        number = bisect_right(self._sums, self._keys.below(self._sums[-1]))
        return b"key-%d" % (0 if hot else number)

    def _partition(self, key: bytes | None, size: int, queues: list[PartitionQueue]) -> int:
        if self._weight_sums:
            drawn = self._weight_draws.below(self._weight_sums[-1])
            return min(bisect_right(self._weight_sums, drawn), len(queues) - 1)
        if key is not None and not self._ignore_keys and self._in_turn is None:
            return partition_for_key(key, len(queues))
        available = _available(queues)
        if self._in_turn is not None:
            return self._in_turn.choose(available)
        number = self._sticky.choose(available)
        self._sticky.count(record_bytes(0, -1 if key is None else len(key), size))
        return number


class Steady:
    """Instants at a steady rate, as those of a partition of `Traffic`."""

    __slots__ = ("_taken", "_traffic", "due_us")

    def __init__(self, rate: int, start_us: int) -> None:
        self._traffic = Traffic((1,), rate, start_us)
        self._taken = 0
        self.due_us = 0
        self._look()

    def _look(self) -> None:
        due = self._traffic.due_us(0, self._taken)
        self.due_us = NEVER if due is None else due

    def take_run(self, now_us: int, most: int) -> tuple[int, int, int]:
        """Take up to `most` records that have come: instant of the first, their number, instant of the last."""
        count = min(self._traffic.end(0, now_us) - self._taken, most)
        first = self.due_us
        last = self._traffic.due_us(0, self._taken + count - 1)
        self._taken += count
        self._look()
        return first, count, first if last is None else last

    def give_back(self, count: int) -> None:
        """Return the last `count` records of a run."""
        if count:
            self._taken -= count
            self._look()

    def take_one(self) -> None:
        """Take the next record."""
        self._taken += 1
        self._look()

    def set_rate(self, rate: int, now_us: int) -> None:
        """Change the rate from now on."""
        self._traffic.set_rate(rate, now_us)
        self._look()

    def burst(self, records: int, now_us: int) -> None:
        """Add so many records at once."""
        self._traffic.burst(records, now_us)
        self._look()


class Poisson:
    """Random instants: exponential intervals, drawn with a mean of 1,000 s and scaled to the rate."""

    __slots__ = ("_draw", "_extra", "_held", "_last_us", "_rate", "due_us")

    def __init__(self, loop: EventLoop, name: str, rate: int, start_us: int) -> None:
        self._draw = _units(loop, name)
        self._rate = rate
        self._extra = 0
        self._last_us = start_us
        self._held = next(self._draw)
        self.due_us = NEVER
        self._look()

    def _look(self) -> None:
        if self._extra:
            self.due_us = self._last_us
        else:
            self.due_us = self._last_us + self._held * 1_000 // self._rate if self._rate else NEVER

    def take_run(self, now_us: int, most: int) -> tuple[int, int, int]:
        """Take up to `most` records that have come: instant of the first, their number, instant of the last."""
        first = last = self.due_us
        count = 0
        while count < most and self.due_us <= now_us:
            last = self.due_us
            self.take_one()
            count += 1
        return first, count, last

    def give_back(self, count: int) -> None:
        """Return the last `count` records of a run; they come again at once."""
        self._extra += count
        self._look()

    def take_one(self) -> None:
        """Take the next record."""
        if self._extra:
            self._extra -= 1
        else:
            self._last_us = self.due_us
            self._held = next(self._draw)
        self._look()

    def set_rate(self, rate: int, now_us: int) -> None:
        """Change the rate from now on; the interval to the next record is memoryless, and is scaled to the new rate."""
        self._rate = rate
        self._last_us = max(now_us, self._last_us)
        self._look()

    def burst(self, records: int, now_us: int) -> None:
        """Add so many records at once."""
        self._extra += records
        self._last_us = max(self._last_us, min(now_us, self.due_us))
        self._look()


def _units(loop: EventLoop, name: str) -> Iterator[int]:
    """Yield exponential numbers with mean 10⁹."""
    stream, distribution = loop.stream("arrivals", name), exponential(1_000_000_000)
    while True:
        yield from distribution.draws(stream, 64)


def _available(queues: list[PartitionQueue]) -> list[int]:
    """Return the partitions with a leader; all if none has one."""
    led = [queue.partition.partition for queue in queues if queue.node >= 0]
    return led or [queue.partition.partition for queue in queues]


def _cumulative_weights(weights: tuple[int, ...] | None) -> tuple[int, ...]:
    total, sums = 0, []
    for weight in weights or ():
        total += weight
        sums.append(total)
    return tuple(sums)
