"""Write the figures of the fail-over scenes into docs/failover.md.

python tools/failover_table.py            run the scenes and write their rows
python tools/failover_table.py --check    exit 1 when the page shows something else
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from kept_page import keep

from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.words import span

PAGE = Path(__file__).resolve().parent.parent / "docs" / "failover.md"
ROW = re.compile(r"^\| `(?P<scene>[a-z0-9-]+)` \| (?P<kept>[^|]*) \| (?P<gone>[^|]*) \|[^|]*\|$", re.MULTILINE)


def measured(scene: str) -> str:
    """The figures of one scene with seed 0, in words."""
    run = run_scenario(load_file(find(scene)), seed=0)
    if run.failed:
        raise SystemExit(f"{scene}: {'; '.join(map(str, run.failed))}")
    return "; ".join(figures(tell(run.events)))


def figures(story: Story) -> list[str]:
    """What a fail-over costs: time without coordinator, rebalances, standstill, records again, lost and taken back."""
    group = story.groups[0]
    total = next(one for one in story.totals if one.group == group.group)
    found = [f"{len(group.rebalances)} rebalances" if len(group.rebalances) != 1 else "1 rebalance"]
    without = [change.without_us for change in story.take_overs if change.without_us is not None]
    if without:
        found.insert(0, f"{span(max(without))} without coordinator")
    if group.stopped_us:
        found.append(f"stopped {span(group.stopped_us)}")
    found.append(f"{group.duplicates:,} read twice")
    if total.records is not None and total.records.lost:
        found.append(f"{total.records.lost:,} acknowledged and lost")
    if total.records is not None and total.records.phantoms:
        found.append(f"{total.records.phantoms:,} of these read before")
    if total.lag is not None and total.lag.most > BEHIND:
        found.append(f"lag up to {total.lag.most:,}")
    return found


BEHIND = 5_000  # a lag from here on is what a scene is about


def refreshed(text: str) -> str:
    """The page with the figures of each row as they are now."""
    return ROW.sub(lambda row: f"| `{row['scene']}` | {row['kept']} | {row['gone']} | {measured(row['scene'])} |", text)


def main() -> int:
    """Write it, or check it."""
    return keep(PAGE, refreshed, __doc__)


if __name__ == "__main__":
    sys.exit(main())
