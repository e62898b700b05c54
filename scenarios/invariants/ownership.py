"""Who has a partition, as the coordinator sees it: N5 to N8, and N31.

Source: consumer-protocol reference, 1.12 and 3.1.
"""

from __future__ import annotations

from typing import Any

from groupsim.coordinator.base.consumer_records import MemberState
from groupsim.coordinator.consumer.state import FREE, ConsumerGroupState
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input, Key, held, keys


class OneOwner(Checker):
    """N5."""

    def change(self, change: GroupChange) -> Found:
        """Look for a partition of a touched member that another member has too."""
        for member_id, (_, member) in change.members.items():
            twice = [key for key in held(member) if len(change.model.holders[key]) > 1]
            if twice:
                owners = change.model.holders[twice[0]]
                yield self.at(
                    change.step,
                    change.group_id,
                    "a partition belongs to two members",
                    members=owners,
                    partitions=twice,
                    epochs={f"epoch of {one}": change.model.members[one].member_epoch for one in owners},
                )
                return
            assert member is None or member_id in change.model.members


class AssignedAndPendingDisjoint(Checker):
    """N6."""

    def change(self, change: GroupChange) -> Found:
        """Compare the two sets of each touched member, and the second with its state."""
        for member_id, (_, member) in change.members.items():
            if member is None:
                continue
            both = set(keys(member.assigned)) & set(keys(member.pending))
            what = "a partition is assigned to a member that has to revoke it"
            if not both and any(member.pending.values()) and member.state is not MemberState.UNREVOKED_PARTITIONS:
                both, what = set(keys(member.pending)), f"a member that is {member.state.name} has to revoke partitions"
            if both:
                yield self.at(
                    change.step,
                    change.group_id,
                    what,
                    members=[member_id],
                    partitions=both,
                    epochs={"member epoch": member.member_epoch},
                )


class OneOwnerPerEpoch(Checker):
    """N7: the answers to heartbeats, which a log of answers shows as well."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._last: dict[tuple[str, Key], tuple[int, str]] = {}  # epoch, identity: of the last answer
        self._asked: dict[int, tuple[Any, str, str]] = {}  # call, group, identity: of heartbeats under way

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Keep the member of each request, and read the answers."""
        request = step.heartbeat
        if request is not None and step.arrival is not None:
            member = None if model is None else model.members.get(request.member_id)
            instance = request.instance_id or (member and member.instance_id)
            self._asked[id(step.arrival.call)] = (step.arrival.call, request.group_id, instance or "")
        for call, response in step.answers:
            asked = self._asked.pop(id(call), None)
            if asked is not None and not response.error and response.assignment is not None:
                yield from self._answered(step, asked[1], asked[2] or response.member_id, response)
        if step.unloads:
            self._asked.clear()

    def _answered(self, step: Input, group_id: str, identity: str, response: Any) -> Found:
        epoch = response.member_epoch
        for topic in response.assignment if epoch > 0 else ():
            for number in topic.partitions:
                key = (topic.topic_id, number)
                last = self._last.get((group_id, key))
                if last is not None and last[0] == epoch and last[1] != identity:
                    yield self.at(
                        step,
                        group_id,
                        "two members are answered with the same partition at the same epoch",
                        members=[last[1], identity],
                        partitions=[key],
                        epochs={"member epoch": epoch},
                    )
                self._last[group_id, key] = (epoch, identity)

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget a group: another one of its id begins at another epoch."""
        for known in [one for one in self._last if one[0] == model.group_id]:
            del self._last[known]
        return ()


class PartitionEpochsAgree(Checker):
    """N8."""

    def change(self, change: GroupChange) -> Found:
        """Compare the entry of each partition that a touched member has or had."""
        for key in change.holders:
            owners = change.model.holders.get(key, ())
            expected = change.model.members[owners[-1]].member_epoch if owners else FREE
            found = change.state.partition_epoch(*key)
            if found != expected:
                yield self.at(
                    change.step,
                    change.group_id,
                    f"the map of partition epochs has {found}"
                    + ("" if owners else ", and no member has the partition"),
                    members=owners,
                    partitions=[key],
                    epochs={"member epoch": expected} if owners else {},
                )


class DescribeShowsOneOwner(Checker):
    """N31."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._models: dict[str, GroupModel] = {}

    def change(self, change: GroupChange) -> Found:
        """Note that the group changed."""
        self._models[change.group_id] = change.model
        return ()

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Describe a group that has become Stable and whose appends have all ended."""
        if not step.ended or not step.shard.op.purgatory.idle:
            return
        for group_id, known in list(self._models.items()):
            state = step.group(group_id)
            if state is None or state.state is not ConsumerGroupState.STABLE:
                continue
            del self._models[group_id]
            yield from self._described(step, group_id, known)

    def _described(self, step: Input, group_id: str, model: GroupModel) -> Found:
        shown: dict[Key, list[str]] = {}
        for member in step.shard.describe_consumer_group(group_id).members:
            for topic in member.assignment:
                for number in topic.partitions:
                    shown.setdefault((topic.topic_id, number), []).append(member.member_id)
        image = step.shard.op.topics
        expected = {
            (topic, number)
            for topic, numbers in _union(model).items()
            if image.topic_by_id(topic) is not None
            for number in numbers
        }
        wrong = {key for key in expected | set(shown) if len(shown.get(key, ())) != 1}
        wrong = {key for key in wrong if image.topic_by_id(key[0]) is not None}
        if wrong:
            owners = sorted({one for key in wrong for one in shown.get(key, ())})
            what = "a Stable group is described with a partition that not exactly one member has"
            yield self.at(step, group_id, what, members=owners, partitions=wrong)

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget a group."""
        self._models.pop(model.group_id, None)
        return ()


def _union(model: GroupModel) -> dict[str, set[int]]:
    """Return the partitions of all targets, without those of topics that a member has given up since."""
    found: dict[str, set[int]] = {}
    for member_id, target in model.targets.items():
        member = model.members.get(member_id)
        for topic, numbers in target.items():
            if member is not None and topic in member.assigned:
                found.setdefault(topic, set()).update(numbers)
    return found
