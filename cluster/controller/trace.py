"""What the controller's decisions look like in the trace.

A decision is told when it is in force: what one doing decides is collected, and told at its end or never.
"""

from __future__ import annotations

from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import Trace
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import BrokerState, PartitionState


class Teller:
    """The controller's events; the first of a doing is the cause of what follows in it."""

    def __init__(self, trace: Trace, host: str) -> None:
        self._trace = trace
        self._host = host
        self._decided: list[tuple[Kind, dict[str, Any]]] = []

    def begin(self) -> None:
        """A new doing begins; what was decided and not told is forgotten."""
        self._decided.clear()

    def tell(self) -> None:
        """What was decided is in force: emit it."""
        decided, self._decided = self._decided, []
        for number, (kind, columns) in enumerate(decided):
            seq = self._trace.emit(kind, **columns)
            if number == 0:
                self._trace.begin(seq)

    def _emit(self, kind: Kind, **columns: Any) -> None:
        self._decided.append((kind, columns))

    def unkept(self, error: OSError) -> None:
        """Something could not be kept, and was not done."""
        reason = f"nothing was changed, for it cannot be kept: {error.strerror or error}"
        self._trace.emit(Kind.WARNING, host=self._host, reason=reason)

    def fenced(self, broker: BrokerState, reason: str) -> None:
        """A broker leads nothing from now on."""
        if self._trace.wants(Kind.BROKER_FENCED):
            payload = {"node": broker.node}
            self._emit(Kind.BROKER_FENCED, host=self._host, reason=reason, payload=payload)

    def unfenced(self, broker: BrokerState) -> None:
        """A broker may lead from now on."""
        if self._trace.wants(Kind.BROKER_UNFENCED):
            payload = {"node": broker.node, "epoch": broker.epoch}
            self._emit(Kind.BROKER_UNFENCED, host=self._host, payload=payload)

    def topic(self, name: str, partitions: int, before: int) -> None:
        """A topic was made, grew or went."""
        if self._trace.wants(Kind.METADATA_CHANGED):
            payload = {"partitions": partitions, "before": before}
            self._emit(Kind.METADATA_CHANGED, topic=name, payload=payload)

    def changed(
        self,
        partition: TopicPartition,
        before: PartitionState | None,
        after: PartitionState,
        election: str,
        reason: str,
    ) -> None:
        """A partition is not as it was: `election` says how its leader came by it, `reason` why anything changed."""
        if before is not None and before.isr != after.isr and self._trace.wants(Kind.ISR_CHANGED):
            self._emit(
                Kind.ISR_CHANGED,
                host=self._host,
                topic=partition.topic,
                partition=partition.partition,
                reason=reason,
                payload={"isr": list(after.isr), "before": list(before.isr), "epoch": after.leader_epoch},
            )
        same = before is not None and before.leader_epoch == after.leader_epoch
        if not same and self._trace.wants(Kind.PARTITION_LEADER):
            self._emit(
                Kind.PARTITION_LEADER,
                host=self._host,
                topic=partition.topic,
                partition=partition.partition,
                from_=str(-1 if before is None else before.leader),
                to=str(after.leader),
                reason=election or reason,
                payload={"epoch": after.leader_epoch, "isr": list(after.isr)},
            )
