"""Find which topics the members of a group subscribe to."""

from __future__ import annotations

import re
from collections.abc import Callable

from groupsim.protocol.patterns import InvalidPattern, compile_pattern
from groupsim.scenarios.language.model import MemberDefaults, Scenario
from groupsim.scenarios.plans.members import created_topics, inherit


def matcher(spec: MemberDefaults) -> Callable[[str], object] | None:
    """Return the check of a topic's name by the pattern or regex of a member; None for a member that names topics.

    A regex that the broker would refuse matches nothing. Raises ImportError without google-re2.
    """
    if spec.subscribe_pattern is not None:
        return re.compile(spec.subscribe_pattern).fullmatch
    if spec.subscribe_regex is not None:
        try:
            return compile_pattern(spec.subscribe_regex)
        except InvalidPattern:
            return lambda _: False
    return None


def topics_of(scenario: Scenario, group: str) -> list[str]:
    """Return the topics that members of the group subscribe to by name or pattern, those that steps create included."""
    spec = scenario.groups[group]
    names: dict[str, None] = {}
    for member in spec.members.values():
        if member.assign is not None:
            continue  # does not join the group
        merged: MemberDefaults = inherit(spec, member)
        fits = matcher(merged)
        if fits is not None:
            every = (*scenario.topics, *created_topics(scenario))
            names.update(dict.fromkeys(filter(fits, every)))
        else:
            names.update(dict.fromkeys(merged.subscribe or scenario.topics))
    return list(names)
