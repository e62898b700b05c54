"""A scene of the library, run once for all that is asked of it.

A pass over the library is a minute of a core, and each of its traces is large. So the tests of one scene stand together
(`conftest.py` sees to that), and only the run they are about is kept.
"""

from __future__ import annotations

import hashlib
import io
from contextlib import suppress
from functools import cached_property, lru_cache

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.trace.sinks import JsonLinesSink, MemorySink
from groupsim.pipeline.runs import Label, Lists, Rows, rows_of
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import Run, run_scenario

SEED = 0  # that of the documentation's figures


class Scene:
    """A run of a scene with seed 0, and what is made of it when it is first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.run, self._text = _traced(load_file(find(name)), SEED)

    def digest(self, events: int) -> str:
        """That of so many first events of its trace as JSON Lines."""
        lines = self._text.splitlines(keepends=True)
        return _digest("".join(lines[:events]))

    @cached_property
    def evidence(self) -> Evidence:
        """Its story, with the indices of the expectations."""
        return Evidence(self.run.events)

    @cached_property
    def rows(self) -> Rows:
        """Its rows in the tables of a sweep, those of its trace too."""
        label = Label(3, SEED, "document", "code", "groupsim run x")
        failed = len(self.run.failed)
        lists = Lists(self.run.events, traces=True)
        return rows_of(lists, self.evidence.story, label, expectations_failed=failed)


def traced(scenario: Scenario, seed: int = SEED) -> tuple[Run, str]:
    """Run a scenario; returns the run with the digest of its trace as JSON Lines."""
    run, text = _traced(scenario, seed)
    return run, _digest(text)


def beginning(scenario: Scenario, events: int) -> str:
    """Run a scenario for so many events, or to its end; returns the digest of its trace up to there."""
    text, left = io.StringIO(), events
    lines = JsonLinesSink(text)

    class Enough(MemorySink):
        def __call__(self, event: TraceEvent) -> None:
            nonlocal left
            if left:  # what a run that is ended still has to say does not count
                lines(event)
                left -= 1
            if not left:
                raise EOFError

    with suppress(EOFError):
        run_scenario(scenario, seed=SEED, sinks=[Enough()])
    return _digest(text.getvalue())


def _traced(scenario: Scenario, seed: int) -> tuple[Run, str]:
    text = io.StringIO()
    run = run_scenario(scenario, seed=seed, sinks=[JsonLinesSink(text)])
    return run, text.getvalue()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def scene(name: str) -> Scene:
    """A scene by its name. The last one is kept."""
    return Scene(name)
