"""The scripts name rows that exist, and what is recorded is what is played."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conformance.consumer.facts import FACTS, NOT_ASKED, scripts_of
from tests.conformance.consumer.pending import PENDING_SCRIPTS, PENDING_SECTIONS
from tests.conformance.data import FOLDER, load
from tests.conformance.marks import cell_of, marked
from tests.conformance.player import settings_for
from tests.conformance.rows import documented, unknown
from tests.conformance.scripts import all_cases
from tests.helpers.fidelity_rows import pages

ROOT = Path(__file__).resolve().parents[2]


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
        kinds = {(case.nodes, case.kind) for case in all_cases().values() if case.table == path.stem}
        release = "3.9." if (3, "scala") in kinds else "4."
        assert recorded["broker"].startswith(f"Apache Kafka {release}")
        assert [recorded["settings"]] == [settings_for(nodes, kind) for nodes, kind in kinds]


def test_the_document_says_what_was_asked_of_a_real_broker() -> None:
    """The column `live` follows from the scripts: `python -m tests.conformance.marks` writes it."""
    assert marked(pages()) == pages()


def test_a_mark_names_nodes_or_a_reason() -> None:
    """A row counts for the smallest cluster it was asked on; others say why not, and those left out have no mark."""
    live: dict[str, dict[str, object]] = {"1.x-a": {"nodes": 1}, "1.x-b": {"nodes": 3}}
    assert cell_of(["1.x-a"], "modelled", live) == "1 node"
    assert cell_of(["1.x-a", "1.x-c", "1.x-d"], "modelled", live) == "core: no answer shows it; 1 node (a)"
    assert cell_of(["1.x-b"], "left out: why", live) == "3 nodes"
    assert cell_of(["1.x-c"], "left out: why", live) is None


def test_defects_name_rows_and_scripts_that_are_there() -> None:
    """Each reproduced defect has a row of the fidelity document and a script that is compared."""
    table = (ROOT / "docs" / "defects.md").read_text("utf-8").split("Not reproduced")[0]
    lines = [line.split(" | ") for line in table.splitlines() if line.startswith(("| KAFKA", "| none"))]
    compared = {case.name for case in all_cases().values() if not case.only_real}
    assert lines
    for cells in lines:
        assert set(re.findall("`([^`]+)`", cells[3])) <= set(documented())
        assert set(re.findall("`([^`]+)`", cells[4])) <= compared


def test_every_fact_of_the_consumer_protocol_is_asked_or_has_a_reason() -> None:
    """Scripts name facts that are listed, and a fact that no script asks about says why."""
    asked = scripts_of()
    assert set(asked) <= set(FACTS)
    assert set(FACTS) - set(asked) == set(NOT_ASKED)


def test_what_is_not_compared_exists_and_says_why() -> None:
    """The switches name tables and scripts that are there, each with a reason."""
    cases = all_cases().values()
    assert set(PENDING_SECTIONS) <= {case.table for case in cases}
    assert set(PENDING_SCRIPTS) <= {case.name for case in cases if case.table not in PENDING_SECTIONS}
    assert all([*PENDING_SECTIONS.values(), *PENDING_SCRIPTS.values()])
