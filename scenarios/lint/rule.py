"""What a rule of the linter is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from attrs import frozen

from groupsim.scenarios.language.problems import Place

T = TypeVar("T")


@frozen
class Hit:
    """What a rule saw in one subject: the settings it is about (the first that was written gives the place).

    `level` makes this one milder or graver than the rule in general; `reason` replaces the rule's.
    """

    keys: tuple[str, ...]
    message: str
    remedy: str
    level: str = ""
    reason: str = ""


@frozen
class Rule(Generic[T]):
    """One rule: what it warns of, why that is so and who says it, and the function that sees it."""

    id: str
    severity: str
    about: str
    reason: str
    source: str
    check: Callable[[T], Iterable[Hit]]


@frozen
class LintFinding:
    """One finding: where, how bad, by which rule, what, why (and who says so), and what to write instead.

    `subject` is the member, group or broker it was found in; `subjects` are all members of a group that it concerns,
    where there are several. The place is the first one's.
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
