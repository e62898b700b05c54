"""The log ends of every topic over a whole run, worked out from the scenario as the cluster works them out.

Producers are arithmetic (`cluster/traffic.py`), so a scenario says all there is to know: what topics there are, how
fast they grow, when a step of the timeline creates, expands or deletes one or changes its rate. `changes` lists these
in order; `LogEnds` adds to the cluster's own functions what an integral needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from attrs import frozen

from groupsim.cluster.traffic import Traffic
from groupsim.scenarios.actions import AddPartitions, CreateTopic, DeleteTopic, SetRate
from groupsim.scenarios.model import Scenario, Step
from groupsim.scenarios.steps import Deed
from groupsim.scenarios.values import Rate


class LogEnds(Traffic):
    """The log ends of one topic, with their sum and their integrals. Exact integers throughout."""

    __slots__ = ("_lowest", "_seen", "_sum")

    def __init__(self, weights: Sequence[int], rate: int, now_us: int) -> None:
        super().__init__(weights, rate, now_us)
        self._seen = (-1, 0)
        self._sum = 0
        self._lowest: int | None = None

    def total(self, now_us: int) -> int:
        """All log ends together.

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
        """Find out whether the partitions come in turn, evenly apart."""
        self._seen = (self.since_us, len(self._base))
        self._sum = sum(self._base)
        apart, rest = divmod(self._whole, len(self._base))
        lowest = min(self._carry)
        even = not rest and sorted(self._carry) == [lowest + apart * k for k in range(len(self._base))]
        self._lowest = lowest if even and len(set(self._weights)) == 1 else None

    def area(self, partition: int, begin_us: int, end_us: int) -> int:
        """The log end summed over every microsecond of [begin, end), in record-microseconds.

        The rate must not have changed since `begin_us`.
        """
        length = end_us - begin_us
        speed = self.rate * self._weights[partition]
        start = self._carry[partition] + speed * (begin_us - self.since_us)
        return self._base[partition] * length + floor_sum(length, self._whole, speed, start)


def floor_sum(count: int, divisor: int, step: int, start: int) -> int:
    """⌊(start + step·i) / divisor⌋ summed over i = 0 … count-1, in logarithmic time, by Euclid's steps."""
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
class Change:
    """At `t_us` a topic is made (`LogEnds` comes out of `make`), changed by `change`, or, with neither, deleted."""

    t_us: int
    topic: str
    make: Callable[[int], LogEnds] | None = None
    change: Callable[[LogEnds, int], None] | None = None


def changes(scenario: Scenario) -> list[Change]:
    """What happens to the topics of a scenario, in order; deeds of one instant in the order of the file."""
    found = [*_declared(scenario)]
    for step in scenario.timeline:
        change = _change_of(step.deed)
        if change is not None:
            found += (change(at_us) for at_us in _moments(step, scenario.run_for))
    return sorted(found, key=attrgetter("t_us"))


def _declared(scenario: Scenario) -> Iterator[Change]:
    for name, topic in scenario.topics.items():
        weights = tuple(topic.weights) if topic.weights is not None else (1,) * topic.partitions
        yield Change(0, name, make=_maker(weights, topic.rate))
    for name, topic in scenario.topics.items():
        for step in topic.steps:
            if step.at <= scenario.run_for:
                yield Change(step.at, name, change=_rate_setter(step.rate))


def _moments(step: Step, run_for_us: int) -> Iterator[int]:
    """When a step is carried out, repetitions included."""
    if step.at == "never":
        return
    at_us: int = step.at
    number = 1
    while at_us <= run_for_us:
        yield at_us
        if step.every is None or (step.times is not None and number >= step.times):
            return
        at_us, number = at_us + step.every, number + 1


def _change_of(deed: Deed) -> Callable[[int], Change] | None:
    """What a deed does to a topic; None for all the others."""
    match deed:
        case SetRate():
            return lambda at_us: Change(at_us, deed.topic, change=_rate_setter(deed.rate))
        case AddPartitions():
            return lambda at_us: Change(at_us, deed.topic, change=_grower(deed.to))
        case CreateTopic():
            return lambda at_us: Change(at_us, deed.topic, make=_maker((1,) * deed.partitions, deed.rate))
        case DeleteTopic():
            return lambda at_us: Change(at_us, deed.topic)
    return None


def _maker(weights: tuple[int, ...], rate: Rate | None) -> Callable[[int], LogEnds]:
    return lambda at_us: LogEnds(weights, _millionths(rate), at_us)


def _rate_setter(rate: Rate) -> Callable[[LogEnds, int], None]:
    return lambda ends, at_us: ends.set_rate(_millionths(rate), at_us)


def _grower(total: int) -> Callable[[LogEnds, int], None]:
    return lambda ends, at_us: ends.grow((1,) * (total - ends.partitions), at_us)


def _millionths(rate: Rate | None) -> int:
    """Records per 10⁶ s, rounded as the scenario's stage rounds them."""
    return round(rate.per_second * 1_000_000) if rate is not None else 0
