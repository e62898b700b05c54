"""Simulate one cell with one seed: the work of an executor."""

from __future__ import annotations

from functools import lru_cache

import attrs

from groupsim.eventloop.collector import patient_collector
from groupsim.eventloop.trace.events import Kind
from groupsim.pipeline.runs.rows import Label, Rows, failed_rows, rows_of
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.runtime.runner import REPEAT, run_scenario
from groupsim.scenarios.story import tell

UNREAD = (Kind.RECORD_APPENDED,)
"""Events that neither the story nor a table is made from and that cause no others; there are very many of them."""


def simulate(document: str, seed: int, *, cell: int, digest: str, code: str, repeat: str, traces: bool = False) -> Rows:
    """Run the scenario of a canonical document with a seed; the rows of every table.

    `digest` and `code` are the hashes of document and code, `repeat` the command that does the same again; they become
    columns. Never raises for a simulation that fails, whatever it fails with: the only row is then one of `runs`, with
    the error. Memory that has run out, ctrl-C and the end of the process are no such failures.
    """
    label = Label(cell, seed, digest, code, repeat)
    try:
        with patient_collector():
            return _simulate(_scenario(document), label, traces)
    except MemoryError:
        raise
    except Exception as error:
        return failed_rows(label, in_words(error))


@lru_cache(maxsize=256)
def _scenario(document: str) -> Scenario:
    """The scenario of a canonical document: read once, though every seed of a cell is simulated from it.

    A sweep goes seed by seed over all cells: of a grid with more of them than are kept, none would ever be found here.
    """
    return scenario_from_json(document)


def _simulate(scenario: Scenario, label: Label, traces: bool) -> Rows:
    expected = scenario.expect
    counted = () if expected or traces else UNREAD
    run = run_scenario(attrs.evolve(scenario, expect=()), seed=label.seed, counted=counted)
    if expected:  # the story is told once, for judgement and rows alike
        evidence = Evidence(run.events)
        story = evidence.story
        failed = sum(not one.check.judge(evidence).holds for one in expected)
    else:
        story, failed = tell(run.events), 0
    return rows_of(run.events, story, label, expectations_failed=failed, traces=traces, told=run.told)


def in_words(error: BaseException) -> str:
    """An error in one paragraph: what it is, what it says, and the notes with instant and place that the loop adds.

    How to repeat it is not among them: the runner knows neither the experiment nor its cell, the column `repeat` does.
    """
    parts = [f"{type(error).__name__}: {error}" if str(error) else type(error).__name__]
    parts += [note for note in getattr(error, "__notes__", ()) if not note.startswith(REPEAT)]
    return " ".join("; ".join(parts).split())
