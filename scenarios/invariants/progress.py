"""That a group of the consumer protocol comes to rest: L1, L2, L5 and L7.

Source: consumer-protocol reference, 1.4, 1.12 and 3.6.
"""

from __future__ import annotations

from typing import Any, ClassVar

from groupsim.coordinator.base.consumer_records import MemberState, RegexRecord
from groupsim.coordinator.consumer.state import ConsumerGroupState, GroupState
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH
from groupsim.protocol.messages.group import JoinGroupRequest, SyncGroupRequest
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.client.heartbeats import PROCESS_ENDS
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input, Key, keys

_MS = 1_000


class GroupComesToRest(Checker):
    """L1. It is asked at the end, of groups that nothing has disturbed for the time that they may need."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.ACTION, Kind.FAULT_BEGUN, Kind.FAULT_ENDED, Kind.METADATA_CHANGED, Kind.CALLBACK_BEGUN}
        | {Kind.CALLBACK_ENDED, Kind.RECORDS_DELIVERED, Kind.RECORDS_PROCESSED, Kind.POLL_EXPIRED, Kind.COMMIT_FAILED}
        | {Kind.MEMBER_ADDED, Kind.MEMBER_REMOVED, Kind.MEMBER_REPLACED, Kind.GROUP_LOADED, Kind.GROUP_UNLOADED}
        | {Kind.PROCESS_PAUSED, Kind.PROCESS_RESUMED, Kind.HEARTBEATS_BLOCKED, Kind.BROKER_FENCED, *PROCESS_ENDS}
    )
    REGEX_US = 11_000_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._groups: dict[str, tuple[Input, GroupModel]] = {}
        self._disturbed_us = 0
        self._busy: dict[str, int] = {}  # process → records and callbacks under way
        self._faults = 0

    def event(self, event: TraceEvent) -> Found:
        """Note the last disturbance, and which applications are busy."""
        kind, host = event.kind, event.host or ""
        count = int((event.payload or {}).get("count", 1))
        if kind is Kind.RECORDS_DELIVERED:
            self._busy[host] = self._busy.get(host, 0) + count
            return ()
        if kind is Kind.RECORDS_PROCESSED:
            self._busy[host] = self._busy.get(host, 0) - count
            return ()
        self._disturbed_us = event.t_us
        if kind is Kind.CALLBACK_BEGUN:
            self._busy[host] = self._busy.get(host, 0) + 1
        elif kind is Kind.CALLBACK_ENDED:
            self._busy[host] = self._busy.get(host, 0) - 1
        elif kind in PROCESS_ENDS:
            self._busy.pop(host, None)
        elif kind in (Kind.FAULT_BEGUN, Kind.FAULT_ENDED):
            self._faults += 1 if kind is Kind.FAULT_BEGUN else -1
        return ()

    def change(self, change: GroupChange) -> Found:
        """Keep the group."""
        self._groups[change.group_id] = (change.step, change.model)
        return ()

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Keep the group."""
        self._groups[model.group_id] = (step, model)
        return ()

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget a group."""
        self._groups.pop(model.group_id, None)
        return ()

    def end(self, t_us: int, seq: int) -> Found:
        """Look for groups that are not at rest."""
        if self._faults or any(count > 0 for count in self._busy.values()):
            return
        for group_id, (step, model) in self._groups.items():
            state = None if step.shard.closed else step.group(group_id)
            settings = step.shard.op.config_of(group_id)
            limit_ms = (
                settings.consumer_session_timeout_ms
                + 3 * settings.consumer_heartbeat_interval_ms
                + settings.consumer_assignment_interval_ms
            )
            if state is None or not state.members or t_us - self._disturbed_us < _MS * limit_ms + self.REGEX_US:
                continue
            if state.state is not ConsumerGroupState.STABLE:
                quiet = (t_us - self._disturbed_us) // 1_000_000
                what = f"the group is {state.state.value} although nothing has happened for {quiet} s"
                late = [one for one, m in model.members.items() if not m.is_reconciled_to(state.assignment_epoch)]
                epochs = {"group epoch": state.group_epoch, "assignment epoch": state.assignment_epoch}
                yield self.at(step, group_id, what, members=late, epochs=epochs)


class WaitsAreShort(Checker):
    """L2. The bound of the reference follows: each member that is waited for has only its own next step to do."""

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Look for what a member lacks after its heartbeat, and for those who have it."""
        request = step.heartbeat
        if request is None or step.refusal is not None or request.member_epoch < JOIN_EPOCH:
            return
        state = step.group(request.group_id)
        member = None if state is None else state.members.get(request.member_id)
        if state is None or member is None or state.group_epoch != state.assignment_epoch or member.classic:
            return
        if member.state is MemberState.UNREVOKED_PARTITIONS or member.member_epoch != state.assignment_epoch:
            return
        subscribed = self._subscribed(step, state, member.names, member.regex)
        target = state.targets.get(member.member_id, {})
        lacks = {key for key in keys(target) if key[0] in subscribed} - set(keys(member.assigned))
        if not lacks:
            return
        wrong = lacks - self._released_later(state, member.member_id, lacks)
        if wrong:
            what = "a member lacks partitions of its target that no other member is about to give up"
            epochs = {"member epoch": member.member_epoch, "assignment epoch": state.assignment_epoch}
            yield self.at(step, request.group_id, what, members=[member.member_id], partitions=wrong, epochs=epochs)

    @staticmethod
    def _subscribed(step: Input, state: GroupState, names: tuple[str, ...], regex: str) -> set[str]:
        resolved = state.resolved.get(regex) if regex else None
        found = [step.shard.op.topics.topic(name) for name in (*names, *(resolved.topics if resolved else ()))]
        return {topic.topic_id for topic in found if topic is not None}

    @staticmethod
    def _released_later(state: GroupState, member_id: str, wanted: set[Key]) -> set[Key]:
        """Return the partitions that another member has to revoke, or will have to at its next request."""
        found: set[Key] = set()
        for other_id, other in state.members.items():
            if other_id != member_id:
                found |= wanted & set(keys(other.pending))
                if other.member_epoch != state.assignment_epoch or other.classic is not None:
                    found |= wanted & set(keys(other.assigned))
        return found


