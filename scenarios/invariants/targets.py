"""The target assignment at the instant of its computation: N9 to N11.

These rules are those of the assignors that come with the broker; an assignor of a user may do otherwise. They are
compared with the subscriptions and the topics of that very instant.

Source: consumer-protocol reference, 1.11 and 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.protocol.values import frozen
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, Key, keys
from groupsim.scenarios.invariants.violation import Violation

_BUILT_IN = ("uniform", "range")


@frozen
class Inputs:
    """What a target was computed from, and its result.

    `subscribed` maps a member to its topics, `partitions` a topic to its number of partitions, `before` and `target`
    a member to its partitions. `homogeneous`: whether all members subscribe to the same topics.
    """

    subscribed: Mapping[str, frozenset[str]]
    partitions: Mapping[str, int]
    before: Mapping[str, set[Key]]
    target: Mapping[str, set[Key]]
    homogeneous: bool


def inputs_of(change: GroupChange) -> Inputs | None:
    """Return the inputs of the target that was computed now; None when none was, or by another assignor."""
    if change.target_epoch is None or change.assignor not in _BUILT_IN:
        return None
    if change.inputs is None:
        change.inputs = _inputs(change)
    found: Inputs = change.inputs
    return found


def _inputs(change: GroupChange) -> Inputs:
    members = change.model.members
    subscribed = {one: frozenset(change.subscribed_topics(member)) for one, member in members.items()}
    image = change.step.shard.op.topics
    partitions: dict[str, int] = {}
    for topic_id in sorted(frozenset().union(*subscribed.values())):
        topic = image.topic_by_id(topic_id)
        partitions[topic_id] = 0 if topic is None else topic.partitions
    target = {one: set(keys(change.model.targets.get(one, {}))) for one in members}
    before = dict(target)
    before |= {one: set(keys(old or {})) for one, (old, _) in change.targets.items() if one in target}
    asked = {(member.names, member.regex) for member in members.values()}
    homogeneous = len(asked) == 1 and not all(next(iter(asked)))
    return Inputs(subscribed, partitions, before, target, homogeneous)


class TargetCovers(Checker):
    """N9."""

    def change(self, change: GroupChange) -> Found:
        """Compare a new target with the subscribed partitions."""
        found = inputs_of(change)
        if found is None:
            return
        owners: dict[Key, list[str]] = {}
        for member_id, target in found.target.items():
            for key in target:
                owners.setdefault(key, []).append(member_id)
            foreign = {key for key in target if key[0] not in found.subscribed[member_id]}
            if foreign:
                yield self._wrong(change, "of a topic to which the member does not subscribe", [member_id], foreign)
        every = {(topic, number) for topic, count in found.partitions.items() for number in range(count)}
        twice = {key for key, members in owners.items() if len(members) > 1}
        if twice:
            members = sorted({one for key in twice for one in owners[key]})
            yield self._wrong(change, "of two members", members, twice)
        if missing := every - set(owners):
            yield self._wrong(change, "of no member", [], missing)
        if beyond := set(owners) - every:
            yield self._wrong(change, "that does not exist", [], beyond)

    def _wrong(self, change: GroupChange, what: str, members: Iterable[str], partitions: Iterable[Key]) -> Violation:
        return self.at(
            change.step,
            change.group_id,
            f"the target has a partition {what}",
            members=members,
            partitions=partitions,
            epochs={"assignment epoch": change.target_epoch or 0},
        )


class TargetBalanced(Checker):
    """N10."""

    def change(self, change: GroupChange) -> Found:
        """Compare the sizes of a new target: `uniform` over all members, `range` topic by topic."""
        found = inputs_of(change)
        if found is None:
            return
        if change.assignor == "range":
            yield from self._by_range(change, found)
        elif found.homogeneous:
            sizes = {one: len(target) for one, target in found.target.items()}
            yield from self._uneven(change, sizes, "of all topics")

    def _by_range(self, change: GroupChange, found: Inputs) -> Found:
        for topic in found.partitions:
            numbers = {
                one: sorted(number for of, number in found.target[one] if of == topic)
                for one, topics in found.subscribed.items()
                if topic in topics
            }
            yield from self._uneven(change, {one: len(has) for one, has in numbers.items()}, "of one topic")
            for one, has in numbers.items():
                if has and has[-1] - has[0] + 1 != len(has):
                    what = "the target of `range` is not contiguous"
                    keys_ = [(topic, number) for number in has]
                    yield self.at(change.step, change.group_id, what, members=[one], partitions=keys_)

    def _uneven(self, change: GroupChange, sizes: Mapping[str, int], of: str) -> Found:
        if sizes and max(sizes.values()) - min(sizes.values()) > 1:
            most, least = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
            yield self.at(
                change.step,
                change.group_id,
                f"the target gives {sizes[most]} and {sizes[least]} partitions {of}",
                members=[most, least],
                epochs={"assignment epoch": change.target_epoch or 0},
            )


class TargetSticky(Checker):
    """N11."""

    def change(self, change: GroupChange) -> Found:
        """Look for a member at or below its share that loses a partition to which it still subscribes."""
        found = inputs_of(change)
        if found is None or change.assignor != "uniform" or not found.homogeneous or change.is_new:
            return
        if not change.step.shard.op.differences.uniform_returns_extra:
            return  # 4.0.0: the extra partitions go to the first members
        share = sum(found.partitions.values()) // len(found.target)
        for one, before in found.before.items():
            kept = {key for key in before if key[1] < found.partitions.get(key[0], 0)}
            lost = kept - found.target[one]
            if len(kept) <= share and lost:
                yield self.at(
                    change.step,
                    change.group_id,
                    f"a member with {len(kept)} partitions, of which {share} are its share, loses some in the target",
                    members=[one],
                    partitions=lost,
                    epochs={"assignment epoch": change.target_epoch or 0},
                )
