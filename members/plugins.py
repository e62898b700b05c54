"""Guarding against a user's own assignor: what it raised, what it returned, and where in the user's file.

Kafka trusts an assignor almost blindly; a laboratory should not. Built-in assignors are exempt, they have their own
tests. Source: assignors reference, section 8; `ConsumerCoordinator.validateCooperativeAssignment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, TracebackType

from groupsim.members.assignors.interface import Assignor
from groupsim.protocol.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.messages import TopicPartition

_OURS = "groupsim."
_BUILT_IN = "groupsim.members.assignors."


def built_in(assignor: Assignor) -> bool:
    """Whether it is one of the assignors that come with Kafka."""
    return type(assignor).__module__.startswith(_BUILT_IN)


def where_defined(assignor: Assignor) -> str | None:
    """File and line of the user's `assign`."""
    function = type(assignor).assign
    return _place(function.__code__.co_filename, function.__code__.co_firstlineno) if _is_plain(function) else None


def _is_plain(function: object) -> bool:
    return isinstance(function, FunctionType)


def where_raised(error: BaseException) -> str | None:
    """File and line of the user's own code in an error's traceback: the innermost frame that is not ours."""
    found = None
    step: TracebackType | None = error.__traceback__
    while step is not None:
        if not str(step.tb_frame.f_globals.get("__name__", "")).startswith(_OURS):
            found = _place(step.tb_frame.f_code.co_filename, step.tb_lineno)
        step = step.tb_next
    return found


def _place(file: str, line: int) -> str:
    return f"{file}:{line}"


def nonsense(result: object, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> str | None:
    """What is wrong with an assignor's result, in words; None when it is sound."""
    if not isinstance(result, GroupAssignment):
        return f"returned {type(result).__name__}, not a GroupAssignment"
    return next(_faults(result, topics, members), None)


def _faults(
    result: GroupAssignment, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]
) -> Iterator[str]:
    wanted = {member.member_id: frozenset(member.topics) for member in members}
    owner: dict[TopicPartition, str] = {}
    for member_id, partitions in result.partitions.items():
        if member_id not in wanted:
            yield f"gives partitions to {member_id!r}, which is no member of the group"
            continue
        for partition in partitions:
            yield from _fault_of(member_id, partition, wanted[member_id], topics)
            if owner.setdefault(partition, member_id) != member_id:
                yield f"gives {partition} to two members: {owner[partition]!r} and {member_id!r}"
        if len(set(partitions)) != len(partitions):
            yield f"gives one partition to {member_id!r} twice"
    missing = [member_id for member_id in wanted if member_id not in result.partitions]
    if missing:
        yield f"leaves out member {missing[0]!r}: every member must be a key, with () when it gets nothing"


def _fault_of(
    member_id: str, partition: TopicPartition, subscribed: frozenset[str], topics: Mapping[str, TopicMetadata]
) -> Iterator[str]:
    topic = topics.get(partition.topic)
    if partition.topic not in subscribed:
        yield f"gives {partition} to {member_id!r}, which does not subscribe to {partition.topic!r}"
    elif topic is None or not 0 <= partition.partition < topic.partitions:
        yield f"gives {partition} to {member_id!r}, but there is no such partition"


def moved_at_once(result: GroupAssignment, members: Sequence[MemberSubscription]) -> TopicPartition | None:
    """A partition that a cooperative round both adds to one member and takes from another; None when there is none."""
    had = {partition: member.member_id for member in members for partition in member.owned}
    for member_id, partitions in result.partitions.items():
        for partition in partitions:
            if had.get(partition, member_id) != member_id:
                return partition
    return None
