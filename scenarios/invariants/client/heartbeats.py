"""How a client sends heartbeats, and when it may be refused: C3, C5 and C9.

A heartbeat of a quiet member is no event of the trace. So what is in flight is read from the events of the other ones
and from the inputs of the coordinators.

Source: consumer-protocol reference, 2.4, 2.6, 3.2 and 3.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupModel, Input

HEARTBEAT = "ConsumerGroupHeartbeat"
PROCESS_ENDS = (Kind.PROCESS_STARTED, Kind.PROCESS_CRASHED, Kind.PROCESS_STOPPED, Kind.PROCESS_FAILED)
_FENCED = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)


class OneHeartbeatInFlight(Checker):
    """C3. A leave may overtake, and what was in flight when it left does not count any more."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.REQUEST_SENT, Kind.RESPONSE_RECEIVED, Kind.REQUEST_FAILED, Kind.COORDINATOR_LOST, *PROCESS_ENDS}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._sent: dict[str, int] = {}  # process → the number of the heartbeat without an outcome
        self._asked: dict[str, tuple[str, Any]] = {}  # member → broker and call that is not answered yet

    def event(self, event: TraceEvent) -> Found:
        """Follow the heartbeats that are events."""
        host = event.host or ""
        if event.kind in PROCESS_ENDS or event.kind is Kind.COORDINATOR_LOST:
            self._forget(event)
        elif event.api != HEARTBEAT:
            return
        elif event.kind is not Kind.REQUEST_SENT:
            if event.kind is Kind.REQUEST_FAILED or self._sent.get(host) == event.correlation:
                self._forget(event)
        elif (event.payload or {}).get("epoch", JOIN_EPOCH) < JOIN_EPOCH:
            self._forget(event)
        else:
            if host in self._sent or event.member in self._asked:
                yield self.in_trace(event, f"{host} sends a heartbeat while another one is in flight")
            self._sent[host] = event.correlation or 0

    def _forget(self, event: TraceEvent) -> None:
        self._sent.pop(event.host or "", None)
        self._asked.pop(event.member or "", None)

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Follow the heartbeats that have arrived and are not answered."""
        for call, _ in step.answers:
            for member in [one for one, (_, asked) in self._asked.items() if asked is call]:
                del self._asked[member]
        if step.unloads or step.loads:
            self._asked = {one: known for one, known in self._asked.items() if known[0] != step.host}
        request, arrival = step.heartbeat, step.arrival
        if request is None or arrival is None or not request.member_id or request.member_epoch < JOIN_EPOCH:
            return
        if request.member_id in self._asked:
            what = "a heartbeat arrives before the one before is answered"
            yield self.at(step, request.group_id, what, members=[request.member_id])
        if all(call is not arrival.call for call, _ in step.answers):
            self._asked[request.member_id] = (step.host, arrival.call)


class AcknowledgesAfterCallback(Checker):
    """C5."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.REQUEST_SENT, Kind.PARTITION_OWNED, Kind.PARTITION_RELEASED, *PROCESS_ENDS}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._owned: dict[str, dict[str, None]] = {}  # process → partitions that its application has
        self._reported: dict[str, dict[tuple[str, int], None]] = {}  # process → what its last report named, by id
        self._topics: TopicsImage | None = None

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Learn the names of topics."""
        self._topics = step.shard.op.topics
        return ()

    def event(self, event: TraceEvent) -> Found:
        """Compare a report with the one before, and with what the application has."""
        host = event.host or ""
        where = f"{event.topic}-{event.partition}"
        if event.kind is Kind.PARTITION_OWNED:
            self._owned.setdefault(host, {})[where] = None
        elif event.kind is Kind.PARTITION_RELEASED:
            self._owned.get(host, {}).pop(where, None)
        elif event.kind is not Kind.REQUEST_SENT:
            self._owned.pop(host, None)
            self._reported.pop(host, None)
        elif event.api == HEARTBEAT:
            yield from self._sent(event, host, event.payload or {})

    def _sent(self, event: TraceEvent, host: str, payload: Mapping[str, Any]) -> Found:
        epoch, owned = payload.get("epoch", JOIN_EPOCH), payload.get("owned")
        if epoch < JOIN_EPOCH:
            self._reported.pop(host, None)
        if owned is None or epoch < JOIN_EPOCH:
            return
        now = dict.fromkeys((topic, number) for topic, numbers in owned.items() for number in numbers)
        less = [key for key in self._reported.get(host, {}) if key not in now]
        early = tuple(name for name in map(self._name, less) if name in self._owned.get(host, {}))
        if early:
            what = f"{host} reports that it has given up partitions before its callback has returned"
            yield self.in_trace(event, what, partitions=early, epochs={"member epoch": epoch})
        self._reported[host] = now

    def _name(self, key: tuple[str, int]) -> str:
        topic = None if self._topics is None else self._topics.topic_by_id(key[0])
        return f"{key[0] if topic is None else topic.name}-{key[1]}"


class ConnectedClientStays(Checker):
    """C9. What may cut a client off from its group is noted, and holds until a heartbeat of it is accepted again.

    A member whose client has no event in the trace is left out: a pause of it or a lost answer has none either.
    """

    OF_PROCESS = (
        Kind.REQUEST_FAILED,
        Kind.COORDINATOR_LOST,
        Kind.COMMIT_FAILED,
        Kind.PROCESS_PAUSED,
        Kind.HEARTBEATS_BLOCKED,
        Kind.POLL_EXPIRED,
        *PROCESS_ENDS,
    )
    OF_ALL = (Kind.GROUP_LOADED, Kind.GROUP_UNLOADED, Kind.GROUP_CONVERTED, Kind.LOG_TRUNCATED, Kind.BROKER_FENCED)
    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {
            *OF_PROCESS,
            *OF_ALL,
            Kind.FAULT_BEGUN,
            Kind.FAULT_ENDED,
            Kind.CALLBACK_BEGUN,
            Kind.CALLBACK_ENDED,
            Kind.CLIENT_STATE,
            Kind.MEMBER_REMOVED,
            Kind.MEMBER_REPLACED,
        }
    )
    OUT = ("PREPARE_LEAVING", "LEAVING", "STALE", "UNSUBSCRIBED", "FATAL", "FENCED")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._hosts: dict[str, str] = {}  # member → its process
        self._safe: dict[str, None] = {}  # members whose last heartbeat was accepted, and nothing has happened since
        self._callbacks: dict[str, int] = {}  # process → callbacks that run
        self._faults: dict[int, None] = {}

    def event(self, event: TraceEvent) -> Found:
        """Note what may cut a client off; look for a removal of a client that was not."""
        kind, member = event.kind, event.member or ""
        if kind is Kind.FAULT_BEGUN:
            self._faults[event.span or 0] = None
            self._safe.clear()
        elif kind is Kind.FAULT_ENDED:
            self._faults.pop(event.span or 0, None)
            self._safe.clear()
        elif kind in self.OF_ALL:
            self._safe.clear()
        elif kind is Kind.MEMBER_REMOVED:
            yield from self._removed(event, member)
        elif kind is Kind.MEMBER_REPLACED:
            self._safe.pop(str((event.payload or {}).get("old")), None)
        else:
            self._process(event, event.host or "", member)

    def _process(self, event: TraceEvent, host: str, member: str) -> None:
        kind = event.kind
        if kind is Kind.CALLBACK_BEGUN:
            self._callbacks[host] = self._callbacks.get(host, 0) + 1
        elif kind is Kind.CALLBACK_ENDED:
            self._callbacks[host] = self._callbacks.get(host, 0) - 1
        elif kind is Kind.CLIENT_STATE:
            self._hosts[member] = host
            if event.to in self.OUT:
                self._safe.pop(member, None)
        else:
            if kind in PROCESS_ENDS:
                self._callbacks.pop(host, None)
            for one in [one for one in self._safe if one == member or self._hosts.get(one) == host]:
                del self._safe[one]

    def _removed(self, event: TraceEvent, member: str) -> Found:
        safe, host = member in self._safe, self._hosts.get(member, "")
        self._safe.pop(member, None)
        if event.reason == "rebalance-timeout" and self._callbacks.get(host, 0) > 0:
            return
        if safe and not self._faults and event.reason in ("session-expired", "rebalance-timeout"):
            what = f"{host or 'a client'} is removed ({event.reason}) although it is connected and runs no callback"
            yield self.in_trace(event, what)

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Note accepted heartbeats; look for a refusal that nothing explains."""
        if step.ended and step.error is not None:
            self._safe.clear()
        request = step.heartbeat
        if request is None or request.member_epoch < JOIN_EPOCH or not request.member_id:
            return
        member = request.member_id
        if step.refusal is None:
            if member in self._hosts and not self._faults:
                self._safe[member] = None
            return
        if step.refusal in _FENCED and member in self._safe and not self._faults:
            del self._safe[member]
            what = f"a connected client is answered {step.refusal.name}, and it was not removed"
            yield self.at(step, request.group_id, what, members=[member], epochs={"received": request.member_epoch})
