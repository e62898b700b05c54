"""What a member that has changed means for its group, and the member's own step towards its target.

A heartbeat and the JoinGroup of a classic member do this work alike, once they have the member as it was and as it will
be:

1. A member that differs is a record.
2. Does the change bump the group epoch? Other topics do, a regular expression that is resolved does, and another
   preferred assignor does.
3. When it does, or when the broker's topics changed, the hash of the subscribed topics is computed. Another hash bumps,
   too. The epoch grows by one, however many reasons there are.
4. A target for that epoch is computed, if it is due (`target`).
5. The member moves towards its target (`reconciliation`); the others do so at their own requests.

Source: `GroupMetadataManager.consumerGroupHeartbeat`, `classicGroupJoinToConsumerGroup`; consumer-protocol reference,
1.8 and 1.18.
"""

from __future__ import annotations

from groupsim.assignors.server.interface import Target
from groupsim.coordinator.base.consumer_records import EpochRecord, EpochValue
from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.base.records import whole_ms
from groupsim.coordinator.consumer.assignment.preferred_assignor import next_preferred_assignor, preferred_assignor
from groupsim.coordinator.consumer.assignment.reconciliation import Goal, Owned, reconcile
from groupsim.coordinator.consumer.assignment.subscriptions import (
    Subscriptions,
    present,
    subscribed_ids,
    subscribed_names,
    updated,
)
from groupsim.coordinator.consumer.assignment.target import compute_target, is_due, last_target
from groupsim.coordinator.consumer.assignment.topics_metadata import topics_metadata
from groupsim.coordinator.consumer.changes import Change, Trigger, WrittenGroup, note_member
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.member_records import current_record, member_record
from groupsim.coordinator.consumer.regex import update_regex
from groupsim.coordinator.consumer.timers import set_rebalance
from groupsim.eventloop.trace.events import Kind


def update_member(
    group: WrittenGroup,
    op: Operation,
    change: Change,
    call: CallToken,
    before: ConsumerMember,
    after: ConsumerMember,
    owned: Owned,
) -> ConsumerMember:
    """Return the member after one step towards its target, with the records of all that follows in `change`.

    `before` is the member as the group has it, or a new one; `after` has the fields of the request; `owned` are the
    partitions that it reports. `call` is the request, whose sender's topics a regular expression may match. Raises
    Refused.
    """
    state, rules, settings = group.data, op.differences, op.config_of(group.group_id)
    epoch, counts, _ = _changed(group, op, change, call, before, after)
    goal_epoch, own = state.assignment_epoch, last_target(state, after)
    if is_due(state, epoch, op.now_us, settings.consumer_assignment_interval_ms, rules):
        goal_epoch = epoch
        name = _preferred(op, next_preferred_assignor(state.assignors, before.assignor, after.assignor))
        time_us = whole_ms(op.now_us) if rules.targets_are_batched else None
        new = compute_target(
            state, after, epoch, op.assignors[name], op.topics, homogeneous=counts.is_homogeneous(), time_us=time_us
        )
        own = new.own
        change.records += new.records
        _note_target(group, op, change, name, epoch, new.changed, new.moved)
    return _step(group, op, change, before, after, owned, goal_epoch, own)


def update_member_of_downgrade(
    group: WrittenGroup,
    op: Operation,
    change: Change,
    call: CallToken,
    before: ConsumerMember,
    after: ConsumerMember,
    owned: Owned,
) -> tuple[ConsumerMember, bool]:
    """Return the same for a member with which the group becomes classic, and whether that opens a round.

    No target is computed: a stale one leads to a round of the classic group, and the member takes no step. Before 4.3
    only another subscription does (KAFKA-20273), and before that nothing does, but a target is computed and written,
    which no member gets (KAFKA-19546). Raises Refused.
    """
    state, rules = group.data, op.differences
    if not rules.changed_downgrade_rebalances:
        return update_member(group, op, change, call, before, after, owned), False
    epoch, _, bumps = _changed(group, op, change, call, before, after)
    if (epoch > state.assignment_epoch) if rules.stale_downgrade_rebalances else bumps:
        return after, True
    target = last_target(state, after)
    return _step(group, op, change, before, after, owned, state.assignment_epoch, target), False


def _changed(
    group: WrittenGroup, op: Operation, change: Change, call: CallToken, before: ConsumerMember, after: ConsumerMember
) -> tuple[int, Subscriptions, bool]:
    """Add the records of a changed member, and of the bump that follows.

    Returns the epoch, the counts of topics, and whether the member itself is a reason for a bump.
    """
    state = group.data
    if after != before:
        change.records.append(member_record(group.group_id, after))
    _note_arrival(group, op, change, before, after)
    triggers = _triggers(group, op, before, after)
    if update_regex(group, op, call, before, after, change):
        triggers.append(Trigger.REGEX)
    # A JoinGroup has no choice of an assignor, and is not asked.
    if op.differences.assignor_choice_bumps and after.classic is None and _choice_changes(group, op, before, after):
        triggers.append(Trigger.ASSIGNOR)
    if not triggers and not group.soft.is_metadata_due(state.group_epoch, op.now_us):
        return state.group_epoch, present(state), False
    counts, bumps = updated(state, before, after), bool(triggers)
    return _bump(group, op, change, triggers, counts.topics(), after.member_id), counts, bumps


