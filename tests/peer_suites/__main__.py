"""Run the group tests of other clients' suites in front of `groupsim serve`.

    python -m tests.peer_suites [SUITE …] [--write]     all suites, or those named; --write keeps the table in the docs

Sources come from package registries into the user's cache folder; a suite that cannot be had is skipped with the
reason. Outputs lie in .build/peer-suites. Exit code 1 when a test failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from groupsim.control import Served

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from tests.peer_suites.runners import RUNNERS  # noqa: E402
from tests.peer_suites.sources import Unavailable  # noqa: E402
from tests.peer_suites.suites import SUITES, Suite, skips  # noqa: E402

DOC = ROOT / "docs" / "peer-suites.md"
BUILD = ROOT / ".build" / "peer-suites"
BEGIN, END = "<!-- suites -->", "<!-- end -->"

Row = dict[str, Any]


def main() -> int:
    """Run; 0 when no test failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.peer_suites")
    parser.add_argument("suites", nargs="*", help=f"among {', '.join(SUITES)}; all when none is given")
    parser.add_argument("--write", action="store_true", help="keep the table in docs/peer-suites.md")
    asked = parser.parse_args()
    if unknown := [name for name in asked.suites if name not in SUITES]:
        parser.error(f"no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in asked.suites or SUITES:
        row = run(SUITES[name])
        (BUILD / f"{name}.json").write_text(json.dumps(row, indent=1) + "\n")
        print(told(row), flush=True)
    rows = [json.loads(file.read_text()) for name in SUITES if (file := BUILD / f"{name}.json").exists()]
    if asked.write:
        before, _, rest = DOC.read_text().partition(BEGIN)
        DOC.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.partition(END)[2]}")
    return 1 if any(row["failed"] for row in rows if row["suite"] in (asked.suites or SUITES)) else 0


def run(suite: Suite) -> Row:
    """Run one suite in front of a cluster of its own."""
    row: Row = {
        "suite": suite.name,
        "release": suite.release,
        "passed": 0,
        "failed": [],
        "skipped": [],
        "unavailable": "",
    }
    settings = [word for name, value in suite.properties.items() for word in ("--broker", f"{name}={value}")]
    began = time.monotonic()
    try:
        with Served("--brokers", str(suite.brokers), *settings) as process:
            found = RUNNERS[suite.name](suite, process.bootstrap, BUILD / f"{suite.name}.log")
            (BUILD / f"{suite.name}-serve.log").write_text(process.log)
    except (Unavailable, OSError) as error:
        return row | {"unavailable": str(error)}
    counted = Counter(one.outcome for one in found)
    row["passed"] = counted["passed"]
    row |= {key: [one.test for one in found if one.outcome == key] for key in ("failed", "skipped")}
    return row | {"seconds": round(time.monotonic() - began)}


def told(row: Row) -> str:
    """One line for the terminal."""
    if row["unavailable"]:
        return f"{row['suite']} {row['release']}: skipped, {row['unavailable']}"
    said = f"{row['passed']} passed, {len(row['failed'])} failed, {len(row['skipped'])} skipped"
    failed = "".join(f"\n  failed: {test}" for test in row["failed"])
    return f"{row['suite']} {row['release']}: {said} in {row['seconds']} s{failed}"


def table(rows: list[Row]) -> str:
    """The table of the docs: what was run, and what our list leaves out."""
    left_out = Counter(skip.suite for skip in skips())
    lines = [["suite", "run", "passed", "failed", "skipped by itself", "left out (skips.csv)", "seconds"]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        counts = (row["passed"] + len(row["failed"]), row["passed"], len(row["failed"]), len(row["skipped"]))
        outcome = ["not available", "", "", ""] if row["unavailable"] else [str(count) for count in counts]
        name = f"{row['suite']} {row['release']}"
        lines.append([name, *outcome, str(left_out[row["suite"]]), str(row.get("seconds", ""))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
