"""The sentence of a comparison: what whoever reads its partitions notices, and how to find out how sure it is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Protocol

from groupsim.scenarios.story.words import span

#: Rows of the comparison that tell what is noticed, in order, with the words of the sentence.
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
    """B against A in what differs of standstill, records and lag, group by group; empty where nothing of it does.

    A figure that one of the two does not have is left out: nothing can be said of it.
    """
    groups = dict.fromkeys(_group(row.name) for row in rows)
    told = [words for group in groups if (words := _of_group(group, rows))]
    return f"With B {'. With B '.join(told)}" if told else ""


def _group(name: str) -> str:
    """What stands before the figure's name, where there are several groups."""
    return next((name.removesuffix(figure) for figure, _ in NOTICED if name.endswith(figure)), "")


def _of_group(group: str, rows: Sequence[Row]) -> str:
    by_name = {row.name: row for row in rows}
    parts = []
    for figure, words in NOTICED:
        row = by_name.get(group + figure)
        if row is not None and row.left is not None and row.right is not None and row.left != row.right:
            parts.append(words.format(f"{shown(row.right, row.unit)} instead of {shown(row.left, row.unit)}"))
    return group + ", ".join(parts) if parts else ""


def shown(value: int | None, unit: str) -> str:
    """A figure as it stands in the table."""
    if value is None:
        return "–"
    return span(value) if unit == "us" and value else f"{value:,}"


def how_sure(source: str, settings: Sequence[str]) -> str:
    """That it is one run of each, and the sweep that tells luck from difference; for `--set` alone."""
    if len(settings) != 1:
        return "one run of each, with the same luck; many seeds tell how sure it is: groupsim sweep --help"
    path, _, value = settings[0].partition("=")
    again = shlex.join(["groupsim", "sweep", source, "--vary", f"{path}=as-is,{value}", "--out", "results/"])
    return f"one run of each, with the same luck; how sure it is: {again}"
