"""Find which topics the members of a group subscribe to."""

from __future__ import annotations

import re

from groupsim.scenarios.language.model import MemberDefaults, Scenario
from groupsim.scenarios.plans.members import created_topics, inherit


def topics_of(scenario: Scenario, group: str) -> list[str]:
    """Return the topics that members of the group subscribe to by name or pattern, those that steps create included."""
    spec = scenario.groups[group]
    names: dict[str, None] = {}
    for member in spec.members.values():
        if member.assign is not None:
            continue  # does not join the group
        merged: MemberDefaults = inherit(spec, member)
        if merged.subscribe_pattern is not None:
            fits = re.compile(merged.subscribe_pattern)
            every = (*scenario.topics, *created_topics(scenario))
            names.update(dict.fromkeys(name for name in every if fits.fullmatch(name)))
        else:
            names.update(dict.fromkeys(merged.subscribe or scenario.topics))
    return list(names)
