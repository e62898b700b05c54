"""The recorded walks: moves, times and transcript of each, as compact as JSON allows.

Looks (the answers on the connection `w`) are kept only where they differ from the one before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance.player import SETTINGS
from tests.conformance.transcript import Transcript
from tests.conformance.walking import CONSUMER, WATCH, Move, Walked, settings_of

PATH = Path(__file__).parent / "walks.json"


def load() -> dict[str, tuple[Mapping[str, str], Walked]]:
    """Every recorded walk: its static members, and how it went on the real broker."""
    walks = json.loads(PATH.read_text("utf-8"))["walks"]
    return {name: (walk["statics"], _read(walk)) for name, walk in walks.items()}


def save(version: str, walks: Mapping[str, tuple[Mapping[str, str], Walked]]) -> None:
    """Keep these walks, and no others."""
    lines = [f"  {json.dumps(name)}: {_compact(_plain(*walks[name]))}" for name in walks]
    head = f'"broker": {json.dumps(f"Apache Kafka {version}")},\n"settings": {json.dumps(SETTINGS)}'
    head += f',\n"settings of {CONSUMER}": {json.dumps(settings_of(CONSUMER))}'
    PATH.write_text("{\n" + head + ',\n"walks": {\n' + ",\n".join(lines) + "\n}\n}\n", "utf-8")


def _plain(statics: Mapping[str, str], walked: Walked) -> dict[str, Any]:
    lines = {**walked.transcript.lines, WATCH: _changes(walked.transcript.lines.get(WATCH, []))}
    return {
        "statics": statics,
        "moves": [[move.who, move.what, move.args] for move in walked.moves],
        "times": walked.times,
        "ids": walked.transcript.ids,
        "lines": lines,
        "arrivals": walked.arrivals,
        "order": [f"{line} {number}" for line, number in walked.order],
    }


def _read(walk: Mapping[str, Any]) -> Walked:
    lines = {**walk["lines"], WATCH: _whole(walk["lines"][WATCH])}
    order = [(text.split()[0], int(text.split()[1])) for text in walk["order"]]
    times = [(made, looked) for made, looked in walk["times"]]
    moves = [Move(*move) for move in walk["moves"]]
    return Walked(moves, times, Transcript(lines, walk["ids"]), walk["arrivals"], order)


def _changes(said: list[list[Any]]) -> list[Any]:
    return [None if at and said[at] == said[at - 1] else line for at, line in enumerate(said)]


def _whole(changes: list[Any]) -> list[list[Any]]:
    said: list[list[Any]] = []
    for line in changes:
        said.append(said[-1] if line is None else line)
    return said


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
