"""Check the client settings that a rollout or a restart gives to the new processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from groupsim.members.settings import SettingError
from groupsim.members.zookeeper.kinds import client_settings, uses_zookeeper
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.targets import matches
from groupsim.scenarios.plans.clusters import is_replicated
from groupsim.scenarios.plans.members import MemberPlan, plans, properties_of, with_properties
from groupsim.scenarios.steps.actions import Restart, RollingRestart


def wrong_new_settings(scenario: Scenario, folder: Path) -> Iterator[tuple[Path_, Wrong]]:
    """Yield settings that the new processes would refuse to start with, and misspelt keys, each once."""
    for at, step in enumerate(scenario.timeline):
        action = step.action
        if not isinstance(action, (RollingRestart, Restart)) or action.properties is None:
            continue
        found: dict[str, Wrong] = {}
        for plan in _concerned(scenario, action):
            for wrong in _wrong(scenario, plan, action, folder):
                found.setdefault(wrong.message, wrong)
        yield from ((("timeline", at, "properties"), wrong) for wrong in found.values())


def _concerned(scenario: Scenario, action: RollingRestart | Restart) -> list[MemberPlan]:
    """Return the members that the step may replace; a role such as `leader` may be any of them."""
    every = list(plans(scenario))
    if isinstance(action, RollingRestart):
        only = next(iter(scenario.groups)) if len(scenario.groups) == 1 else None
        return [plan for plan in every if plan.group == (action.group or only)]
    named = [plan for plan in every if any(matches(target, plan.name) for target in action.member)]
    return named or every


def _wrong(scenario: Scenario, plan: MemberPlan, action: RollingRestart | Restart, folder: Path) -> Iterator[Wrong]:
    given: Mapping[str, object] = action.properties or {}
    try:
        profile = plan.profile
        properties = properties_of(with_properties(plan, given, folder), folder)
    except (OSError, ValueError):
        return  # a problem of the member itself
    if uses_zookeeper(profile):
        yield Wrong(f"{plan.client} has no settings that a step can change", "remove `properties`")
        return
    try:
        _, notes = client_settings(profile, properties, pulls=is_replicated(scenario))
    except SettingError as error:
        yield Wrong(f"`{error.key}` = {error.value}: {error.problem}", error.remedy)
        return
    for note in notes:
        message, _, remedy = note.message.partition("; ")
        if note.key in given and "did you mean" in remedy:
            yield Wrong(message, remedy)
