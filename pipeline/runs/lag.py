"""How far behind a group was, partition by partition and instant by instant.

    lag(t) = log end(t) - done(t), never below 0

`done` is the offset up to which the group has come: the end of the furthest record a handler has finished, or a
position further on that a member was placed at (committed or reset), whichever is greater. Before the first position it
is that first position: what a `latest` reset passes over was never the group's to process. Where no member ever had a
position it is 0.

Time is made of whole microseconds, and a state holds from an instant, after everything that falls on it, up to the next
microsecond. Areas are summed exactly in record-microseconds (`LogEnds.area`); only the result is rounded, down, to
record-milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from attrs import Factory, define, frozen

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.pipeline.runs.log_ends import Change, LogEnds, changes
from groupsim.protocol.messages import TopicPartition
from groupsim.scenarios.model import Scenario

Key = tuple[str, TopicPartition]  # group and partition
Step = tuple[int, str, tuple[str, int], int]  # when, group, partition (plainly), the offset it has come to


@frozen
class Lag:
    """The lag of one partition (or of a whole group) over a run."""

    end: int
    most: int
    area: int  # record-milliseconds


@define
class _Partition:
    """One partition of a group while the run is walked through."""

    done: int
    since_us: int  # up to here `done` has been taken off the area
    ends_us: int  # up to here the log end has been added to it
    ahead: bool = False  # `done` lies beyond the log end: no lag until that has caught up
    area_us: int = 0
    most: int = 0
    gone: bool = False  # its topic was deleted

    def advance(self, ends: LogEnds, number: int, now_us: int, end: int) -> None:
        """Take `done` off the area up to now, when the log ends at `end`."""
        if self.ahead:
            caught_up = ends.due_us(number, self.done - 1)
            if caught_up is None or caught_up >= now_us:
                self.since_us = self.ends_us = now_us
                return
            self.ahead = False
            self.since_us = self.ends_us = max(self.since_us, caught_up)
        if now_us > self.since_us:
            self.area_us -= self.done * (now_us - self.since_us)
            if end - self.done > self.most:
                self.most = max(self.most, ends.end(number, now_us - 1) - self.done)
            self.since_us = now_us

    def settle(self, ends: LogEnds, number: int, now_us: int) -> None:
        """The same, and add the log end: for when its rate changes, and at the end."""
        self.advance(ends, number, now_us, ends.end(number, now_us))
        if now_us > self.ends_us:
            self.area_us += ends.area(number, self.ends_us, now_us)
            self.ends_us = now_us

    def come_to(self, ends: LogEnds, number: int, now_us: int, offset: int) -> int:
        """The group has come further, to `offset`; returns by how much."""
        more = offset - self.done
        end = ends.end(number, now_us)
        self.advance(ends, number, now_us, end)
        self.done = offset
        if offset > end and not self.ahead:
            self.settle(ends, number, now_us)
            self.ahead = True
        return more


@define
class _Group:
    """A group while the run is walked through."""

    topics: dict[str, None]  # those of which all partitions count
    singles: dict[TopicPartition, None]  # chosen by a member itself
    partitions: dict[TopicPartition, _Partition] = Factory(dict)
    ahead: dict[TopicPartition, None] = Factory(dict)  # those whose `done` lies beyond the log end
    done: int = 0  # over all partitions
    since_us: int = 0
    most: int = 0

    def wants(self, partition: TopicPartition) -> bool:
        return partition.topic in self.topics or partition in self.singles


def lags(
    scenario: Scenario, by_kind: Mapping[Kind, Sequence[TraceEvent]], end_us: int
) -> tuple[dict[Key, Lag], dict[str, int]]:
    """The lag of every partition that counts, by group and partition, and the largest of each whole group."""
    planned = changes(scenario)
    walk = _Walk(_groups(by_kind, {change.topic: None for change in planned}), _first_positions(by_kind))
    steps = iter([*_steps(by_kind), (end_us + 1, "", ("", 0), 0)])
    step = next(steps)
    for change in planned:
        while step[0] < change.t_us:
            walk.come_to(step)
            step = next(steps)
        walk.change(change)
    while step[0] <= end_us:
        walk.come_to(step)
        step = next(steps)
    return walk.finish(end_us)


class _Walk:
    """Topics and groups at one instant after the other."""

    def __init__(self, groups: dict[str, _Group], first: Mapping[Key, Sequence[tuple[int, int]]]) -> None:
        self.groups = groups
        self.first = first
        self.topics: dict[str, LogEnds] = {}

    def come_to(self, step: Step) -> None:
        """A group has come further in a partition."""
        t_us, name, partition, offset = step
        group = self.groups.get(name)
        here = group.partitions.get(partition) if group is not None else None  # type: ignore[call-overload]
        if group is not None and here is not None and not here.gone and offset > here.done:
            self._look(group, t_us)
            group.done += here.come_to(self.topics[partition[0]], partition[1], t_us, offset)
            if here.ahead:
                group.ahead[TopicPartition(*partition)] = None

    def change(self, change: Change) -> None:
        """A topic is made, changed or deleted."""
        followers = [group for group in self.groups.values() if self._follows(group, change.topic)]
        for group in followers:
            self._look(group, change.t_us)
            self._settle(group, change.topic, change.t_us)
        if change.make is not None:
            self.topics[change.topic] = change.make(change.t_us)
        elif change.change is not None:
            change.change(self.topics[change.topic], change.t_us)
        else:
            self._delete(followers, change.topic)
            return
        for name, group in self.groups.items():
            self._open(name, group, change.topic, change.t_us)

    def finish(self, end_us: int) -> tuple[dict[Key, Lag], dict[str, int]]:
        """What there is to say when the run has ended."""
        found: dict[Key, Lag] = {}
        most: dict[str, int] = {}
        for name, group in self.groups.items():
            self._look(group, end_us)
            most[name] = max(group.most, self._lag(group, end_us))
            for topic in self.topics:
                self._settle(group, topic, end_us)
            for tp, here in sorted(group.partitions.items()):
                now = 0 if here.gone else max(0, self.topics[tp.topic].end(tp.partition, end_us) - here.done)
                found[name, tp] = Lag(now, max(here.most, now), here.area_us // 1000)
        return found, most

    @staticmethod
    def _follows(group: _Group, topic: str) -> bool:
        return topic in group.topics or any(tp.topic == topic for tp in group.singles)

    def _open(self, name: str, group: _Group, topic: str, now_us: int) -> None:
        """Partitions that are new (or new again) begin where the group will first be placed in them."""
        ends = self.topics[topic]
        for number in range(ends.partitions):
            tp = TopicPartition(topic, number)
            before = group.partitions.get(tp)
            if not group.wants(tp) or (before is not None and not before.gone):
                continue
            done = next((offset for t_us, offset in self.first.get((name, tp), ()) if t_us >= now_us), 0)
            here = group.partitions[tp] = _Partition(done, now_us, now_us, done > ends.end(number, now_us))
            if before is not None:
                here.area_us, here.most = before.area_us, before.most
            group.done += done
            if here.ahead:
                group.ahead[tp] = None

    def _delete(self, followers: Iterable[_Group], topic: str) -> None:
        del self.topics[topic]
        for group in followers:
            for tp, here in group.partitions.items():
                if tp.topic == topic and not here.gone:
                    here.gone = True
                    group.done -= here.done
                    group.ahead.pop(tp, None)

    def _settle(self, group: _Group, topic: str, now_us: int) -> None:
        for tp, here in group.partitions.items():
            if tp.topic == topic and not here.gone:
                here.settle(self.topics[topic], tp.partition, now_us)

    def _look(self, group: _Group, now_us: int) -> None:
        """Between two changes the lag only grows: it is largest right before the next."""
        if now_us > group.since_us:
            lag = self._lag(group, now_us - 1)
            group.since_us = now_us
            if lag > group.most:
                group.most = lag

    def _lag(self, group: _Group, at_us: int) -> int:
        """The lag of a whole group; by way of the topics' sums unless a partition counts differently."""
        if not group.singles and not group.ahead:
            total = -group.done
            for topic in group.topics:
                if topic in self.topics:
                    total += self.topics[topic].total(at_us)
            return total
        total = 0
        for tp, here in group.partitions.items():
            if not here.gone:
                lag = self.topics[tp.topic].end(tp.partition, at_us) - here.done
                total += max(lag, 0)
                if lag >= 0:
                    group.ahead.pop(tp, None)
        return total


