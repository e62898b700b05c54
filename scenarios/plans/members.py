"""List the processes of a scenario by name: one specification may stand for several members.

`worker: {count: 3}` makes worker-1, worker-2 and worker-3; `pod-{n}: {count: 3}` makes pod-1 to pod-3; a count of one
keeps the name as it is. Client id and instance id may hold `{name}`, `{n}` (the number) and `{group}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from groupsim.coordinator.base.placement import DEFAULT_PARTITIONS, OFFSETS_TOPIC
from groupsim.members.profiles import ClientProfile
from groupsim.protocol.messages.group import Api
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.clients import simulated
from groupsim.scenarios.language.model import GroupSpec, MemberDefaults, MemberSpec, Scenario
from groupsim.scenarios.language.properties import is_secret, parse_properties

DEFAULT_CLIENT = "java"
_APIS = {api.title: api for api in Api}


@frozen
class MemberPlan:
    """One process: its name, group, number within its specification, and its settings."""

    name: str
    group: str
    number: int
    spec: MemberSpec
    key: str = ""

    @property
    def client(self) -> str:
        """Return the client as written, perhaps a release; by default Java."""
        return self.spec.client or DEFAULT_CLIENT

    @property
    def profile(self) -> ClientProfile:
        """Return the profile that the client runs as."""
        profile = simulated(self.client, tuple(self.spec.defects or ()))
        if self.spec.versions is None:
            return profile
        versions = {_APIS[name]: version for name, version in self.spec.versions.items()}
        return attrs.evolve(profile, versions={**profile.versions, **versions})

    def filled(self, pattern: str) -> str:
        """Return a pattern with this member's name, number and group filled in."""
        return fill(pattern, self.name, self.number, self.group)


def fill(pattern: str, name: str, number: int, group: str) -> str:
    """Replace `{name}`, `{n}` and `{group}`; other braces stay."""
    return pattern.replace("{name}", name).replace("{n}", str(number)).replace("{group}", group)


def member_names(key: str, count: int) -> tuple[str, ...]:
    """Return the names that one specification makes."""
    if "{n}" in key:
        return tuple(key.replace("{n}", str(number)) for number in range(1, count + 1))
    return (key,) if count == 1 else tuple(f"{key}-{number}" for number in range(1, count + 1))


def plans(scenario: Scenario) -> Iterator[MemberPlan]:
    """Yield every process of a scenario, in the order of the file."""
    for group, spec in scenario.groups.items():
        yield from group_plans(group, spec)


def group_plans(group: str, spec: GroupSpec) -> Iterator[MemberPlan]:
    """Yield the processes of one group."""
    for member_key, own in spec.members.items():
        merged = inherit(spec, own)
        for number, name in enumerate(member_names(member_key, own.count), 1):
            yield MemberPlan(name, group, number, merged, member_key)


def inherit(group: GroupSpec, member: MemberSpec) -> MemberSpec:
    """Return a member with the group's settings where it has none; the properties of both are merged."""
    merged: dict[str, Any] = {}
    for field in attrs.fields(MemberDefaults):
        own, theirs = getattr(member, field.name), getattr(group, field.name)
        merged[field.name] = {**theirs, **own} if field.name == "properties" else (theirs if own is None else own)
    if member.subscribe or member.subscribe_pattern or member.subscribe_regex:
        merged.update({name: getattr(member, name) for name in ("subscribe", "subscribe_pattern", "subscribe_regex")})
    return attrs.evolve(member, **merged)


_OWN_KEYS: Mapping[str, str] = {
    "client.id": "client_id",
    "group.instance.id": "instance_id",
    "partition.assignment.strategy": "assignor",
}
"""The settings that a scenario may also give by a key of its own."""


def with_properties(plan: MemberPlan, properties: Mapping[str, object], folder: Path) -> MemberPlan:
    """Return the plan with other client settings; None takes one away.

    Raises OSError or ValueError when a properties file cannot be read.
    """
    before = {name: value for name, value in _given(plan.spec, folder).items() if name not in properties}
    after = {name: value for name, value in properties.items() if value is not None}
    changes: dict[str, Any] = {field: None for name, field in _OWN_KEYS.items() if name in properties}
    changes |= {"properties": {**before, **after}, "properties_file": None}
    return attrs.evolve(plan, spec=attrs.evolve(plan.spec, **changes))


def properties_of(plan: MemberPlan, folder: Path) -> dict[str, object]:
    """Return the client's configuration: the file, then pasted or written properties, then the scenario's own keys.

    Values of secrets are left out. Raises OSError or ValueError when a properties file cannot be read.
    """
    spec = plan.spec
    found = {name: value for name, value in _given(spec, folder).items() if not is_secret(name)}
    found["group.id"] = plan.group
    for name, pattern in (("client.id", spec.client_id), ("group.instance.id", spec.instance_id)):
        value = pattern if pattern is not None else found.get(name)
        if isinstance(value, str):
            found[name] = plan.filled(value)
    if spec.assignor is not None:
        found["partition.assignment.strategy"] = ",".join(spec.assignor)
    return found


def secrets_of(plan: MemberPlan, folder: Path) -> tuple[str, ...]:
    """Return the names of the settings left out as secrets; raises as `properties_of` does."""
    return tuple(name for name in _given(plan.spec, folder) if is_secret(name))


def _given(spec: MemberSpec, folder: Path) -> dict[str, object]:
    """Return the properties of the file, overridden by those in the scenario."""
    if spec.properties_file is None:
        return dict(spec.properties)
    return {**parse_properties((folder / spec.properties_file).read_text(encoding="utf-8")), **spec.properties}


def created_topics(scenario: Scenario) -> dict[str, int]:
    """Return the topics that steps create, with their partitions."""
    from groupsim.scenarios.steps.actions import CreateTopic

    actions = (step.action for step in scenario.timeline)
    return {action.topic: action.partitions for action in actions if isinstance(action, CreateTopic)}


def _offsets_partitions(scenario: Scenario) -> int:
    setting = scenario.broker.properties.get("offsets.topic.num.partitions")
    return int(str(setting)) if str(setting).isdecimal() else DEFAULT_PARTITIONS


def partition_limits(scenario: Scenario) -> dict[str, int]:
    """Return for each topic the most partitions it ever has."""
    from groupsim.scenarios.steps.actions import AddPartitions

    limits: dict[str, int] = {name: topic.partitions for name, topic in scenario.topics.items()}
    limits |= created_topics(scenario)
    if scenario.cluster.logs == "replicated":
        limits[OFFSETS_TOPIC] = _offsets_partitions(scenario)
    for step in scenario.timeline:
        if isinstance(step.action, AddPartitions):
            limits[step.action.topic] = max(limits.get(step.action.topic, 0), step.action.to)
    return limits
