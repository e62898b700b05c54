"""How much memory and time a large group takes that goes on for long: `groupsim run benchmarks/crowd.yaml`.

    python -m benchmarks.crowd [--hours 1] [--hours 24 …] [--logs counted] [--set KEY=VALUE …] [--json]

500 members, 5,000 partitions, 500 records a second, Kafka's default settings. Each row is a process of its own, run as
a user runs it; its memory is the peak of its resident set, its time that of the processor. What a run of one hour and
one of several differ by is what an hour more costs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import table

CROWD = Path(__file__).resolve().parent / "crowd.yaml"


def measure(hours: float, logs: str, settings: list[str]) -> dict[str, Any]:
    """Run it for so many virtual hours: peak memory in MB, processor time in seconds, what the first line says."""
    changes = [f"run-for={hours * 60:g}m", f"cluster.logs={logs}", *settings]
    command = [sys.executable, "-m", "groupsim", "run", str(CROWD)]
    command += [part for change in changes for part in ("--set", change)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        headline = run.stdout.readline().strip()
        run.stdout.read()
        _, status, spent = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}")
    cpu = spent.ru_utime + spent.ru_stime
    return {"hours": hours, "logs": logs, "peak_mb": spent.ru_maxrss / 1024, "cpu_s": cpu, "headline": headline}


def run(hours: list[float], logs: str, settings: list[str], as_json: bool = False) -> list[dict[str, Any]]:
    """Measure and print; returns the rows."""
    rows = [measure(each, logs, settings) for each in hours]
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        shown = [(f"{row['hours']:g}", row["logs"], f"{row['peak_mb']:.0f}", f"{row['cpu_s']:.0f}") for row in rows]
        table("500 members, 5,000 partitions", ("virtual hours", "logs", "peak MB", "CPU s"), shown)
    return rows


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, action="append", help="virtual hours; several are measured in turn")
    parser.add_argument("--logs", default="counted", choices=("counted", "replicated"))
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    run(options.hours or [1.0], options.logs, options.settings, options.json)


if __name__ == "__main__":
    main()
