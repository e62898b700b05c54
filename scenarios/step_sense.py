"""Steps that can be done and are hardly meant: what `validate` and `run` warn of, and `lint` has a rule for."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.actions import RollingRestart
from groupsim.scenarios.document import Document
from groupsim.scenarios.model import Scenario
from groupsim.scenarios.problems import WARNING, Problem

AT_ONCE = "`rolling-restart` without `start-time` replaces all pods within milliseconds"
SAY_HOW_LONG = "write how long a pod takes until its consumer starts, for example `start-time: 20s`"
"""Remedy. A pod takes 20 to 90 s until a JVM is ready (user needs, section 4.1)."""


def noted_steps(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Rollouts that take no time, and so look like one rebalance, whatever their kind."""
    for at, step in enumerate(scenario.timeline):
        if isinstance(step.deed, RollingRestart) and step.deed.at_once and step.at != "never":
            message = f"{AT_ONCE}: that looks like one rebalance or two, which no rollout does"
            yield Problem(document.at_value(("timeline", at)), message, SAY_HOW_LONG, WARNING)
