"""Runs and a sweep for the tests of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from groupsim.pipeline.analysis import Answer, answer_of
from groupsim.pipeline.experiment import Experiment
from groupsim.pipeline.page import assumed, lag_lines, run_page
from groupsim.pipeline.runs import Label, Lists, rows_of, simulate, to_arrow
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import Run, run_scenario
from groupsim.scenarios.story import tell
from tests.helpers import small_sweep

Rows = Mapping[str, Sequence[tuple[Any, ...]]]

CRASH = """
    title: A crash
    run-for: 40s
    topics: {orders: {partitions: 6, rate: 12/s}}
    groups:
      orders-service:
        properties: {session.timeout.ms: 6000, sasl.jaas.config: "password=hunter2"}
        on-revoked: 120ms
        members: {pod: {count: 3, stagger: 100ms}}
    timeline:
      - {at: 12s, do: crash, member: pod-2}
      - {at: 25s, do: start, member: pod-2}
    expect:
      - rebalances: 2
      - lost: 1
"""


def ran(text: str = CRASH, seed: int = 0) -> Run:
    """A scenario, run."""
    return run_scenario(scenario_of(parse_document(dedent(text)), "sample"), seed=seed)


def rows(run: Run) -> Rows:
    """Its rows in every table."""
    return rows_of(Lists(run.events), tell(run.events), Label(repeat="groupsim run sample --seed 0"))


def page(text: str = CRASH) -> str:
    """Its page."""
    run = ran(text)
    lag = lag_lines(run.events, tell(run.events))
    return run_page(rows(run), run.scenario.title, checks=run.checks, assumed=assumed(run.scenario), lag=lag)


def sweep(folder: Path, seeds: int = 6, failing: tuple[int, int] | None = None) -> tuple[Directory, Answer]:
    """A small sweep, all of it run here, and its answer. `failing` is a run that ends with an error."""
    return performed(small_sweep.load(folder, seeds), folder / "out", failing)


def performed(experiment: Experiment, out: Path, failing: tuple[int, int] | None = None) -> tuple[Directory, Answer]:
    """An experiment, all of it run here, and its answer."""
    directory = Directory.prepare(out, Contents(experiment, "code"))
    for cell in experiment.cells:
        for seed in experiment.seeds:
            document = "no document" if (cell.number, seed) == failing else cell.document
            repeat = f"groupsim run small --cell {cell.number} --seed {seed}"
            made = simulate(document, seed, cell=cell.number, digest=cell.digest, code="code", repeat=repeat)
            directory.write(to_arrow(made))
    directory.close()
    answer, _ = answer_of(experiment, lambda name, columns: directory.tables(name).select(list(columns)))
    return directory, answer
