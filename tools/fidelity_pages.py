"""Write docs/fidelity/*.md and the table of docs/fidelity.md from the rows in docs/fidelity/*.toml.

python tools/fidelity_pages.py
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import fidelity
from fidelity import Page, Row, Section
from kept_page import replaced

INDEX = fidelity.ROOT / "docs" / "fidelity.md"
BEGIN = "<!-- rows: begin (written by tools/fidelity_pages.py) -->"
END = "<!-- rows: end -->"
_NONE = "–"


def index(text: str, pages: Sequence[Page]) -> str:
    """The index with the counts of these pages; everything else on it stays."""
    lines = [
        "| room | page | rules | " + " | ".join(fidelity.STATUSES) + " |",
        "| --- " * (3 + len(fidelity.STATUSES)) + "|",
    ]
    lines += [_counts(f"`{one.room}` | [{_capital(one.title)}](fidelity/{one.name}.md)", one.rows) for one in pages]
    lines.append(_counts("all | ", [row for one in pages for row in one.rows]))
    return replaced(text, BEGIN, END, "\n".join((BEGIN, "", *lines, "", END)))


def _counts(name: str, rows: Sequence[Row]) -> str:
    kinds = Counter(row.kind for row in rows)
    return f"| {name} | {len(rows)} | " + " | ".join(str(kinds[status]) for status in fidelity.STATUSES) + " |"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def page(one: Page, following: Page | None) -> str:
    """The Markdown of one page, with a link to the page after it."""
    kinds = Counter(row.kind for row in one.rows)
    counted = ", ".join(f"{kinds[status]} {status}" for status in fidelity.STATUSES)
    parts = [
        f"# Fidelity: {one.title}",
        f"{len(one.rows)} rules: {counted}. [How a row is read](../fidelity.md#how-a-row-is-read); "
        f"the rows are the data of [{one.name}.toml]({one.name}.toml).",
        *filter(None, [_sections(one), one.intro]),
        *(part for section in one.sections for part in _section(section)),
    ]
    if following:
        parts.append(f"Next: [{_capital(following.title)}]({following.name}.md), or the [index](../fidelity.md).")
    else:
        parts.append("Next: [conformance](../conformance.md), where a real broker is asked the same.")
    return "\n\n".join(parts) + "\n"


def _sections(one: Page) -> str:
    """Links to the sections, for a page that has many."""
    links = [f"[{section.title}](#{_anchor(section.title)})" for section in one.sections]
    return f"Sections: {', '.join(links)}." if len(links) > 1 else ""


def _anchor(title: str) -> str:
    """The anchor of a heading, as a code host and the site make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    if section.intro:
        yield section.intro
    optional = [name for name in ("source", "live") if any(getattr(row, name) is not None for row in section.rows)]
    columns = [name for name in ("id", "rule", "source", "status", "test", "live") if _stands(name, optional)]
    lines = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    yield "\n".join(lines + [_line(row, columns) for row in section.rows])


def _stands(name: str, optional: Sequence[str]) -> bool:
    return name not in ("source", "live") or name in optional


def _line(row: Row, columns: Sequence[str]) -> str:
    cells = {
        "id": f"`{row.cell}`",
        "rule": row.rule,
        "source": row.source or _NONE,
        "status": row.status,
        "test": ", ".join(f"`{test}`" for test in row.tests) or _NONE,
        "live": row.live or _NONE,
    }
    return f"| {' | '.join(cells[name].replace('|', chr(92) + '|') for name in columns)} |"


def made() -> dict[str, str]:
    """The pages by the names of their files in docs/."""
    pages = fidelity.pages()
    after = [*pages[1:], None]
    found = {f"fidelity/{one.name}.md": page(one, following) for one, following in zip(pages, after, strict=True)}
    return found | {"fidelity.md": index(INDEX.read_text(encoding="utf-8"), pages)}


def main() -> int:
    """Write the pages."""
    for name, text in made().items():
        (INDEX.parent / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
