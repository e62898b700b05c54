"""A run of which nobody keeps the trace: what no table is made from is only counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupsim.pipeline.runs import simulate
from groupsim.pipeline.runs.simulation import UNREAD
from groupsim.pipeline.tables.schemas import TABLES
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.loading.canonical import canonical_json

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["textbook-range", "coordinator-crashes-commit-in-flight"])
def test_what_is_only_counted_changes_no_row(name: str) -> None:
    """Every table is the one that is made from the whole trace, the number of events included."""
    said = json.loads(canonical_json(read_document(ROOT / "scenarios" / "library" / f"{name}.yaml"), name))
    document = json.dumps({key: value for key, value in said.items() if key != "expect"})
    whole = simulate(document, 3, cell=0, digest="", code="", repeat="", traces=True)
    kinds = [row[TABLES["traces"].names.index("kind")] for row in whole["traces"]]
    assert set(UNREAD) <= set(kinds)
    assert simulate(document, 3, cell=0, digest="", code="", repeat="") == {**whole, "traces": []}
