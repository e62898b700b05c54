"""The log of Java's asynchronous consumer, the one of group.protocol=consumer (KIP-848), from 4.0 on.

Each change of a member's state is a line; the lines of joins, syncs and generations do not exist here. Lines that need
what no trace has (`Reconciling assignment with local epoch …`) are left out.

Sources: the constants in `AsyncKafkaConsumer`, `ConsumerMembershipManager`, `CoordinatorRequestManager` and
`ConsumerHeartbeatRequestManager` of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.clients.java import INTERNALS, JAVA_WORDERS, JavaLog, Words, partitions_of
from groupsim.logs.clients.java_words import JAVA_CLIENT
from groupsim.logs.wording import Table, Wording
from groupsim.protocol.values import define

_SINCE = (4, 0)
_TABLE: Table = {
    **JAVA_CLIENT,
    "C_COORD_LOST": (
        Wording(
            _SINCE,
            "Group coordinator {node} is unavailable or invalid due to cause: {r}. Rediscovery will be attempted.",
        ),
    ),
    "C_STATE": (Wording(_SINCE, "Member {m} with epoch {epoch} transitioned from {before} to {after}."),),
    "C_POLL_TIMEOUT": (
        Wording(
            _SINCE,
            "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than "
            "the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
            "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
            "maximum size of batches returned in poll() with max.poll.records.",
            "WARN",
        ),
    ),
}
_SPEAKERS: Mapping[str, str] = {
    "C_SUBSCRIBED": "AsyncKafkaConsumer",
    "C_SUBSCRIBED_PATTERN": "AsyncKafkaConsumer",
    "C_COORD_FOUND": "CoordinatorRequestManager",
    "C_COORD_LOST": "CoordinatorRequestManager",
    "C_STATE": "ConsumerMembershipManager",
    "C_REVOKE": "ConsumerRebalanceListenerInvoker",
    "C_ASSIGN": "ConsumerRebalanceListenerInvoker",
    "C_LOST": "ConsumerRebalanceListenerInvoker",
    "C_POLL_TIMEOUT": "ConsumerHeartbeatRequestManager",
    "C_OFFSET_SET": "ConsumerUtils",
    "C_OFFSET_RESET": "SubscriptionState",
    "C_NO_COMMITTED_OFFSET": "CommitRequestManager",
    "C_COMMIT_FAIL": "CommitRequestManager",
}
_OUT = ("LEAVING", "UNSUBSCRIBED", "STALE")


@define
class AsyncJavaLog(JavaLog):
    """The log of one Java consumer of a consumer group."""

    def words(self, event: TraceEvent) -> Words:
        worder = _WORDERS.get(event.kind)
        return worder(self, event) if worder else iter(())

    def table(self) -> Table:
        return _TABLE

    def _logger(self, code: str) -> str:
        return f"{INTERNALS}.{_SPEAKERS.get(code, 'AsyncKafkaConsumer')}"

    def epoch(self, event: TraceEvent) -> int:
        """Return the member epoch that a change of state prints: 0 before a join, -1 or -2 on the way out."""
        if event.generation is not None:
            return event.generation
        if event.to in _OUT:
            return -2 if self.instance_id else -1
        return 0


def _state(log: JavaLog, event: TraceEvent) -> Words:
    if isinstance(log, AsyncJavaLog):
        yield "C_STATE", {"epoch": log.epoch(event), "before": event.from_, "after": event.to}


def _lost(log: JavaLog, event: TraceEvent) -> Words:
    yield "C_COORD_LOST", {}


def _callback(log: JavaLog, event: TraceEvent) -> Words:
    code = {"revoked": "C_REVOKE", "assigned": "C_ASSIGN", "lost": "C_LOST"}.get(event.reason or "")
    if code is not None:
        yield code, {"tps": partitions_of(event.payload)}


_SHARED = (
    Kind.PROCESS_STARTED,
    Kind.COORDINATOR_FOUND,
    Kind.POSITION_SET,
    Kind.COMMIT_FAILED,
    Kind.POLL_EXPIRED,
    Kind.WARNING,
    Kind.PROCESS_FAILED,
)
_WORDERS: Mapping[Kind, Callable[[JavaLog, TraceEvent], Iterator[tuple[str, Mapping[str, object]]]]] = {
    **{kind: JAVA_WORDERS[kind] for kind in _SHARED},
    Kind.COORDINATOR_LOST: _lost,
    Kind.CLIENT_STATE: _state,
    Kind.CALLBACK_BEGUN: _callback,
}
