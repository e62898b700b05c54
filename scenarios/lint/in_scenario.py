"""Lint a scenario file: every kind of member, every group, and the brokers.

`groupsim validate` reports why a scenario cannot run. The linter raises the same error, unless it concerns
a setting, which a rule reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, fields

from groupsim.coordinator.base.versions import BASELINE
from groupsim.eventloop.distributions import Distribution
from groupsim.members.zookeeper.kinds import uses_zookeeper
from groupsim.scenarios.language.clients import Client, client_of, is_profile
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import key_of
from groupsim.scenarios.language.model import GroupSpec, MemberDefaults, Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import ERROR, Place, Problem, ScenarioError
from groupsim.scenarios.lint import engine
from groupsim.scenarios.lint.brokers import BrokerView, Written
from groupsim.scenarios.lint.in_writes import of_writing, transactional_topics
from groupsim.scenarios.lint.rule import LintFinding
from groupsim.scenarios.lint.rules.membership import GroupView
from groupsim.scenarios.lint.rules.workload import p99_us
from groupsim.scenarios.lint.view import ClientView
from groupsim.scenarios.loading.partial_parse import structured
from groupsim.scenarios.plans.clusters import is_replicated
from groupsim.scenarios.plans.members import MemberPlan, group_plans, properties_of
from groupsim.scenarios.plans.property_places import place_of
from groupsim.scenarios.plans.subscriptions import matcher
from groupsim.scenarios.steps.actions import Crash, Restart, RollingRestart, Scale, Stop
from groupsim.scenarios.validation.semantics import judge

_ABOUT_A_SETTING = re.compile(r"`[^`]+` = ")


def lint_scenario(document: Document, *, for_target: bool = False) -> tuple[LintFinding, ...]:
    """Lint a scenario. Raises ScenarioError for another document, or a scenario that cannot run for other reasons.

    `for_target` applies the rules of a change to `migration.TARGET` instead.
    """
    scenario = structured(document)
    errors = [problem for problem in judge(scenario, document) if problem.severity == ERROR]
    if any(not _ABOUT_A_SETTING.match(problem.message) for problem in errors):
        raise ScenarioError(errors)
    if for_target:
        return engine.ordered(_of_target(scenario, document))
    found = list(_findings(scenario, document))
    return engine.ordered([*found, *_unexplained(errors, found)])


def _unexplained(errors: list[Problem], found: list[LintFinding]) -> Iterator[LintFinding]:
    """Yield a finding for each impossible setting that no rule reports."""
    reported = [(one.place.line, one.place.column) for one in found if one.severity == ERROR]
    for problem in errors:
        if (problem.place.line, problem.place.column) not in reported:
            reason, source = "the simulated client refuses it", "groupsim validate"
            yield LintFinding(problem.place, ERROR, "impossible-value", problem.message, reason, source, problem.remedy)


def _findings(scenario: Scenario, document: Document) -> Iterator[LintFinding]:
    broker = _broker(scenario, document)
    yield from engine.of_broker(broker)
    yield from of_writing(scenario, document, broker)
    transactional = transactional_topics(scenario, Path(document.file).parent)
    for name, spec in scenario.groups.items():
        group = _group(name, spec, scenario, document, broker, transactional)
        if not group.views:
            continue  # no member that joins through a coordinator
        of_members = [one for view in group.views for one in engine.of_client(view)]
        yield from _without_guesses([*_once(of_members), *engine.of_group(group)])


def _of_target(scenario: Scenario, document: Document) -> Iterator[LintFinding]:
    broker = _broker(scenario, document)
    for name, spec in scenario.groups.items():
        views = _group(name, spec, scenario, document, broker, ()).views
        yield from _once([one for view in views for one in engine.for_target(view)])


def _once(found: list[LintFinding]) -> Iterator[LintFinding]:
    """Yield each finding of a group once, with all members that it concerns, at the place of the first."""
    equal: dict[tuple[str, ...], list[LintFinding]] = {}
    for one in found:
        equal.setdefault((one.rule, one.severity, one.message, one.reason, one.remedy), []).append(one)
    for first, *others in equal.values():
        subjects = tuple(dict.fromkeys(one.subject for one in (first, *others)))
        yield evolve(first, subjects=subjects) if len(subjects) > 1 else first


def _without_guesses(found: list[LintFinding]) -> Iterator[LintFinding]:
    """Drop the guess about a restart's length if the scenario states it: the two remedies would differ."""
    stated = {one.place for one in found if one.rule == "static-away-longer-than-session"}
    yield from (one for one in found if one.rule != "static-session-short" or one.place not in stated)


def _broker(scenario: Scenario, document: Document) -> BrokerView:
    properties = scenario.broker.properties
    settings = {key: Written(value, _broker_place(document, key)) for key, value in properties.items()}
    version = scenario.broker.version
    cluster, racks = scenario.cluster, scenario.cluster.racks if is_replicated(scenario) else None
    where, version_given = document.at_key(("broker",)), version is not None
    return BrokerView(where, str(version or BASELINE), settings, version_given, brokers=cluster.brokers, racks=racks)


def _broker_place(document: Document, key: str) -> Place:
    section = document.data.get("broker")
    nested = isinstance(section, dict) and isinstance(section.get("properties"), dict) and key in section["properties"]
    return document.at_key(("broker", "properties", key) if nested else ("broker", key))


