"""Sessions and time limits of members: N23, N24 and L6.

Source: consumer-protocol reference, 1.15 and 3.1.
"""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import MemberState
from groupsim.coordinator.base.timers import TimerKind, consumer_session_timer
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input


class SessionEndsOnTime(Checker):
    """N23."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._due: dict[tuple[str, str], int] = {}  # group, member → the end of its session

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Note when an accepted heartbeat was; compare the end of a session with the last one."""
        timer = step.timer
        if timer is not None and timer.kind is TimerKind.CONSUMER_SESSION:
            due = self._due.get((timer.group_id, timer.member_id))
            state = step.group(timer.group_id)
            stays = state is not None and timer.member_id in state.members
            if due is not None and step.t_us < due and not stays:
                what = f"a session ends {(due - step.t_us) / 1_000_000} s too early"
                yield self.at(step, timer.group_id, what, members=[timer.member_id])
        request = step.heartbeat
        if request is not None and request.member_epoch >= JOIN_EPOCH and step.arrival is not None:
            yield from self._beaten(step, request.group_id, request.member_id or step.arrival.fresh_id)

    def _beaten(self, step: Input, group_id: str, member_id: str) -> Found:
        state = step.group(group_id)
        member = None if state is None else state.members.get(member_id)
        if member is None or step.refusal is not None:
            return
        due = step.t_us + 1_000 * step.shard.op.config_of(group_id).consumer_session_timeout_ms
        self._due[group_id, member_id] = due
        timer = step.shard.op.timers.get(consumer_session_timer(group_id, member_id))
        if timer is None or timer.due_us != due:
            what = "an accepted heartbeat does not begin its member's session again"
            yield self.at(step, group_id, what, members=[member_id], epochs={"member epoch": member.member_epoch})

    def change(self, change: GroupChange) -> Found:
        """Forget removed members."""
        for member_id, (_, new) in change.members.items():
            if new is None or new.classic is not None:
                self._due.pop((change.group_id, member_id), None)
        return ()

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Begin all sessions again: a new coordinator gives each member its whole timeout."""
        timeout_us = 1_000 * step.shard.op.config_of(model.group_id).consumer_session_timeout_ms
        for member_id in model.members:
            self._due[model.group_id, member_id] = step.t_us + timeout_us
            timer = step.shard.op.timers.get(consumer_session_timer(model.group_id, member_id))
            if timer is None or timer.due_us != step.t_us + timeout_us:
                what = "a load does not begin a member's session"
                yield self.at(step, model.group_id, what, members=[member_id])


class RevocationEndsOnTime(Checker):
    """N24."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._since: dict[tuple[str, str], tuple[int, int, int]] = {}  # epoch, since, limit: while UNREVOKED

    def change(self, change: GroupChange) -> Found:
        """Note since when a member has to revoke, and compare a removal by the time limit with it."""
        timer, t_us = change.step.timer, change.step.t_us
        for member_id, (_, new) in change.members.items():
            key = (change.group_id, member_id)
            if new is None:
                since = self._since.pop(key, None)
                if timer is not None and timer.kind is TimerKind.REBALANCE and timer.member_id == member_id:
                    yield from self._removed(change, member_id, since, t_us)
            else:
                self._note(key, new, t_us)

    def _note(self, key: tuple[str, str], member: ConsumerMember, t_us: int) -> None:
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._since.pop(key, None)
            return
        known = self._since.get(key)
        if known is None or known[0] != member.member_epoch:
            self._since[key] = (member.member_epoch, t_us, 1_000 * member.rebalance_timeout_ms)

    def _removed(self, change: GroupChange, member_id: str, since: tuple[int, int, int] | None, t_us: int) -> Found:
        if since is None:
            what = "a member that had nothing to revoke is removed for not revoking in time"
        elif t_us - since[1] < since[2]:
            what = f"a member is removed for not revoking {(since[2] - (t_us - since[1])) / 1_000_000} s too early"
        else:
            return
        epochs = {} if since is None else {"member epoch": since[0]}
        yield self.at(change.step, change.group_id, what, members=[member_id], epochs=epochs)

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Begin the time limits again."""
        for member_id, member in model.members.items():
            self._since.pop((model.group_id, member_id), None)
            self._note((model.group_id, member_id), member, step.t_us)
        return ()


class RevocationsEnd(Checker):
    """L6. A second more than the timeout is allowed: a timer waits for the inputs before it."""

    SLACK_US = 1_000_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._until: dict[tuple[str, str], tuple[int, int]] = {}  # epoch, end: while UNREVOKED

    def change(self, change: GroupChange) -> Found:
        """Follow the members that have to revoke."""
        yield from self._late(change.step, change.group_id)
        for member_id, (_, new) in change.members.items():
            key = (change.group_id, member_id)
            if new is None or new.state is not MemberState.UNREVOKED_PARTITIONS or not new.pending or new.classic:
                self._until.pop(key, None)
            elif self._until.get(key, (None, 0))[0] != new.member_epoch:
                self._until[key] = (new.member_epoch, change.step.t_us + 1_000 * new.rebalance_timeout_ms)

    def _late(self, step: Input, group_id: str) -> Found:
        for (group, member_id), (epoch, end) in list(self._until.items()):
            if group == group_id and step.t_us > end + self.SLACK_US:
                del self._until[group, member_id]
                what = f"a member has to revoke since {(step.t_us - end) / 1_000_000} s more than its rebalance timeout"
                yield self.at(step, group, what, members=[member_id], epochs={"member epoch": epoch})

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Begin the time again."""
        for member_id, member in model.members.items():
            if self._until.pop((model.group_id, member_id), None) is not None:
                end = step.t_us + 1_000 * member.rebalance_timeout_ms
                self._until[model.group_id, member_id] = (member.member_epoch, end)
        return ()

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget a group."""
        for member_id in model.members:
            self._until.pop((model.group_id, member_id), None)
        return ()
