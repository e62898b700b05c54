"""The trace events of the controller's decisions.

Trace events of one transaction are buffered and emitted when it commits.
"""

from __future__ import annotations

from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import Trace
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import BrokerState, PartitionState


class ControllerEvents:
    """The controller's events; the first event of a transaction is the cause of the others."""

    def __init__(self, trace: Trace, host: str) -> None:
        self._trace = trace
        self._host = host
        self._decided: list[tuple[Kind, dict[str, Any]]] = []

    def begin(self) -> None:
        """Begin a transaction; drop the events of one that did not commit."""
        self._decided.clear()

    def emit(self) -> None:
        """Emit the events of a committed transaction."""
        decided, self._decided = self._decided, []
        for number, (kind, columns) in enumerate(decided):
            seq = self._trace.emit(kind, **columns)
            if number == 0:
                self._trace.begin(seq)

    def _add(self, kind: Kind, **columns: Any) -> None:
        self._decided.append((kind, columns))

    def write_failed(self, error: OSError) -> None:
        """Emit a warning: a change was not made because it could not be stored."""
        reason = f"nothing was changed, for it cannot be kept: {error.strerror or error}"
        self._trace.emit(Kind.WARNING, host=self._host, reason=reason)

    def fenced(self, broker: BrokerState, reason: str) -> None:
        """Add the fencing of a broker."""
        if self._trace.wants(Kind.BROKER_FENCED):
            payload = {"node": broker.node}
            self._add(Kind.BROKER_FENCED, host=self._host, reason=reason, payload=payload)

    def unfenced(self, broker: BrokerState) -> None:
        """Add the unfencing of a broker."""
        if self._trace.wants(Kind.BROKER_UNFENCED):
            payload = {"node": broker.node, "epoch": broker.epoch}
            self._add(Kind.BROKER_UNFENCED, host=self._host, payload=payload)

    def topic(self, name: str, partitions: int, before: int) -> None:
        """Add the creation, growth or deletion of a topic."""
        if self._trace.wants(Kind.METADATA_CHANGED):
            payload = {"partitions": partitions, "before": before}
            self._add(Kind.METADATA_CHANGED, topic=name, payload=payload)

    def changed(
        self,
        partition: TopicPartition,
        before: PartitionState | None,
        after: PartitionState,
        election: str,
        reason: str,
    ) -> None:
        """Add a change of a partition: `election` is the kind of its election, `reason` the cause of the change."""
        if before is not None and before.isr != after.isr and self._trace.wants(Kind.ISR_CHANGED):
            self._add(
                Kind.ISR_CHANGED,
                host=self._host,
                topic=partition.topic,
                partition=partition.partition,
                reason=reason,
                payload={"isr": list(after.isr), "before": list(before.isr), "epoch": after.leader_epoch},
            )
        same = before is not None and before.leader_epoch == after.leader_epoch
        if not same and self._trace.wants(Kind.PARTITION_LEADER):
            self._add(
                Kind.PARTITION_LEADER,
                host=self._host,
                topic=partition.topic,
                partition=partition.partition,
                from_=str(-1 if before is None else before.leader),
                to=str(after.leader),
                reason=election or reason,
                payload={"epoch": after.leader_epoch, "isr": list(after.isr)},
            )
