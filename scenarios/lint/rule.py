"""A rule of the linter, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import Place

T = TypeVar("T")


@frozen
class Hit:
    """A match of a rule: the settings it concerns, of which the first written one gives the place.

    `level` replaces the rule's severity, `reason` its reason.
    """

    keys: tuple[str, ...]
    message: str
    remedy: str
    level: str = ""
    reason: str = ""


@frozen
class Rule(Generic[T]):
    """One rule: its subject, its reason and the reason's source, and the function that finds matches."""

    id: str
    severity: str
    about: str
    reason: str
    source: str
    check: Callable[[T], Iterable[Hit]]


@frozen
class LintFinding:
    """One finding: place, severity, rule, fact, reason with its source, and remedy.

    `subject` is the member, group or broker; `subjects` are all members of a group that it concerns,
    if there are several. The place is that of the first.
    """

    place: Place
    severity: str
    rule: str
    message: str
    reason: str
    source: str
    remedy: str
    subject: str = ""
    subjects: tuple[str, ...] = ()
