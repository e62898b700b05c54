"""Simulate one cell with one seed: the work of an executor."""

from __future__ import annotations

from functools import lru_cache

from groupsim.eventloop.collector import patient_collector
from groupsim.eventloop.trace.events import Kind
from groupsim.pipeline.runs.lists import Lists
from groupsim.pipeline.runs.rows import Label, Rows, failed_rows, rows_of
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.runtime.runner import REPEAT, run_scenario

UNREAD = (Kind.RECORD_APPENDED,)
"""Events that neither the story nor a table is made from and that cause no others; there are very many of them."""


def simulate(document: str, seed: int, *, cell: int, digest: str, code: str, repeat: str, traces: bool = False) -> Rows:
    """Run the scenario of a canonical document with a seed; return the rows of every table.

    `digest` and `code` are the hashes of document and code, `repeat` the command that does the same again; they become
    columns. Never raises for a simulation that fails: the only row is then one of `runs`, with
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
    counted = () if scenario.expect or traces else UNREAD
    lists = Lists(traces=traces)
    run = run_scenario(scenario, seed=label.seed, counted=counted, sinks=[lists], keep_events=False)
    return rows_of(lists, run.story, label, expectations_failed=len(run.failed))


def in_words(error: BaseException) -> str:
    """Return an error as one paragraph: its type, its message, and the loop's notes on time and place.

    How to repeat it is not among them: the runner knows neither the experiment nor its cell, the column `repeat` does.
    """
    parts = [f"{type(error).__name__}: {error}" if str(error) else type(error).__name__]
    parts += [note for note in getattr(error, "__notes__", ()) if not note.startswith(REPEAT)]
    return " ".join("; ".join(parts).split())
