"""Unfold groups with a `count`: one specification stands for many consumer groups.

`fleet: {count: 40, members: {c: 2}}` is forty groups, fleet-1 to fleet-40; the members of the seventh are fleet-7-c-1
and fleet-7-c-2. `fleet-{n}-eu` names them fleet-1-eu to fleet-40-eu. A count of one keeps the names as they are.

A file is validated as written, one specification at a time. The scenario that runs is `unfolded`: it has every group by
its own id. A step or an expectation that names `fleet` holds for each of the forty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.model import GroupSpec, Scenario
from groupsim.scenarios.language.registry import Check, Finding
from groupsim.scenarios.language.values import ProcessCount
from groupsim.scenarios.plans.members import member_names

T = TypeVar("T")

_SHOWN = 3  # different findings to list for an expectation that holds


def unfolded(scenario: Scenario) -> Scenario:
    """Return the scenario with one group for each of a `count`; `Scenario.fleets` maps keys to group ids."""
    if all(spec.count == 1 for spec in scenario.groups.values()):
        return scenario
    groups: dict[str, GroupSpec] = {}
    for key, spec in scenario.groups.items():
        groups.update({key: spec} if spec.count == 1 else {name: _one(name, spec) for name in group_ids(key, spec)})
    return attrs.evolve(scenario, groups=groups, fleets=fleets_of(scenario))


def group_ids(key: str, spec: GroupSpec) -> tuple[str, ...]:
    """Return the ids of the groups that one specification makes."""
    return member_names(key, spec.count)


def fleets_of(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Return the group ids of each specification with a `count`, by its key in the file."""
    return {key: group_ids(key, spec) for key, spec in scenario.groups.items() if spec.count != 1}


def _one(name: str, spec: GroupSpec) -> GroupSpec:
    """Return one group of several; the names of its members begin with its own."""
    members = {f"{name}-{member}": own for member, own in spec.members.items()}
    return attrs.evolve(spec, count=ProcessCount(1), members=members)


def for_each(item: T, fleets: Mapping[str, tuple[str, ...]]) -> tuple[T, ...]:
    """Return a step or check once for each group of the fleet it names; any other as it is."""
    ids = fleets.get(getattr(item, "group", None) or "")
    return (item,) if ids is None else tuple(_about(item, name) for name in ids)


def _about(item: Any, group: str) -> Any:
    return attrs.evolve(item, group=group)


def judged(check: Check, evidence: Evidence, fleets: Mapping[str, tuple[str, ...]]) -> Finding:
    """Judge a check; for a fleet, return one finding with the number of groups that fail and the first of them."""
    name = str(getattr(check, "group", None) or "")
    if name not in fleets:
        return check.judge(evidence)
    ids = fleets[name]
    found = [one.judge(evidence) for one in for_each(check, fleets)]
    wrong = [(group, one) for group, one in zip(ids, found, strict=True) if not one.holds]
    if not wrong:
        first = found[0]
        return attrs.evolve(first, expected=_each(first, ids[0], ids, name), found=_in_all(found), t_us=None, seqs=())
    group, first = wrong[0]
    words = f"not in {len(wrong)} of them; {group}: {first.found}"
    return attrs.evolve(first, expected=_each(first, group, ids, name), found=words)


def _each(one: Finding, group: str, ids: tuple[str, ...], name: str) -> str:
    """State for each group what was expected of one."""
    return f"{one.expected.replace(group, name)}, in each of the {len(ids)} groups of {name}"


def _in_all(found: list[Finding]) -> str:
    """List the findings of groups that all hold, the most frequent first, with the number of groups."""
    counts = Counter(one.found for one in found)
    if len(counts) == 1:
        return found[0].found
    shown = [f"{what} ({number} groups)" for what, number in counts.most_common(_SHOWN)]
    return ", ".join(shown) + (", …" if len(counts) > _SHOWN else "")
