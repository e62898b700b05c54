"""The recorded transcripts of the real broker: one JSON file for each table, with the version that answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.conformance.player import Played, settings_for
from tests.conformance.scripts import all_cases
from tests.conformance.transcript import Transcript

FOLDER = Path(__file__).parent / "data"


def load(table: str) -> dict[str, Transcript]:
    """What is recorded of a table, by case; empty when nothing is."""
    path = FOLDER / f"{table}.json"
    if not path.exists():
        return {}
    plays = json.loads(path.read_text("utf-8"))["plays"]
    return {case: Transcript(play["lines"], play["ids"]) for case, play in plays.items()}


def save(table: str, version: str, played: Iterable[Played], keep: Iterable[str] = ()) -> None:
    """Write a table's transcripts; those of the cases in `keep` that were not played now stay as they are."""
    plays = {case: old for case, old in load(table).items() if case in set(keep)}
    plays |= {one.case.id: one.transcript for one in played}
    lines = [f"  {json.dumps(case)}: {_compact(plays[case])}" for case in sorted(plays)]
    case = next(case for case in all_cases().values() if case.table == table)
    settings = settings_for(case.nodes, case.kind)
    head = f'"broker": {json.dumps(f"Apache Kafka {version}")},\n"settings": {json.dumps(settings)}'
    text = "{\n" + head + ',\n"plays": {\n' + ",\n".join(lines) + "\n}\n}\n"
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{table}.json").write_text(text, "utf-8")


def _compact(play: Transcript) -> str:
    whole: dict[str, Any] = {"ids": play.ids, "lines": play.lines}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
