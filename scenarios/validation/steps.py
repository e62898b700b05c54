"""Warn of steps and expectations that are probably mistakes, for `validate` and `run`.

`lint` has a rule for rollouts without durations.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.expectations.matching import Matcher
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import WARNING, Problem
from groupsim.scenarios.steps.actions import RollingRestart

AT_ONCE = "`rolling-restart` without `start-time` replaces all pods within milliseconds"
DURATION_REMEDY = "write the time until a pod's consumer starts, for example `start-time: 20s`"
"""A pod takes 20 to 90 s until a JVM is ready."""
_REQUESTS = (Kind.REQUEST_SENT.value, Kind.REQUEST_RECEIVED.value)


def noted_steps(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield warnings on rollouts without durations, and on matchers of quiet heartbeats."""
    for at, step in enumerate(scenario.timeline):
        if isinstance(step.action, RollingRestart) and step.action.at_once and step.at != "never":
            message = f"{AT_ONCE}: the result is one rebalance or two"
            yield Problem(document.at_value(("timeline", at)), message, DURATION_REMEDY, WARNING)
    for at, expectation in enumerate(scenario.expect):
        for path, matcher in _matchers(expectation.check):
            if matcher.api == "Heartbeat" and matcher.kind in _REQUESTS:
                message = f"{matcher.kind} of Heartbeat: heartbeats without an error are counted, not traced"
                remedy = "expect a consequence (member.removed), or a response.received with an `error`"
                place = document.at_value(("expect", at, expectation.check.NAME, *path))
                yield Problem(place, message, remedy, WARNING)


def _matchers(check: object) -> Iterator[tuple[Path_, Matcher]]:
    """Yield the events that an expectation names: itself, or its fields."""
    if isinstance(check, Matcher):
        yield (), check
        return
    for name, field in fields_of(type(check)).items():
        value = getattr(check, field.name)
        if isinstance(value, Matcher):
            yield (name,), value
