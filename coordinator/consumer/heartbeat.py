"""ConsumerGroupHeartbeat: the one request of a member, which joins, keeps its session, reports, and leaves.

What an accepted heartbeat does, in Kafka's order:

1. The member is found, made, or put in the place of a static one (`joining`).
2. Fields that the request has replace those of the member. A difference is a record.
3. Does that bump the group epoch? Other topics do, a regular expression that is resolved does, and another preferred
   assignor does.
4. When it does, or when the broker's topics changed, the hash of the subscribed topics is computed. Another hash bumps,
   too. The epoch grows by one, however many reasons there are.
5. A target for that epoch is computed, if it is due (`target`).
6. The member moves towards its target (`reconciliation`); the others do so at their own heartbeats.
7. Its session begins again, and it is answered once the records are committed.

The answer has the assignment when the member joins, when its request was a full one, and when the assignment changed.
It never has the partitions that the member has to revoke: these are missing in it.

A refused heartbeat writes nothing and prolongs no session.

Source: `GroupMetadataManager.consumerGroupHeartbeat`; consumer-protocol reference, 1.8 and 1.13.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import evolve

from groupsim.coordinator.base.consumer_records import EpochRecord, EpochValue, Partitions, TopicsRecord
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.records import whole_ms
from groupsim.coordinator.consumer.assignment.metadata_hash import metadata_hash
from groupsim.coordinator.consumer.assignment.preferred_assignor import next_preferred_assignor, preferred_assignor
from groupsim.coordinator.consumer.assignment.reconciliation import Goal, reconcile
from groupsim.coordinator.consumer.assignment.subscriptions import present, subscribed_ids, updated
from groupsim.coordinator.consumer.assignment.target import compute_target, is_due, last_target
from groupsim.coordinator.consumer.changes import Change, Trigger, WrittenGroup, note_member, write
from groupsim.coordinator.consumer.joining import check_capacity, find_member
from groupsim.coordinator.consumer.leave import leave
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.member_records import current_record, member_record
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.regex import update_regex
from groupsim.coordinator.consumer.timers import set_rebalance, set_session
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupsim.protocol.topic_ids import TopicIdMap

Request: TypeAlias = ConsumerGroupHeartbeatRequest


def heartbeat(group: WrittenGroup, op: Operation, arrival: Arrival, request: Request) -> None:
    """Handle a heartbeat to an existing or just created group."""
    last_append = op.purgatory.last_id
    try:
        if request.member_epoch < JOIN_EPOCH:
            response = leave(group, op, request)
        else:
            response = _beat(group, op, arrival, request)
    except Refused as refused:
        # Kafka answers a refused request at once, and any other after the writes before it.
        op.reply(arrival.call, ConsumerGroupHeartbeatResponse(refused.error, refused.message))
        return
    if op.purgatory.last_id != last_append:
        op.reply_when_written(arrival.call, request, response)
    else:
        op.reply_after_writes(arrival.call, request, response)


def _beat(group: WrittenGroup, op: Operation, arrival: Arrival, request: Request) -> ConsumerGroupHeartbeatResponse:
    state, rules, settings = group.data, op.differences, op.config_of(group.group_id)
    check_capacity(state, request, settings.consumer_max_size, rules)
    change = Change()
    before = find_member(state, request, request.member_id or arrival.fresh_id, rules, change.records)
    after = _with_fields(before, arrival, request)
    if after != before:
        change.records.append(member_record(group.group_id, after))
    _note_arrival(group, op, change, before, after)
    triggers = _triggers(group, before, after)
    if update_regex(group, op, arrival.call, before, after, change):
        triggers.append(Trigger.REGEX)
    if op.differences.assignor_choice_bumps and _choice_changes(group, op, before, after):
        triggers.append(Trigger.ASSIGNOR)
    epoch, counts = state.group_epoch, present(state)
    if triggers or group.soft.is_metadata_due(epoch, op.now_us):
        counts = updated(state, before, after)
        epoch = _bump(group, op, change, triggers, counts.topics(), after.member_id)
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
    changed_topics = (before.names, before.regex) != (after.names, after.regex)
    moved = after
    if changed_topics or not after.is_reconciled_to(goal_epoch):
        subscribed = frozenset(subscribed_ids(after, state.resolved, op.topics))
        goal = Goal(goal_epoch, own, subscribed, state.partition_epoch, changed_topics)
        moved = reconcile(after, goal, request.topic_partitions, rules)
        if moved != after:
            change.records.append(current_record(group.group_id, moved))
            note_member(change, after, moved)
            set_rebalance(group, op, moved)
    set_session(group, op, moved.member_id, settings.consumer_session_timeout_ms)
    write(group, op, change, moved.member_id, _reason(request, moved))
    shown = request.member_epoch == JOIN_EPOCH or _is_full(request) or before.assigned != moved.assigned
    return ConsumerGroupHeartbeatResponse(
        member_id=moved.member_id,
        member_epoch=moved.member_epoch,
        heartbeat_interval_ms=settings.consumer_heartbeat_interval_ms,
        assignment=in_response(moved.assigned) if shown else None,
    )


# --- 2: the fields of the request ------------------------------------------------------------------------------------


def _with_fields(member: ConsumerMember, arrival: Arrival, request: Request) -> ConsumerMember:
    """Return the member with the fields that the request has; its client always, and never the classic protocol."""
    given: dict[str, Any] = {
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": None if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms,
        "assignor": request.server_assignor,
        "regex": request.subscribed_topic_regex,
        "client_id": arrival.client_id,
        "client_host": arrival.client_host,
    }
    changed = {name: new for name, new in given.items() if new is not None and new != getattr(member, name)}
    if request.subscribed_topic_names is not None:
        names = tuple(java_sorted(set(request.subscribed_topic_names)))
        if names != member.names:
            changed["names"] = names
    if member.classic is not None:
        changed["classic"] = None
    return evolve(member, **changed) if changed else member


def _note_arrival(
    group: WrittenGroup, op: Operation, change: Change, before: ConsumerMember, after: ConsumerMember
) -> None:
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
            "session_timeout_ms": op.config_of(group.group_id).consumer_session_timeout_ms,
            "rebalance_timeout_ms": after.rebalance_timeout_ms,
            "protocols": [],
            "state": group.data.state.value,
            "known_id": False,
        },
    )


# --- 3 and 4: the group epoch ----------------------------------------------------------------------------------------


def _triggers(group: WrittenGroup, before: ConsumerMember, after: ConsumerMember) -> list[Trigger]:
    """Return why this heartbeat bumps the group epoch by the names of its topics."""
    state, found = group.data, []
    if state.group_epoch == 0:
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
    """Compute the hash of the topics, and bump the group epoch if it must be; return the epoch."""
    state, epoch = group.data, group.data.group_epoch
    hashed = metadata_hash(topics, op.topics, op.differences)
    if hashed != state.metadata_hash and not triggers:
        triggers.append(Trigger.METADATA)
    if triggers:
        epoch += 1
        change.records.append(EpochRecord(group.group_id, EpochValue(epoch, hashed)))
        payload = {"epoch": epoch, "triggers": [trigger.value for trigger in triggers]}
        change.note(Kind.EPOCH_BUMPED, member_id, payload=payload)
        if group.soft.waiting_since_us is None:
            group.soft.waiting_since_us = op.now_us
    group.soft.metadata_seen(epoch, op.now_us)
    if state.head.has_topics_record:
        change.records.append(TopicsRecord(group.group_id, None))
    return epoch


def _note_target(
    group: WrittenGroup, op: Operation, change: Change, name: str, epoch: int, changed: int, moved: int
) -> None:
    since = group.soft.waiting_since_us
    waited_us = 0 if since is None else op.now_us - since
    group.soft.waiting_since_us = None
    payload = {"epoch": epoch, "assignor": name, "members": changed, "moved": moved, "waited_us": waited_us}
    change.note(Kind.TARGET_COMPUTED, payload=payload)


# --- 7: the answer ---------------------------------------------------------------------------------------------------


def _reason(request: Request, member: ConsumerMember) -> str:
    if request.member_epoch == JOIN_EPOCH:
        return f"Member {member.member_id} joins the consumer group using the consumer protocol."
    return f"Heartbeat of member {member.member_id} at epoch {member.member_epoch}."


def _is_full(request: Request) -> bool:
    """Whether the request has all that a first one has."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None


def in_response(assigned: Partitions) -> tuple[TopicPartitions, ...]:
    """Return partitions as a response has them: topics in the order of Java's map, partitions ascending."""
    return tuple(TopicPartitions(topic, tuple(sorted(assigned[topic]))) for topic in TopicIdMap(assigned.items()))
