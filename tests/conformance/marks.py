"""The column `live` of the rows in docs/fidelity/: on how many real nodes a rule was asked, or why on none.

    python -m tests.conformance.marks      writes it, from the scripts and the reasons below, and the pages

Rows that several scripts prove count for the smallest cluster. What no script asks of a real broker is proved in the
core alone, by the row's own test, and says why.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from tests.conformance.rows import OF_CONSUMER_GROUPS, TABLES, proved
from tests.helpers.fidelity_rows import Page, Section, pages, write

_DEAD = "a Dead group is out of reach of requests"
_INSIDE = "no answer shows it"
_OURS = "of this program, not of Kafka"
_RACE = "a race of microseconds inside a broker"
_NO_WAY = "no request leads to it"
REASONS: tuple[tuple[str, str], ...] = (
    (r"^1\.2-stopped-", "a real broker closes its sockets before its coordinator ends"),
    (r"old-coordinator|of-any-age|-release-", "another release"),
    (r"^1\.1-to-Dead|-dead\b|-Dead$|-dead-", _DEAD),
    (r"^(1\.2-append|1\.4-store-failed)-(unknown-topic|replicas)", "a coordinator's append asks no other replica"),
    (r"^(1\.2-append-not-leader|1\.4-store-failed-leader|1\.2-removed)", _RACE),
    (r"^1\.2-append-storage", "a real disk cannot be made to fail for one partition"),
    (r"^1\.2-network", "here no question to a transaction coordinator is lost (`1.8-verification`)"),
    (r"^1\.2-invalid", "no log raises it"),
    (r"^1\.4-moved-on-failure|^J3-reverted-too-late", "an append fails at once, before anything else can happen"),
    (r"^1\.12-find-coordinator-can-be-stale", "asked of three nodes, not compared: a race that ends otherwise here"),
    (r"^(1\.1-a-way-that-is-none|2\.3-voting-without)", _NO_WAY),
    (r"^(1\.5-a-quiet|2\.13-lazy|trap-15|3\.3-load-time|Gtrace)", _OURS),
    (r"^2\.12-comparison", "a client cannot time a broker's look to the millisecond"),
    (r"^2\.13-order-within", "a client cannot make two things due in one millisecond"),
    (r"^2\.2-tree-bins", "ids are random, so they do not collide on purpose"),
    (r"^3\.5-unclean", "what real nodes lose when they are killed is not twice the same"),
    (r"^3\.3-epochs", "a real controller says nothing out of order"),
    (r"^trap-(16|17|18|20-client)", "the client's side"),
    (r"^1\.13", "asked by the rows of consumer groups"),
    (r"", _INSIDE),
)
"""Beginning or part of a row's id → why no real broker was asked; the first that fits."""


def mark_of(row: str, live: dict[str, dict[str, object]]) -> str:
    """`1 node`, `3 nodes`, or `core: why`."""
    if row in live:
        nodes = live[row]["nodes"]
        return "1 node" if nodes == 1 else f"{nodes} nodes"
    return "core: " + next(why for pattern, why in REASONS if re.search(pattern, row))


def cell_of(ids: Sequence[str], status: str, live: dict[str, dict[str, object]]) -> str | None:
    """The mark of a row of these ids: what holds for most, then the others by name. None for a row that is left out."""
    if status.startswith("left out") and not any(row in live for row in ids):
        return None
    marks: dict[str, list[str]] = {}
    for row in ids:
        marks.setdefault(mark_of(row, live), []).append(row)
    if len(marks) == 1:
        return next(iter(marks))
    first, *others = sorted(marks, key=lambda mark: -len(marks[mark]))
    begins = len(_beginning(ids))
    return "; ".join([first, *(f"{mark} ({', '.join(row[begins:] for row in marks[mark])})" for mark in others)])


def _beginning(ids: Sequence[str]) -> str:
    """What all of them begin with, up to a dash or a dot."""
    count = 0
    while count < min(map(len, ids)) and len({row[: count + 1] for row in ids}) == 1:
        count += 1
    return ids[0][: max(ids[0].rfind("-", 0, count), ids[0].rfind(".", 0, count)) + 1]


def marked(found: Sequence[Page]) -> list[Page]:
    """The pages with the mark of each row in the tables of the coordinator, of both protocols."""
    live = proved()
    return [page._replace(sections=tuple(_marked(section, live) for section in page.sections)) for page in found]


def _marked(section: Section, live: dict[str, dict[str, object]]) -> Section:
    first = section.rows[0].cell
    if not (TABLES.match(first) or first.startswith(OF_CONSUMER_GROUPS)):
        return section
    return section._replace(rows=tuple(row._replace(live=cell_of(row.ids, row.status, live)) for row in section.rows))


def main() -> int:
    """Write the marks and the pages."""
    write(marked(pages()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
