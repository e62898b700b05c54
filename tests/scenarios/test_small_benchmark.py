"""The small scenario whose runs per CPU second are measured."""

from __future__ import annotations

import attrs
import pytest

from benchmarks.small import LOGS, SMALL, measure, scenario
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario


@pytest.mark.parametrize("logs", LOGS)
def test_small_scenario_holds_what_it_expects(logs: str) -> None:
    """A crash, a start and a stop make three rebalances on either kind of logs, and no record is lost."""
    one = attrs.evolve(scenario(SMALL, logs), expect=load_file(SMALL).expect)
    run = run_scenario(one)
    assert (one.cluster.logs, len(run.checks)) == (logs, 7)
    assert [str(check) for check in run.failed] == []


def test_set_up_is_a_part_of_a_run() -> None:
    """Runs are counted by the CPU time they take; a run of one microsecond takes less than all of it."""
    found = measure(SMALL, "counted", 1)
    assert found["rate"] > 0
    assert 0 < found["set_up"] < 1
    assert found["events"] > 1_000
