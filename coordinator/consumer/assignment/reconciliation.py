"""One step of one member towards its target.

A consumer group has no barrier. Each member moves to its target by itself, at its own heartbeats. Only one thing makes
it wait for another member: a partition is granted when its former owner no longer has it. So a partition never has two
owners, and a member that revokes slowly delays only the members that wait for its partitions.

A partition is *assigned* (the member may consume it), *pending* (the member has to revoke it and has not confirmed
that), or in the target alone (the member does not know of it yet). The step compares the three sets:

    state        condition                                              the next member
    any          STABLE at the target's epoch, subscription unchanged   the same
    STABLE       at another epoch                                       advance
    STABLE       at the target's epoch, subscription changed            trim
    UNREVOKED    it reports no partitions, or one that is pending       the same; subscription changed: trim
    UNREVOKED    else: the revocation is confirmed                      advance
    UNRELEASED   -                                                      advance
    UNKNOWN      it reports no partitions, or some                      refused with FENCED_MEMBER_EPOCH
    UNKNOWN      it reports that it has none                            advance, from the target's epoch

`advance` takes the first row that holds. Kept: assigned and in the target. Revoked: assigned and not in the target.
Granted: in the target, not assigned, and without an owner. Unreleased: the same, with an owner.

    condition                                       state       epoch          assigned          pending
    some is revoked, and may still be in use        UNREVOKED   does not move  kept              revoked
    some is granted; some is unreleased             UNRELEASED  the target's   kept and granted  -
    some is granted; none is unreleased             STABLE      the target's   kept and granted  -
    none is granted; some is unreleased             UNRELEASED  the target's   kept              -
    none is granted, none is unreleased             STABLE      the target's   kept              -

A partition may still be in use when the member does not say which partitions it has, or when it says that it has one of
those. So a member that already reports a set without the revoked partitions passes the first row at once.

Topics without a subscription of the member count as not in the target (since 4.2, KAFKA-19431): while a new target is
not computed yet, the old one may still hold topics that the member gave up. `trim` revokes these at once.

Source: `CurrentAssignmentBuilder`; consumer-protocol reference, 1.12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve

from groupsim.assignors.server.partition_sets import in_set_order
from groupsim.coordinator.base.versions import Differences
from groupsim.coordinator.consumer.assignment.partition_order import kept_and_revoked, with_granted, without_topics
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState, Partitions
from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import TopicPartitions
from groupsim.protocol.topic_ids import topic_ids_set_order
from groupsim.protocol.values import value

Owned: TypeAlias = Sequence[TopicPartitions] | None
"""The partitions that a member reports; None when it reports none."""

NO_OWNER = -1
"""The epoch of a partition that no member has (`ConsumerGroup.currentPartitionEpoch`)."""


@value
class Goal:
    """What a member moves to: its target with the epoch, and the topic ids to which it subscribes.

    `subscription_changed`: whether this request changed the subscription. `partition_epoch` returns the epoch of the
    member that has a partition, assigned or pending, or NO_OWNER. `names_topics`: whether the subscription has topics,
    also such that do not exist, or the member is new.
    """

    epoch: int
    target: Mapping[str, Collection[int]]
    subscribed: frozenset[str]
    partition_epoch: Callable[[str, int], int]
    subscription_changed: bool = False
    names_topics: bool = True


def reconcile(member: ConsumerMember, goal: Goal, owned: Owned, rules: Differences) -> ConsumerMember:
    """Return the member after one step, the same object when nothing changes.

    Raises Refused (FENCED_MEMBER_EPOCH) for a member in the state UNKNOWN that reports partitions.
    """
    trims = goal.subscription_changed and rules.target_follows_subscription
    state = member.state
    if state is MemberState.STABLE:
        if member.member_epoch != goal.epoch:
            return _advance(member, goal, owned, member.member_epoch, rules)
        return _trim(member, goal, owned) if trims else member
    if state is MemberState.UNREVOKED_PARTITIONS:
        if may_still_use(owned, member.pending):
            return _trim(member, goal, owned) if trims else member
        return _advance(member, goal, owned, member.member_epoch + rules.revocation_adds_epoch, rules)
    if state is MemberState.UNRELEASED_PARTITIONS:
        return _advance(member, goal, owned, member.member_epoch, rules)
    if owned is None or owned:
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
        )
    return _advance(member, goal, owned, goal.epoch, rules)


def may_still_use(owned: Owned, revoked: Partitions) -> bool:
    """Whether the member reports a revoked partition, or does not report at all."""
    if owned is None:
        return True
    return any(
        partition in revoked[topic.topic_id]
        for topic in owned
        if topic.topic_id in revoked
        for partition in topic.partitions
    )


def _advance(member: ConsumerMember, goal: Goal, owned: Owned, epoch: int, rules: Differences) -> ConsumerMember:
    """Return the member after the second table; `epoch` is that of a member that has to revoke first."""
    kept: dict[str, Mapping[int, int]] = {}
    revoked: dict[str, Mapping[int, int]] = {}
    granted: dict[str, list[int]] = {}
    unreleased = False
    topics = list(dict.fromkeys([*goal.target, *member.assigned]))
    for topic in topic_ids_set_order(topics) if len(topics) > 1 else topics:
        wanted = set(goal.target.get(topic, ()))
        if rules.target_follows_subscription and topic not in goal.subscribed:
            wanted = set()
        assigned = member.assigned.get(topic, {})
        keeps, others = kept_and_revoked(assigned, wanted)
        if keeps:
            kept[topic] = keeps
        if others:
            revoked[topic] = others
        own = member.pending.get(topic, {}) if rules.own_pending_is_free else {}
        missing = [one for one in in_set_order(goal.target[topic]) if one not in assigned] if wanted else []
        free = [one for one in missing if goal.partition_epoch(topic, one) == NO_OWNER or one in own]
        unreleased = unreleased or len(free) < len(missing)
        if free:
            granted[topic] = free
    if revoked and may_still_use(owned, revoked):
        return _moved(member, MemberState.UNREVOKED_PARTITIONS, epoch, kept, revoked)
    added = [topic for topic in granted if topic not in kept]
    for topic, free in granted.items():
        kept[topic] = with_granted(member.assigned.get(topic, {}), kept.get(topic, {}), free, goal.epoch)
    if added:  # by `computeIfAbsent`, which makes each the first of its bucket
        kept = _in_map_order({topic: kept[topic] for topic in dict.fromkeys([*reversed(added), *kept])})
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    return _moved(member, state, goal.epoch, kept, {})


def _trim(member: ConsumerMember, goal: Goal, owned: Owned) -> ConsumerMember:
    """Return the member without the topics to which it no longer subscribes; its epoch stays."""
    dropped = [topic for topic in member.assigned if topic not in goal.subscribed]
    if not dropped and (goal.names_topics or member.pending):
        return member
    kept: Partitions = {}
    pending = member.assigned
    if goal.names_topics or member.pending:
        kept, pending = without_topics(member.assigned, member.pending, dropped)
    if pending and may_still_use(owned, pending):
        return _moved(member, MemberState.UNREVOKED_PARTITIONS, member.member_epoch, kept, pending)
    # Kafka leaves the state and what was pending as they are: the next heartbeat confirms that. A member that has no
    # partition, and no topic any more, comes here too: its epoch becomes its previous epoch as well.
    return _moved(member, member.state, member.member_epoch, kept, member.pending)


def _in_map_order(found: dict[str, Mapping[int, int]]) -> dict[str, Mapping[int, int]]:
    """Return partitions by topic in the order of the `HashMap` that Kafka makes of them, which shows in the record."""
    return {topic: found[topic] for topic in topic_ids_set_order(found)} if len(found) > 1 else found


def _moved(
    member: ConsumerMember, state: MemberState, epoch: int, assigned: Partitions, pending: Partitions
) -> ConsumerMember:
    """Return the member at another epoch; the former one is its previous epoch, also when both are equal."""
    return evolve(
        member,
        state=state,
        member_epoch=epoch,
        previous_epoch=member.member_epoch,
        assigned=assigned,
        pending=pending,
    )
