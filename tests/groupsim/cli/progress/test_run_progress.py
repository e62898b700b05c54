"""The progress of a long run on stderr, with the remaining time and a hint that shortens it."""

from __future__ import annotations

import io
import re

from rich.console import Console

from groupsim.cli.progress.run import EVERY, RunProgress
from groupsim.eventloop.trace.events import Kind, TraceEvent

MINUTE_US = 60_000_000


class Watch:
    """A wall clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(pace_s: float, hint: str = "", *, terminal: bool = False) -> list[str]:
    """The lines of a run of 25 minutes, each of which takes so many seconds of wall-clock time."""
    watch, out = Watch(), io.StringIO()
    sink = RunProgress(25 * MINUTE_US, Console(file=out, width=80, force_terminal=terminal), hint, watch)
    for minute in range(1, 26):
        watch.now += pace_s
        for number in range(EVERY):
            sink(TraceEvent(number, minute * MINUTE_US, Kind.TIMER_SET))
    sink.close()
    return out.getvalue().splitlines()


def test_a_short_run_says_nothing_of_its_progress() -> None:
    """A script that calls a run of a few seconds has nothing on stderr."""
    assert shown(0.3, "shorter") == []


def test_a_long_run_without_a_terminal_says_how_far_it_is_and_what_is_left() -> None:
    """Every ten seconds, later more rarely: virtual time, and what is left by the pace so far."""
    lines = shown(12.0)
    assert lines[0] == "virtual time 1:00.000 of 25:00.000, about 4 min 48 s left"
    assert lines[1] == "virtual time 2:00.000 of 25:00.000, about 4 min 36 s left"
    assert 8 < len(lines) < 20


def test_a_long_run_says_once_what_would_make_it_shorter() -> None:
    """With the first line, where there is something to say."""
    assert [number for number, line in enumerate(shown(12.0, "shorter")) if line == "shorter"] == [1]
    assert "shorter" not in shown(2.0, "shorter")


def test_a_bar_on_a_terminal_says_what_is_left() -> None:
    """Virtual time, the part of it that is done, and what is left, in one line of 80; the hint stands above it."""
    drawn = "\n".join(shown(12.0, "shorter", terminal=True))
    assert re.search(r"virtual time .*100%.* 25:00\.000 .* about 0 s left", drawn)
    assert "shorter" in drawn