# --- what the trace says ------------------------------------------------------------------------------------------


def _groups(by_kind: Mapping[Kind, Sequence[TraceEvent]], topics: Iterable[str]) -> dict[str, _Group]:
    """The groups of the processes that ran, with what they subscribed to or chose."""
    found: dict[str, _Group] = {}
    for event in by_kind.get(Kind.PROCESS_STARTED, ()):
        group = found.setdefault(event.group or "?", _Group({}, {}))
        said = event.payload or {}
        group.topics.update(dict.fromkeys(said.get("topics", ())))
        if "pattern" in said:
            fits = re.compile(said["pattern"])
            group.topics.update(dict.fromkeys(topic for topic in topics if fits.fullmatch(topic)))
    for event in by_kind.get(Kind.PARTITION_OWNED, ()):
        group = found.setdefault(event.group or "?", _Group({}, {}))
        if event.generation is not None:
            group.topics[event.topic or "?"] = None
        else:
            group.singles[TopicPartition(event.topic or "?", event.partition or 0)] = None
    for group in found.values():
        group.singles = {tp: None for tp in group.singles if tp.topic not in group.topics}
    return found


def _first_positions(by_kind: Mapping[Kind, Sequence[TraceEvent]]) -> dict[Key, list[tuple[int, int]]]:
    """When members were placed where, by group and partition."""
    found: dict[Key, list[tuple[int, int]]] = {}
    for event in by_kind.get(Kind.POSITION_SET, ()):
        key = (event.group or "?", TopicPartition(event.topic or "?", event.partition or 0))
        found.setdefault(key, []).append((event.t_us, int((event.payload or {}).get("offset", 0))))
    return found


def _steps(by_kind: Mapping[Kind, Sequence[TraceEvent]]) -> list[Step]:
    """Every time a handler finished records or a member was placed, in order of time."""
    found: list[Step] = []
    for event in by_kind.get(Kind.RECORDS_PROCESSED, ()):
        said = event.payload or {}
        until = said.get("base", 0) + said.get("count", 0)
        found.append((event.t_us, event.group or "?", (event.topic or "?", event.partition or 0), until))
    for event in by_kind.get(Kind.POSITION_SET, ()):
        offset = (event.payload or {}).get("offset", 0)
        found.append((event.t_us, event.group or "?", (event.topic or "?", event.partition or 0), offset))
    return sorted(found, key=itemgetter(0))
