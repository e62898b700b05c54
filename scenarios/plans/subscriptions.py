"""Which topics the members of a group subscribe to, as the scenario has it."""

from __future__ import annotations

import re

from groupsim.scenarios.language.model import MemberDefaults, Scenario
from groupsim.scenarios.plans.members import created_topics, inherit


def topics_of(scenario: Scenario, group: str) -> list[str]:
    """Topics that a member of the group subscribes to by name, or by a pattern; those that steps create included."""
    spec = scenario.groups[group]
    names: dict[str, None] = {}
    for member in spec.members.values():
        if member.assign is not None:
            continue  # takes no part in the group
        merged: MemberDefaults = inherit(spec, member)
        if merged.subscribe_pattern is not None:
            fits = re.compile(merged.subscribe_pattern)
            every = (*scenario.topics, *created_topics(scenario))
            names.update(dict.fromkeys(name for name in every if fits.fullmatch(name)))
        else:
            names.update(dict.fromkeys(merged.subscribe or scenario.topics))
    return list(names)
