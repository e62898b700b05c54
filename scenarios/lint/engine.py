"""The table of rules, and their application to clients, groups and brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Place
from groupsim.scenarios.lint.brokers import BrokerView
from groupsim.scenarios.lint.producer_view import ProducerView
from groupsim.scenarios.lint.rule import LintFinding, Rule
from groupsim.scenarios.lint.rules import (
    idle,
    membership,
    migration,
    names,
    producers,
    ranges,
    reading,
    replication,
    timeouts,
    values,
    workload,
    writes,
)
from groupsim.scenarios.lint.rules.membership import GroupView
from groupsim.scenarios.lint.rules.writes import WriteView
from groupsim.scenarios.lint.view import ClientView

T = TypeVar("T")

CLIENT_RULES: tuple[Rule[ClientView], ...] = (
    *names.RULES,
    *values.RULES,
    *idle.RULES,
    *timeouts.RULES,
    *membership.CLIENT_RULES,
    *ranges.CLIENT_RULES,
    *reading.RULES,
    *workload.RULES,
)
GROUP_RULES: tuple[Rule[GroupView], ...] = membership.GROUP_RULES
BROKER_RULES: tuple[Rule[BrokerView], ...] = (*ranges.BROKER_RULES, *replication.RULES)
PRODUCER_RULES: tuple[Rule[ProducerView], ...] = producers.RULES
WRITE_RULES: tuple[Rule[WriteView], ...] = writes.RULES

#: Every rule, in the order of the documentation.
RULES: tuple[Rule[Any], ...] = (
    *CLIENT_RULES,
    *GROUP_RULES,
    *PRODUCER_RULES,
    *WRITE_RULES,
    *BROKER_RULES,
    *migration.RULES,
)
_SEVERITY_RANK = {ERROR: 0, WARNING: 1, NOTE: 2}


def of_client(view: ClientView) -> Iterator[LintFinding]:
    """Yield the findings in one client's configuration."""
    return _apply(CLIENT_RULES, view, view.place_of, view.subject)


def for_target(view: ClientView) -> Iterator[LintFinding]:
    """Yield the findings for a change of one client's group to `migration.TARGET`."""
    rules = migration.RULES if migration.has_protocol(view) else migration.RULES[:1]
    return _apply(rules, view, view.place_of, view.subject)


def of_group(group: GroupView) -> Iterator[LintFinding]:
    """Yield the findings in a group as a whole."""
    return _apply(GROUP_RULES, group, group.place_of, group.name)


def of_broker(broker: BrokerView) -> Iterator[LintFinding]:
    """Yield the findings in the broker's settings."""
    return _apply(BROKER_RULES, broker, broker.place_of, "broker")


def of_producer(view: ProducerView) -> Iterator[LintFinding]:
    """Yield the findings in one producer's configuration."""
    return _apply(PRODUCER_RULES, view, view.place_of, view.subject)


def of_writes(view: WriteView) -> Iterator[LintFinding]:
    """Yield the findings in a topic and its producers."""
    return _apply(WRITE_RULES, view, view.place_of, view.name)


def _apply(
    rules: Iterable[Rule[T]], subject: T, place_of: Callable[[tuple[str, ...]], Place], name: str
) -> Iterator[LintFinding]:
    for rule in rules:
        for hit in rule.check(subject):
            level, reason = hit.level or rule.severity, hit.reason or rule.reason
            place = place_of(hit.keys)
            yield LintFinding(place, level, rule.id, hit.message, reason, rule.source, hit.remedy, name)


def ordered(findings: Iterable[LintFinding]) -> tuple[LintFinding, ...]:
    """Return each finding once, in the order of the file, the most severe first within a line."""
    once = {(str(one.place), one.rule, one.message): one for one in reversed(list(findings))}
    return tuple(sorted(once.values(), key=_rank))


def _rank(finding: LintFinding) -> tuple[str, int, int, int, str, str]:
    place = finding.place
    return place.file, place.line, place.column, _SEVERITY_RANK[finding.severity], finding.rule, finding.message
