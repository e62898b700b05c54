"""The progress of a sweep, on stderr: a bar on a terminal, else a line at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from groupsim.cli.progress.run import duration
from groupsim.cli.terminal import Terminal
from groupsim.pipeline.sweep.driver import Progress as State
from groupsim.pipeline.sweep.ticking import ticking

T = TypeVar("T")
EVERY_S = 10.0  # without a terminal, the least time between two lines
RARER = 10  # and at least 1/10 of the elapsed time: a sweep of hours prints a few dozen lines


class SweepProgress:
    """Shows each state that it is called with, unless it is quiet. `last` is the latest state."""

    def __init__(self, quiet: bool = False) -> None:
        self.last: State | None = None
        self._console = Terminal(stderr=True, soft_wrap=True)
        self._quiet = quiet
        self._bar: Progress | None = None
        self._begun = time.monotonic()
        self._last_line_s = self._begun - EVERY_S
        self._doing, self._finished = "", -1

    def __call__(self, state: State) -> None:
        self.last = state
        if self._quiet:
            return
        if self._console.is_terminal:
            self._draw(state)
        elif self._due(state):
            self._last_line_s, self._doing, self._finished = time.monotonic(), state.doing, state.finished
            self._console.print(Text(line(state)))

    def note(self, sentence: str) -> None:
        """Print a sentence beside the progress."""
        if not self._quiet and sentence:
            console = self._console if self._bar is None else self._bar.console
            console.print(Text(sentence, "dim"))

    def analysing(self, work: Callable[[Any, Any], T]) -> Callable[[Any, Any], T]:
        """Wrap the analysis: show progress while it runs on Spark."""

        def analyse(directory: Any, spark: Any) -> T:
            done = self.last or State(0, 0, 0, None)
            state = State(done.finished, done.total, done.failed, None, "analysing")
            with ticking(lambda: self(state) if spark else None):
                found = work(directory, spark)
            self.stop()
            return found

        return analyse

    def stop(self) -> None:
        """Remove the bar from the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _due(self, state: State) -> bool:
        """Whether a line is due: the first of each phase, the last one, and one per interval."""
        now = time.monotonic()
        return (
            state.doing != self._doing
            or state.finished == state.total != self._finished
            or now - self._last_line_s >= max(EVERY_S, (now - self._begun) / RARER)
        )

    def _draw(self, state: State) -> None:
        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TextColumn("runs"))
            last = (TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
            self._bar = Progress(*columns, *last, console=self._console, transient=True)
            self._bar.add_task(state.doing, total=state.total, left="")
            self._bar.start()
        left = "" if state.seconds_left is None else f"about {duration(state.seconds_left)} left"
        failed = f", {state.failed} failed" if state.failed else ""
        task = self._bar.task_ids[0]
        self._bar.update(task, description=state.doing, completed=state.finished, left=left + failed)


def line(state: State) -> str:
    """Format a state as one line."""
    if state.seconds_left is None and state.finished == state.total:
        return f"{state.doing} {state.total} runs"
    parts = [f"{state.doing}: {state.finished} of {state.total} runs finished"]
    if state.failed:
        parts.append(f"{state.failed} failed")
    if state.seconds_left is not None and state.finished < state.total:
        parts.append(f"about {duration(state.seconds_left)} left")
    return ", ".join(parts)
