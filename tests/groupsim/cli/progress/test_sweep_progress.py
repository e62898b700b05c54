"""How far a sweep is, where there is no terminal; and what it says of runs that failed."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from groupsim.cli.commands import sweep
from groupsim.cli.progress import sweep as sweep_progress
from groupsim.cli.progress.sweep import SweepProgress
from groupsim.pipeline.sweep.driver import Progress


def test_a_log_gets_a_line_now_and_then_with_an_estimate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three hours of a task every second are some dozen lines: the first, the last, and ever rarer ones between."""
    clock = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(sweep_progress.time, "monotonic", lambda: clock.now)
    shown = SweepProgress()
    total = 10_800
    for finished in range(total + 1):
        clock.now += 1
        shown(Progress(finished, total, 0, float(total - finished)))
    lines = capsys.readouterr().err.splitlines()
    assert 20 < len(lines) < 80
    assert lines[0] == "simulating: 0 of 10800 runs finished, about 3 h 0 min left"
    assert lines[-1] == "simulating: 10800 of 10800 runs finished"
    at = [int(found[1]) for line in lines if (found := re.search(r": (\d+) of", line))]
    assert min(after - before for before, after in pairwise(at[:-1])) >= 10


def test_runs_with_equal_errors_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The error, how many runs had it, and the command that repeats the first of them; the most frequent one first."""
    rows: list[dict[str, Any]] = [
        {"cell": 0, "seed": seed, "status": "failed", "error": "StepError: no", "repeat": f"again --seed {seed}"}
        for seed in range(5)
    ]
    rows.insert(0, {"cell": 1, "seed": 9, "status": "failed", "error": "KeyError: x", "repeat": "again --seed 9"})
    rows.append({"cell": 1, "seed": 1, "status": "done", "error": None, "repeat": "again --seed 1"})
    directory = SimpleNamespace(tables=lambda name, columns: pa.Table.from_pylist(rows), path=Path("out"))
    outcome: Any = SimpleNamespace(failed=6, total=7, directory=directory)
    sweep._show_failed(outcome, Console(stderr=True, soft_wrap=True))
    assert capsys.readouterr().err.splitlines() == [
        "6 of 7 runs failed; see the column `error` of `runs`",
        "  cell 0, seed 0 and 4 more: StepError: no",
        "    again --seed 0",
        "  cell 1, seed 9: KeyError: x",
        "    again --seed 9",
    ]
