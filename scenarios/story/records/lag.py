"""The lag of groups on counted logs, by partition and over time.

    lag(t) = log end(t) - done(t), never below 0

`done` is the offset that the group has reached: the end of the furthest record that a handler has finished, or a
greater position at which a member was placed (committed or reset). Before the first position it is that first position:
records that a `latest` reset passes over do not count. Without any position it is 0.

Time is in whole microseconds. A state holds from an instant, after all events of that instant, to the next microsecond.
Areas are summed exactly in record-microseconds (`LogEnds.area`); only the result is rounded, down, to
record-milliseconds.

This walk goes through counted logs from change to change; that of `leader_log_lag.py` goes through logs that leaders
wrote. Either continues where it stopped, so a long run is walked through while it goes on. A group or partition that
appears in the trace behind the walk counts from the walk's present time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import Factory

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import define
from groupsim.scenarios.story.model import Lag
from groupsim.scenarios.story.records.log_growth import LogEnds, TopicChange
from groupsim.scenarios.story.records.progress import Step

Key = tuple[str, TopicPartition]  # group and partition
Places = Mapping[Key, Sequence[tuple[int, int]]]
"""The times and offsets at which members were placed, by group and partition."""


@define
class Subscription:
    """The partitions of a group: all of these topics, and those that a member assigned to itself."""

    topics: dict[str, None] = Factory(dict)
    assigned: dict[TopicPartition, None] = Factory(dict)

    def includes(self, partition: TopicPartition) -> bool:
        """Return whether a partition belongs to it."""
        return partition.topic in self.topics or partition in self.assigned


@define
class _Partition:
    """One partition of a group during the walk."""

    done: int
    since_us: int  # up to here `done` has been subtracted from the area
    ends_us: int  # up to here the log end has been added to the area
    ahead: bool = False  # `done` lies beyond the log end: no lag until the log end reaches it
    area_us: int = 0
    most: int = 0
    most_us: int = 0
    gone: bool = False  # its topic was deleted

    def advance(self, ends: LogEnds, number: int, now_us: int, end: int) -> None:
        """Subtract `done` from the area up to now, when the log ends at `end`."""
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
                lag = ends.end(number, now_us - 1) - self.done
                if lag > self.most:
                    reached = ends.due_us(number, self.done + lag - 1)
                    self.most, self.most_us = lag, max(self.since_us, reached or 0)
            self.since_us = now_us

    def settle(self, ends: LogEnds, number: int, now_us: int) -> None:
        """Do the same and add the log end: before its rate changes, and at the end."""
        self.advance(ends, number, now_us, ends.end(number, now_us))
        if now_us > self.ends_us:
            self.area_us += ends.area(number, self.ends_us, now_us)
            self.ends_us = now_us

    def come_to(self, ends: LogEnds, number: int, now_us: int, offset: int) -> int:
        """Note that the group has reached `offset`; return by how much it advanced."""
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
    """One group during the walk."""

    subscription: Subscription
    partitions: dict[TopicPartition, _Partition] = Factory(dict)
    ahead: dict[TopicPartition, None] = Factory(dict)  # those whose `done` lies beyond the log end
    done: int = 0  # over all partitions
    since_us: int = 0
    most: int = 0
    most_us: int = 0


class CountedWalk:
    """The walk through topics and groups of counted logs.

    A group's `most_us` is an instant at which its lag was that large, not always the first.
    """

    def __init__(self) -> None:
        self.groups: dict[str, _Group] = {}
        self.first: Places = {}
        self.topics: dict[str, LogEnds] = {}
        self._now_us = 0
        self._changed = 0

    def follow(self, groups: Mapping[str, Subscription], placed: Places) -> None:
        """Set the groups' subscriptions and the positions of members, as far as they are known."""
        self.first = placed
        for name, subscription in groups.items():
            group = self.groups.setdefault(name, _Group(subscription, since_us=self._now_us))
            group.subscription = subscription
            for topic in self.topics:
                self._open(name, group, topic, self._now_us)

    def through(self, planned: Sequence[TopicChange], steps: Iterable[Step], end_us: int) -> None:
        """Walk through these steps, in order of time, and through the changes of topics up to `end_us`."""
        for step in steps:
            if step[1] is not None and step[0] <= end_us:
                self._change_until(planned, step[0])
                self.come_to(step)
                self._now_us = step[0]
        self._change_until(planned, end_us)

    def _change_until(self, planned: Sequence[TopicChange], t_us: int) -> None:
        while self._changed < len(planned) and planned[self._changed].t_us <= t_us:
            self.change(planned[self._changed])
            self._changed += 1

    def come_to(self, step: Step) -> None:
        """Note the step of a group in a partition."""
        t_us, name, partition, offset = step
        group = self.groups.get(name or "")
        here = group.partitions.get(partition) if group is not None else None  # type: ignore[call-overload]
        if group is not None and here is not None and not here.gone and offset > here.done:
            self._look(group, t_us)
            group.done += here.come_to(self.topics[partition[0]], partition[1], t_us, offset)
            if here.ahead:
                group.ahead[TopicPartition(*partition)] = None

    def change(self, change: TopicChange) -> None:
        """Note that a topic is created, changed or deleted."""
        followers = [group for group in self.groups.values() if self._follows(group, change.topic)]
        for group in followers:
            self._look(group, change.t_us)
            self._settle(group, change.topic, change.t_us)
        ends = change.after(self.topics.get(change.topic))
        if ends is None:
            self._delete(followers, change.topic)
            return
        self.topics[change.topic] = ends
        for name, group in self.groups.items():
            self._open(name, group, change.topic, change.t_us)

    def finish(self, end_us: int) -> tuple[dict[Key, Lag], dict[str, Lag]]:
        """Return the lag of every partition and of every group at the end of the run."""
        found: dict[Key, Lag] = {}
        whole: dict[str, Lag] = {}
        for name, group in self.groups.items():
            self._look(group, end_us)
            for topic in self.topics:
                self._settle(group, topic, end_us)
            area = 0
            for tp, here in sorted(group.partitions.items()):
                now = 0 if here.gone else max(0, self.topics[tp.topic].end(tp.partition, end_us) - here.done)
                most, at_us = (now, end_us) if now > here.most else (here.most, here.most_us)
                found[name, tp] = Lag(now, most, at_us, here.area_us // 1000)
                area += here.area_us // 1000
            lag = self._lag(group, end_us)
            most, at_us = (lag, end_us) if lag > group.most else (group.most, group.most_us)
            whole[name] = Lag(lag, most, at_us, area)
        return found, whole

    @staticmethod
    def _follows(group: _Group, topic: str) -> bool:
        return topic in group.subscription.topics or any(tp.topic == topic for tp in group.subscription.assigned)

    def _open(self, name: str, group: _Group, topic: str, now_us: int) -> None:
        """Begin new partitions of a topic at the first position of the group in them."""
        ends = self.topics[topic]
        for number in range(ends.partitions):
            tp = TopicPartition(topic, number)
            before = group.partitions.get(tp)
            if not group.subscription.includes(tp) or (before is not None and not before.gone):
                continue
            done = next((offset for t_us, offset in self.first.get((name, tp), ()) if t_us >= now_us), 0)
            here = group.partitions[tp] = _Partition(done, now_us, now_us, done > ends.end(number, now_us))
            if before is not None:
                here.area_us, here.most, here.most_us = before.area_us, before.most, before.most_us
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
        """Update the largest lag: between two changes the lag only grows, so it is largest right before the next."""
        if now_us > group.since_us:
            lag = self._lag(group, now_us - 1)
            group.since_us = now_us
            if lag > group.most:
                group.most, group.most_us = lag, now_us - 1

    def _lag(self, group: _Group, at_us: int) -> int:
        """Return the lag of a whole group, from the sums of topics unless a partition has to count singly."""
        if not group.subscription.assigned and not group.ahead:
            total = -group.done
            for topic in group.subscription.topics:
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
