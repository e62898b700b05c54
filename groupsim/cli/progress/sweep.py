"""How far a sweep is, on stderr: a bar on a terminal, else a line every so often."""

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
EVERY_S = 10.0  # between two lines where there is no terminal, at least
RARER = 10  # … and this part of the time that has passed: a sweep of hours says no more than some dozen lines


class SweepProgress:
    """Shows every state it is called with, unless it is quiet, and remembers the last one."""

    def __init__(self, quiet: bool = False) -> None:
        self.last: State | None = None
        self._console = Terminal(stderr=True, soft_wrap=True)
        self._quiet = quiet
        self._bar: Progress | None = None
        self._begun = time.monotonic()
        self._said = self._begun - EVERY_S
        self._doing, self._finished = "", -1

    def __call__(self, state: State) -> None:
        self.last = state
        if self._quiet:
            return
        if self._console.is_terminal:
            self._draw(state)
        elif self._due(state):
            self._said, self._doing, self._finished = time.monotonic(), state.doing, state.finished
            self._console.print(Text(line(state)))

    def note(self, sentence: str) -> None:
        """Say something beside the progress."""
        if not self._quiet and sentence:
            console = self._console if self._bar is None else self._bar.console
            console.print(Text(sentence, "dim"))

    def analysing(self, work: Callable[[Any, Any], T]) -> Callable[[Any, Any], T]:
        """The work, with signs of life while it lasts."""

        def analyse(directory: Any, spark: Any) -> T:
            done = self.last or State(0, 0, 0, None)
            state = State(done.finished, done.total, done.failed, None, "analysing")
            with ticking(lambda: self(state) if spark else None):
                found = work(directory, spark)
            self.stop()
            return found

        return analyse

    def stop(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _due(self, state: State) -> bool:
        """Whether a line is worth its place: the first of each kind, the last, and one every so often."""
        now = time.monotonic()
        return (
            state.doing != self._doing
            or state.finished == state.total != self._finished
            or now - self._said >= max(EVERY_S, (now - self._begun) / RARER)
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
    """A state as a line of a log."""
    if state.seconds_left is None and state.finished == state.total:
        return f"{state.doing} {state.total} runs"
    parts = [f"{state.doing}: {state.finished} of {state.total} runs finished"]
    if state.failed:
        parts.append(f"{state.failed} failed")
    if state.seconds_left is not None and state.finished < state.total:
        parts.append(f"about {duration(state.seconds_left)} left")
    return ", ".join(parts)
