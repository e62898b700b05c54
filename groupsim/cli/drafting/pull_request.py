"""`groupsim diff --git REV FILE…`: the cost per rollout of a change of deployment files, as text for a pull request.

`groupsim diff before.yaml after.yaml` does the same with two manifests.

The files are read at the revision and in the working tree. Each version is drafted as by `groupsim init` (a scenario
file is used as it is), and its rollout runs with the same seed. Values that no file has are the same guess on both
sides, and `--set` sets them on both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from groupsim.cli import as_json
from groupsim.cli.commands.lint_input import is_yaml
from groupsim.cli.drafting.init import sources
from groupsim.cli.drafting.revisions import check_revision, text_at
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.render.diff_sentence import shown
from groupsim.cli.render.run_diff import DiffRow, change, rows_of
from groupsim.cli.running import perform
from groupsim.cli.scenario_diff import Difference, between
from groupsim.protocol.values import frozen
from groupsim.scenarios.drafting import File, Question, draft_of
from groupsim.scenarios.language.document import Document, parse_document
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.values import Duration
from groupsim.scenarios.loading.changes import changed, read_change
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.story import Story

SCHEMA = 1
UNSERVED = "unserved, summed over partitions"
#: The rows of the table, in order; a figure that neither run has is left out.
FIGURES = (
    UNSERVED,
    "longest unserved partition",
    "stopped",
    "rollout, first stop to group stable",
    "rebalances",
    "partitions moved",
    "records delivered twice",
    "records never delivered",
    "largest lag",
)
_QUESTIONS = 8
HERE = "here"
_MANIFEST = re.compile(r"^apiVersion:\s", re.MULTILINE)
_ENOUGH = 65_536  # characters in which a manifest names its apiVersion


@frozen
class Side:
    """One version of the files: its scenario as data and ready to run, and its open questions."""

    document: Document
    name: str
    scenario: Scenario
    questions: tuple[Question, ...] = ()


@frozen
class Verdict:
    """The comparison of both versions; `names` are those of the columns, `command` repeats it."""

    names: tuple[str, str]
    command: str
    rows: dict[str, tuple[DiffRow, ...]]
    changes: tuple[Difference, ...]
    questions: tuple[Question, ...]
    sentences: tuple[str, ...]


def diff_git(revision: str, files: Sequence[str], seed: int, settings: list[str], wants_json: bool) -> int:
    """Compare, and print Markdown or JSON; return the exit code (0: a difference is not a failure)."""
    if not files:
        raise Trouble("no file is given", "write `groupsim diff --git main deployment.yaml application.yml`")
    for file in files:
        check_revision(revision, Path(file).resolve().parent)
    before, after = _sides(revision, files, settings)
    return _compare(before, after, (revision, HERE), "groupsim diff --git", seed, wants_json)


def are_manifests(files: Sequence[str]) -> bool:
    """Whether all files are there and begin as Kubernetes manifests do."""
    paths = [Path(file) for file in files]
    return all(path.suffix in (".yaml", ".yml") and path.is_file() and _MANIFEST.search(_start(path)) for path in paths)


def _start(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_ENOUGH)


def diff_manifests(before: str, after: str, seed: int, settings: list[str], wants_json: bool) -> int:
    """The same for two files, each a version of the manifests; returns the exit code."""
    left, right = (_side(sources([file]), settings) for file in (before, after))
    return _compare(left, right, (before, after), "groupsim diff", seed, wants_json)


def _compare(before: Side, after: Side, names: tuple[str, str], command: str, seed: int, wants_json: bool) -> int:
    run_for = max(before.scenario.run_for, after.scenario.run_for)
    stories = [_story(side, run_for, seed, name) for side, name in zip((before, after), names, strict=True)]
    rows = rows_of(*stories)
    differences = between((before.document, "scenario"), (after.document, "scenario"))
    changes = tuple(one for one in differences if one.path != "run-for")
    sentences = tuple(_sentences(rows, changes))
    verdict = Verdict(names, command, rows, changes, after.questions, sentences)
    print(as_json.text(_document(verdict, seed)) if wants_json else "\n".join(_markdown(verdict, seed)))
    sys.stdout.flush()
    return SUCCESS


def _sides(revision: str, files: Sequence[str], settings: list[str]) -> tuple[Side, Side]:
    """Return the files at the revision and in the working tree. Raises Trouble if the revision has none of them."""
    then = [(file, text_at(revision, Path(file))) for file in files]
    old = [File(file, text, is_yaml(Path(file), text)) for file, text in then if text is not None]
    if not old:
        raise Trouble(f"{revision} has none of these files: {', '.join(files)}", "name files of that revision")
    here = [file for file in files if Path(file).exists()]
    return _side(old, settings), _side(sources(here), settings)


def _side(files: Sequence[File], settings: list[str]) -> Side:
    """Build the scenario of these files, with the values of `--set`. Raises ScenarioError as `groupsim init` does."""
    changes = [read_change(text) for text in settings]
    questions: tuple[Question, ...] = ()
    if len(files) == 1 and _is_scenario(files[0]):
        document = parse_document(files[0].text, files[0].name)
    else:
        draft = draft_of(files)
        document, questions = parse_document(draft.text, "draft"), draft.questions
    document = changed(document, changes)
    return Side(document, files[0].name, scenario_of(document, "scenario"), questions)


def _is_scenario(file: File) -> bool:
    """Whether a file is a scenario, not a manifest or settings."""
    if not file.is_yaml or "run-for" not in file.text:
        return False
    data = parse_document(file.text, file.name).data
    return isinstance(data, dict) and "run-for" in data


def _story(side: Side, run_for: Duration, seed: int, name: str) -> Story:
    """Run the rollout without autoscaling, which would change the number of pods meanwhile."""
    steps = tuple(step for step in side.scenario.timeline if step.action.NAME != "autoscale")
    scenario = attrs.evolve(side.scenario, timeline=steps, run_for=run_for, expect=())
    return perform(scenario, seed, f"{side.name} ({name})", keep_events=False).story


# --- words -----------------------------------------------------------------------------------------------------


def _sentences(rows: dict[str, tuple[DiffRow, ...]], changes: Sequence[Difference]) -> Iterator[str]:
    """Yield a sentence for each group: the cost of the change."""
    if not changes:
        yield "No value of the scenario changes: a rollout costs the same."
        return
    for group, figures in rows.items():
        row = next((one for one in figures if one.name == UNSERVED), None)
        whose = f" ({group})" if len(rows) > 1 else ""
        if row is None or row.left is None or row.right is None:
            yield f"The group {group} is in one of the two versions only."
            continue
        left, right = shown(row.left, row.unit), shown(row.right, row.unit)
        if row.left == row.right:
            yield f"This change costs nothing{whose}: partitions are unserved for {right} per rollout, as before."
        else:
            yield f"This change costs {right} unserved per rollout instead of {left}{whose}."


def _markdown(verdict: Verdict, seed: int) -> Iterator[str]:
    for sentence in verdict.sentences:
        yield f"**{sentence}**"
    for group, rows in verdict.rows.items() if verdict.changes else ():
        by_name = {row.name: row for row in rows}
        yield ""
        yield f"| one rollout of `{group}` | {' | '.join(verdict.names)} | change |"
        yield "|---|--:|--:|--:|"
        for name in FIGURES:
            row = by_name.get(name)
            if row is not None and (row.left is not None or row.right is not None):
                cells = (name, shown(row.left, row.unit), shown(row.right, row.unit), change(row))
                yield f"| {' | '.join(cells)} |"
    if verdict.changes:
        yield from ("", "What changes:", "")
        for one in verdict.changes:
            values = " → ".join("(not written)" if value is None else f"`{value}`" for value in (one.left, one.right))
            yield f"- `{one.path}`: {values}"
    if verdict.questions and verdict.changes:
        yield from ("", "Assumed on both sides, because no file says it (`--set PATH=VALUE` answers it):", "")
        for question in verdict.questions[:_QUESTIONS]:
            yield f"- {question.text}{f' (`{question.guess}`)' if question.guess else ''}"
        if len(verdict.questions) > _QUESTIONS:
            yield f"- … and {len(verdict.questions) - _QUESTIONS} more"
    yield from ("", f"One simulated rollout of each version, with the same seed (`{verdict.command}`, seed {seed}).")
    if verdict.changes:
        yield "Another `--seed` is another rollout: differences between seeds are chance."


def _document(verdict: Verdict, seed: int) -> dict[str, Any]:
    """Build the JSON document of the comparison; times are microseconds."""
    return {
        "schema": SCHEMA,
        "revision": verdict.names[0],
        "compared": verdict.names[1],
        "seed": seed,
        "sentences": list(verdict.sentences),
        "groups": [
            {"group": group, "rows": [{**as_json.plain(row), "change": row.change} for row in rows]}
            for group, rows in verdict.rows.items()
        ],
        "changes": as_json.plain(verdict.changes),
        "questions": [{"text": one.text, "guess": one.guess} for one in verdict.questions],
    }
