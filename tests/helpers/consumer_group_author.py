"""Legal records of a consumer group: what a coordinator might write next, chosen at random.

The author looks at the present state of the group, as the coordinator does, and returns the records of one append. It
knows the rules that keep a log legal (a partition is granted only when it is free, a target has a new epoch, tombstones
have an order) and nothing of assignors, epochs of requests or timers, so it reaches more states than a coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from attrs import evolve

from groupsim.coordinator.base.consumer_records import (
    ClassicMetadata,
    ConsumerRecord,
    CurrentRecord,
    CurrentValue,
    EpochRecord,
    EpochValue,
    MemberRecord,
    MemberState,
    MemberValue,
    Partitions,
    RegexRecord,
    ResolvedRegex,
    SubscribedTopic,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import GroupState
from groupsim.protocol.messages.group import JoinProtocol

TOPICS = ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg")
PARTITIONS = range(3)
MEMBERS = tuple("abcd")
NAMES = ("t", "u", "v")
REGEXES = ("t.*", "u|v")
Made = list[ConsumerRecord]


def everything(data: GroupState) -> dict[str, Any]:
    """All that a group's state has, field by field; what is counted included."""
    fields = dict(enumerate(data._tables))
    return {"head": data.head, "state": data.state, **{f"table {index}": table for index, table in fields.items()}}


def copied(data: GroupState) -> dict[str, Any]:
    """The same as a copy that later changes do not reach."""
    return {
        name: {key: dict(one) if isinstance(one, dict) else one for key, one in field.items()}
        if isinstance(field, dict)
        else field
        for name, field in everything(data).items()
    }


