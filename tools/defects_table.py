"""Write the tables of docs/defects.md that follow from the code: which releases have which defect.

python tools/defects_table.py            write them into docs/defects.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kept_page import replaced

from groupsim.coordinator.base.defects import BROKER_DEFECTS, BrokerDefect
from groupsim.coordinator.base.versions import HISTORY
from groupsim.members.profiles.defects import CLIENT_DEFECTS, version_of
from groupsim.scenarios.language.releases import RELEASES, Coverage

TARGET = Path(__file__).resolve().parent.parent / "docs" / "defects.md"
ASKED = TARGET.parent.parent / "tests" / "conformance" / "data" / "old" / "defects.json"
"""What real brokers of old releases answered (tests/conformance/old_record.py)."""
CLIENTS_ASKED = TARGET.parent.parent / "tests" / "twins" / "facts" / "old"
"""What real clients of old releases did (tests/twins/old_clients.py): a folder for each, a file for each scene."""
#: Scenes whose names are not that of one defect alone.
SHOWN_TOGETHER = {"KAFKA-12983": ("KAFKA-12983", "KAFKA-12984"), "KAFKA-14024-eager": ("KAFKA-14024",)}
BEGIN = "<!-- releases: begin (written by tools/defects_table.py) -->"
END = "<!-- releases: end -->"


def tables() -> str:
    """The tables, with their markers."""
    brokers = _table(("defect", "releases", "asked of real brokers", "effect"), _of_brokers())
    clients = _table(("defect", "releases", "asked of real clients", "effect"), _of_clients())
    parts = ("", "### Brokers", "", *brokers, "", "### Clients", "", *clients, "")
    return "\n".join((BEGIN, *parts, *_releases(), "", END))


def page(text: str) -> str:
    """The page with the tables as they should be."""
    return replaced(text, BEGIN, END, tables())


def affected_releases(defect: BrokerDefect) -> tuple[tuple[str, str], ...]:
    """The ranges of releases with a defect, each as the first release with it and the first without it."""
    field, value = next(iter(defect.changes.items()))
    steps = HISTORY[field]
    ends = [begin for begin, _ in steps[1:]]
    return tuple((begin, end) for (begin, is_), end in zip(steps, ends, strict=False) if is_ is value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for name, *others in rows:
        yield f"| `{name}` | {' | '.join(others)} |"


def _of_brokers() -> Iterator[tuple[str, str, str, str]]:
    plays = json.loads(ASKED.read_text(encoding="utf-8"))["plays"]
    for name, defect in BROKER_DEFECTS.items():
        ranges = affected_releases(defect)
        asked = ", ".join(plays.get(name, ())) or "–"
        yield name, ", ".join(f"{first} until {fixed}" for first, fixed in ranges), asked, defect.effect


def _of_clients() -> Iterator[tuple[str, str, str, str]]:
    asked = _clients_asked()
    for name, defect in CLIENT_DEFECTS.items():
        ranges = (f"{one.library} {one.first} until {one.fixed}" for one in defect.affected)
        yield name, ", ".join(ranges), ", ".join(asked.get(name, ())) or "–", defect.effect


def _clients_asked() -> dict[str, list[str]]:
    """Defect → the releases that played its scene, the older one first."""
    found: dict[str, set[str]] = {}
    for path in CLIENTS_ASKED.glob("*/*.txt"):
        release = path.parent.name.rpartition("-")[2]
        for name in SHOWN_TOGETHER.get(path.stem, (path.stem,)):
            found.setdefault(name, set()).add(release)
    return {name: sorted(releases, key=version_of) for name, releases in found.items()}


def _releases() -> Iterator[str]:
    """Which profile stands for which releases."""
    yield from ("### Releases of clients", "", "| releases from | run as | |", "| --- | --- | --- |")
    for library, rows in RELEASES.items():
        for row in rows:
            how = {Coverage.COVERED: "", Coverage.ALIKE: "not compared: ", Coverage.DIFFERS: "refused: "}[row.how]
            profile = "–" if row.how is Coverage.DIFFERS else f"`{row.profile}`"
            yield f"| {library} {row.first} | {profile} | {how}{row.why} |"


if __name__ == "__main__":
    text = TARGET.read_text(encoding="utf-8")
    TARGET.write_text(page(text), encoding="utf-8")
    sys.exit(0)
