"""CPU time of starting: `groupsim --help`, `groupsim list`, a simulation made in a script; two checkouts side by side.

    python -m benchmarks.start_up [CHECKOUT [CHECKOUT]] [--repeat 9] [--json]

A CHECKOUT is the root of one, with its environment in `.venv`; without any it is this one. Each measurement is a
process of its own, user and system time together; the checkouts take turns, so that a slow moment of the machine
strikes both. The median of the repeats counts. One start of each before the clock writes Python's compiled files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.common import table

HERE = Path(__file__).resolve().parent.parent
COMMANDS = {
    "groupsim --help": ["-m", "groupsim", "--help"],
    "groupsim list": ["-m", "groupsim", "list"],
    "groupsim list --json": ["-m", "groupsim", "list", "--json"],
    "groupsim run demo": ["-m", "groupsim", "run", "demo"],
    "Simulation(seed=1)": ["-c", "import groupsim; groupsim.Simulation(seed=1)"],
    "python alone": ["-c", ""],
}


def seconds(checkout: Path, arguments: list[str]) -> float:
    """User and system time of one process, in seconds. Raises RuntimeError when it fails."""
    command = [str(checkout / ".venv" / "bin" / "python"), *arguments]
    process = subprocess.Popen(command, cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"in {checkout}: {' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(checkouts: list[Path], repeat: int) -> list[dict[str, Any]]:
    """One row for each command and checkout: the median, and its ratio to the first checkout's."""
    found: dict[tuple[str, Path], list[float]] = {(name, one): [] for name in COMMANDS for one in checkouts}
    for turn in range(repeat + 1):
        for name, one in found:
            took = seconds(one, COMMANDS[name])
            if turn:
                found[name, one].append(took)
    medians = {key: statistics.median(times) for key, times in found.items()}
    return [
        {"command": name, "checkout": str(one), "seconds": took, "ratio": took / medians[name, checkouts[0]]}
        for (name, one), took in medians.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, metavar="CHECKOUT", help="roots; this one without any")
    parser.add_argument("--repeat", type=int, default=9, help="the median of so many measurements counts")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    options = parser.parse_args()
    rows = measure([path.resolve() for path in options.checkouts] or [HERE], options.repeat)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    columns = ("command, checkout", "CPU s", "/ first")
    shown = [(f"{r['command']}, {Path(r['checkout']).name}", f"{r['seconds']:.2f}", f"{r['ratio']:.2f}") for r in rows]
    table("CPU time of starting", columns, shown)


if __name__ == "__main__":
    main()
