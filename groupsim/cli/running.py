"""Running a scenario for a command: progress on a terminal, sinks, and a failure told with the way to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
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

COUNTED_LOGS = "`--set cluster.logs=counted` takes about a third of it, where it is only the group that matters"


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
    """Run it; `looks`, `data_dir` and `keep_events` as for `run_scenario`.

    Raises `Trouble` (exit code 3) when the run fails, with the command that repeats it: `settings` are what `--set` has
    changed.
    """
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
        notes[:] = [note for note in notes if not note.startswith(REPEAT)]  # what `--set` has changed is not in it
        again = command_line(source, seed, settings, "--traceback")
        raise Trouble(_told(error), f"{REPEAT}{again}", RUN_FAILED) from error


def command_line(source: str, seed: int, settings: Sequence[str], *more: str) -> str:
    """The command that runs the same again, for a shell."""
    changed = [part for setting in settings for part in ("--set", setting)]
    return shlex.join(["groupsim", "run", source, *changed, "--seed", str(seed), *more])


def _told(error: PluginError | EventLoopError) -> str:
    if isinstance(error, PluginError):
        return f"the run failed at {clock(error.now_us)}, generation {error.generation}: {error}"
    return f"the run failed: {error}"
