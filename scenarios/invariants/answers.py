"""What members are answered: N17, N18 and N28.

Source: consumer-protocol reference, 1.8 to 1.10, 1.13 and 3.1.
"""

from __future__ import annotations

from typing import Any

from groupsim.coordinator.base.effects import CancelTimer, SetTimer
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
)
from groupsim.protocol.values import define
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupModel, Input, Key, keys

_MEMBERSHIP = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
)


@define
class _Expected:
    """The answer to a heartbeat under way, as its operation makes it."""

    call: Any
    group_id: str
    epoch: int
    assigned: set[Key]
    shown: bool


class AnswersShowAssignment(Checker):
    """N17."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._expected: dict[int, _Expected] = {}

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Note what an accepted heartbeat has to be answered, and compare the answers with it."""
        request, arrival = step.heartbeat, step.arrival
        if request is not None and arrival is not None and step.refusal is None:
            expected = self._of(step, request, model)
            if expected is not None:
                self._expected[id(arrival.call)] = expected
        for call, response in step.answers:
            known = self._expected.pop(id(call), None)
            if known is not None and not response.error:
                yield from self._answered(step, known, response)
        if step.unloads:
            self._expected.clear()

    @staticmethod
    def _of(step: Input, request: ConsumerGroupHeartbeatRequest, model: GroupModel | None) -> _Expected | None:
        state = step.group(request.group_id)
        call, group_id = step.arrival and step.arrival.call, request.group_id
        if request.member_epoch < JOIN_EPOCH:
            return _Expected(call, group_id, request.member_epoch, set(), False)
        member_id = request.member_id or (step.arrival.fresh_id if step.arrival else "")
        member = None if state is None else state.members.get(member_id)
        if member is None:
            return None
        before = None if model is None else model.members.get(member_id)
        assigned = set(keys(member.assigned))
        subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        full = request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None
        # Before 4.3 the assignment epochs in a state rise with the member's: only the partitions count.
        changed = before is not None and set(keys(before.assigned)) != assigned
        shown = request.member_epoch == JOIN_EPOCH or full or changed
        return _Expected(call, group_id, member.member_epoch, assigned, shown)

    def _answered(self, step: Input, known: _Expected, response: Any) -> Found:
        members = [response.member_id]
        if response.member_epoch != known.epoch:
            what = f"an answer has epoch {response.member_epoch}, its member is at {known.epoch}"
            yield self.at(step, known.group_id, what, members=members, epochs={"member epoch": known.epoch})
        shown = response.assignment is not None
        if shown is not known.shown:
            what = "an answer has the assignment" if shown else "an answer lacks the assignment"
            what += ", although " + (
                "it did not change and was not asked for" if shown else "it changed or was asked for"
            )
            yield self.at(step, known.group_id, what, members=members, epochs={"member epoch": known.epoch})
        if shown:
            reported = {(topic.topic_id, number) for topic in response.assignment for number in topic.partitions}
            if reported != known.assigned:
                what = "the assignment of an answer is not that of its member"
                wrong = reported ^ known.assigned
                yield self.at(
                    step, known.group_id, what, members=members, partitions=wrong, epochs={"member epoch": known.epoch}
                )


