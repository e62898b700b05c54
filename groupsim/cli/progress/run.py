"""The progress of a long run, on stderr: a bar on a terminal, else a line at intervals.

The remaining time is estimated from the ratio of virtual time to wall-clock time so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.story.words import clock

PATIENCE_S = 0.7  # a run that takes longer shows its progress on a terminal
SILENCE_S = 10.0  # without a terminal, the least time between two lines
RARER = 5  # and at least 1/5 of the elapsed time: an hour's run prints a few dozen lines
SURE_S = 3.0  # elapsed time before the remaining time is estimated
LONG_S = 60.0  # a run with a longer estimate prints the hint
EVERY = 2_000  # events between two readings of the wall clock


class RunProgress:
    """A sink that shows the progress of virtual time. It prints `hint` once, if the run will take long."""

    def __init__(
        self, run_for_us: int, console: Console, hint: str = "", now: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = run_for_us
        self._console = console
        self._hint = hint
        self._now = now
        self._begun = self._last_line_s = now()
        self._count = 0
        self._bar: Progress | None = None

    def __call__(self, event: TraceEvent) -> None:
        self._count += 1
        if self._count % EVERY == 0:
            self._look(event.t_us)

    def _look(self, t_us: int) -> None:
        passed = self._now() - self._begun
        left = passed * (self._total - t_us) / t_us if t_us and passed >= SURE_S else None
        if self._console.is_terminal:
            if self._bar or passed > PATIENCE_S:
                self._draw(t_us, left)
        elif self._now() - self._last_line_s >= max(SILENCE_S, passed / RARER):
            self._last_line_s = self._now()
            self._print(f"virtual time {clock(t_us)} of {clock(self._total)}{_about(left, ', ')}")
        else:
            return
        if self._hint and left is not None and passed + left > LONG_S:
            self._print(self._hint)
            self._hint = ""

    def _print(self, words: str) -> None:
        console = self._bar.console if self._bar is not None else self._console
        console.print(Text(words), soft_wrap=True, highlight=False)

    def _draw(self, t_us: int, left: float | None) -> None:
        if self._bar is None:
            columns = (TextColumn("virtual time"), BarColumn(16), TaskProgressColumn(), TextColumn("{task.fields[at]}"))
            last = (TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
            self._bar = Progress(*columns, *last, console=self._console, transient=True)
            self._bar.add_task("run", total=self._total, at="", left="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=t_us, at=clock(t_us), left=_about(left))

    def close(self) -> None:
        """Remove the bar at the end of the run."""
        if self._bar is not None:
            self._bar.stop()

    abort = close


def _about(left: float | None, before: str = "") -> str:
    return "" if left is None else f"{before}about {duration(left)} left"


def duration(seconds: float) -> str:
    """Format a wall-clock time as `8 s`, `3 min 20 s` or `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
