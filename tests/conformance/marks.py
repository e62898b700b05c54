"""The column `live` of docs/fidelity.md: on how many real nodes a rule was asked, or why on none.

    python -m tests.conformance.marks      writes the column anew, from the scripts and from the reasons below

Rows that several scripts prove count for the smallest cluster. What no script asks of a real broker is proved in the
core alone, by the row's own test, and says why.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from tests.conformance.rows import DOC, TABLES, expand, proved

_DEAD = "a Dead group is out of reach of requests"
_INSIDE = "no answer shows it"
_OURS = "of this program, not of Kafka"
_RACE = "a race of microseconds inside a broker"
_NO_WAY = "no request leads to it"
REASONS: tuple[tuple[str, str], ...] = (
    (r"^1\.2-stopped-", "a real broker closes its sockets before its coordinator ends"),
    (r"old-coordinator|of-any-age", "another release"),
    (r"^1\.1-to-Dead|-dead\b|-Dead$|-dead-", _DEAD),
    (r"^(1\.2-append|1\.4-store-failed)-(unknown-topic|replicas)", "a coordinator's append asks no other replica"),
    (r"^(1\.2-append-not-leader|1\.4-store-failed-leader|1\.2-removed)", _RACE),
    (r"^1\.2-append-storage", "a real disk cannot be made to fail for one partition"),
    (r"^1\.2-network", "here no question to a transaction coordinator is lost (`1.8-verification`)"),
    (r"^1\.2-invalid", "no log raises it"),
    (r"^1\.4-moved-on-failure|^J3-reverted-too-late", "an append fails at once, before anything else can happen"),
    (r"^1\.12-find-coordinator-can-be-stale", "asked of three nodes, not compared: a race that ends otherwise here"),
    (r"^(1\.1-a-way-that-is-none|2\.3-voting-without)", _NO_WAY),
    (r"^(1\.5-a-quiet|2\.13-lazy|trap-15|3\.3-load-time)", _OURS),
    (r"^2\.12-comparison", "a client cannot time a broker's look to the millisecond"),
    (r"^2\.13-order-within", "a client cannot make two things due in one millisecond"),
    (r"^2\.2-tree-bins", "ids are random, so they do not collide on purpose"),
    (r"^3\.5-unclean", "what real nodes lose when they are killed is not twice the same"),
    (r"^3\.3-epochs", "a real controller says nothing out of order"),
    (r"^trap-(16|17|18|20-client)", "the client's side"),
    (r"^1\.13", "not modelled"),
    (r"", _INSIDE),
)
"""Beginning or part of a row's id → why no real broker was asked; the first that fits."""


def mark_of(row: str, live: dict[str, dict[str, object]]) -> str:
    """`1 node`, `3 nodes`, or `core: why`."""
    if row in live:
        nodes = live[row]["nodes"]
        return "1 node" if nodes == 1 else f"{nodes} nodes"
    return "core: " + next(why for pattern, why in REASONS if re.search(pattern, row))


def cell_of(ids: list[str], status: str, live: dict[str, dict[str, object]]) -> str:
    """What stands in the column for a row of these ids: what holds for most, then the others by name."""
    if status.startswith("left out") and not any(row in live for row in ids):
        return "–"
    marks: dict[str, list[str]] = {}
    for row in ids:
        marks.setdefault(mark_of(row, live), []).append(row)
    if len(marks) == 1:
        return next(iter(marks))
    first, *others = sorted(marks, key=lambda mark: -len(marks[mark]))
    begins = len(_beginning(ids))
    return "; ".join([first, *(f"{mark} ({', '.join(row[begins:] for row in marks[mark])})" for mark in others)])


def _beginning(ids: list[str]) -> str:
    """What all of them begin with, up to a dash or a dot."""
    count = 0
    while count < min(map(len, ids)) and len({row[: count + 1] for row in ids}) == 1:
        count += 1
    return ids[0][: max(ids[0].rfind("-", 0, count), ids[0].rfind(".", 0, count)) + 1]


def marked(text: str) -> str:
    """The document with the column in every table of the classic protocol."""
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    live, at = proved(), -1
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")] if line.startswith("|") else []
        if cells[:1] == ["id"]:
            first = re.match(r"\| `([^`]+)` \|", lines[number + 2])
            at = cells.index("live") if "live" in cells else len(cells)
            at = at if first and TABLES.match(first[1]) else -1
        if not cells or at < 0:
            at = at if cells else -1
            yield line
        elif cells[0] == "id":
            yield _row([*cells[:at], "live"])
        elif set(line) <= set("|- "):
            yield _row(["---"] * (at + 1))
        else:
            yield _row([*cells[:at], cell_of(expand(cells[0].strip("`")), cells[2], live)])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the column."""
    DOC.write_text(marked(DOC.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