class RefusalsChangeNothing(Checker):
    """N18."""

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Compare the answer to a heartbeat with the rules, and a refusal with what it writes."""
        request, refusal = step.heartbeat, step.refusal
        if request is None or model is None or step.arrival is None:
            return
        settings = step.shard.op.config_of(request.group_id)
        member_id = request.member_id or step.arrival.fresh_id
        expected = expected_error(model, request, member_id, settings.consumer_max_size, step.shard.op.differences)
        members, epochs = [member_id], {"received": request.member_epoch}
        member = model.members.get(member_id)
        if member is not None:
            epochs |= {"member epoch": member.member_epoch, "previous epoch": member.previous_epoch}
        judged = refusal is None or refusal in _MEMBERSHIP
        if judged and refusal is not expected:
            found = "accepted" if refusal is None else f"answered {refusal.name}"
            what = f"a heartbeat is {found}; the rules answer {'no error' if expected is None else expected.name}"
            yield self.at(step, request.group_id, what, members=members, epochs=epochs)
        if refusal is None:
            return
        timers = [e for e in step.effects if isinstance(e, SetTimer | CancelTimer) and e.timer.member_id == member_id]
        if timers or any(True for _ in step.appends):
            what = f"a heartbeat that is answered {refusal.name} writes records or moves a timer"
            yield self.at(step, request.group_id, what, members=members, epochs=epochs)


def expected_error(
    model: GroupModel, request: ConsumerGroupHeartbeatRequest, member_id: str, limit: int, rules: Differences
) -> ErrorCode | None:
    """Return the error of a heartbeat to a consumer group by size, membership and epoch; None when it is accepted."""
    epoch, named = request.member_epoch, request.instance_id
    holder_id = None if named is None else model.instances.get(named)
    holder = None if holder_id is None else model.members.get(holder_id)
    if epoch < JOIN_EPOCH:
        return _leave_error(model, request, holder)
    passes = member_id in model.members or (holder is not None and rules.known_instance_passes)
    if len(model.members) >= limit and not passes:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    member = model.members.get(member_id)
    if holder_id is not None and holder is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if named is not None and epoch == JOIN_EPOCH:
        there = holder is not None and holder.classic is None and holder.member_epoch != STATIC_LEAVE_EPOCH
        return ErrorCode.UNRELEASED_INSTANCE_ID if there else None
    if named is not None:
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if holder.member_id != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if member is None:
        return None if epoch == JOIN_EPOCH else ErrorCode.UNKNOWN_MEMBER_ID
    return _epoch_error(member, request, rules)


def _leave_error(
    model: GroupModel, request: ConsumerGroupHeartbeatRequest, holder: ConsumerMember | None
) -> ErrorCode | None:
    if request.instance_id is None:
        known = request.member_id in model.members
        return None if known or request.member_epoch != LEAVE_EPOCH else ErrorCode.UNKNOWN_MEMBER_ID
    if holder is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return None if holder.member_id == request.member_id else ErrorCode.FENCED_INSTANCE_ID


def _epoch_error(
    member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, rules: Differences
) -> ErrorCode | None:
    epoch = request.member_epoch
    if epoch == member.member_epoch or (epoch == JOIN_EPOCH and rules.epoch_0_is_accepted):
        return None
    owned = request.topic_partitions
    if epoch < member.member_epoch and epoch == member.previous_epoch and owned is not None:
        reported = {(topic.topic_id, number) for topic in owned for number in topic.partitions}
        if reported <= set(keys(member.assigned)):
            return None
    return ErrorCode.FENCED_MEMBER_EPOCH


class AnswersWaitForCommits(Checker):
    """N28."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._waits: dict[int, tuple[Any, str, int]] = {}  # call, group, append: of accepted requests that write
        self._committed: dict[tuple[str, int], int] = {}  # of each partition of a broker: the last committed append

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Note what an accepted heartbeat has appended, and compare its answer with the appends that have ended."""
        number = (step.host, step.shard.partition.number)
        if step.ended and step.error is None:
            self._committed[number] = step.ended
        if step.loads:
            self._committed[number] = 0
        if step.heartbeat is not None and step.arrival is not None:
            for append in step.appends:
                waits = (step.arrival.call, step.heartbeat.group_id, append.append_id)
                self._waits[id(step.arrival.call)] = waits
        for call, response in step.answers:
            waits_for = self._waits.pop(id(call), None)
            if waits_for is None or response.error or not step.shard.op.differences.answers_wait_for_writes:
                continue
            if waits_for[2] > self._committed.get(number, 0):
                what = "a heartbeat is answered before its records are committed"
                yield self.at(step, waits_for[1], what, members=[response.member_id])
        if step.unloads:
            self._waits.clear()
