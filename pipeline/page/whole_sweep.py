"""The page of a sweep: the answer on top, the grid, distributions, the front, and down to the lanes of single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from groupsim.pipeline.page import sweep_figures as figures
from groupsim.pipeline.page.assembly import SWEEP, Head, assemble
from groupsim.pipeline.page.assumed import Assumed, assumed
from groupsim.pipeline.page.budget import RUNS_BYTES, within
from groupsim.pipeline.page.compact import pack
from groupsim.pipeline.page.one_run import causes
from groupsim.pipeline.page.sweep_runs import Reader, Standing, standing
from groupsim.pipeline.page.verdict import verdict
from groupsim.pipeline.tables.metrics import RUN_METRICS
from groupsim.scenarios.language.properties import without_secrets
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.story.words import count

if TYPE_CHECKING:
    from groupsim.pipeline.analysis import Answer
    from groupsim.pipeline.experiment import Experiment
    from groupsim.pipeline.sweep.directory import Directory

MANY_HEADLINES = 2_000  # of larger sweeps only the runs on the page have a sentence
MANY_FAILURES = 200
# Of every run only this; all rows of the few that are shown whole.
RUN_COLUMNS = ("cell", "seed", "status", "error", "repeat", "headline", *(metric.name for metric in RUN_METRICS))

Run = Mapping[str, Any]


def sweep_page(directory: Directory, answer: Answer) -> str:
    """The page of a sweep as HTML.

    `directory` has the tables, `answer` is their analysis. Raises PageError when plotly is missing.
    """
    runs = directory.tables("runs", RUN_COLUMNS).to_pylist()
    experiment = directory.experiment
    whole, size = _whole_runs(directory, answer, runs)
    data = {
        "kind": "sweep",
        **_answered(answer),
        "cells": figures.cells(answer, {cell.number: cell.settings for cell in experiment.cells}),
        "metrics": [figures.described(metric, answer) for metric in figures.metrics(answer)],
        "statistics": figures.statistics(answer),
        "against_baseline": figures.comparisons(answer, "baseline"),
        "against_best": figures.comparisons(answer, "best"),
        "effects": figures.effects(answer),
        "values": figures.values(answer, runs, experiment.seeds),
        "runs": _run_lines(runs, {(one.cell, one.seed) for one in whole}),
        "whole": [{"cell": one.cell, "seed": one.seed, "why": one.why, "run": packed} for one, packed in whole.items()],
        "room": f"{len(whole):,} of {len(runs):,} runs are in this page whole ({size / 1e6:.1f} MB, "
        f"at most {RUNS_BYTES / 1e6:.1f} MB)",
        "assumed": _assumed(experiment),
        "causes": causes(),
    }
    head = Head("groupsim: a sweep", verdict(answer), _subtitle(answer, len(runs)), answer.title)
    return assemble(head, data, SWEEP)


def _answered(answer: Answer) -> dict[str, Any]:
    """Return the text of the answer, and the cells that it names."""
    names = ("question", "sentence", "decision", "recommended", "runner_up", "best", "baseline", "reasons", "warnings")
    named: dict[str, Any] = {name: getattr(answer, name) for name in names}
    named["all_recommended"] = sorted(answer.all_recommended)
    within = ("sentence", "recommended", "runner_up", "best", "baseline", "reasons")
    named["circumstances"] = [
        {"labels": dict(one.labels), **{name: getattr(one, name) for name in within}} for one in answer.circumstances
    ]
    goals = [{**attrs.asdict(goal), "title": goal.of.title} for goal in answer.goals]
    return {**named, "axes": list(answer.axes.items()), "goals": goals}


def _subtitle(answer: Answer, runs: int) -> str:
    size = f"{count(len(answer.cells), 'cell')} × {count(answer.seeds, 'seed')}"
    return " · ".join(part for part in (answer.title, answer.question, size, count(runs, "run")) if part)


# --- runs -----------------------------------------------------------------------------------------------------------


def _whole_runs(
    directory: Directory, answer: Answer, runs: Sequence[Run]
) -> tuple[dict[Standing, dict[str, Any]], int]:
    """Runs with all their rows, as many as there is room for."""
    goal = answer.goals[0]
    # A pooled metric has no value per run; the unserved time of the whole run ranks the runs then.
    metric = "unserved_us" if goal.of.pool else goal.metric
    values: dict[int, dict[int, int]] = {cell.number: {} for cell in answer.cells}
    for run in runs:
        if run["status"] == "done" and run["cell"] in values:
            values[run["cell"]][run["seed"]] = run[metric] or 0
    named = [cell for cell in (answer.recommended, answer.baseline, answer.runner_up) if cell is not None]
    reader = Reader(directory)
    wanted = standing(values, named, 1 if goal.of.pool else goal.sign)
    return within(RUNS_BYTES, ((one, pack(reader.rows(one.cell, one.seed))) for one in wanted))


def _run_lines(runs: Sequence[Run], whole: set[tuple[int, int]]) -> dict[str, Any]:
    """A line per run, and for each cell the command that repeats its runs, without the seed.

    Runs of a cell that failed alike stand there once, with how many they are.
    """
    commands: dict[int, str] = {}
    headlines: list[list[Any]] = []
    failures: dict[tuple[int, str], list[Any]] = {}
    for run in runs:
        commands.setdefault(run["cell"], _without_seed(run["repeat"], run["seed"]))
        if run["status"] != "done":
            failures.setdefault((run["cell"], run["error"]), [run["cell"], run["seed"], run["error"], 0])[3] += 1
        elif len(runs) <= MANY_HEADLINES or (run["cell"], run["seed"]) in whole:
            headlines.append([run["cell"], run["seed"], run["headline"]])
    return {"commands": commands, "headlines": headlines, "failures": list(failures.values())[:MANY_FAILURES]}


def _without_seed(command: str, seed: int) -> str:
    return command.removesuffix(f" --seed {seed}")


def _assumed(experiment: Experiment) -> Assumed:
    """Return the experiment's own text, its axes, and the assumptions of the baseline."""
    texts = [("question", experiment.question), ("source", experiment.source or ""), ("notes", experiment.notes)]
    common = [(path, str(value)) for path, value in without_secrets(experiment.common).items()]
    varied = [
        (axis.name, ", ".join(axis.labels) + (f" ({axis.path})" if axis.path else "")) for axis in experiment.axes
    ]
    baseline = next(cell for cell in experiment.cells if cell.number == experiment.baseline)
    groups: Assumed = [("Experiment", [(what, " ".join(text.split())) for what, text in texts if text] + common)]
    groups.append(("What was varied", varied))
    return [group for group in groups if group[1]] + [
        (f"{title} (of the baseline)" if title.startswith(("Group", "Brokers", "Topics")) else title, facts)
        for title, facts in assumed(scenario_from_json(baseline.document))
    ]
