"""The scripts name rows that exist, and what is recorded is what is played."""

from __future__ import annotations

import json

from tests.conformance.data import FOLDER, load
from tests.conformance.player import settings_for
from tests.conformance.rows import unknown
from tests.conformance.scripts import all_cases


def test_every_row_of_a_script_is_one_of_the_fidelity_document() -> None:
    """A script that proves a row which is not there is refused."""
    assert unknown() == []


def test_only_scripts_that_exist_are_recorded() -> None:
    """The data holds no play of a script that is gone."""
    cases = all_cases()
    for path in sorted(FOLDER.glob("*.json")):
        assert [name for name in load(path.stem) if name not in cases] == []


def test_the_data_was_recorded_with_the_settings_of_today() -> None:
    """All tables say which release answered, and with which settings."""
    for path in sorted(FOLDER.glob("*.json")):
        recorded = json.loads(path.read_text("utf-8"))
        assert recorded["broker"].startswith("Apache Kafka 4.")
        nodes = {case.nodes for case in all_cases().values() if case.table == path.stem}
        assert [recorded["settings"]] == [settings_for(count) for count in nodes]
