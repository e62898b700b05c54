"""Warn of steps and expectations that are probably mistakes, for `validate` and `run`.

`lint` has a rule for rollouts without durations.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.expectations.matching import Matcher
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.model import MemberDefaults, Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import WARNING, Problem
from groupsim.scenarios.steps.actions import RollingRestart

AT_ONCE = "`rolling-restart` without `start-time` replaces all pods within milliseconds"
DURATION_REMEDY = "write the time until a pod's consumer starts, for example `start-time: 20s`"
"""A pod takes 20 to 90 s until a JVM is ready."""
EPOCHS = ("group-epoch", "assignment-epoch", "member-state")
"""The expectations about groups of the consumer protocol."""
_PROTOCOL = "group.protocol"
_REQUESTS = (Kind.REQUEST_SENT.value, Kind.REQUEST_RECEIVED.value)


def noted_steps(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield warnings on rollouts without durations, and on matchers of quiet heartbeats."""
    for at, step in enumerate(scenario.timeline):
        if isinstance(step.action, RollingRestart) and step.action.at_once and step.at != "never":
            message = f"{AT_ONCE}: the result is one rebalance or two"
            yield Problem(document.at_value(("timeline", at)), message, DURATION_REMEDY, WARNING)
    for at, expectation in enumerate(scenario.expect):
        if expectation.check.NAME in EPOCHS and not _has_epochs(scenario, getattr(expectation.check, "group", None)):
            message = f"`{expectation.check.NAME}` of a group whose members all use the classic protocol"
            remedy = "write `properties: {group.protocol: consumer}`, or expect `generations` and `state`"
            yield Problem(document.at_value(("expect", at)), message, remedy, WARNING)
        for path, matcher in _matchers(expectation.check):
            if matcher.api == "Heartbeat" and matcher.kind in _REQUESTS:
                message = f"{matcher.kind} of Heartbeat: heartbeats without an error are counted, not traced"
                remedy = "expect a consequence (member.removed), or a response.received with an `error`"
                place = document.at_value(("expect", at, expectation.check.NAME, *path))
                yield Problem(place, message, remedy, WARNING)


def _has_epochs(scenario: Scenario, group: str | None) -> bool:
    """Return whether a member of a group uses the consumer protocol, from the beginning or after a step."""
    changed = (getattr(step.action, "properties", None) or {} for step in scenario.timeline)
    if any(properties.get(_PROTOCOL) == "consumer" for properties in changed):
        return True
    for name, spec in scenario.groups.items():
        of_group = (spec, *spec.members.values())
        if group in (None, name) and any(_uses_it(one) for one in of_group):
            return True
    return False


def _uses_it(spec: MemberDefaults) -> bool:
    """Whether members use the consumer protocol, or may: a .properties file is not read here."""
    return spec.properties.get(_PROTOCOL) == "consumer" or spec.properties_file is not None


def _matchers(check: object) -> Iterator[tuple[Path_, Matcher]]:
    """Yield the events that an expectation names: itself, or its fields."""
    if isinstance(check, Matcher):
        yield (), check
        return
    for name, field in fields_of(type(check)).items():
        value = getattr(check, field.name)
        if isinstance(value, Matcher):
            yield (name,), value
