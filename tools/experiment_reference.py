"""Write the reference part of docs/writing-an-experiment.md from the classes of the file and the library.

python tools/experiment_reference.py            write the part between the markers
python tools/experiment_reference.py --check    exit 1 when the page differs

A test compares the page with what this module makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kept_page import keep, replaced
from scenario_reference import section

from groupsim.pipeline.experiment.catalogue import list_experiments
from groupsim.pipeline.experiment.file import AxisSpec, ExperimentFile, GoalSpec, SeedsSpec
from groupsim.pipeline.tables.metrics import METRICS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "writing-an-experiment.md"
BEGIN = "<!-- reference: begin (written by tools/experiment_reference.py) -->"
END = "<!-- reference: end -->"

SECTIONS: tuple[tuple[str, type], ...] = (
    ("The file", ExperimentFile),
    ("`vary`: one axis", AxisSpec),
    ("`seeds`", SeedsSpec),
    ("`goals`: one goal", GoalSpec),
)


def reference() -> str:
    """The whole part, markers included."""
    return "\n".join([BEGIN, *_lines(), END])


def _lines() -> Iterator[str]:
    for title, cls in SECTIONS:
        yield from section(title, cls)
    yield from ("", "### Metrics", "", "| name | what it is | counted in | better |", "|---|---|---|---|")
    for metric in METRICS.values():
        yield f"| `{metric.name}` | {metric.title} | {metric.unit or 'ones'} | {metric.better} |"
    yield from ("", "### The library", "", "| name | question | source |", "|---|---|---|")
    for one in list_experiments():
        yield f"| `{one.name}` | {one.question or one.title} | {one.source or ''} |"


def rewritten(page: str) -> str:
    """The page with the part between its markers. Raises ValueError when it has no markers."""
    return replaced(page, BEGIN, END, reference())


if __name__ == "__main__":
    sys.exit(keep(PAGE, rewritten, __doc__))