def _step(
    group: WrittenGroup,
    op: Operation,
    change: Change,
    before: ConsumerMember,
    after: ConsumerMember,
    owned: Owned,
    goal_epoch: int,
    own: Target,
) -> ConsumerMember:
    """Return the member after one step towards its target of that epoch, with its record."""
    state = group.data
    changed_topics = (before.names, before.regex) != (after.names, after.regex)
    if not changed_topics and after.is_reconciled_to(goal_epoch):
        return after
    subscribed = frozenset(subscribed_ids(after, state.resolved, op.topics))
    names_topics = after.member_id not in state.members or subscribed_names(after, state.resolved) > 0
    goal = Goal(goal_epoch, own, subscribed, state.partition_epoch, changed_topics, names_topics)
    moved = reconcile(after, goal, owned, op.differences)
    if moved != after:
        change.records.append(current_record(group.group_id, moved, op.differences))
        note_member(change, after, moved)
        if moved.classic is None:  # the JoinGroup timer of a classic member has the part of this one
            set_rebalance(group, op, moved)
    return moved


def _note_arrival(
    group: WrittenGroup, op: Operation, change: Change, before: ConsumerMember, after: ConsumerMember
) -> None:
    """Add the event of a member that is new to the group, or takes the place of a static one."""
    if not op.tracing or after.member_id in group.data.members:
        return
    replaced = None if after.instance_id is None else group.data.static_member(after.instance_id)
    if replaced is not None:
        payload = {"old": replaced, "instance_id": after.instance_id, "rebalance": before.names != after.names}
        change.note(Kind.MEMBER_REPLACED, after.member_id, payload=payload)
        return
    change.note(
        Kind.MEMBER_ADDED,
        after.member_id,
        payload={
            "instance_id": after.instance_id,
            "client_id": after.client_id,
            "client_host": after.client_host,
            "session_timeout_ms": _session_timeout_ms(group, op, after),
            "rebalance_timeout_ms": after.rebalance_timeout_ms,
            "protocols": [] if after.classic is None else [protocol.name for protocol in after.classic.protocols],
            "state": group.data.state.value,
            "known_id": False,
        },
    )


def _session_timeout_ms(group: WrittenGroup, op: Operation, member: ConsumerMember) -> int:
    if member.classic is not None:
        return member.classic.session_timeout_ms
    return op.config_of(group.group_id).consumer_session_timeout_ms


def _triggers(group: WrittenGroup, op: Operation, before: ConsumerMember, after: ConsumerMember) -> list[Trigger]:
    """Return why this heartbeat bumps the group epoch by the names of its topics."""
    state, found = group.data, []
    if state.group_epoch == 0 and op.differences.new_group_epoch == 0:
        found.append(Trigger.CREATED)
    if before.names != after.names:
        found.append(Trigger.SUBSCRIPTION if after.member_id in state.members else Trigger.JOINED)
    return found


def _choice_changes(group: WrittenGroup, op: Operation, before: ConsumerMember, after: ConsumerMember) -> bool:
    votes = group.data.assignors
    if before.assignor == after.assignor and len(votes) < 2:
        return False
    now = _preferred(op, preferred_assignor(votes))
    return now != _preferred(op, next_preferred_assignor(votes, before.assignor, after.assignor))


def _preferred(op: Operation, named: str | None) -> str:
    """Return the assignor of a group whose members name this one; the first of the broker's when they name none."""
    return next(iter(op.assignors)) if named is None else named


def _bump(
    group: WrittenGroup, op: Operation, change: Change, triggers: list[Trigger], topics: set[str], member_id: str
) -> int:
    """Compute the metadata of the topics, and bump the group epoch if it must be; return the epoch."""
    state, epoch = group.data, group.data.group_epoch
    metadata = topics_metadata(state, topics, op)
    if metadata.differs and not triggers:
        triggers.append(Trigger.METADATA)
    change.records += metadata.before
    if triggers:
        epoch += 1
        change.records.append(EpochRecord(group.group_id, EpochValue(epoch, metadata.hash)))
        payload = {"epoch": epoch, "triggers": [trigger.value for trigger in triggers]}
        change.note(Kind.EPOCH_BUMPED, member_id, payload=payload)
        if group.soft.waiting_since_us is None:
            group.soft.waiting_since_us = op.now_us
    group.soft.metadata_seen(epoch, op.now_us)
    change.records += metadata.after
    return epoch


def _note_target(
    group: WrittenGroup, op: Operation, change: Change, name: str, epoch: int, changed: int, moved: int
) -> None:
    since = group.soft.waiting_since_us
    waited_us = 0 if since is None else op.now_us - since
    group.soft.waiting_since_us = None
    payload = {"epoch": epoch, "assignor": name, "members": changed, "moved": moved, "waited_us": waited_us}
    change.note(Kind.TARGET_COMPUTED, payload=payload)
