"""The epochs of a consumer group and of its members: N1 to N4, N12, N13, N25, N26 and N30.

Source: consumer-protocol reference, 1.2, 1.3, 1.4, 1.10 and 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.coordinator.base.consumer_records import MemberState
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import ConsumerGroupState
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, keys

_STATE, _EMPTY, _ASSIGNING = ConsumerGroupState, ConsumerGroupState.EMPTY, ConsumerGroupState.ASSIGNING


class GroupEpochRises(Checker):
    """N1."""

    def change(self, change: GroupChange) -> Found:
        """Compare the group epoch with the one before."""
        before, after = change.head.group_epoch, change.state.group_epoch
        if change.is_new or after in (before, before + 1):
            return
        how = "falls" if after < before else f"rises by {after - before}"
        yield self.at(change.step, change.group_id, f"the group epoch {how}", epochs={"before": before, "after": after})


class AssignmentEpochFollows(Checker):
    """N2."""

    def change(self, change: GroupChange) -> Found:
        """Compare the assignment epoch with the group epoch, and with the one before."""
        before, head = change.head.assignment_epoch, change.state.head
        epochs = {"assignment epoch": head.assignment_epoch, "group epoch": head.group_epoch}
        if head.assignment_epoch > head.group_epoch:
            yield self.at(change.step, change.group_id, "the assignment epoch is above the group epoch", epochs=epochs)
        if not change.is_new and head.assignment_epoch < before:
            what = f"the assignment epoch falls from {before}"
            yield self.at(change.step, change.group_id, what, epochs=epochs)


class MemberEpochWithin(Checker):
    """N3."""

    def change(self, change: GroupChange) -> Found:
        """Compare the epochs of the touched members with the assignment epoch."""
        limit = change.state.assignment_epoch
        for member_id, (_, member) in change.members.items():
            if member is not None and (member.member_epoch > limit or member.member_epoch == -1):
                yield self.at(
                    change.step,
                    change.group_id,
                    "the epoch of a member is above the assignment epoch",
                    members=[member_id],
                    epochs={"member epoch": member.member_epoch, "assignment epoch": limit},
                )


class MemberEpochNeverFalls(Checker):
    """N4."""

    def change(self, change: GroupChange) -> Found:
        """Compare the epochs of the touched members with those before."""
        for member_id, (old, new) in change.members.items():
            if old is None or new is None or new.member_epoch in (STATIC_LEAVE_EPOCH, JOIN_EPOCH):
                continue
            if new.member_epoch < old.member_epoch:
                yield self.at(
                    change.step,
                    change.group_id,
                    "the epoch of a member falls",
                    members=[member_id],
                    epochs={"before": old.member_epoch, "after": new.member_epoch},
                )


def state_of(model: GroupModel) -> ConsumerGroupState:
    """Return the state that follows from the epochs of a group and its members (reference, 1.2)."""
    head, members = model.head, len(model.members)
    if not members:
        return _EMPTY
    if head.group_epoch > head.assignment_epoch:
        return _ASSIGNING
    reconciled = model.reconciled.get(head.assignment_epoch, 0)
    return _STATE.STABLE if reconciled == members else _STATE.RECONCILING


class StateFollows(Checker):
    """N12."""

    def change(self, change: GroupChange) -> Found:
        """Compare the state that the group shows, and the one in the trace, with the function."""
        expected = state_of(change.model)
        shown = {change.state.state.value: None}
        shown |= dict.fromkeys(str(event.to) for event in change.step.events(Kind.GROUP_STATE, change.group_id))
        for state in shown:
            if state != expected.value:
                yield self.at(
                    change.step,
                    change.group_id,
                    f"the group shows {state}, its epochs make it {expected.value}",
                    epochs={
                        "group epoch": change.state.group_epoch,
                        "assignment epoch": change.state.assignment_epoch,
                    },
                )


class StableMeansReconciled(Checker):
    """N13."""

    def change(self, change: GroupChange) -> Found:
        """Compare the members of a group that shows Stable with its epochs and with their targets."""
        if change.state.state is not _STATE.STABLE:
            return
        head = change.state.head
        for member_id, member in change.model.members.items():
            at_epoch = member.member_epoch == head.assignment_epoch == head.group_epoch
            target = set(keys(change.model.targets.get(member_id, {})))
            assigned = set(keys(member.assigned))
            lacking = target - assigned
            if lacking:
                subscribed = change.subscribed_topics(member)
                lacking = {key for key in lacking if key[0] in subscribed and not self._unresolved(change, member)}
            wrong = (assigned - target) | lacking | set(keys(member.pending))
            if member.state is not MemberState.STABLE or not at_epoch or wrong:
                yield self.at(
                    change.step,
                    change.group_id,
                    f"the group is Stable with a member that is {member.state.name} and has not what its target is",
                    members=[member_id],
                    partitions=wrong,
                    epochs={
                        "member epoch": member.member_epoch,
                        "assignment epoch": head.assignment_epoch,
                        "group epoch": head.group_epoch,
                    },
                )
                return

    @staticmethod
    def _unresolved(change: GroupChange, member: ConsumerMember) -> bool:
        """Whether a pattern was resolved after the member had moved on: legal until the member's next heartbeat."""
        return bool(member.regex) and change.step.heartbeat is None


