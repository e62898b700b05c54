"""Lint settings: those without effect, those that contradict each other or the broker's range, each with the reason.

    broker = broker_of("3.9")
    for finding in lint_properties(text, "consumer.properties", client_of("java-3.9"), broker):
        print(finding.place, finding.severity, finding.rule, finding.message)

One rule is one row (`rule.Rule`); `engine.RULES` has them all. A configuration is read as the simulated
members read it (`members.settings`, `members.keys`); `places` has the owner of each key. `groupsim validate` checks
that a scenario can run here, the linter that its settings make sense in production.
"""

from __future__ import annotations

from groupsim.scenarios.language.clients import Client, client_of
from groupsim.scenarios.lint.engine import RULES
from groupsim.scenarios.lint.in_properties import (
    broker_of,
    is_producers,
    lines_of,
    lint_broker,
    lint_producer,
    lint_properties,
    lint_settings,
    not_judged,
)
from groupsim.scenarios.lint.in_scenario import lint_scenario
from groupsim.scenarios.lint.rule import LintFinding, Rule
from groupsim.scenarios.lint.spellings import flat

__all__ = [
    "RULES",
    "Client",
    "LintFinding",
    "Rule",
    "broker_of",
    "client_of",
    "flat",
    "is_producers",
    "lines_of",
    "lint_broker",
    "lint_producer",
    "lint_properties",
    "lint_scenario",
    "lint_settings",
    "not_judged",
]
