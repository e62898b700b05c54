"""Write the tables of docs/defects.md that follow from the code: which releases have which defect.

python tools/defects_table.py            write them into docs/defects.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from groupsim.coordinator.defects import BROKER_DEFECTS
from groupsim.coordinator.versions import affected_releases

TARGET = Path(__file__).resolve().parent.parent / "docs" / "defects.md"
BEGIN = "<!-- releases: begin (written by tools/defects_table.py) -->"
END = "<!-- releases: end -->"


def tables() -> str:
    """The tables, with their markers."""
    return "\n".join((BEGIN, "", "### Brokers", "", *_table(_of_brokers()), "", END))


def page(text: str) -> str:
    """The page with the tables as they should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{tables()}{after}"


def _table(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield "| defect | releases | effect |"
    yield "| --- | --- | --- |"
    for name, releases, effect in rows:
        yield f"| `{name}` | {releases} | {effect} |"


def _of_brokers() -> Iterator[tuple[str, str, str]]:
    for name, defect in BROKER_DEFECTS.items():
        ranges = affected_releases(defect)
        yield name, ", ".join(f"{first} until {fixed}" for first, fixed in ranges), defect.effect


if __name__ == "__main__":
    text = TARGET.read_text(encoding="utf-8")
    TARGET.write_text(page(text), encoding="utf-8")
    sys.exit(0)