class StaticBounceChangesNothing(Checker):
    """N25."""

    def change(self, change: GroupChange) -> Found:
        """Look for an instance id with two members, and for a bounce with other effects than on its own member."""
        by_instance: dict[str, str] = {}
        if change.members and any(new is not None and new.instance_id for _, new in change.members.values()):
            for member_id, member in change.model.members.items():
                other = member.instance_id and by_instance.setdefault(member.instance_id, member_id)
                if other and other != member_id:
                    what = f"two members have the instance id {member.instance_id}"
                    yield self.at(change.step, change.group_id, what, members=[other, member_id])
        request = change.step.heartbeat
        if request is None or request.instance_id is None or request.member_epoch != JOIN_EPOCH or change.is_new:
            return
        yield from self._bounce(change, request.instance_id)

    def _bounce(self, change: GroupChange, instance_id: str) -> Found:
        touched = change.members.items()
        left = [(i, old) for i, (old, _) in touched if old is not None and old.instance_id == instance_id]
        back = [(i, new) for i, (_, new) in touched if new is not None and new.instance_id == instance_id]
        if not left or not back:
            return
        (old_id, old), (new_id, new) = left[0], back[0]
        if old.member_epoch != STATIC_LEAVE_EPOCH or _asks(old) != _asks(new):
            return
        head, state = change.head, change.state
        if head.metadata_hash != state.metadata_hash or head.group_epoch > head.assignment_epoch:
            return
        others = [one for one in change.targets if one not in (old_id, new_id)]
        if state.group_epoch != head.group_epoch or others:
            yield self.at(
                change.step,
                change.group_id,
                f"the return of the static member {instance_id} changes more than its own member",
                members=[new_id, *others],
                epochs={"group epoch before": head.group_epoch, "after": state.group_epoch},
            )


def _asks(member: ConsumerMember) -> tuple[object, ...]:
    return member.names, member.regex, member.assignor


class WithinMaxSize(Checker):
    """N26."""

    def change(self, change: GroupChange) -> Found:
        """Compare the size of a group that has grown by a join with the limit."""
        if change.is_new or change.converted or change.step.request is None:
            return
        grown = sum((new is not None) - (old is not None) for old, new in change.members.values())
        limit, size = change.step.shard.op.config_of(change.group_id).consumer_max_size, len(change.model.members)
        if grown > 0 and size > limit:
            new = [one for one, (old, _) in change.members.items() if old is None]
            what = f"the group has {size} members, its limit is {limit}"
            yield self.at(change.step, change.group_id, what, members=new)


class RemovalsBump(Checker):
    """N30."""

    def change(self, change: GroupChange) -> Found:
        """Compare the group epoch across the removal of members, and across a static member's leave for now."""
        if change.is_new:
            return
        before, after = change.head.group_epoch, change.state.group_epoch
        epochs = {"group epoch before": before, "after": after}
        kept = change.replaced.values()
        gone = [one for one, (old, new) in change.members.items() if new is None and old and one not in kept]
        if gone and after != before + 1:
            what = "members are removed, and the group epoch is not bumped"
            yield self.at(change.step, change.group_id, what, members=gone, epochs=epochs)
        request = change.step.heartbeat
        if request is not None and request.member_epoch == STATIC_LEAVE_EPOCH and after != before:
            what = "a static member leaves for now, and the group epoch is bumped"
            yield self.at(change.step, change.group_id, what, members=_ids(change), epochs=epochs)


def _ids(change: GroupChange) -> Iterable[str]:
    return tuple(change.members)