def _group(
    name: str,
    spec: GroupSpec,
    scenario: Scenario,
    document: Document,
    broker: BrokerView,
    transactional: tuple[str, ...],
) -> GroupView:
    plans = [plan for plan in group_plans(name, spec) if plan.spec.assign is None and not uses_zookeeper(plan.profile)]
    views = tuple(_view(plan, document, broker, transactional) for plan in plans if plan.number == 1)
    at_once = 0 if _some_end(scenario) else sum(plan.spec.start != "never" for plan in plans)
    where = document.at_key(("groups", name))
    away = _away(scenario, name, plans)
    instances, steps = _instances(scenario, plans, document), _rollouts(scenario, document, name)
    renamed = next((place for action, place in steps if action.kind == "deployment" and not action.leave), None)
    instant_rollout = next((place for action, place in steps if action.at_once), None)
    return GroupView(name, where, views, instances, at_once, away, renamed, instant_rollout)


def _instances(scenario: Scenario, plans: list[MemberPlan], document: Document) -> dict[str, str]:
    """Return the instance ids of static processes, without those that end before another one with their id starts."""
    folder, ends = Path(document.file).parent, _ends(scenario)
    given = {plan.name: properties_of(plan, folder).get("group.instance.id") for plan in plans}
    starts = {plan.name: plan.spec.start for plan in plans if plan.spec.start != "never"}

    def is_followed(name: str) -> bool:
        others = [starts[one] for one in starts if one != name and given[one] == given[name]]
        return name in ends and bool(others) and ends[name] <= min(others)

    return {name: str(instance) for name, instance in given.items() if instance is not None and not is_followed(name)}


def _ends(scenario: Scenario) -> dict[str, int]:
    """Return the first time (µs) at which a step stops or kills a process that it names."""
    found: dict[str, int] = {}
    for step in scenario.timeline:
        if isinstance(step.action, Stop | Crash) and step.at != "never":
            for name in _named(step.action.member):
                found[name] = min(step.at, found.get(name, step.at))
    return found


def _named(processes: str | tuple[str, ...]) -> tuple[str, ...]:
    return processes if isinstance(processes, tuple) else (processes,)


def _some_end(scenario: Scenario) -> bool:
    return any(isinstance(step.action, Stop | Crash | Scale) for step in scenario.timeline)


def _view(plan: MemberPlan, document: Document, broker: BrokerView, transactional: tuple[str, ...]) -> ClientView:
    properties = properties_of(plan, Path(document.file).parent)
    entries = {key: Written(value, place_of(document, plan, key)) for key, value in properties.items()}
    return ClientView(
        _client(plan),
        entries,
        broker,
        document.at_key(("groups", plan.group, "members", plan.key)),
        pasted=False,
        subject=plan.key,
        spec=plan.spec,
        spots=_spots(document, plan),
        transactional=tuple(topic for topic in transactional if _reads(plan, topic)),
    )


def _client(plan: MemberPlan) -> Client:
    """Return the written release, or the one that the profile is named after."""
    name = plan.profile.name if is_profile(plan.client) else plan.client
    return evolve(client_of(name), profile=plan.profile)


def _reads(plan: MemberPlan, topic: str) -> bool:
    """Return whether a member subscribes to a topic; a pattern is matched with the topic's name."""
    fits = matcher(plan.spec)
    if fits is not None:
        return bool(fits(topic))
    return plan.spec.subscribe is None or topic in plan.spec.subscribe


def _places(document: Document, plan: MemberPlan, *last: str) -> Iterator[Path_]:
    """Yield the places where a setting of a member may be written: at the member, at its group."""
    for path in (("groups", plan.group, "members", plan.key, *last), ("groups", plan.group, *last)):
        if _holds(document.data, path):
            yield path


def _holds(data: object, path: Path_) -> bool:
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _spots(document: Document, plan: MemberPlan) -> Mapping[str, Place]:
    keys = [key_of(field.name) for field in fields(MemberDefaults)]
    found = {
        key: next(_places(document, plan, key), None) for key in keys if key not in ("properties", "properties-file")
    }
    return {key: document.at_key(path) for key, path in found.items() if path is not None}


# --- restarts ------------------------------------------------------------------------------------------------------


def _away(scenario: Scenario, group: str, plans: list[MemberPlan]) -> dict[str, int]:
    """Return for each kind of member the longest time (µs) that a restart of the scenario keeps it away."""
    away = {plan.key: plan.spec.restart_after or 0 for plan in plans}
    for step in scenario.timeline:
        action = step.action
        if isinstance(action, Restart):
            concerned = [plan.key for plan in plans if plan.name in _named(action.member)]
            _longer(away, concerned, action.downtime)
        elif (
            isinstance(action, RollingRestart)
            and _concerns(action.group, group, scenario)
            and action.kind != "deployment"
        ):
            _longer(away, [plan.key for plan in plans], action.start_time)
    return away


def _longer(away: dict[str, int], keys: list[str], downtime: Distribution | None) -> None:
    for key in keys:
        away[key] = max(away[key], p99_us(downtime))


def _concerns(named: str | None, group: str, scenario: Scenario) -> bool:
    return named == group or (named is None and len(scenario.groups) == 1)


def _rollouts(scenario: Scenario, document: Document, group: str) -> list[tuple[RollingRestart, Place]]:
    """Return the group's scheduled rollouts, each with the place of its step."""
    steps = [(at, step.action) for at, step in enumerate(scenario.timeline) if step.at != "never"]
    return [
        (action, document.at_value(("timeline", at)))
        for at, action in steps
        if isinstance(action, RollingRestart) and _concerns(action.group, group, scenario)
    ]
