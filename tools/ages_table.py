"""Write the figures of the three ages into docs/ancestors.md.

python tools/ages_table.py            run the scenes and write their rows
python tools/ages_table.py --check    exit 1 when the page shows something else
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from kept_page import keep

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.rebalances.ownership import owned_twice_us

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ancestors.md"
ROW = re.compile(r"^\| `(?P<scene>three-ages-[a-z0-9.-]+)` \|.*$", re.MULTILINE)


def row(scene: str, events: Iterable[TraceEvent], story: Story) -> str:
    """The row of one scene: rebalances, partitions given up and moved, unserved and doubly owned time, duplicates."""
    (group,) = story.groups
    given_up = sum(event.kind is Kind.PARTITION_RELEASED for event in events)
    seconds = [f"{us / 1_000_000:.1f} s" for us in (group.unserved_us, owned_twice_us(group.spans, story.end_us))]
    figures = [str(len(group.rebalances)), str(given_up), str(group.moved), *seconds, str(group.duplicates)]
    return f"| `{scene}` | {' | '.join(figures)} |"


def measured(scene: str) -> str:
    """The row of one scene with seed 0."""
    run = run_scenario(load_file(find(scene)), seed=0)
    return row(scene, run.events, tell(run.events))


def refreshed(text: str) -> str:
    """The page with the figures of each row as they are now."""
    return ROW.sub(lambda found: measured(found["scene"]), text)


def main() -> int:
    """Write it, or check it."""
    return keep(PAGE, refreshed, __doc__)


if __name__ == "__main__":
    sys.exit(main())
