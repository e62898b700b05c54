"""`groupsim run --seeds N`: what it prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers.front_stage import call

JOIN = """
title: One member joins
run-for: 60s
topics: {t: {partitions: 6, rate: 20/s}}
groups: {g: {members: {c: 3, late: {start: never}}}}
timeline: [{at: 43s, do: start, member: late}]
"""


@pytest.fixture
def join(tmp_path: Path) -> str:
    """A file in which a member joins at 43 s."""
    path = tmp_path / "join.yaml"
    path.write_text(JOIN)
    return str(path)


def test_many_seeds_print_median_and_range(join: str) -> None:
    """The range of a rebalance over the phases is printed, and the command that shows the longest run."""
    result = call("run", join, "--seeds", "6")
    assert result.exit_code == 0
    assert "6 runs · seeds 0 to 5 · each step later by a part of a heartbeat interval" in result.stdout
    (row,) = re.findall(r"longest rebalance .*", result.stdout)
    median, least, most = re.findall(r"[\d.]+ m?s", row)
    assert (median == least, least == most) == (False, False)
    assert re.search(rf"groupsim run {re.escape(join)} --set shift-steps=true --seed \d", result.stderr)


def test_the_command_for_the_longest_run_repeats_it(join: str) -> None:
    """The run that is named has the headline that was printed."""
    document = json.loads(call("run", join, "--seeds", "3", "--seed", "5", "--json").stdout)
    assert [run["seed"] for run in document["runs"]] == [5, 6, 7]
    words = document["longest"].split()[1:]
    alone = json.loads(call(*words, "--json").stdout)
    (named,) = [run for run in document["runs"] if run["seed"] == int(words[-1])]
    assert alone["headline"] == named["headline"]
    (stopped,) = [one for one in document["figures"] if one["name"] == "stopped"]
    assert stopped["most"] == max(group["stopped_us"] for group in alone["groups"])


def test_steps_can_stay_at_their_times(join: str) -> None:
    """With `--set shift-steps=false` every seed has the same phase, and the table says so."""
    shown = call("run", join, "--seeds", "3", "--set", "shift-steps=false").stdout
    assert "each step at its time" in shown
    assert re.search(r"longest rebalance +2.0 s +2.0 s +2.0 s", shown)


def test_an_expectation_that_fails_with_some_seed_is_printed(tmp_path: Path) -> None:
    """How many runs failed it, and the exit code of `run` for a failed expectation."""
    path = tmp_path / "late.yaml"
    path.write_text(JOIN + "expect: [{generations: 1}]\n")
    result = call("run", path, "--seeds", "2")
    assert result.exit_code == 1
    assert "expectation failed in 2 of 2 runs: generation: 1" in result.stdout


def test_a_trace_is_of_one_run(join: str, tmp_path: Path) -> None:
    """What is written of one run is refused with the command for one of them; so is no run at all."""
    refused = call("run", join, "--seeds", "2", "--trace", tmp_path / "t.jsonl")
    assert (refused.exit_code, (tmp_path / "t.jsonl").exists()) == (2, False)
    assert f"groupsim run {join} --set shift-steps=true --seed 0 --trace" in refused.stderr
    owners = call("run", join, "--seeds", "2", "--owners")
    assert owners.exit_code == 2
    assert f"groupsim run {join} --set shift-steps=true --seed 0 --owners" in owners.stderr
    none = call("run", join, "--seeds", "0")
    assert (none.exit_code, "--seeds 0: at least one run is required" in none.stderr) == (2, True)
