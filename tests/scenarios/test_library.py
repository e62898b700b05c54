"""The library: every scenario says where it comes from, holds what it expects, and gives one trace per seed."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from functools import cache

import pytest

from groupsim.eventloop.sinks import JsonLinesSink
from groupsim.scenarios.catalogue import ALIASES, find, list_scenarios, names
from groupsim.scenarios.clusters import is_replicated
from groupsim.scenarios.load import load_file
from groupsim.scenarios.problems import WARNING, ScenarioError
from groupsim.scenarios.runner import Run, run_scenario

# (scenario, check, at least this much of what it found): the acceptance figures of the threads
FIGURES = [
    ("silent-joiner-removed-at-session-end", "time-between", "10.000 s"),
    ("silent-joiner-removed-at-session-end", "time-between", "3.000 s"),
    ("bounced-member-holds-rebalance-open", "time-between", "42.2"),
    ("first-join-waits-initial-delay", "time-between", "3.1"),
    ("no-initial-delay-joins-in-milliseconds", "time-between", "0.00"),
    ("poll-loop-blocked-leaves", "time-between", "6.0"),
    ("old-clients-evict-each-other", "period", "5.0"),
    ("broker-stall-evicts-three-groups", "spread", "4 within 0.000"),
    ("leader-rejoins-for-ever", "period", "8.16"),
    ("already-rebalancing-for-ever", "period", "3.00"),
]

DIGESTS = """
import hashlib, io, sys
from groupsim.eventloop.sinks import JsonLinesSink
from groupsim.scenarios.catalogue import find
from groupsim.scenarios.load import load_file
from groupsim.scenarios.runner import run_scenario
for name in sys.argv[1:]:
    text = io.StringIO()
    run_scenario(load_file(find(name)), seed=3, sinks=[JsonLinesSink(text)])
    print(name, hashlib.sha256(text.getvalue().encode()).hexdigest())
"""


@cache
def ran(name: str, seed: int = 3) -> tuple[Run, str]:
    """A library scenario, run once, with the digest of its trace as JSON Lines."""
    text = io.StringIO()
    run = run_scenario(load_file(find(name)), seed=seed, sinks=[JsonLinesSink(text)])
    return run, hashlib.sha256(text.getvalue().encode()).hexdigest()


@pytest.mark.parametrize("name", names())
def test_a_scenario_holds_what_it_expects(name: str) -> None:
    """Every expectation of every library file holds."""
    run, _ = ran(name)
    assert [str(one) for one in run.failed] == []
    assert run.exit_code == 0
    assert run.checks, "a scenario of the library expects something"


@pytest.mark.parametrize("entry", list_scenarios(), ids=lambda entry: entry.name)
def test_a_scenario_says_what_it_shows_and_where_it_comes_from(entry: object) -> None:
    """Title, one sentence and a source; broker and client version are named."""
    scenario = load_file(getattr(entry, "path"))  # noqa: B009 - the fixture's type is the library's own
    assert scenario.title
    assert scenario.shows.strip()
    assert scenario.source
    assert scenario.broker.version
    assert [note for note in scenario.notes if note.level == WARNING and "unknown" in note.message] == []


@pytest.mark.parametrize(("name", "check", "found"), FIGURES)
def test_the_figures_of_the_threads_come_out(name: str, check: str, found: str) -> None:
    """Where a figure follows from a timer it comes out in number."""
    run, _ = ran(name)
    judged = [one for one in run.checks if check == one.expectation.check.NAME]
    assert any(one.finding.found.startswith(found) or f" {found}" in one.finding.found for one in judged), judged


def test_incidents_are_many() -> None:
    """At least twelve scenarios replay a public thread (owner/repo#number)."""
    threads = {
        entry.source for entry in list_scenarios() if "#" in (entry.source or "") and "apache/" not in str(entry.source)
    }
    assert len(threads) >= 12


def begin(hash_seed: int, *wanted: str) -> subprocess.Popen[str]:
    """Make traces in another process, and print their digests."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", DIGESTS, *wanted]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def digests(process: subprocess.Popen[str]) -> dict[str, str]:
    """What it printed."""
    printed, _ = process.communicate()
    assert process.returncode == 0
    return dict(line.split() for line in printed.splitlines())


@pytest.mark.parametrize("half", [0, 1])
def test_every_scenario_gives_the_same_trace_in_another_process(half: int) -> None:
    """Same seed, another process, another hash seed: equal to the byte, for the whole library."""
    wanted = names()[half::2]
    assert digests(begin(4711 + half, *wanted)) == {name: ran(name)[1] for name in wanted}


def test_twenty_processes_give_one_trace() -> None:
    """Twenty processes with twenty hash seeds agree on every byte, on brokers with logs and on counted ones."""
    wanted = (
        "textbook-sticky-leave",
        "poll-loop-blocked-leaves",
        "socket-timeout-below-the-hold",
        "unclean-election-truncates-consumers",
        "offsets-expire-over-the-weekend",  # counted logs
    )
    assert {is_replicated(load_file(find(name))) for name in wanted} == {False, True}
    found = []
    for pair in range(10):
        running = [begin(2 * pair + n, *wanted) for n in (1, 2)]
        found += [digests(process) for process in running]
    assert found == [{name: ran(name)[1] for name in wanted}] * 20


def test_another_seed_gives_another_trace() -> None:
    """The seed matters: latencies and ids differ."""
    assert ran("four-scenes", 3)[1] != ran("four-scenes", 4)[1]


def test_names_are_found_and_strangers_get_the_nearest() -> None:
    """A library name, an alias, a path; a misspelt name is told the nearest one."""
    assert find("four-scenes").name == "four-scenes.yaml"
    assert find("demo").stem == ALIASES["demo"]
    assert str(find("./own.yaml")) == "own.yaml"
    with pytest.raises(ScenarioError, match="did you mean `four-scenes`"):
        find("four-scene")


def test_a_name_like_no_other_gets_three_and_where_all_are() -> None:
    """A name that is near to none is told three and the command that lists all, not the whole library."""
    with pytest.raises(ScenarioError, match=r"nearest: \S+, \S+, \S+; `groupsim list` shows all$"):
        find("qqq-zzz")
