"""Run an assignor for a group, and check the result of a user's own one.

The results of Kafka's own assignors are not checked: they are Kafka's, defects included. A custom one that raises or
returns an invalid result is a defect of the user's code, and is reported with its file and line.

Sources: `ConsumerCoordinator.onLeaderElected`, `validateCooperativeAssignment`; KIP-429; assignors reference,
section 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from groupsim.assignors.base.error_location import locate_errors, source_of
from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.base.interface import Assignor, RebalanceProtocol
from groupsim.assignors.base.steps import NO_STEPS, Steps, replayed
from groupsim.assignors.registry import is_kafkas
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition


def run_assignor(
    assignor: Assignor,
    topics: Mapping[str, TopicMetadata],
    members: Sequence[MemberSubscription],
    protocol: RebalanceProtocol = RebalanceProtocol.EAGER,
    *,
    as_kafka: bool = False,
    steps: Steps = NO_STEPS,
) -> GroupAssignment:
    """Run the assignor, and check the result of a custom one.

    `protocol` is the one in use: under COOPERATIVE a partition may not be taken from one member and given to another
    in one round. `as_kafka` checks only that the result has the right types, as the Java compiler would. `steps` gets
    the steps of an assignor that explains itself; those of a custom one must lead to its result.

    Raises AssignorError (custom: raised, or an invalid result) and JavaFailure (Kafka's own, where Kafka throws).
    """
    kafkas = is_kafkas(assignor)
    with locate_errors(assignor):
        # A user's own assignor must not change the leader's input.
        given = (topics, members) if kafkas else (MappingProxyType(topics), tuple(members))
        result = assignor.explain(*given, steps) if steps and explains(assignor) else assignor.assign(*given)
    if kafkas:
        return result
    problem = _wrong_type(result)
    if problem is None and not as_kafka:
        problem = _nonsense(result, topics, members)
        if problem is None and protocol is RebalanceProtocol.COOPERATIVE:
            problem = _moved_in_one_round(result, members)
        if problem is None and steps:
            problem = _other_steps(result, steps)
    if problem is not None:
        raise AssignorError(assignor.name, problem, source_of(type(assignor)))
    return result


def explains(assignor: Assignor) -> bool:
    """Whether an assignor has an `explain` of its own, for the `assign` that it runs."""
    for kind in type(assignor).__mro__:
        if "explain" in vars(kind):
            return kind is not Assignor
        if "assign" in vars(kind):
            return False
    return False


def judge(
    assignor: Assignor,
    result: GroupAssignment,
    topics: Mapping[str, TopicMetadata],
    members: Sequence[MemberSubscription],
    protocol: RebalanceProtocol = RebalanceProtocol.EAGER,
) -> AssignorError | None:
    """Return the error in a custom assignor's result of the right types; None for a valid one, or for Kafka's own.

    For a caller that continues with such a result as the Java client would (`run_assignor(..., as_kafka=True)`).
    """
    if is_kafkas(assignor):
        return None
    problem = _nonsense(result, topics, members)
    if problem is None and protocol is RebalanceProtocol.COOPERATIVE:
        problem = _moved_in_one_round(result, members)
    return None if problem is None else AssignorError(assignor.name, problem, source_of(type(assignor)))


def _other_steps(result: GroupAssignment, steps: Steps) -> str | None:
    """Return the contradiction between a custom assignor's steps and its result; notes alone contradict nothing."""
    if all(step.does in ("note", "set aside", "stop") for step in steps):
        return None
    try:
        held = replayed(steps)
    except ValueError:
        return "explains a step that takes a partition from a member that does not hold it"
    for member in dict.fromkeys([*result.partitions, *held]):
        given, explained = sorted(result.partitions.get(member, ())), sorted(held.get(member, ()))
        if given != explained:
            return f"gave member {member!r} {_listed(given)}, but its steps give it {_listed(explained)}"
    return None


def _listed(partitions: Sequence[TopicPartition]) -> str:
    shown = ", ".join(map(str, partitions[:6]))
    return f"{shown}{', …' if len(partitions) > 6 else ''}" or "nothing"


def _wrong_type(result: object) -> str | None:
    """Return the first wrong type in the result, as a compiler would; no attribute is assumed to exist."""
    if not isinstance(result, GroupAssignment):
        return f"returned {_kind(result)}; return a GroupAssignment"
    by_member: object = result.partitions
    if not isinstance(by_member, Mapping):
        return f"GroupAssignment.partitions is {_kind(by_member)}; it maps member ids to tuples of TopicPartition"
    for member, partitions in by_member.items():
        if not isinstance(partitions, tuple | list):
            return f"gave member {member!r} {_kind(partitions)}; give a tuple of TopicPartition"
        for partition in partitions:
            if not _is_partition(partition):
                return f"gave member {member!r} {_kind(partition)} {partition!r}; give TopicPartition(topic, number)"
    return _wrong_user_data(result.user_data)


def _wrong_user_data(by_member: object) -> str | None:
    if not isinstance(by_member, Mapping):
        return f"GroupAssignment.user_data is {_kind(by_member)}; it maps member ids to bytes"
    for member, data in by_member.items():
        if not isinstance(data, bytes):
            return f"user_data of member {member!r} is {_kind(data)}; give bytes"
    return None


def _is_partition(value: object) -> bool:
    return isinstance(value, TopicPartition) and isinstance(value.topic, str) and type(value.partition) is int


def _nonsense(
    result: GroupAssignment, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]
) -> str | None:
    """Return the first error in the content, in the order of the result."""
    wanted = {member.member_id: frozenset(member.topics) for member in members}
    taken: dict[TopicPartition, str] = {}
    for member, partitions in result.partitions.items():
        if member not in wanted:
            return f"gave partitions to {member!r}, which is no member of the group"
        for partition in partitions:
            problem = _wrong_partition(partition, topics, wanted[member]) or _twice(partition, member, taken)
            if problem is not None:
                return f"gave {partition} to member {member!r}, {problem}"
            taken[partition] = member
    missing = [member for member in wanted if member not in result.partitions]
    if missing:
        return f"left out member {missing[0]!r}; every member needs an entry, an empty tuple if it gets nothing"
    strangers = [member for member in result.user_data if member not in wanted]
    return f"gave user_data to {strangers[0]!r}, which is no member of the group" if strangers else None


def _wrong_partition(
    partition: TopicPartition, topics: Mapping[str, TopicMetadata], wanted: frozenset[str]
) -> str | None:
    if partition.topic not in wanted:
        return f"which does not subscribe to that topic (it does to {', '.join(sorted(wanted)) or 'none'})"
    topic = topics.get(partition.topic)
    if topic is None:
        return "a topic that is not in the metadata"
    if not 0 <= partition.partition < topic.partitions:
        return f"a partition that does not exist (the topic has {topic.partitions})"
    return None


def _twice(partition: TopicPartition, member: str, taken: Mapping[TopicPartition, str]) -> str | None:
    other = taken.get(partition)
    if other is None:
        return None
    return "twice" if other == member else f"which it had already given to {other!r}"


def _moved_in_one_round(result: GroupAssignment, members: Sequence[MemberSubscription]) -> str | None:
    """Return the error of a partition that one member gets and another has yet to give up: both would read it."""
    owner = {partition: member.member_id for member in members for partition in member.owned}
    for member_id, partitions in result.partitions.items():
        for partition in partitions:
            before = owner.get(partition, member_id)
            if before != member_id:
                return (
                    f"moved {partition} from member {before!r} to {member_id!r} in one round; under the cooperative "
                    "protocol leave it out now, and give it away in the round that follows the revocation"
                )
    return None


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
