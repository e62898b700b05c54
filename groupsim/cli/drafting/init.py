"""`groupsim init`: a scenario drafted from manifests and settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.commands.lint_input import STDIN, is_yaml, text_of
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.sources import check_parent
from groupsim.cli.streams import write_whole
from groupsim.cli.terminal import Terminal
from groupsim.scenarios.drafting import DraftedScenario, File, draft_of
from groupsim.scenarios.drafting.reading import looks_like_yaml
from groupsim.scenarios.language.document import STANDARD_INPUT
from groupsim.scenarios.language.problems import Problem, ScenarioError

SUFFIX = ".groupsim.yaml"
SCHEMA = 1


def init(
    files: list[str], out: Path | None, workloads: list[str], profile: str | None, force: bool, wants_json: bool
) -> int:
    """Draft a scenario, print it or write it; return the exit code. No file is written after an error."""
    if out is not None:
        _check_target(out, force)
    draft = draft_of(sources(files), workloads, profile)
    if out is not None:
        write_whole(draft.text, out)
    if wants_json:
        print(as_json.text(document(draft)))
    elif out is None:
        sys.stdout.write(draft.text)
        sys.stdout.flush()
    if not wants_json:
        _report(draft, out)
    return SUCCESS


def sources(files: list[str]) -> list[File]:
    """Read the files. Raises ScenarioError with a problem for each unreadable file, Trouble for an empty list."""
    if not files:
        raise Trouble("no file is given", "write `groupsim init deployment.yaml application.yml`")
    found: list[File] = []
    problems: list[Problem] = []
    for file in files:
        try:
            found.append(_source(file))
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return found


def _source(file: str) -> File:
    if file != STDIN and not Path(file).exists():
        raise ScenarioError([_absent(file)])  # `text_of` would look in the library, which has no manifests
    path, text = text_of(file)
    if file == STDIN:
        return File(str(STANDARD_INPUT), text, looks_like_yaml(text))
    return File(str(path), text, is_yaml(path, text))


def _absent(file: str) -> Problem:
    from groupsim.scenarios.language.document import unreadable_remedy
    from groupsim.scenarios.language.problems import Place

    return Problem(Place(file), "cannot be read: no such file or directory", unreadable_remedy(Path(file)))


def _check_target(out: Path, force: bool) -> None:
    if out.is_dir():
        raise Trouble(f"{out} is a directory", f"write {out / f'my-service{SUFFIX}'}")
    if out.suffix not in (".yaml", ".yml"):
        raise Trouble(f"{out}: a scenario is YAML", f"write {out.with_suffix('')}{SUFFIX}")
    check_parent(out)
    if out.exists() and not force:
        raise Trouble(f"{out} exists", "name another file, or overwrite it with --force")


def _report(draft: DraftedScenario, out: Path | None) -> None:
    """Print the number of open questions and the next step on standard error."""
    count = len(draft.questions)
    words = f"{count} question{'' if count == 1 else 's'} to answer (`# ?`)" if count else "no open question"
    name = str(out) if out is not None else "FILE"
    again = (
        f"groupsim run {name}" if out is not None else f"add --out my-service{SUFFIX}, then `groupsim run` that file"
    )
    Terminal(stderr=True, soft_wrap=True).print(Text(f"{words}; {again}", "dim"))


def document(draft: DraftedScenario) -> dict[str, Any]:
    """Build the JSON document of a draft."""
    return {
        "schema": SCHEMA,
        "scenario": draft.text,
        "groups": [
            {"group": group.id, "named": group.fact is not None, "workloads": [pods.name for pods in group.pods]}
            for group in draft.plan.groups
        ],
        "questions": [{"line": one.line, "text": one.text, "guess": one.guess} for one in draft.questions],
        "left_out": list(draft.plan.left_out),
    }
