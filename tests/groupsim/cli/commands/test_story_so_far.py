"""Ctrl-C ends a run with the story so far, and leaves nothing half-written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SAYS_SO = """\
from groupsim.assignors import RangeAssignor


class SaysSo(RangeAssignor):
    name = "says-so"

    def assign(self, topics, members):
        print("computing", flush=True)
        return super().assign(topics, members)
"""
SCENARIO = """\
run-for: 1000h
topics: {orders: {partitions: 4, rate: 40/s}}
cluster: {logs: counted}
groups: {g1: {properties: {partition.assignment.strategy: "says_so_one:SaysSo"}, members: {c: 2}}}
expect: [{generations: 7}]
"""


def interrupted(folder: Path, *options: str) -> tuple[int, str, str]:
    """A run of a thousand hours that gets SIGINT once its group has formed: exit code, output, errors."""
    (folder / "says_so_one.py").write_text(SAYS_SO, "utf-8")
    (folder / "endless.yaml").write_text(SCENARIO, "utf-8")
    command = [sys.executable, "-m", "groupsim", "run", "endless.yaml", *options]
    with subprocess.Popen(command, cwd=folder, stdout=-1, stderr=-1, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "computing\n"
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(0.5)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    return run.returncode, out, err


@pytest.mark.parametrize("files", [("--trace", "out.jsonl"), ("--logs", "out", "--report", "out.html")])
def test_ctrl_c_tells_the_story_so_far(tmp_path: Path, files: tuple[str, ...]) -> None:
    """The group that formed, its lanes and records are printed, no file is; the message has the instant of the end."""
    code, out, err = interrupted(tmp_path, *files)
    assert code == 130
    assert out.startswith("no rebalance: g1 formed in ")
    assert "records: of " in out
    assert "expectations" not in out
    assert "groupsim: interrupted at " in err
    assert "of 1000:00:00.000: this is the story so far, no expectation is checked" in err
    assert sorted(path.name for path in tmp_path.glob("*out*")) == []


def test_ctrl_c_gives_programs_the_document_so_far(tmp_path: Path) -> None:
    """With --json the document has the exit code, and the instant up to which it tells."""
    code, out, _ = interrupted(tmp_path, "--json")
    document = json.loads(out)
    assert (code, document["exit_code"]) == (130, 130)
    assert 0 < document["end_us"] < 1000 * 3600 * 1_000_000
    assert document["groups"][0]["group"] == "g1"