class BumpsHaveCauses(Checker):
    """L5."""

    def change(self, change: GroupChange) -> Found:
        """Look for a bump by an input that changed neither members, subscriptions nor topics."""
        before, after = change.head, change.state.head
        if change.is_new or after.group_epoch <= before.group_epoch or before.metadata_hash != after.metadata_hash:
            return
        if any(isinstance(one, RegexRecord) for one in change.records):
            return
        if any(_inputs(old) != _inputs(new) for old, new in change.members.values()):
            return
        request = change.step.heartbeat
        yield self.at(
            change.step,
            change.group_id,
            "the group epoch is bumped although no member, subscription or topic has changed",
            members=change.members or ([request.member_id] if request is not None else []),
            epochs={"before": before.group_epoch, "after": after.group_epoch},
        )


def _inputs(member: Any) -> object:
    """Return what a bump may be about, of a member; None for none."""
    return None if member is None else (member.names, member.regex, member.assignor, member.instance_id)


class RequestsAreAnswered(Checker):
    """L7. JoinGroup and SyncGroup are left to L3; other requests wait for no more than an append.

    The time of a coordinator goes on with its inputs: one that has crashed gets none.
    """

    SLACK_MS = 1_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._asked: dict[Shard, dict[int, tuple[Any, int, str, str]]] = {}

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Note requests and answers; compare the oldest request with the time limit."""
        request, arrival = step.request, step.arrival
        if step.unloads or step.loads:
            self._asked.pop(step.shard, None)
        asked = self._asked.setdefault(step.shard, {})
        group_id = getattr(request, "group_id", None)
        if (
            arrival is not None
            and group_id is not None
            and not isinstance(request, JoinGroupRequest | SyncGroupRequest)
        ):
            asked[id(arrival.call)] = (arrival.call, step.t_us, group_id, type(request).__name__)
        for call, _ in step.answers:
            asked.pop(id(call), None)
        oldest = next(iter(asked), None)
        if oldest is not None:
            _, asked_us, of_group, api = asked[oldest]
            if step.t_us > asked_us + _MS * (step.shard.op.config.offsets_commit_timeout_ms + self.SLACK_MS):
                del asked[oldest]
                what = f"{api} has no answer after {(step.t_us - asked_us) / 1_000_000} s"
                yield self.at(step, of_group, what, members=[getattr(request, "member_id", None) or "?"])
