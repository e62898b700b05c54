"""The steps of one member towards its target: N14 to N16.

Source: consumer-protocol reference, 1.12 and 3.1.
"""

from __future__ import annotations

from groupsim.coordinator.base.consumer_records import MemberState
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.messages.consumer_group import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from groupsim.protocol.messages.group import JoinGroupRequest
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, Input, Key, held, keys
from groupsim.scenarios.invariants.violation import Violation


def reported(step: Input, member_id: str) -> set[Key] | None:
    """Return the partitions that a member reports as its own with this request; None when it reports none at all.

    A heartbeat with epoch 0 has an empty list. What a classic member reports is in its JoinGroup; a member of an eager
    assignor has none then.
    """
    request = step.heartbeat
    if request is not None and request.member_id == member_id and request.topic_partitions is not None:
        return {(topic.topic_id, number) for topic in request.topic_partitions for number in topic.partitions}
    if request is not None and request.member_epoch == JOIN_EPOCH:
        return set()
    return set() if isinstance(step.request, JoinGroupRequest) else None


def _acknowledges(change: GroupChange, member_id: str, before: ConsumerMember) -> bool:
    owned = reported(change.step, member_id)
    return owned is not None and not owned & set(keys(before.pending))


class RevokingMemberWaits(Checker):
    """N14."""

    def change(self, change: GroupChange) -> Found:
        """Look for a member that moves on before it has revoked."""
        rules = change.step.shard.op.differences
        for member_id, (old, new) in change.members.items():
            if old is None or new is None or old.state is not MemberState.UNREVOKED_PARTITIONS or not old.pending:
                continue
            if new.member_epoch == STATIC_LEAVE_EPOCH or _acknowledges(change, member_id, old):
                continue
            more = set(keys(new.assigned)) - set(keys(old.assigned))
            less = set(keys(old.assigned)) - held(new)
            kept = old.assigned == new.assigned or rules.target_follows_subscription
            if new.member_epoch != old.member_epoch or more or less or not kept:
                yield self.at(
                    change.step,
                    change.group_id,
                    "a member moves on although it has not reported that it has revoked",
                    members=[member_id],
                    partitions=set(keys(old.pending)),
                    epochs={"before": old.member_epoch, "after": new.member_epoch},
                )


class PendingEnds(Checker):
    """N15."""

    def change(self, change: GroupChange) -> Found:
        """Look for a partition that ends to be pending without a report."""
        for member_id, (old, new) in change.members.items():
            if old is None or new is None or new.member_epoch == STATIC_LEAVE_EPOCH:
                continue
            ended = set(keys(old.pending)) - set(keys(new.pending))
            owned = reported(change.step, member_id) if ended else None
            if ended and (owned is None or ended & owned):
                yield self.at(
                    change.step,
                    change.group_id,
                    "a partition ends to be pending although its member has not reported that it gave it up",
                    members=[member_id],
                    partitions=ended if owned is None else ended & owned,
                    epochs={"member epoch": new.member_epoch},
                )


class GrantsFreePartitions(Checker):
    """N16."""

    def change(self, change: GroupChange) -> Found:
        """Look for a partition that is assigned to a member before it is free, or outside its target."""
        if change.is_new:
            return
        for member_id, (old, new) in change.members.items():
            got = (set(keys(new.assigned)) if new else set()) - (set(keys(old.assigned)) if old else set())
            if not got or new is None:
                continue
            former = change.replaced.get(member_id)
            outside = got - set(keys(change.model.targets.get(member_id, {})))
            taken = {key for key in got if [o for o in change.holders.get(key, ()) if o not in (member_id, former)]}
            if taken:
                owners = sorted({one for key in taken for one in change.holders[key]})
                what = "a partition is assigned to a member while another one has it"
                yield self._wrong(change, what, [*owners, member_id], taken, new)
            if outside - ({key for key in outside if former in change.holders.get(key, ())} if former else set()):
                yield self._wrong(
                    change, "a partition outside a member's target is assigned to it", [member_id], outside, new
                )

    def _wrong(
        self, change: GroupChange, what: str, members: list[str], partitions: set[Key], new: ConsumerMember
    ) -> Violation:
        return self.at(
            change.step,
            change.group_id,
            what,
            members=members,
            partitions=partitions,
            epochs={"member epoch": new.member_epoch, "assignment epoch": change.state.assignment_epoch},
        )
