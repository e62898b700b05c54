"""What groups of the classic protocol do in the end, and what members of both protocols see: L3, L9, L11 and L12.

Source: consumer-protocol reference, 1.10, 1.18 and 3.6.
"""

from __future__ import annotations

from typing import ClassVar

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.embedded.consumer_protocol import decode_subscription
from groupsim.protocol.errors import ErrorCode, ProtocolError
from groupsim.protocol.messages.group import JoinGroupRequest
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.client.heartbeats import PROCESS_ENDS
from groupsim.scenarios.invariants.steps import GroupModel, Input

_BARRIERS = ("PreparingRebalance", "CompletingRebalance")


class BarriersEnd(Checker):
    """L3. A group that is loaded begins its time again."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.GROUP_STATE, Kind.GROUP_LOADED, Kind.GROUP_UNLOADED, Kind.GROUP_CONVERTED}
        | {Kind.MEMBER_ADDED, Kind.MEMBER_UPDATED, Kind.MEMBER_PENDING, Kind.PROCESS_CRASHED}
    )
    SLACK_US = 1_000_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._limits_us: dict[str, int] = {}  # group → the longest rebalance timeout of a member
        self._open: dict[str, TraceEvent] = {}  # group → how its barrier began

    def event(self, event: TraceEvent) -> Found:
        """Compare the time of a barrier with the limit."""
        kind, group, payload = event.kind, event.group or "", event.payload or {}
        if kind in (Kind.MEMBER_ADDED, Kind.MEMBER_UPDATED, Kind.MEMBER_PENDING):
            limit_us = 1_000 * max(payload.get("rebalance_timeout_ms") or 0, payload.get("session_timeout_ms") or 0)
            self._limits_us[group] = max(self._limits_us.get(group, 0), limit_us)
        elif kind is Kind.GROUP_STATE:
            yield from self._ended(group, event.t_us)
            self._open.pop(group, None)
            if event.to in _BARRIERS:
                self._open[group] = event
        elif kind is Kind.PROCESS_CRASHED:
            if (event.host or "").startswith("broker"):
                self._open.clear()
        else:
            self._open.pop(group, None)

    def _ended(self, group: str, t_us: int) -> Found:
        begun, limit_us = self._open.get(group), self._limits_us.get(group)
        if begun is not None and limit_us and t_us > begun.t_us + limit_us + self.SLACK_US:
            took, most = (t_us - begun.t_us) / 1_000_000, limit_us / 1_000_000
            what = f"the group is in {begun.to} for {took} s; the longest time limit of its members is {most} s"
            epochs = {} if begun.generation is None else {"generation": begun.generation}
            yield self.in_trace(begun, what, epochs=epochs)

    def end(self, t_us: int, seq: int) -> Found:
        """Compare the barriers that are open."""
        for group in list(self._open):
            yield from self._ended(group, t_us)


class LoadsRemoveNoMember(Checker):
    """L9. What a new coordinator does before a whole session has passed has other reasons than the change."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.GROUP_LOADED, Kind.GROUP_DELETED, Kind.MEMBER_ADDED, Kind.MEMBER_REPLACED, Kind.MEMBER_REMOVED}
        | {Kind.GROUP_CONVERTED, Kind.ACTION}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._loaded_us: dict[str, int] = {}
        self._sessions_us: dict[tuple[str, str], int] = {}  # group, member → its session timeout

    def event(self, event: TraceEvent) -> Found:
        """Compare the end of a session with the load before it."""
        kind, group, member, payload = event.kind, event.group or "", event.member or "", event.payload or {}
        if kind is Kind.GROUP_LOADED:
            self._loaded_us[group] = event.t_us
        elif kind in (Kind.GROUP_DELETED, Kind.GROUP_CONVERTED):
            self._loaded_us.pop(group, None)
        elif kind is Kind.ACTION:
            if payload.get("do") == "alter-group-config":
                self._sessions_us.clear()
        elif kind is Kind.MEMBER_ADDED:
            self._sessions_us[group, member] = 1_000 * int(payload.get("session_timeout_ms") or 0)
        elif kind is Kind.MEMBER_REPLACED:
            session_us = self._sessions_us.pop((group, str(payload.get("old"))), 0)
            self._sessions_us[group, member] = session_us
        else:
            session_us = self._sessions_us.pop((group, member), 0)
            loaded_us = self._loaded_us.get(group)
            if event.reason == "session-expired" and loaded_us is not None and event.t_us < loaded_us + session_us:
                after = (event.t_us - loaded_us) / 1_000_000
                what = f"a member is removed for its silence {after} s after its group was loaded"
                yield self.in_trace(event, what)


class DuplicateEnds(Checker):
    """L11. The process that loses goes on with no request for the group."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.RESPONSE_RECEIVED, Kind.REQUEST_SENT, Kind.MEMBER_REPLACED, *PROCESS_ENDS}
    )
    ERRORS = ("UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID")
    GROUP_REQUESTS = ("JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._java: dict[str, None] = {}
        self._refused: dict[str, TraceEvent] = {}
        self._newcomers: dict[str, str] = {}  # member id that was refused → its group

    def event(self, event: TraceEvent) -> Found:
        """Note who is refused for its instance id, and look for its next request."""
        kind, host = event.kind, event.host or ""
        if kind is Kind.PROCESS_STARTED and str((event.payload or {}).get("profile", "")).startswith("java"):
            self._java[host] = None
        if kind in PROCESS_ENDS:
            self._refused.pop(host, None)
        elif kind is Kind.RESPONSE_RECEIVED:
            if event.error in self.ERRORS and event.api in self.GROUP_REQUESTS and host in self._java:
                self._refused[host] = event
                if event.error == self.ERRORS[0] and event.member:
                    self._newcomers[event.member] = event.group or ""
        elif kind is Kind.MEMBER_REPLACED:
            if self._newcomers.get(event.member or "") == event.group:
                yield self.in_trace(event, "a member that was answered UNRELEASED_INSTANCE_ID takes the place")
        elif event.api in self.GROUP_REQUESTS and host in self._refused:
            epoch = (event.payload or {}).get("epoch")
            if epoch is None or epoch >= 0:
                error = self._refused[host].error
                yield self.in_trace(event, f"{host} goes on with {event.api} after {error}")


class ClassicMembersWelcome(Checker):
    """L12."""

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Compare the refusal of a JoinGroup to a consumer group with the rules."""
        request = step.request
        if not isinstance(request, JoinGroupRequest) or model is None or not model.members:
            return
        if step.refusal is not ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            return
        rules, settings = step.shard.op.differences, step.shard.op.config_of(request.group_id)
        if settings.consumer_migration_policy == "disabled" and rules.disabled_policy_refuses_joins:
            return
        if request.protocol_type == "consumer" and self._in_common(request, model) and self._is_readable(request):
            what = "a classic member is refused by a consumer group whose classic members have a protocol of it"
            yield self.at(step, request.group_id, what, members=[request.member_id or "?"])

    @staticmethod
    def _in_common(request: JoinGroupRequest, model: GroupModel) -> bool:
        common = {protocol.name for protocol in request.protocols}
        for member in model.members.values():
            if member.classic is not None:
                common &= {protocol.name for protocol in member.classic.protocols}
        return bool(common)

    @staticmethod
    def _is_readable(request: JoinGroupRequest) -> bool:
        try:
            decode_subscription(request.protocols[0].metadata)
        except ProtocolError:
            return False
        return True
