"""Running a scenario for a command: progress on a terminal, sinks, and a failure told with the way to repeat it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from groupsim.eventloop.errors import EventLoopError
from groupsim.eventloop.events import TraceEvent
from groupsim.eventloop.sinks import Sink
from groupsim.exits import RUN_FAILED, Trouble
from groupsim.members.failures import PluginError
from groupsim.scenarios.model import Scenario
from groupsim.scenarios.runner import REPEAT, Run, run_scenario
from groupsim.scenarios.stage import Stage
from groupsim.scenarios.story.words import clock

PATIENCE_S = 0.7  # a run that takes longer shows its progress
EVERY = 2_000  # events between two looks at the wall clock


class ProgressSink:
    """A sink that shows how far virtual time has come, on stderr, once the run takes long enough to ask."""

    def __init__(self, run_for_us: int, console: Console) -> None:
        self._total = run_for_us
        self._console = console
        self._begun = time.monotonic()
        self._count = 0
        self._bar: Progress | None = None

    def __call__(self, event: TraceEvent) -> None:
        self._count += 1
        if self._count % EVERY == 0 and (self._bar or time.monotonic() - self._begun > PATIENCE_S):
            self._show(event.t_us)

    def _show(self, t_us: int) -> None:
        if self._bar is None:
            columns = (TextColumn("virtual time"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[at]}"))
            self._bar = Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True)
            self._bar.add_task("run", total=self._total, at="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=t_us, at=clock(t_us))

    def close(self) -> None:
        """The run is over."""
        if self._bar is not None:
            self._bar.stop()

    abort = close


def perform(
    scenario: Scenario,
    seed: int,
    source: str,
    sinks: Sequence[Sink] = (),
    snapshots_at: Sequence[int] = (),
    looks: Sequence[tuple[int, Callable[[Stage], None]]] = (),
    data_dir: Path | None = None,
    settings: Sequence[str] = (),
) -> Run:
    """Run it; `looks` and `data_dir` as for `run_scenario`.

    Raises `Trouble` (exit code 3) when the run fails, with the command that repeats it: `settings` are what `--set` has
    changed.
    """
    console = Console(stderr=True)
    progress = [ProgressSink(scenario.run_for, console)] if console.is_terminal else []
    try:
        return run_scenario(
            scenario,
            seed=seed,
            sinks=(*sinks, *progress),
            snapshots_at=snapshots_at,
            looks=looks,
            data_dir=data_dir,
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
