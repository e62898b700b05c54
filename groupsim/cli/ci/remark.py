"""One finding of the linter, in the form that every output format uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import Problem
from groupsim.scenarios.lint import LintFinding

UNREADABLE = "cannot-be-read"
"""The rule of problems that make a file unreadable."""


@frozen
class Remark:
    """One finding with its place, severity, rule, message, reason and remedy; line 0 is the whole file."""

    file: str
    line: int
    severity: str
    rule: str
    message: str
    reason: str
    remedy: str

    @property
    def text(self) -> str:
        """Message, reason and remedy, one per line."""
        return "\n".join(part for part in (self.message, self.reason, self.remedy) if part)


def remarks(findings: Iterable[LintFinding], problems: Iterable[Problem]) -> Iterator[Remark]:
    """Yield a file's findings, then the problems that make it unreadable."""
    for one in findings:
        reason = f"{one.reason} [{one.source}]"
        yield Remark(one.place.file, one.place.line, one.severity, one.rule, one.message, reason, one.remedy)
    for problem in problems:
        place = problem.place
        yield Remark(place.file, place.line, problem.severity, UNREADABLE, problem.message, "", problem.remedy)
