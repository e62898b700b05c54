"""CPU time of a quiet group with Kafka's default settings, auto-commit included; two checkouts side by side.

    python -m benchmarks.quiet [CHECKOUT [CHECKOUT]] [--sizes 300] [--minutes 10] [--repeat 9] [--json]

No records, counted logs, the trace on and kept in memory; measured from the moment the group is settled. Each member
sends 20 heartbeats and 12 OffsetCommits a minute: a commit changes nothing and is written all the same, as in Kafka.
`without` is the same with auto-commit off, so that the difference is what the commits cost. Each measurement is a
process of its own, the checkouts take turns, the median of the repeats counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.common import Stopwatch, group, table, tracing
from groupsim.eventloop.units import MINUTE_US
from groupsim.eventloop.virtual import VirtualLoop

HERE = Path(__file__).resolve().parent.parent
COMMITS_PER_MINUTE = 12
SETTINGS = ("default", "without")


def measure(members: int, minutes: int, settings: str) -> float:
    """CPU seconds of so many quiet minutes."""
    found: list[float] = []

    async def main(loop: VirtualLoop) -> None:
        _, consumers = group(loop, members, properties={"enable.auto.commit": settings == "default"})
        assert await loop.until(lambda: all(one.settled for one in consumers), 5 * MINUTE_US)
        watch = Stopwatch()
        watch.start()
        await loop.sleep(minutes * MINUTE_US)
        found.append(watch.stop())

    VirtualLoop(0, tracing("normal")).run(main)
    return found[0]


def _in(checkout: Path, *case: object) -> float:
    """A measurement of this module in a checkout, by the checkout's own code and with its own environment."""
    command = [str(checkout / ".venv" / "bin" / "python"), str(Path(__file__).resolve()), "--case", *map(str, case)]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"in {checkout}: {' '.join(command)} failed:\n{done.stderr}")
    return float(done.stdout)


def run(checkouts: list[Path], sizes: list[int], minutes: int, repeat: int) -> list[dict[str, Any]]:
    """One row for each size, kind of settings and checkout: the median, and its ratio to the first checkout's."""
    cases = [(size, settings, one) for size in sizes for settings in SETTINGS for one in checkouts]
    found: dict[tuple[int, str, Path], list[float]] = {case: [] for case in cases}
    for _ in range(repeat):
        for case in cases:
            size, settings, one = case
            found[case].append(_in(one, size, minutes, settings))
    medians = {case: statistics.median(times) for case, times in found.items()}
    rows = []
    for (size, settings, one), took in medians.items():
        commits = (took - medians[size, "without", one]) * 1e6 / (size * minutes * COMMITS_PER_MINUTE)
        ratio = took / medians[size, settings, checkouts[0]]
        row = {"members": size, "settings": settings, "checkout": str(one), "seconds": took, "ratio": ratio}
        rows.append({**row, "commit_us": commits if settings == "default" else None})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, metavar="CHECKOUT", help="roots; this one without any")
    parser.add_argument("--sizes", default="300", help="members, comma-separated")
    parser.add_argument("--minutes", type=int, default=10, help="of virtual time")
    parser.add_argument("--repeat", type=int, default=9, help="the median of so many measurements counts")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    parser.add_argument("--case", nargs=3, metavar=("MEMBERS", "MINUTES", "SETTINGS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        print(measure(int(options.case[0]), int(options.case[1]), options.case[2]))
        return
    checkouts = [path.resolve() for path in options.checkouts] or [HERE]
    rows = run(checkouts, [int(size) for size in options.sizes.split(",")], options.minutes, options.repeat)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    columns = ("members, auto-commit, checkout", "CPU s", "/ first", "µs per commit")
    shown = [
        (
            f"{row['members']}, {row['settings']}, {Path(row['checkout']).name}",
            f"{row['seconds']:.2f}",
            f"{row['ratio']:.2f}",
            "–" if row["commit_us"] is None else f"{row['commit_us']:.0f}",
        )
        for row in rows
    ]
    table(f"{options.minutes} quiet minutes", columns, shown)


if __name__ == "__main__":
    main()
