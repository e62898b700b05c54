"""Check the names that a scenario refers to: groups, members, topics, partitions, brokers.

The type of a field tells what it names (`TheGroup`, `Members`, `TopicName` …), so one walk over the steps and
expectations finds every undefined name, for each action and check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args, get_origin

from attrs import Factory, has

from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.expectations import NO_PROCESS
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.raw_requests import RawFields, members_in
from groupsim.scenarios.language.targets import (
    Broker,
    GroupName,
    Members,
    OneMember,
    PartitionName,
    Processes,
    RequestTarget,
    TheGroup,
    TopicName,
    group_named,
    is_pattern,
    is_role,
    matches,
    split_partition,
)
from groupsim.scenarios.language.values import Brokers
from groupsim.scenarios.plans.members import partition_limits, plans
from groupsim.scenarios.plans.producers import producer_plans

Found = Iterator[tuple[Path_, Wrong]]


@frozen
class Known:
    """Every name that the scenario defines."""

    groups: tuple[str, ...]
    members: tuple[str, ...]
    producers: tuple[str, ...]
    partitions: Mapping[str, int]
    brokers: Brokers
    #: Kinds of names that the scenario may lack: members, topics, brokers.
    doubtful: frozenset[str] = frozenset()
    #: Groups of a `count`: their ids by their key in the file.
    fleets: Mapping[str, tuple[str, ...]] = Factory(dict)

    @classmethod
    def of(cls, scenario: Scenario, doubtful: frozenset[str] = frozenset()) -> Known:
        """Return the names of a scenario, those of steps included; `doubtful` are kinds of names that it may lack."""
        names = [plan.name for plan in plans(scenario)]
        for group, spec in scenario.groups.items():
            names += _made_later(scenario, group, list(spec.members), any_way="made" in doubtful)
        producers = tuple(plan.name for plan in producer_plans(scenario))
        brokers = scenario.cluster.brokers
        limits, fleets = partition_limits(scenario), scenario.fleets
        return cls(tuple(scenario.groups), tuple(names), producers, limits, brokers, doubtful, fleets)


def _made_later(scenario: Scenario, group: str, keys: list[str], *, any_way: bool) -> list[str]:
    """Return patterns of the names that scaling and rollouts give to new members."""
    makers = {"scale", "autoscale", "rolling-restart"}
    names = (None, group, *(key for key, ids in scenario.fleets.items() if group in ids))
    made = any_way or any(
        step.action.NAME in makers and getattr(step.action, "group", None) in names for step in scenario.timeline
    )
    return [(key.replace("{n}", "*") if "{n}" in key else f"{key}-*") for key in keys] if made else []


def wrong_names(scenario: Scenario, doubtful: frozenset[str] = frozenset()) -> Found:
    """Yield every undefined name in the timeline and the expectations, except for `doubtful` kinds of names."""
    known = Known.of(scenario, doubtful)
    for index, step in enumerate(scenario.timeline):
        for path, wrong in _walk(step.action, known):
            yield ("timeline", index, *path), wrong
    for index, expectation in enumerate(scenario.expect):
        for path, wrong in _walk(expectation.check, known):
            yield ("expect", index, expectation.check.NAME, *path), wrong


def wrong_in(item: Any, known: Known) -> Found:
    """Yield every undefined name in one action, fault or check, with the path to it."""
    return _walk(item, known)


def _walk(item: Any, known: Known, *, whole: bool = True) -> Found:
    """Yield undefined names of an item; `whole` is a step or a check itself, which may name a fleet."""
    for name, field in fields_of(type(item)).items():
        value, wanted = getattr(item, field.name), _bare(field.type)
        if value is None:
            if wanted is TheGroup and len(known.groups) > 1:
                yield (), Wrong("the group is missing", f"add `group`, one of {_choices(known)}")
            continue
        if name == "group" and whole and value in known.fleets:
            continue  # a fleet: the step holds for each of its groups
        if get_origin(wanted) is not None:
            yield from _inside(value, wanted, known, name)
        elif has(type(value)) and wanted not in _RULES:
            yield from (((name, *path), wrong) for path, wrong in _walk(value, known, whole=False))
        elif wanted in _RULES:
            yield from (((name,), wrong) for wrong in _RULES[wanted](value, known))


def _inside(value: Any, wanted: Any, known: Known, name: str) -> Found:
    """Yield undefined names in keys and values of a mapping."""
    if not isinstance(value, Mapping):
        return
    outer, inner = get_args(wanted)
    inner = get_args(inner)[0] if get_origin(inner) is tuple else inner
    for one, below in value.items():
        for wrong in _RULES.get(outer, _nothing)(one, known):
            yield (name, one), wrong
        for each in below if isinstance(below, tuple) else (below,):
            for wrong in _RULES.get(inner, _nothing)(each, known):
                yield (name, one), wrong


def _bare(wanted: Any) -> Any:
    """Return `X` for `X | None`."""
    choices = [choice for choice in get_args(wanted) if choice is not type(None)]
    return (
        choices[0]
        if choices and get_origin(wanted) not in (tuple, Mapping) and type(None) in get_args(wanted)
        else wanted
    )


def _nothing(_: Any, __: Known) -> Iterator[Wrong]:
    return iter(())


def _choices(known: Known) -> str:
    """List the groups, those of a fleet together."""
    alone = [name for name in known.groups if not any(name in ids for ids in known.fleets.values())]
    shown = [f"`{key}` for each of its {len(ids)}" for key, ids in known.fleets.items()]
    return ", ".join([*alone, *shown])


def _group(name: str, known: Known) -> Iterator[Wrong]:
    if name in known.fleets:
        ids = known.fleets[name]
        yield Wrong(f"`{name}` is a fleet of {len(ids)} groups", f"write one group, such as {ids[0]}")
    elif name not in known.groups and "members" not in known.doubtful:
        yield Wrong(f"there is no group `{name}`", suggest(name, known.groups, "groups here"))


def _members(names: tuple[str, ...], known: Known) -> Iterator[Wrong]:
    for name in names:
        yield from _member(name, known)


def _processes(names: tuple[str, ...], known: Known) -> Iterator[Wrong]:
    for name in names:
        yield from _process(name, known)


def _process(name: str, known: Known) -> Iterator[Wrong]:
    if name == "all" or not any(matches(name, one) for one in known.producers):
        yield from _member(name, known, (*known.members, *known.producers))


def _member(name: str, known: Known, near: tuple[str, ...] | None = None) -> Iterator[Wrong]:
    group = group_named(name)
    if group is not None:
        yield from _group(group, known)
    elif "members" in known.doubtful:
        return
    elif is_role(name):
        if len(known.groups) > 1:
            yield Wrong(f"the group of `{name}` is missing", f"write `{name} of {known.groups[0]}`")
    elif name not in known.members and not any(matches(name, one) or matches(one, name) for one in known.members):
        if near is None and any(matches(name, one) for one in known.producers):
            yield Wrong(f"`{name}` is a producer", "write a member of a group")
            return
        what = "member matches" if is_pattern(name) else "member has this name"
        yield Wrong(f"no {what}: `{name}`", suggest(name, near or known.members, "members here"))


def _one_member(name: str, known: Known) -> Iterator[Wrong]:
    if name != NO_PROCESS:
        yield from _member(name, known)


def _topic(name: str, known: Known) -> Iterator[Wrong]:
    if name not in known.partitions and "topics" not in known.doubtful:
        yield Wrong(f"there is no topic `{name}`", suggest(name, known.partitions, "topics here"))


def _partition(name: str, known: Known) -> Iterator[Wrong]:
    topic, number = split_partition(name) or (name, 0)
    if topic not in known.partitions:
        yield from _topic(topic, known)
    elif number >= known.partitions[topic] and "topics" not in known.doubtful:
        yield Wrong(f"`{topic}` has no partition {number}", f"its partitions are 0 to {known.partitions[topic] - 1}")


def _broker(name: str, known: Known) -> Iterator[Wrong]:
    group = group_named(name)
    if group is not None:
        yield from _group(group, known)
    elif name == "coordinator" and len(known.groups) > 1:
        yield Wrong("the group of `coordinator` is missing", f"write `coordinator of {known.groups[0]}`")
    elif name.isdecimal() and int(name) not in known.brokers.ids and "brokers" not in known.doubtful:
        yield Wrong(f"there is no broker {name}", f"write one of {known.brokers.shown}")


def _stand_ins(fields: Mapping[str, Any], known: Known) -> Iterator[Wrong]:
    for path, name in members_in(fields):
        for wrong in _member(str(name), known):
            yield Wrong(wrong.message, wrong.remedy, below=path)


def _request(target: RequestTarget, known: Known) -> Iterator[Wrong]:
    yield from _process(target.member, known)


_RULES: dict[Any, Callable[[Any, Known], Iterator[Wrong]]] = {
    TheGroup: _group,
    GroupName: _group,
    Members: _members,
    Processes: _processes,
    OneMember: _one_member,
    TopicName: _topic,
    PartitionName: _partition,
    Broker: _broker,
    RequestTarget: _request,
    RawFields: _stand_ins,
}
