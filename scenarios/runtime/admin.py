"""Send requests of an administrator: raw requests, stale commits, removals of members.

Requests go over the simulated network like any other, from a host of their own, to the coordinator or a named broker.
Their responses are `response.received` events of that host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import SECOND_US
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    NO_GENERATION,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    Request,
    Response,
)
from groupsim.scenarios.language.raw_requests import make_request
from groupsim.scenarios.language.targets import partition_named
from groupsim.scenarios.runtime.member_process import Actor
from groupsim.scenarios.steps.actions import RAW_REQUEST_HOST

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage
    from groupsim.scenarios.steps.actions import RawRequest

_TIMEOUT_US = 310 * SECOND_US


class Admin:
    """Sends the requests of a scenario's steps."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def remove(self, actor: Actor, reason: str | None) -> None:
        """Remove a member: a static one by its instance id, any other by its current member id."""
        instance = actor.consumer.settings.group_instance_id
        words = "member was removed by an admin" + (f": {reason}" if reason else "")
        member_id = "" if instance is not None else actor.consumer.member_id
        leaving = LeavingMember(member_id, instance, words)
        self.send(LeaveGroupRequest(actor.group, (leaving,)), "admin", actor.group)

    def commit(self, name: str, offsets: Mapping[str, int], generation: str | int) -> None:
        """Commit offsets under a member's id, from its host."""
        actor = self._stage.actors([name])[0]
        request = OffsetCommitRequest(
            group_id=actor.group,
            offsets=tuple(OffsetToCommit(partition_named(text), offset) for text, offset in offsets.items()),
            generation_id=self.generation(actor.group, generation),
            member_id=actor.consumer.member_id or self.last_id(actor),
            group_instance_id=actor.consumer.settings.group_instance_id,
        )
        self.send(request, f"{name}-{RAW_REQUEST_HOST}", actor.group)

    def generation(self, group: str, wanted: str | int) -> int:
        """Return a generation: a number as it is, or relative to the group's own."""
        if isinstance(wanted, int):
            return wanted
        snapshot = self._stage.cluster.snapshot(group)
        now = snapshot.generation if snapshot is not None else 0
        return {"current": now, "previous": now - 1, "none": NO_GENERATION}[wanted]

    def last_id(self, actor: Actor) -> str:
        """Return the member id under which the coordinator still has a process that lost its own."""
        snapshot = self._stage.cluster.snapshot(actor.group)
        members = snapshot.members if snapshot is not None else ()
        return next((m.member_id for m in members if m.client_host.lstrip("/") == actor.name), "")

    def request(self, action: RawRequest) -> None:
        """Send a raw request. Raises ValueError naming the fields that cannot be sent."""
        group = self._stage.group_id(action.group)
        fields = {name: self._value(group, name, value) for name, value in action.fields.items()}
        self.send(make_request(action.api, group, fields), action.from_, group, action.to)

    def _value(self, group: str, name: str, value: Any) -> Any:
        """Replace stand-ins (`{member: c2}`, `current`) by their present values."""
        if isinstance(value, dict) and set(value) == {"member"}:
            actors = self._stage.actors([value["member"]])
            if not actors:
                raise ValueError(f"`{value['member']}` is no member at this time")
            actor = actors[0]
            return actor.consumer.member_id or self.last_id(actor)
        if name == "generation_id" and isinstance(value, str):
            return self.generation(group, value)
        if isinstance(value, list):
            return [self._value(group, name, item) for item in value]
        if isinstance(value, dict):
            return {key: self._value(group, key, item) for key, item in value.items()}
        return value

    def send(self, request: Request, host: str, group: str, to: str | None = None) -> None:
        """Send a request to a broker; its response is emitted in the trace."""
        cluster, trace = self._stage.cluster, self._stage.loop.trace
        node = self._stage.broker_node(to if to is not None else f"coordinator of {group}")
        connection = cluster.transport.connect(host, host, node, "coordinator")
        api = request.API.title

        def answered(outcome: Outcome) -> None:
            if isinstance(outcome, Disconnected):
                trace.emit(Kind.REQUEST_FAILED, host=host, group=group, api=api, reason=outcome.reason)
            else:
                shown = _error_of(outcome)
                trace.emit(Kind.RESPONSE_RECEIVED, host=host, group=group, api=api, error=shown, payload={"to": node})
            connection.close()

        sent = {"to": node, "by_hand": True}
        trace.begin(trace.emit(Kind.REQUEST_SENT, host=host, group=group, api=api, payload=sent))
        connection.send(request, answered, _TIMEOUT_US)


def _error_of(response: Response) -> str | None:
    """Return the name of a response's error, if it has one."""
    error = getattr(response, "error", None)
    return error.name if isinstance(error, ErrorCode) and error else None