class Author:
    """Writes records for one group; `data` is its present state."""

    def __init__(self, random: Random, data: GroupState) -> None:
        self.random = random
        self.data = data
        self.group_id = data.group_id

    def next(self) -> Made:
        """The records of a random append; none where the chosen one makes no sense now."""
        return self.random.choice(STEPS)(self)

    # --- members -----------------------------------------------------------------------------------------------------

    def join(self) -> Made:
        """A member comes, or comes again, or sends something else; a new one is not reconciled yet."""
        member_id, random = self.random.choice(MEMBERS), self.random
        holder = self.data.static_members.get("i")
        sent = MemberValue(
            instance_id="i" if random.random() < 0.4 and holder in (None, member_id) else None,
            rack_id=random.choice((None, "r")),
            client_id="c",
            names=tuple(sorted(random.sample(NAMES, random.randrange(3)))),
            regex=random.choice(("", *REGEXES)),
            assignor=random.choice((None, "uniform", "range")),
            rebalance_timeout_ms=random.randrange(9),
            classic=random.choice((None, None, ClassicMetadata(9, (JoinProtocol("range", b"1"),)))),
        )
        records: Made = [MemberRecord(self.group_id, member_id, sent)]
        if member_id not in self.data.members:
            records += [*self._bump(), CurrentRecord(self.group_id, member_id, CurrentValue(0))]
        return records

    def leave(self) -> Made:
        """Some members are fenced."""
        members = list(self.data.members)
        gone = self.random.sample(members, min(len(members), self.random.randrange(1, 3)))
        records: Made = []
        for member_id in gone:
            records += [
                CurrentRecord(self.group_id, member_id, None),
                TargetRecord(self.group_id, member_id, None),
                MemberRecord(self.group_id, member_id, None),
            ]
        return [*records, *self._bump()] if records else []

    def static_leave(self) -> Made:
        """A static member leaves and may come back: epoch -2, nothing to be revoked."""
        member = self._static()
        if member is None:
            return []
        return [self._current(member, member_epoch=-2, assigned=_at_zero(member.assigned), pending={})]

    def static_return(self) -> Made:
        """The instance comes back with another member id, which takes everything over."""
        member = self._static()
        free = [one for one in MEMBERS if one not in self.data.members]
        if member is None or not free or (member.member_epoch != -2 and member.classic is None):
            return []
        old, new = member.member_id, free[0]
        return [
            CurrentRecord(self.group_id, old, None),
            TargetRecord(self.group_id, old, None),
            MemberRecord(self.group_id, old, None),
            MemberRecord(self.group_id, new, _sent(member)),
            TargetRecord(self.group_id, new, self.data.target(old)),
            self._current(
                evolve(member, member_id=new), member_epoch=0, previous_epoch=0, assigned=_at_zero(member.assigned)
            ),
        ]

    def reconcile(self) -> Made:
        """A member takes a step: it revokes, or confirms and gets what is free at the epoch of the target."""
        present = [one for one in self.data.members.values() if one.member_epoch >= 0]
        if not present:
            return []
        member = self.random.choice(present)
        mine = [(topic, partition) for topic, held in member.assigned.items() for partition in held]
        kept = [one for one in mine if self.random.random() < 0.7]
        if len(kept) < len(mine) and self.random.random() < 0.7:
            revoked = _chosen([one for one in mine if one not in kept], member.assigned)
            pending = {
                topic: {**held, **revoked.get(topic, {})} for topic, held in {**revoked, **member.pending}.items()
            }
            state = MemberState.UNREVOKED_PARTITIONS
            return [self._current(member, state=state, assigned=_chosen(kept, member.assigned), pending=pending)]
        epoch = max(self.data.assignment_epoch, 0)
        free = [
            (topic, partition)
            for topic in TOPICS
            for partition in PARTITIONS
            if self.data.partition_epoch(topic, partition) == -1 and self.random.random() < 0.5
        ]
        granted = {topic: {partition: epoch for of, partition in free if of == topic} for topic, _ in free}
        held = _chosen(kept, member.assigned)
        assigned = {topic: {**held.get(topic, {}), **granted.get(topic, {})} for topic in {**held, **granted}}
        return [
            self._current(
                member,
                member_epoch=max(epoch, member.member_epoch),
                previous_epoch=member.member_epoch,
                state=self.random.choice((MemberState.STABLE, MemberState.UNRELEASED_PARTITIONS)),
                assigned=assigned,
                pending={},
            )
        ]

    # --- the group ---------------------------------------------------------------------------------------------------

    def target(self) -> Made:
        """Another target for some members, and its epoch."""
        records: Made = [] if self.data.group_epoch > self.data.assignment_epoch else self._bump()
        epoch = self.data.group_epoch + len(records)
        for member_id in self.data.members:
            if self.random.random() < 0.6:
                chosen = {topic: tuple(one for one in PARTITIONS if self.random.random() < 0.5) for topic in TOPICS}
                records.append(TargetRecord(self.group_id, member_id, chosen))
        value = TargetEpochValue(epoch, self.random.choice((None, 1_000 * self.random.randrange(9))))
        return [*records, TargetEpochRecord(self.group_id, value)]

    def regex(self) -> Made:
        """A regular expression is resolved, or has no subscriber any more."""
        regex = self.random.choice(REGEXES)
        topics = tuple(sorted(self.random.sample(NAMES, self.random.randrange(4))))
        value = ResolvedRegex(topics, self.random.randrange(9), 1_000 * self.random.randrange(9))
        gone = regex in self.data.resolved and self.random.random() < 0.5
        return [RegexRecord(self.group_id, regex, None if gone else value), *self._bump()]

    def topics(self) -> Made:
        """A broker of 4.0 stores the topics, a later one deletes that record."""
        there = self.data.head.topics is not None
        stored = None if there else (SubscribedTopic(TOPICS[0], "t", 3),)
        return [TopicsRecord(self.group_id, stored), *self._bump()]

    def _bump(self) -> Made:
        return [EpochRecord(self.group_id, EpochValue(self.data.group_epoch + 1, self.random.randrange(9)))]

    def _static(self) -> ConsumerMember | None:
        member_id = self.data.static_members.get("i")
        return None if member_id is None else self.data.members.get(member_id)

    def _current(self, member: ConsumerMember, **changes: Any) -> CurrentRecord:
        now = evolve(member, **changes)
        value = CurrentValue(now.member_epoch, now.previous_epoch, now.state, now.assigned, now.pending)
        return CurrentRecord(self.group_id, member.member_id, value)


def _sent(member: ConsumerMember) -> MemberValue:
    return MemberValue(
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.names,
        member.regex,
        member.rebalance_timeout_ms,
        member.assignor,
        member.classic,
    )


def _chosen(places: list[tuple[str, int]], of: Partitions) -> dict[str, Mapping[int, int]]:
    """These partitions with the epochs that they have there."""
    return {topic: {partition: of[topic][partition] for at, partition in places if at == topic} for topic, _ in places}


def _at_zero(assigned: Partitions) -> Partitions:
    return {topic: dict.fromkeys(held, 0) for topic, held in assigned.items()}


STEPS: tuple[Callable[[Author], Made], ...] = (
    *(Author.join,) * 3,
    *(Author.target,) * 3,
    *(Author.reconcile,) * 5,
    Author.leave,
    Author.static_leave,
    *(Author.static_return,) * 2,
    Author.regex,
    Author.topics,
)
