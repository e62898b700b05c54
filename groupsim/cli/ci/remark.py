"""One finding of the linter as every format has it, and the levels that formats know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from groupsim.scenarios.language.problems import Problem
from groupsim.scenarios.lint import LintFinding

UNREADABLE = "cannot-be-read"
"""The rule of what keeps a file from being judged at all."""


@frozen
class Remark:
    """Where, how bad, by which rule, what, and what to do; a line of 0 is the file as a whole."""

    file: str
    line: int
    severity: str
    rule: str
    message: str
    reason: str
    remedy: str

    @property
    def text(self) -> str:
        """The finding in full."""
        return "\n".join(part for part in (self.message, self.reason, self.remedy) if part)


def remarks(findings: Iterable[LintFinding], problems: Iterable[Problem]) -> Iterator[Remark]:
    """Findings of a file, and what keeps it from being judged."""
    for one in findings:
        reason = f"{one.reason} [{one.source}]"
        yield Remark(one.place.file, one.place.line, one.severity, one.rule, one.message, reason, one.remedy)
    for problem in problems:
        place = problem.place
        yield Remark(place.file, place.line, problem.severity, UNREADABLE, problem.message, "", problem.remedy)
