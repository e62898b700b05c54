"""The table of fidelity: reads docs/fidelity/*.toml and checks it. Ids are unique, statuses known, tests exist.

    python tools/fidelity.py           counts rows by status; prints `file: id: fault` and exits 1 when there is any
    python tools/fidelity.py --format  writes the files in their one layout

A file is a page: `title`, `intro`, and sections with `title`, `intro` and rows. A row has `id` (`a-{b,c}` stands for
the ids a-b and a-c), `rule`, `status`, `tests` (`path::function`), and in some sections `source` and `live`. The marks
`live` are written by `python -m tests.conformance.marks` and `python -m tests.twins.rows`, the pages by
tools/fidelity_pages.py.
"""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "fidelity"
STATUSES = ("modelled", "simplified", "left out")
#: The pages in the order of the index: from the protocol's rules to what surrounds them.
ORDER = (
    "coordinator-requests",
    "coordinator-rounds",
    "coordinator-log",
    "coordinator-consumer",
    "coordinator-releases",
    "members",
    "members-consumer",
    "members-ancestors",
    "assignors",
    "cluster-controller",
    "cluster-administration",
    "cluster-replication",
    "cluster-records",
    "cluster-transactions",
    "protocol",
    "serving",
    "scenarios",
    "logs",
)
_HEAD = (
    "# Rows of docs/fidelity/{}.md: edit them here, then `make docs`. The layout: `python tools/fidelity.py --format`."
)


class Row(NamedTuple):
    """One rule; `cell` is the id as the file has it, `tests` are `path::function`."""

    cell: str
    rule: str
    status: str
    tests: tuple[str, ...]
    source: str | None = None
    live: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that the row stands for."""
        return tuple(expand(self.cell))

    @property
    def kind(self) -> str:
        """The status without its explanation."""
        return self.status.split(":")[0]


class Section(NamedTuple):
    """A table with its heading; `intro` is Markdown."""

    title: str
    intro: str
    rows: tuple[Row, ...]


class Page(NamedTuple):
    """One file; `name` is that of the file without its suffix."""

    name: str
    title: str
    intro: str
    sections: tuple[Section, ...]

    @property
    def room(self) -> str:
        """The room of the code, the first word of the name."""
        return self.name.partition("-")[0]

    @property
    def rows(self) -> list[Row]:
        """The rows of all sections."""
        return [row for section in self.sections for row in section.rows]


def pages() -> list[Page]:
    """All pages in the order of the index; raises ValueError for a file that ORDER does not have."""
    found = {path.stem for path in FOLDER.glob("*.toml")}
    if found != set(ORDER):
        raise ValueError(
            f"docs/fidelity: {sorted(found ^ set(ORDER))}: a file without a place in ORDER, or the reverse"
        )
    return [read(name, path_of(name).read_text(encoding="utf-8")) for name in ORDER]


def rows() -> list[Row]:
    """The rows of all pages."""
    return [row for page in pages() for row in page.rows]


def path_of(name: str) -> Path:
    """The file of a page."""
    return FOLDER / f"{name}.toml"


def read(name: str, text: str) -> Page:
    """A page from the text of its file; raises ValueError that names the row when a key is missing or unknown."""
    data = tomllib.loads(text)
    sections = tuple(
        Section(part["title"], part.get("intro", "").strip(), tuple(_row(name, row) for row in part["rows"]))
        for part in data["sections"]
    )
    return Page(name, data["title"], data.get("intro", "").strip(), sections)


def _row(name: str, data: dict[str, Any]) -> Row:
    place = f"docs/fidelity/{name}.toml: {data.get('id', data)}"
    if missing := {"id", "rule", "status"} - set(data):
        raise ValueError(f"{place}: the row has no {', '.join(sorted(missing))}")
    if unknown := set(data) - {"id", "rule", "status", "tests", "source", "live"}:
        raise ValueError(
            f"{place}: a row has no {', '.join(sorted(unknown))}; it has id, rule, status, tests, source, live"
        )
    tests = tuple(data.get("tests", ()))
    return Row(data["id"], data["rule"], data["status"], tests, data.get("source"), data.get("live"))


def written(page: Page) -> str:
    """The text of a page's file, in its one layout."""
    parts = [_HEAD.format(page.name), "", f"title = {_text(page.title)}", *_intro(page.intro)]
    for section in page.sections:
        parts += ["", "[[sections]]", f"title = {_text(section.title)}", *_intro(section.intro)]
        for row in section.rows:
            parts += ["", "[[sections.rows]]", *_fields(row)]
    return "\n".join(parts) + "\n"


def _fields(row: Row) -> Iterator[str]:
    named = (("id", row.cell), ("rule", row.rule), ("source", row.source), ("status", row.status))
    yield from (f"{key} = {_text(value)}" for key, value in named if value is not None)
    if len(row.tests) == 1:
        yield f"tests = [{_text(row.tests[0])}]"
    elif row.tests:
        yield "tests = ["
        yield from (f"    {_text(test)}," for test in row.tests)
        yield "]"
    if row.live is not None:
        yield f"live = {_text(row.live)}"


def _intro(text: str) -> list[str]:
    return [f'intro = """\n{text}\n"""'] if text else []


def _text(value: str) -> str:
    """A TOML basic string; its escapes are those of JSON."""
    return json.dumps(value, ensure_ascii=False)


def write(found: Iterable[Page]) -> None:
    """Write the files of these pages."""
    for page in found:
        path_of(page.name).write_text(written(page), encoding="utf-8")


def expand(text: str) -> list[str]:
    """`a-{b,c}` as a-b and a-c, with any number of braces; without braces the id itself."""
    before, brace, rest = text.partition("{")
    if not brace:
        return [text]
    choices, _, after = rest.partition("}")
    return [before + choice + tail for choice in choices.split(",") for tail in expand(after)]


@lru_cache(maxsize=256)
def functions(path: str) -> frozenset[str]:
    """The names of the functions a file defines at its top level; none when there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def faults(found: Sequence[Page]) -> Iterator[str]:
    """What is wrong with the rows, each as `file: id: what`."""
    count = Counter(one for page in found for row in page.rows for one in row.ids)
    for name, row in ((page.name, row) for page in found for row in page.rows):
        place = f"docs/fidelity/{name}.toml: {row.cell}"
        for one in row.ids:
            if count[one] > 1:
                yield f"{place}: the id {one} stands {count[one]} times"
        if row.kind not in STATUSES or (row.kind == "modelled") != (row.status == "modelled"):
            yield f"{place}: status {row.status!r}: write modelled, `simplified: how` or `left out: why`"
        if row.kind == "modelled" and not row.tests:
            yield f"{place}: the row is modelled and names no test"
        for test in row.tests:
            path, _, name = test.partition("::")
            if name not in functions(path):
                yield f"{place}: there is no test {test}"


def main(arguments: Sequence[str]) -> int:
    """Check the rows and count them, or write the files in their layout."""
    found = pages()
    if "--format" in arguments:
        write(found)
    wrong = list(faults(found))
    print("".join(f"{fault}\n" for fault in wrong), end="")
    kinds = Counter(row.kind for page in found for row in page.rows)
    ids = sum(len(row.ids) for page in found for row in page.rows)
    print(f"{kinds.total()} rows, {ids} ids: " + ", ".join(f"{kinds[status]} {status}" for status in STATUSES))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
