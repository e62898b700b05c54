"""Write the tables of docs/invariants.md: every invariant, with its sentence and what it leaves out.

python tools/invariants_table.py            write them into docs/invariants.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kept_page import replaced

from groupsim.scenarios.invariants.table import INVARIANTS, SECTIONS, UNOBSERVED

TARGET = Path(__file__).resolve().parent.parent / "docs" / "invariants.md"
BEGIN = "<!-- invariants: begin (written by tools/invariants_table.py) -->"
END = "<!-- invariants: end -->"


def tables() -> str:
    """The tables, with their markers."""
    return "\n".join((BEGIN, "", *_sections(), END))


def page(text: str) -> str:
    """The page with the tables as they should be."""
    return replaced(text, BEGIN, END, tables())


def _sections() -> Iterator[str]:
    for letter, heading in SECTIONS.items():
        yield from (f"## {heading}", "", "| name | code | what holds | left out |", "| --- | --- | --- | --- |")
        for one in INVARIANTS:
            if one.section == letter:
                yield f"| `{one.name}` | {one.code} | {one.sentence} | {one.unless or '–'} |"
        yield ""
    yield from ("## What is not checked", "", "| code | what holds | why not |", "| --- | --- | --- |")
    yield from (f"| {code} | {sentence} | {reason} |" for code, sentence, reason in UNOBSERVED)
    yield ""


if __name__ == "__main__":
    TARGET.write_text(page(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
