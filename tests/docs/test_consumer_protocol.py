"""The figures of `docs/consumer-protocol.md`, from the runs that it names."""

from __future__ import annotations

import re
from pathlib import Path

from groupsim import load_text, run_scenario
from groupsim.scenarios.story import GroupStory, tell

ROOT = Path(__file__).resolve().parents[2]


def story(protocol: str) -> GroupStory:
    """Run the page's scenario under a protocol."""
    text = (ROOT / "docs/rebalance/both-protocols.yaml").read_text(encoding="utf-8")
    text = text.replace("group.protocol: consumer", f"group.protocol: {protocol}")
    return tell(run_scenario(load_text(text), seed=0).events).groups[0]


def figures(group: GroupStory) -> list[str]:
    """Return the cells of the table for one run."""
    formed = (group.formed_us or 0) / 1e6
    return [
        str(len(group.rebalances)),
        f"{formed:.1f} s",
        f"{group.stopped_us / 1e6:.1f} s",
        str(group.moved),
        str(group.duplicates),
    ]


def test_the_table_of_both_protocols_is_that_of_the_runs() -> None:
    """Changes, time to form, unserved time, moves and duplicates, for the consumer and the classic protocol."""
    page = (ROOT / "docs/consumer-protocol.md").read_text(encoding="utf-8")
    table = page.partition("<!-- figures: begin")[2].partition("<!-- figures: end")[0]
    rows = [[cell.strip() for cell in row] for row in re.findall(r"^\|([^|]+)\|([^|]+)\|([^|]+)\|$", table, re.M)][2:]
    shown = [[row[column] for row in rows] for column in (1, 2)]
    assert shown == [figures(story("consumer")), figures(story("classic"))]
