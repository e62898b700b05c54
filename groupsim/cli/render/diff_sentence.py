"""The sentence of a comparison: the differences that a user notices, and the command that measures their certainty."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Protocol

from groupsim.scenarios.story.words import span

#: The rows of the comparison in the sentence, in order, with their words.
NOTICED = (
    ("unserved, summed over partitions", "partitions are unserved for {} in all"),
    ("longest unserved partition", "the one that waits longest for {}"),
    ("records never delivered", "{} records never delivered"),
    ("records delivered twice", "{} records delivered twice"),
    ("largest lag", "a lag of up to {}"),
)


class Row(Protocol):
    """One figure of both runs."""

    @property
    def name(self) -> str: ...
    @property
    def left(self) -> int | None: ...
    @property
    def right(self) -> int | None: ...
    @property
    def unit(self) -> str: ...


def sentence(rows: Sequence[Row]) -> str:
    """Compare B with A in unserved time, records and lag, group by group; empty if none of them differs.

    A figure that one of the two lacks is left out, and so is one that reads the same in both.
    """
    groups = dict.fromkeys(_group(row.name) for row in rows)
    sentences = [words for group in groups if (words := _of_group(group, rows))]
    return f"With B {'. With B '.join(sentences)}" if sentences else ""


def _group(name: str) -> str:
    """Return the prefix of the figure's name, which names the group if there are several."""
    return next((name.removesuffix(figure) for figure, _ in NOTICED if name.endswith(figure)), "")


def _of_group(group: str, rows: Sequence[Row]) -> str:
    by_name = {row.name: row for row in rows}
    parts = []
    for figure, words in NOTICED:
        row = by_name.get(group + figure)
        if row is None or row.left is None or row.right is None:
            continue
        left, right = shown(row.left, row.unit), shown(row.right, row.unit)
        if left != right:
            parts.append(words.format(f"{right} instead of {left}"))
    return group + ", ".join(parts) if parts else ""


def shown(value: int | None, unit: str) -> str:
    """Format a figure as in the table."""
    if value is None:
        return "–"
    return span(value) if unit == "us" and value else f"{value:,}"


def how_sure(source: str, settings: Sequence[str]) -> str:
    """Return the note that each side is one run, with the sweep that compares many seeds, for `--set` only."""
    if len(settings) != 1:
        return "one run of each, with the same seed; to compare many seeds: groupsim sweep --help"
    path, _, value = settings[0].partition("=")
    again = shlex.join(["groupsim", "sweep", source, "--vary", f"{path}=as-is,{value}", "--out", "results/"])
    return f"one run of each, with the same seed; to compare many seeds: {again}"
