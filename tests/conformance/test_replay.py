"""The recorded transcripts of the real broker against the simulated one, in virtual time and without Java."""

from __future__ import annotations

import pytest
from tests.conformance.core import play_on_core
from tests.conformance.data import load
from tests.conformance.scripts import all_cases
from tests.conformance.transcript import differences

CASES = {name: case for name, case in all_cases().items() if case.nodes == 1}
COMPARED = [name for name, case in CASES.items() if not case.only_real]


@pytest.mark.parametrize("name", COMPARED)
def test_the_core_answers_as_kafka_does(name: str) -> None:
    """Every recorded script gets the same answers from the core as from the real broker, and keeps its times."""
    case = CASES[name]
    recorded = load(case.table).get(name)
    assert recorded is not None, "not recorded yet: python -m tests.conformance.record " + name
    played = play_on_core(case, recorded)
    assert played.failure is None
    assert differences(recorded, played.transcript) == []
