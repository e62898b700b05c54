"""Every scene of the library holds every invariant but those that a defect of Kafka breaks in it."""

from __future__ import annotations

import pytest

from groupsim.scenarios.invariants.watch import Invariants
from groupsim.scenarios.loading.catalogue import find, list_scenarios
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime import runner

QUICK = (
    "consumer-four-scenes",
    "consumer-rebalance-timeout-fences",
    "consumer-static-bounce",
    "four-scenes",
)
"""Scenes of less than three seconds; the others are slow as a whole."""
BROKEN = {"consumer-one-range-one-uniform": ["bumps-have-causes"]}
"""What a defect of Kafka breaks: one vote for `range` against one for `uniform` bumps the group epoch for ever."""


def _scenes() -> list[object]:
    names = [entry.name for entry in list_scenarios()]
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", _scenes())
def test_a_scene_of_the_library_holds_every_invariant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other invariant is violated at any instant of the scene."""
    made: list[Invariants] = []
    loop = runner.VirtualLoop

    def watched(seed: int, trace: object) -> object:
        made.append(Invariants(["all"], trace, seed))  # type: ignore[arg-type]
        return loop(seed, trace)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "VirtualLoop", watched)
    runner.run_scenario(load_file(find(name)), keep_events=False)
    (invariants,) = made
    broken = BROKEN.get(name, [])
    assert [str(one) for one in invariants.end() if one.invariant not in broken] == []
    assert sorted(invariants.violations) == broken
