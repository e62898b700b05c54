"""A step without a target is reported: the process has been replaced, has ended, or runs already."""

from __future__ import annotations

import pytest

from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario

BASE = """
run-for: 60s
topics: {orders: 4}
groups: {billing: {members: {c: 2, d: {start: never}}}}
cluster: {logs: counted}
timeline:
- {at: 10s, do: rolling-restart, surge: 1, max-unavailable: 0}
- {at: 40s, %s}
"""


def warnings(step: str) -> list[str]:
    """Return the warnings of a run."""
    events = run_scenario(load_text(BASE % step)).events
    return [str(event.reason) for event in events if event.kind == "warning"]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("do: crash, member: c-1", "`crash c-1` has no target: c-1 does not run; running: c-3, c-4"),
        ("do: stop, member: [c-1, c-2]", "has no target: c-1, c-2 do not run; running"),
        ("do: pause, member: d, for: 5s", "has no target: d does not run"),
        ("do: isolate, member: c-2, for: 5s", "has no target: c-2 does not run"),
        ("do: crash, member: c-9", "has no target: c-9 is not a process at this time"),
        ("do: start, member: c-3", "has no target: c-3 runs already"),
    ],
)
def test_a_step_that_hits_nobody_is_told(step: str, words: str) -> None:
    """The warning has the reason and the running members."""
    (warning,) = warnings(step)
    assert words in warning


@pytest.mark.parametrize(
    "step",
    [
        "do: crash, member: c-3",
        "do: crash, member: c-*",
        "do: start, member: d",
        "do: restart, member: c-1",
        "do: slow-processing, member: d, processing: 5s",
        "do: isolate, member: d, for: 5s",
    ],
)
def test_a_step_that_hits_somebody_or_may_yet_is_not(step: str) -> None:
    """One target of several is enough; a restart starts an ended process; a process may start later."""
    assert warnings(step) == []
