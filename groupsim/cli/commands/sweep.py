"""`groupsim sweep`: run an experiment, analyse it, print the answer and the paths of the results."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import INTERRUPTED, RUN_FAILED, SUCCESS, Trouble, ended_as_by_ctrl_c
from groupsim.cli.terminal import Terminal

if TYPE_CHECKING:
    from groupsim.cli.progress.sweep import SweepProgress
    from groupsim.pipeline.analysis import Answer
    from groupsim.pipeline.experiment import Experiment
    from groupsim.pipeline.sweep import Directory, EngineOptions, Outcome

FEW = 3  # maximal number of different errors that are printed


def sweep(
    source: str,
    out: str,
    wanted: EngineOptions,
    asked: tuple[list[str], list[str], list[str], list[str]],
    seeds: int | None,
    traces: bool,
    quiet: bool,
    wants_json: bool,
) -> int:
    """Run the missing runs, analyse, print; return the exit code.

    `out` is a path or a URL, `wanted` has the engine, `asked` has the texts of `--vary`, `--set`, `--only` and
    `--goal`. Raises Trouble, ScenarioError and SweepError.
    """
    _check_installed(("pyarrow", "packaging"), 'pip install "groupsim[parquet]", or groupsim[spark]')
    from groupsim.cli.progress.sweep import SweepProgress
    from groupsim.pipeline.experiment import load_experiment
    from groupsim.pipeline.experiment.asked import Asked
    from groupsim.pipeline.experiment.varied import experiment_varying
    from groupsim.pipeline.sweep.place import Place

    check_engine(wanted)
    Place.at(out)
    varied, settings, only, goals = asked
    how = Asked(tuple(settings), tuple(only), tuple(goals))
    if varied:
        experiment = experiment_varying(source, varied, seeds, asked=how)
    else:
        experiment = load_experiment(source, seeds, asked=how)
    stderr = Terminal(stderr=True, soft_wrap=True)
    for warning in () if quiet else experiment.warnings:
        stderr.print(Text(str(warning), "yellow"))
    outcome = _perform(experiment, out, wanted, traces, SweepProgress(quiet))
    answer: Answer | None = outcome.result
    if wants_json:
        print(as_json.text(document(outcome, answer)))
    else:
        show(outcome, answer, quiet)
    return RUN_FAILED if outcome.failed == outcome.total else SUCCESS


def check_engine(wanted: EngineOptions) -> None:
    """Check the engine's options and its packages before the first write. Raises Trouble or SweepError."""
    from groupsim.pipeline.sweep.engines import SPARK

    if wanted.chosen() == SPARK:
        client = bool(wanted.remote)
        remedy = "pip install pyspark-client" if client else 'pip install "groupsim[spark]"'
        _check_installed(("pyspark", "grpc") if client else ("pyspark",), remedy)


def _check_installed(packages: tuple[str, ...], remedy: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise Trouble(f"a sweep needs {' and '.join(missing)}, which is not installed", remedy)


def _perform(
    experiment: Experiment, out: str, options: EngineOptions, traces: bool, progress: SweepProgress
) -> Outcome:
    from groupsim.pipeline.sweep import sweep as perform

    try:
        with ended_as_by_ctrl_c():
            return perform(
                experiment,
                out,
                options,
                traces=traces,
                watch=progress,
                note=progress.note,
                then=progress.analysing(lambda directory, engine: _analyse(directory, engine, options)),
            )
    except KeyboardInterrupt:
        progress.stop()
        raise Trouble(_how_far(out, progress), "the same command continues from there", INTERRUPTED) from None
    finally:
        progress.stop()


def _how_far(out: str, progress: SweepProgress) -> str:
    """Return a sentence on the finished runs of an interrupted sweep."""
    from groupsim.pipeline.sweep import Directory, SweepError

    try:
        directory = Directory.open(out)
    except SweepError:
        return "interrupted before the first run"
    total = progress.last.total if progress.last else directory.experiment.runs
    return f"interrupted; {len(directory.finished)} of {total} runs finished"


def _analyse(directory: Directory, engine: Any, options: EngineOptions) -> Answer | None:
    """Analyse the sweep, on its Spark session if there is one; None if every run failed."""
    from groupsim.pipeline.analysis import analyse

    return None if directory.failed == directory.experiment.runs else analyse(directory, options, engine)


def show(outcome: Outcome, answer: Answer | None, quiet: bool) -> None:
    """Print the answer on stdout; the number of runs and the paths on stderr."""
    from groupsim.cli.progress.run import duration
    from groupsim.cli.render import answer as answer_shown

    if answer is not None:
        answer_shown.show(answer, Terminal())
    sys.stdout.flush()
    if quiet and not outcome.failed:
        return
    stderr = Terminal(stderr=True, soft_wrap=True)
    if not quiet:
        ran = (
            f"{outcome.performed} runs in {duration(outcome.seconds)}"
            if outcome.performed
            else "nothing was left to run"
        )
        before = outcome.total - outcome.performed
        kept = f", {before} were finished before" if before and outcome.performed else ""
        stderr.print(Text(f"{ran}{kept}", "dim"))
    _show_failed(outcome, stderr)
    if not quiet:
        place = outcome.directory.place
        stderr.print(Text(f"tables: {place / 'tables'}, results: {place / 'results'}", "dim"))
        stderr.print(Text(f"a page with plots and single runs: groupsim report {shlex.quote(place.url)}", "dim"))


def _show_failed(outcome: Outcome, stderr: Terminal) -> None:
    """Print each error of failed runs once, the most frequent first, with the command that repeats its first run."""
    if not outcome.failed:
        return
    stderr.print(Text(f"{outcome.failed} of {outcome.total} runs failed; see the column `error` of `runs`", "red"))
    runs = outcome.directory.tables("runs", ["cell", "seed", "status", "error", "repeat"]).to_pylist()
    alike: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        if run["status"] == "failed":
            alike.setdefault(run["error"], []).append(run)
    by_number = sorted(alike.values(), key=len, reverse=True)
    for first, *more in by_number[:FEW]:
        others = f" and {len(more):,} more" if more else ""
        stderr.print(
            Text(f"  cell {first['cell']}, seed {first['seed']}{others}: {first['error']}\n    {first['repeat']}")
        )
    if len(by_number) > FEW:
        stderr.print(Text(f"  … and {len(by_number) - FEW:,} other errors"))


def document(outcome: Outcome, answer: Answer | None) -> dict[str, Any]:
    """Build the JSON document of a sweep; results/answer.json has all figures."""
    place = outcome.directory.place
    recommended = None if answer is None or answer.recommended is None else answer.cell(answer.recommended)
    return {
        "schema": as_json.SCHEMA,
        "directory": place.url,
        "runs": outcome.total,
        "performed": outcome.performed,
        "failed": outcome.failed,
        "engine": outcome.engine,
        "workers": outcome.workers,
        "seconds": round(outcome.seconds, 1),
        "answer": answer and answer.sentence,
        "decision": answer and answer.decision,
        "recommended": recommended and dict(recommended.labels),
        "results": place / "results/answer.json",
    }
