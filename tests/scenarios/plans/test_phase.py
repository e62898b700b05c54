"""Steps of a timeline shifted by a part of a heartbeat interval, drawn from the seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from groupsim.eventloop.randomness import Stream
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.plans.phase_shifts import shifts
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import tell

BEAT_US = 3_000_000
JOIN = """
run-for: {end}
topics: {{t: {{partitions: 6, rate: 20/s}}}}
groups: {{g: {{members: {{c: 3, late: {{start: {start}}}, other: {{start: never}}}}}}}}
timeline: [{steps}]
"""


def scenario(tmp_path: Path, *steps: str, start: str = "never", end: str = "70s") -> Scenario:
    """A group of three with these steps."""
    path = tmp_path / "join.yaml"
    path.write_text(JOIN.format(steps=", ".join(steps), start=start, end=end))
    return load_file(path)


def drawn(one: Scenario, seed: int = 1) -> dict[object, int]:
    """The shifts of one seed."""
    return dict(shifts(one, BEAT_US, lambda name, bound: Stream(seed, "shift", name).below(bound)))


def lengths(one: Scenario, seeds: int = 6) -> list[int]:
    """How long the first rebalance of each seed takes, in tenths of a second."""
    stories = (tell(run_scenario(one, seed=seed).events) for seed in range(seeds))
    return [story.groups[0].rebalances[0].duration_us // 100_000 for story in stories]


@pytest.mark.parametrize("written", [{"steps": ("{at: 43s, do: start, member: late}",)}, {"steps": (), "start": "43s"}])
def test_the_seeds_of_a_join_differ_in_phase(tmp_path: Path, written: dict[str, Any]) -> None:
    """At 43 s a join takes 2.0 s with every seed; with a shift it takes up to a heartbeat interval."""
    one = scenario(tmp_path, *written["steps"], start=written.get("start", "never"))
    assert set(lengths(one)) == {20}
    shifted = lengths(attrs.evolve(one, shift_steps=True))
    assert len(set(shifted)) > 3
    assert max(shifted) - min(shifted) > 10


def test_steps_closer_than_a_heartbeat_interval_keep_their_distance(tmp_path: Path) -> None:
    """A crash and the restart a second later are one sequence; a step 20 s later has a shift of its own."""
    steps = (
        "{at: 30s, do: crash, member: c-1}",
        "{at: 31s, do: start, member: c-1}",
        "{at: 50s, do: stop, member: c-2}",
    )
    found = drawn(scenario(tmp_path, *steps))
    assert found[0] == found[1] != found[2]
    assert all(0 <= shift < BEAT_US for shift in found.values())


def test_repetitions_join_the_sequences_they_meet(tmp_path: Path) -> None:
    """A step that repeats every 20 s is due a second before another one, which therefore shifts with it."""
    steps = (
        "{at: 10s, every: 20s, do: pause, member: c-1, for: 1s}",
        "{at: 31s, do: start, member: late}",
        "{at: 61s, do: start, member: other}",
    )
    found = drawn(scenario(tmp_path, *steps))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_the_beginning_and_the_end_of_a_run_stay(tmp_path: Path) -> None:
    """The first start is not shifted, and no step is shifted out of the run."""
    steps = ("{at: 2s, do: start, member: late}", "{at: 70s, do: stop, member: c-2}")
    for seed in range(5):
        found = drawn(scenario(tmp_path, *steps), seed)
        assert 0 not in found
        assert found[1] == 0


def test_without_the_key_the_trace_is_the_same(tmp_path: Path) -> None:
    """`shift-steps: false` changes no event; `true` changes the instant of the step and nothing before it."""
    one = scenario(tmp_path, "{at: 43s, do: start, member: late}")
    plain, off = (run_scenario(each, seed=3).events for each in (one, attrs.evolve(one, shift_steps=False)))
    assert plain == off
    shifted = run_scenario(attrs.evolve(one, shift_steps=True), seed=3).events
    early = [[event for event in events if event.t_us < 43_000_000] for events in (plain, shifted)]
    assert early[0] == early[1]
