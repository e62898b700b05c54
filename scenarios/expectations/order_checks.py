"""What a scenario may expect of order: the records of a partition reach a group in the order of their offsets.

Two rules make the order, one for each reader and one for the group:

* A reader goes on behind the last record it was given. Only a position that is set (from a committed offset, by
  auto.offset.reset, after a truncation) takes it elsewhere.
* No record is given to the group for the first time after a later one of its partition.

What is read again after a rebalance keeps both rules, because a position was set and the group knew the records.
`duplicates` counts those. The trace holds no keys. The order of a key's records is that of their partition, as long as
the topic keeps its number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.targets import GroupName, PartitionName, TopicName, partition_named
from groupsim.scenarios.language.values import show_duration
from groupsim.scenarios.story.records.offset_ranges import Ranges


@check("order")
@frozen
class Order(Check):
    """The records of each partition are delivered in offset order; what is read again keeps the order, too."""

    topic: TopicName | None = key("Only this topic.", None)
    partition: PartitionName | None = key("Only this partition.", None)
    group: GroupName | None = key("Only this group.", None)

    def watch(self, evidence: Evidence) -> Watch:
        """Follow what each reader and group reads."""
        return _Readings(self._applies)

    def judge(self, evidence: Evidence) -> Finding:
        """Find the first record that came after a later one."""
        where = f" in {self.partition or self.topic}" if self.partition or self.topic else ""
        expected = f"records delivered in offset order{where}"
        readings: _Readings = evidence.watched(self)
        if not readings.delivered:
            return Finding(False, expected, "no record was delivered")
        wrong = readings.wrong
        if wrong is None:
            return Finding(True, expected, "all")
        event, offset, later = wrong
        place = TopicPartition(event.topic or "", event.partition or 0)
        found = f"{place}: {event.host} got offset {offset} after {later}, at {show_duration(event.t_us)}"
        return Finding(False, expected, found, event.t_us, (event.seq,))

    def _applies(self, event: TraceEvent) -> bool:
        place = partition_named(self.partition) if self.partition is not None else None
        return (
            self.group in (None, event.group)
            and self.topic in (None, event.topic)
            and place in (None, (event.topic, event.partition))
        )


class _Reading:
    """What one group has read of one partition."""

    __slots__ = ("known", "reached")

    def __init__(self) -> None:
        self.reached: dict[str, int] = {}  # by reader: behind its last record, since its position was set
        self.known = Ranges()


class _Readings:
    """All readings of a run; `wrong` is the first delivery that breaks the order.

    That is the event, the offset of its first record, and the later one before it.
    """

    kinds = frozenset({Kind.POSITION_SET, Kind.RECORDS_DELIVERED})

    def __init__(self, applies: Callable[[TraceEvent], bool]) -> None:
        self.delivered = False
        self.wrong: tuple[TraceEvent, int, int] | None = None
        self._applies = applies
        self._read: dict[tuple[object, ...], _Reading] = {}

    def __call__(self, event: TraceEvent) -> None:
        if self.wrong is not None or not self._applies(event):
            return
        payload = event.payload or {}
        reading = self._read.setdefault((event.group, event.topic, event.partition), _Reading())
        host = event.host or ""
        if event.kind is Kind.POSITION_SET:
            reading.reached.pop(host, None)
            return
        self.delivered = True
        base, end = payload["base"], payload["base"] + payload["count"]
        mine, known = reading.reached.get(host, 0), reading.known
        newest = known.ends[-1] if known.ends else 0
        new = next(iter(known.gaps(base, end)), None)
        if base < mine:
            self.wrong = event, base, mine - 1
        elif new is not None and new[0] < newest:
            self.wrong = event, new[0], newest - 1
        reading.reached[host] = end
        known.add(base, end)
