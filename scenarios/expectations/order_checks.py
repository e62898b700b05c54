"""The expectation of order: the records of a partition reach a group in the order of their offsets.

Two rules define the order, one for each reader and one for the group:

* A reader continues after its last record, unless its position is set (from a committed offset, by auto.offset.reset,
  after a truncation).
* The group does not receive a record for the first time after a later record of its partition.

Records that are read again after a rebalance keep both rules, because a position was set and the group had received
them before. `duplicates` counts those. The trace has no keys. The records of a key have the order of their partition,
as long as the topic keeps its number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import show_us
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.targets import GroupName, PartitionName, TopicName, partition_named
from groupsim.scenarios.story.records.offset_ranges import Ranges


@check("order")
@frozen
class Order(Check):
    """The records of each partition are delivered in offset order, also those that are delivered again."""

    topic: TopicName | None = key("Only this topic.", None)
    partition: PartitionName | None = key("Only this partition.", None)
    group: GroupName | None = key("Only this group.", None)

    def watch(self, evidence: Evidence) -> Watch:
        """Follow the deliveries to each reader and group."""
        return _Deliveries(self._applies)

    def judge(self, evidence: Evidence) -> Finding:
        """Find the first record that was delivered after a later one."""
        where = f" in {self.partition or self.topic}" if self.partition or self.topic else ""
        expected = f"records delivered in offset order{where}"
        deliveries: _Deliveries = evidence.watched(self)
        if not deliveries.delivered:
            return Finding(False, expected, "no record was delivered")
        wrong = deliveries.wrong
        if wrong is None:
            return Finding(True, expected, "all")
        event, offset, later = wrong
        place = TopicPartition(event.topic or "", event.partition or 0)
        found = f"{place}: {event.host} got offset {offset} after {later}, at {show_us(event.t_us)}"
        return Finding(False, expected, found, event.t_us, (event.seq,))

    def _applies(self, event: TraceEvent) -> bool:
        place = partition_named(self.partition) if self.partition is not None else None
        return (
            self.group in (None, event.group)
            and self.topic in (None, event.topic)
            and place in (None, (event.topic, event.partition))
        )


class _PartitionDeliveries:
    """The deliveries of one partition to one group."""

    __slots__ = ("known", "reached")

    def __init__(self) -> None:
        self.reached: dict[str, int] = {}  # reader → the offset after its last record since its position was set
        self.known = Ranges()


class _Deliveries:
    """All deliveries of a run; `wrong` is the first one that breaks the order.

    It has the event, the offset of the record, and the later offset that was delivered before.
    """

    kinds = frozenset({Kind.POSITION_SET, Kind.RECORDS_DELIVERED})

    def __init__(self, applies: Callable[[TraceEvent], bool]) -> None:
        self.delivered = False
        self.wrong: tuple[TraceEvent, int, int] | None = None
        self._applies = applies
        self._by_partition: dict[tuple[object, ...], _PartitionDeliveries] = {}

    def __call__(self, event: TraceEvent) -> None:
        if self.wrong is not None or not self._applies(event):
            return
        payload = event.payload or {}
        deliveries = self._by_partition.setdefault((event.group, event.topic, event.partition), _PartitionDeliveries())
        host = event.host or ""
        if event.kind is Kind.POSITION_SET:
            deliveries.reached.pop(host, None)
            return
        self.delivered = True
        base, end = payload["base"], payload["base"] + payload["count"]
        mine, known = deliveries.reached.get(host, 0), deliveries.known
        newest = known.ends[-1] if known.ends else 0
        new = next(iter(known.gaps(base, end)), None)
        if base < mine:
            self.wrong = event, base, mine - 1
        elif new is not None and new[0] < newest:
            self.wrong = event, new[0], newest - 1
        deliveries.reached[host] = end
        known.add(base, end)
