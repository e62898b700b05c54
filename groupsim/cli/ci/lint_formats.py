"""The formats of `groupsim lint --format`, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groupsim.cli import as_json
from groupsim.cli.ci.annotations import workflow_commands
from groupsim.cli.ci.junit import Case, Suite, junit
from groupsim.cli.ci.remark import UNREADABLE, Remark
from groupsim.cli.ci.sarif import sarif
from groupsim.cli.exits import Trouble
from groupsim.scenarios.language.problems import NOTE, suggest

Judged = Sequence[tuple[str, Sequence[Remark]]]
"""Files with their findings."""

TEXT, JSON = "text", "json"


def _all(done: Judged) -> list[Remark]:
    return [one for _, found in done for one in found]


def _junit(done: Judged) -> str:
    """Return JUnit XML: a file without findings is one case that holds; a note is a case that holds."""
    suites = []
    for file, found in done:
        cases = [
            Case(
                f"{one.rule}: {one.message}",
                failure=one.text if one.rule != UNREADABLE and one.severity != NOTE else "",
                error=one.text if one.rule == UNREADABLE else "",
                file=one.file,
                line=one.line,
            )
            for one in found
        ]
        suites.append(Suite(file, tuple(cases) or (Case("no finding"),)))
    return junit(suites).rstrip("\n")


FORMATS: Mapping[str, Callable[[Judged], str]] = {
    "annotations": lambda done: "\n".join(workflow_commands(_all(done))),
    "junit": _junit,
    "sarif": lambda done: as_json.text(sarif(_all(done))),
}


def check_format(name: str) -> str:
    """Return the name of a format. Raises Trouble with the nearest name for an unknown one."""
    known = (TEXT, JSON, *FORMATS)
    if name not in known:
        raise Trouble(f"--format {name}: no such format", suggest(name, known, "formats"))
    return name
