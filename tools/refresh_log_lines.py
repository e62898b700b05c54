"""Write the index by which `groupsim list` finds scenes by a log line: runs every scene of the library.

python tools/refresh_log_lines.py            writes groupsim/logs/lines.txt; some minutes
python tools/refresh_log_lines.py NAME…      runs these scenes only; the index keeps what it has of the others
python tools/refresh_log_lines.py --check    exits with 1 where a scene logs other lines than the index has
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.logs import finding
from groupsim.logs.files import render
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import run_scenario

TARGET = Path(__file__).resolve().parent.parent / "groupsim" / "logs" / finding.INDEX
NAMES_OF = ("host", "group", "member", "topic")


def forms(events: Sequence[TraceEvent]) -> list[str]:
    """Return the forms of all lines that the broker and client logs of a run have, sorted."""
    names = tuple(dict.fromkeys(_names(events)))
    return sorted({finding.form(line, names) for lines in render(events).values() for line in lines})


def _names(events: Iterable[TraceEvent]) -> Iterator[str]:
    for event in events:
        for column in NAMES_OF:
            name = getattr(event, column)
            if name:
                yield name
        payload = event.payload or {}
        for key in ("client_id", "instance_id"):
            if payload.get(key):
                yield str(payload[key])


def written(by_scene: Mapping[str, Iterable[str]]) -> str:
    """Return the text of the index: each form, and indented below it the scenes that log it."""
    scenes: dict[str, list[str]] = {}
    for scene in sorted(by_scene):
        for one in by_scene[scene]:
            scenes.setdefault(one, []).append(scene)
    return "".join(f"{one}\n    {' '.join(scenes[one])}\n" for one in sorted(scenes))


def forms_of(name: str) -> list[str]:
    """Return the forms of the lines that a scene of the library logs with seed 0."""
    path = catalogue.find(name)
    return forms(run_scenario(scenario_of(read_document(path), path.stem)).events)


def indexed() -> dict[str, list[str]]:
    """Return the forms that the index has of each scene that is still in the library."""
    known: dict[str, list[str]] = {name: [] for name in catalogue.names()}
    for one, scenes in finding.index().items():
        for name in known.keys() & set(scenes):
            known[name].append(one)
    return known


def main() -> int:
    """Write the index, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenes to run; all of the library without a name")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    by_scene = indexed() if options.names else {}
    for name in options.names or catalogue.names():
        by_scene[name] = forms_of(name)
        print(f"{name}: {len(by_scene[name])} lines", file=sys.stderr)
    text = written(by_scene)
    if options.check:
        return int(text != TARGET.read_text("utf-8"))
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
