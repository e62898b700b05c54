"""Findings as workflow commands, which GitHub Actions and Forgejo show beside the line of a pull request.

Source: GitHub documentation, "Workflow commands for GitHub Actions" (error, warning, notice; escapes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupsim.cli.ci.remark import Remark
from groupsim.scenarios.language.problems import NOTE

_IN_TEXT = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTY = (*_IN_TEXT, (":", "%3A"), (",", "%2C"))


def workflow_commands(found: Iterable[Remark]) -> Iterator[str]:
    """Yield a workflow command for each finding."""
    for one in found:
        level = "notice" if one.severity == NOTE else one.severity
        place = f"file={_escaped(one.file, _IN_PROPERTY)}" + (f",line={one.line}" if one.line else "")
        yield f"::{level} {place},title={_escaped(one.rule, _IN_PROPERTY)}::{_escaped(one.text, _IN_TEXT)}"


def _escaped(text: str, escapes: Iterable[tuple[str, str]]) -> str:
    for letter, instead in escapes:
        text = text.replace(letter, instead)
    return text
