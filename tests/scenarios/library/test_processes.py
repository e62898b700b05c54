"""One seed is one trace, whatever the order of Python's sets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from groupsim.scenarios.loading.catalogue import find, list_scenarios
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.plans.clusters import is_replicated
from tests.helpers.library_scenes import traced

DIGESTS = """
import hashlib, io, sys
from groupsim.eventloop.trace.sinks import JsonLinesSink
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario
for name in sys.argv[1:]:
    text = io.StringIO()
    run_scenario(load_file(find(name)), seed=3, sinks=[JsonLinesSink(text)])
    print(name, hashlib.sha256(text.getvalue().encode()).hexdigest())
"""
# Cheap ones: most of the time is the start of the process. `test_scenes.py` repeats the whole library.
WANTED = (
    "textbook-sticky-leave",
    "poll-loop-blocked-leaves",
    "coordinator-moves",
    "offsets-expire-over-the-weekend",  # counted logs
)
# Classic members in a consumer group, static members, and a conversion.
CONSUMER = ("consumer-mixed-downgrade", "consumer-static-bounce")


def begin(hash_seed: int, names: Sequence[str] = WANTED) -> subprocess.Popen[str]:
    """Make the traces in another process, and print their digests."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", DIGESTS, *names]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def digests(process: subprocess.Popen[str]) -> dict[str, str]:
    """Return its output."""
    printed, _ = process.communicate()
    assert process.returncode == 0
    return dict(line.split() for line in printed.splitlines())


def in_processes(names: Sequence[str], pairs: int) -> list[dict[str, str]]:
    """Return the digests that twice so many processes make, two at a time."""
    found = []
    for pair in range(pairs):
        running = [begin(2 * pair + n, names) for n in (1, 2)]
        found += [digests(process) for process in running]
    return found


@pytest.mark.parametrize("pairs", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_processes_with_different_hash_seeds_give_one_trace(pairs: int) -> None:
    """Four processes, and in the long form twenty, have equal traces, on replicated and on counted logs."""
    scenarios = {name: load_file(find(name)) for name in WANTED}
    assert {is_replicated(scenario) for scenario in scenarios.values()} == {False, True}
    expected = {name: traced(scenario, 3)[1] for name, scenario in scenarios.items()}
    assert in_processes(WANTED, pairs) == [expected] * (2 * pairs)


@pytest.mark.parametrize("pairs", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_consumer_groups_give_one_trace_in_all_processes(pairs: int) -> None:
    """Two processes agree on two scenes of the consumer protocol, and in the long form twenty on all of them."""
    every = tuple(entry.name for entry in list_scenarios() if entry.name.startswith("consumer-"))
    names = CONSUMER if pairs == 1 else every
    assert {*CONSUMER} <= {*every}
    found = in_processes(names, pairs)
    assert list(found[0]) == list(names)
    assert found == [found[0]] * (2 * pairs)
