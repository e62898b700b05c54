"""docs/interop.md shows what the last kept runs found, and these runs were whole."""

from __future__ import annotations

import json
from pathlib import Path

import interop_table
import pytest

from tests.interop.cases import CASES
from tests.interop.cli_cases import CLI_CASES
from tests.interop.clients import JAVA, PYTHON, TOOLS
from tests.interop.consumer_cases import CONSUMER_CASES
from tests.interop.rolling_cases import ROLLING_CASES

KEPT = json.loads(interop_table.KEPT.read_text("utf-8"))


def test_the_page_is_what_was_kept() -> None:
    """The tables of the page are made from docs/interop.json, and nothing else is in them."""
    page = interop_table.PAGE.read_text("utf-8")
    assert interop_table.refreshed(page, KEPT) == page, "python tools/interop_table.py --write"


@pytest.mark.parametrize("peer", interop_table.PEERS)
def test_every_case_was_played_by_every_client(peer: str) -> None:
    """Against either peer each client of this folder has an outcome for each case, in the words of the case."""
    kept = {(row["client"], row["case"]): row["says"] for row in KEPT[peer]}
    cases = (*CASES, *CONSUMER_CASES, *ROLLING_CASES)
    clients = {(client.name, case.name): case.says for client in (*PYTHON, JAVA) for case in cases}
    assert kept.items() >= (clients | {(TOOLS.name, case.name): case.says for case in CLI_CASES}).items()


def test_a_failure_is_told_with_its_reason() -> None:
    """A cell says FAILED and why; in a terminal the reason stands below the table, and the cells stay short."""
    row = {"client": "sarama", "version": "1", "case": "kill", "says": "dies", "order": 1, "outcome": "FAILED"}
    lines = interop_table.clients_table([{**row, "reason": "no | event"}])
    assert lines == [["case", "sarama 1"], ["dies", "FAILED: no | event"]]
    assert "| dies | FAILED: no \\| event |" in interop_table.markdown(lines)
    assert interop_table.plain(lines) == "case  sarama 1\ndies  FAILED\n\n  dies, sarama 1: FAILED: no | event\n"


def test_a_peer_that_was_not_run_keeps_what_it_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`--write` after a run against groupsim alone renews its outcomes and leaves those of the real broker."""
    monkeypatch.setattr(interop_table, "OUTCOMES", tmp_path)
    (tmp_path / "groupsim").mkdir()
    (tmp_path / "groupsim" / "sarama.kill.json").write_text('{"outcome": "ok", "seconds": 1.5}', "utf-8")
    before = {"groupsim": [{"outcome": "FAILED"}], "kafka": [{"outcome": "ok"}]}
    assert interop_table.to_keep(before) == {"groupsim": [{"outcome": "ok"}], "kafka": [{"outcome": "ok"}]}
