"""Validate a change of a group's settings: the brokers' own rules, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.cluster.broker.admin.effective import group_rules
from groupsim.cluster.config.group_settings import SINCE, GroupRules
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.plans.clusters import counted_config
from groupsim.scenarios.steps.actions import AlterGroupConfig


def wrong_group_config(path: Path_, action: AlterGroupConfig, scenario: Scenario) -> Iterator[tuple[Path_, Wrong]]:
    """Yield the first setting that the scenario's brokers refuse. Brokers with invalid settings have no rules."""
    try:
        rules = group_rules(counted_config(scenario))
    except ValueError:
        return
    given = action.changes()
    unknown = next((name for name in given if name not in rules.known), None)
    if unknown is not None:
        version = rules.release
        yield (*path, unknown), Wrong(f"brokers of {version} have no such setting of groups", _remedy(unknown, rules))
        return
    try:
        rules.check({name: value for name, value in given.items() if value is not None})
    except ValueError as refused:
        yield path, Wrong(f"brokers refuse it: {refused}", "write another value, or other bounds at `broker`")


def _remedy(name: str, rules: GroupRules) -> str:
    if name in SINCE:
        return f"write broker.version {'.'.join(map(str, SINCE[name]))} or newer"
    return suggest(name, [one for one in rules.known if one.startswith("consumer.")], "settings of groups")
