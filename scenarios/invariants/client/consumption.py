"""What members get and commit, in groups of both protocols: D2 and D3.

Source: consumer-protocol reference, 3.3.
"""

from __future__ import annotations

from typing import ClassVar

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.invariants.checker import Checker, Found


class DeliveredInOrder(Checker):
    """D2."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.POSITION_SET, Kind.RECORDS_DELIVERED, Kind.PARTITION_OWNED, Kind.PARTITION_RELEASED}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._next: dict[tuple[str, str, int], int] = {}  # process, topic, number → the next offset

    def event(self, event: TraceEvent) -> Found:
        """Compare a delivery with the position before it."""
        key = (event.host or "", event.topic or "", event.partition or 0)
        payload = event.payload or {}
        if event.kind is Kind.POSITION_SET:
            self._next[key] = int(payload["offset"])
        elif event.kind is not Kind.RECORDS_DELIVERED:
            self._next.pop(key, None)
        else:
            base, following = int(payload["base"]), self._next.get(key)
            if following is not None and base < following:
                what = f"{event.host} gets offset {base}, its position is {following}"
                yield self.in_trace(event, what, partitions=(f"{key[1]}-{key[2]}",))
            self._next[key] = base + int(payload["count"])


class CommitsDelivered(Checker):
    """D3."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.POSITION_SET, Kind.RECORDS_DELIVERED, Kind.OFFSETS_COMMITTED, Kind.RECORDS_APPENDED}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._reached: dict[tuple[str, str], int] = {}  # group, partition → the greatest position of any member
        self._markers: dict[str, None] = {}  # partitions with records of transactions, which are not delivered

    def event(self, event: TraceEvent) -> Found:
        """Compare committed offsets with the greatest position that a member had."""
        payload = event.payload or {}
        where = f"{event.topic}-{event.partition}"
        if event.kind is Kind.OFFSETS_COMMITTED:
            for partition, offset in payload.get("offsets", {}).items():
                reached = self._reached.get((event.group or "", partition))
                if reached is not None and int(offset) > reached and partition not in self._markers:
                    what = f"{event.host} commits offset {offset}, no member was beyond {reached}"
                    yield self.in_trace(event, what, partitions=(partition,))
        elif event.kind is Kind.RECORDS_APPENDED:
            if "transaction" in payload:
                self._markers[where] = None
        else:
            offset = payload["offset"] if event.kind is Kind.POSITION_SET else payload["base"] + payload["count"]
            key = (event.group or "", where)
            self._reached[key] = max(int(offset), self._reached.get(key, 0))
