"""Steps that can be done and are hardly meant, expectations that nothing can break: what `validate` and `run` warn of.

`lint` has a rule for the steps.
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
SAY_HOW_LONG = "write how long a pod takes until its consumer starts, for example `start-time: 20s`"
"""Remedy. A pod takes 20 to 90 s until a JVM is ready (user needs, section 4.1)."""
_REQUESTS = (Kind.REQUEST_SENT.value, Kind.REQUEST_RECEIVED.value)


def noted_steps(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Rollouts that take no time, and so look like one rebalance, whatever their kind; looks for quiet heartbeats."""
    for at, step in enumerate(scenario.timeline):
        if isinstance(step.deed, RollingRestart) and step.deed.at_once and step.at != "never":
            message = f"{AT_ONCE}: that looks like one rebalance or two, which no rollout does"
            yield Problem(document.at_value(("timeline", at)), message, SAY_HOW_LONG, WARNING)
    for at, expectation in enumerate(scenario.expect):
        for path, matcher in _matchers(expectation.check):
            if matcher.api == "Heartbeat" and matcher.kind in _REQUESTS:
                message = f"{matcher.kind} of Heartbeat: heartbeats that go well are counted, not listed"
                remedy = "expect what they bring about (member.removed), or a response.received with an `error`"
                place = document.at_value(("expect", at, expectation.check.NAME, *path))
                yield Problem(place, message, remedy, WARNING)


def _matchers(check: object) -> Iterator[tuple[Path_, Matcher]]:
    """The events that an expectation names: it is one itself, or has some."""
    if isinstance(check, Matcher):
        yield (), check
        return
    for name, field in fields_of(type(check)).items():
        value = getattr(check, field.name)
        if isinstance(value, Matcher):
            yield (name,), value
