"""The run of a scenario for a command: progress, sinks, and failures with the command that repeats them."""

from __future__ import annotations

import gc
import shlex
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from rich.console import Console

from groupsim.cli.exits import RUN_FAILED, Trouble
from groupsim.cli.progress.run import RunProgress
from groupsim.cli.progress.slow_assignors import slow_assignors_named
from groupsim.eventloop.errors import EventLoopError
from groupsim.eventloop.trace.sinks import Sink
from groupsim.members.failures import PluginError
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.plans.clusters import is_replicated
from groupsim.scenarios.runtime.runner import REPEAT, Run, run_scenario
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.story.words import clock

COUNTED_LOGS = "`--set cluster.logs=counted` takes about a third of the time, for runs that need no replicas"


def perform(
    scenario: Scenario,
    seed: int,
    source: str,
    sinks: Sequence[Sink] = (),
    snapshots_at: Sequence[int] = (),
    looks: Sequence[tuple[int, Callable[[Stage], None]]] = (),
    data_dir: Path | None = None,
    settings: Sequence[str] = (),
    keep_events: bool = True,
) -> Run:
    """Run a scenario; `looks`, `data_dir` and `keep_events` as for `run_scenario`.

    Raises `Trouble` (exit code 3) for a failed run, with the command that repeats it: `settings` are those of `--set`.
    """
    _set_modules_apart()
    hint = COUNTED_LOGS if is_replicated(scenario) and not scenario.producers else ""
    progress = RunProgress(scenario.run_for, Console(stderr=True), hint)
    try:
        with slow_assignors_named():
            return run_scenario(
                scenario,
                seed=seed,
                sinks=(*sinks, progress),
                snapshots_at=snapshots_at,
                looks=looks,
                data_dir=data_dir,
                keep_events=keep_events,
            )
    except (PluginError, EventLoopError) as error:
        notes = getattr(error, "__notes__", [])
        notes[:] = [note for note in notes if not note.startswith(REPEAT)]  # that command lacks the `--set` options
        again = command_line(source, seed, settings, "--traceback")
        raise Trouble(_failure_message(error), f"{REPEAT}{again}", RUN_FAILED) from error


@cache
def _set_modules_apart() -> None:
    """Leave what was loaded for the first run out of later searches for garbage: it stays as long as the process."""
    gc.freeze()


def command_line(source: str, seed: int, settings: Sequence[str], *more: str) -> str:
    """Return the shell command that repeats a run."""
    changed = [part for setting in settings for part in ("--set", setting)]
    return shlex.join(["groupsim", "run", source, *changed, "--seed", str(seed), *more])


def _failure_message(error: PluginError | EventLoopError) -> str:
    if isinstance(error, PluginError):
        return f"the run failed at {clock(error.now_us)}, generation {error.generation}: {error}"
    return f"the run failed: {error}"
