"""Small runs per CPU second, on counted and on replicated logs; two checkouts side by side.

    python -m benchmarks.small [CHECKOUT [CHECKOUT]] [--runs 12] [--repeat 9] [--json]

A CHECKOUT is the root of one, with its environment in `.venv`; without any it is this one. The scenario is
`benchmarks/small.yaml` of this checkout for both: three members, six partitions, six records a second, one minute, a
crash, a start, a stop. A run is `run_scenario` with one seed after the other, with the trace, without expectations;
the file is read and one run is made before the clock starts. Each measurement is a process of its own, and the
checkouts take turns, so that a slow moment of the machine strikes both; the same one twice shows the noise. The median
of the repeats counts; the quartiles say how far they lie apart. `set-up` is the share of a run's time that is spent
before its first microsecond is over: the same scenario with `run-for: 1us`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

import attrs

from benchmarks.common import Stopwatch, table
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading.changes import changed, read_change
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import run_scenario

HERE = Path(__file__).resolve().parent.parent
SMALL = HERE / "benchmarks" / "small.yaml"
LOGS = ("counted", "replicated")


def scenario(path: Path, logs: str) -> Scenario:
    """The small scenario on one kind of logs, without its expectations."""
    document = changed(read_document(path), [read_change(f"cluster.logs={logs}")])
    return attrs.evolve(scenario_of(document, path.stem), expect=())


def measure(path: Path, logs: str, runs: int) -> dict[str, Any]:
    """Runs per CPU second, and the share of the time that is set-up."""
    whole = scenario(path, logs)
    beginning = attrs.evolve(whole, run_for=1)
    events = len(run_scenario(whole, seed=0).events)
    cpu = _cpu(whole, runs)
    return {"rate": runs / cpu, "set_up": _cpu(beginning, runs) / cpu, "events": events}


def _cpu(one: Scenario, runs: int) -> float:
    watch = Stopwatch()
    watch.start()
    for seed in range(runs):
        run_scenario(one, seed=seed)
    return watch.stop()


def _in(checkout: Path, logs: str, runs: int) -> dict[str, Any]:
    """A measurement in a checkout, by its own code and with its own environment."""
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), "-m", "benchmarks.small", "--runs", str(runs), "--case", logs, str(SMALL)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"in {checkout}: {' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run(checkouts: list[Path], runs: int, repeat: int, as_json: bool = False) -> list[dict[str, Any]]:
    """Measure and print; returns the rows."""
    cases = [(logs, checkout) for logs in LOGS for checkout in checkouts]
    found: list[list[dict[str, Any]]] = [[] for _ in cases]
    for _ in range(repeat):
        for (logs, checkout), results in zip(cases, found, strict=True):
            results.append(_in(checkout, logs, runs))
    rows = [_row(logs, checkout, results) for (logs, checkout), results in zip(cases, found, strict=True)]
    for row in rows:
        first = next(other for other in rows if other["logs"] == row["logs"])
        row["ratio"] = row["rate"] / first["rate"]
    if not as_json:
        _show(rows)
    return rows


def _row(logs: str, checkout: Path, results: list[dict[str, Any]]) -> dict[str, Any]:
    rates = sorted(result["rate"] for result in results)
    quartiles = statistics.quantiles(rates, n=4) if len(rates) > 1 else [rates[0]] * 3
    return {
        "logs": logs,
        "checkout": str(checkout),
        "rate": statistics.median(rates),
        "quartiles": [quartiles[0], quartiles[2]],
        "set_up": statistics.median(result["set_up"] for result in results),
        "events": results[0]["events"],
    }


def _show(rows: list[dict[str, Any]]) -> None:
    columns = ("logs, checkout", "runs/s", "quartiles", "set-up", "events", "/ first")
    shown = [
        (
            f"{row['logs']}, {Path(row['checkout']).name}",
            f"{row['rate']:.1f}",
            "{:.1f} – {:.1f}".format(*row["quartiles"]),
            f"{row['set_up']:.0%}",
            row["events"],
            f"{row['ratio']:.2f}",
        )
        for row in rows
    ]
    table("Small runs per CPU second", columns, shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, metavar="CHECKOUT", help="roots; this one without any")
    parser.add_argument("--runs", type=int, default=12, help="in one measurement")
    parser.add_argument("--repeat", type=int, default=9, help="the median of so many measurements counts")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    parser.add_argument("--case", nargs=2, metavar=("LOGS", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(measure(Path(options.case[1]), options.case[0], options.runs)))
        return
    checkouts = [path.resolve() for path in options.checkouts] or [HERE]
    for checkout in checkouts:
        if not (checkout / "benchmarks" / "small.py").exists() or not (checkout / ".venv/bin/python").exists():
            parser.error(f"{checkout} is no checkout with benchmarks/small.py and an environment in .venv")
    rows = run(checkouts, options.runs, options.repeat, options.json)
    if options.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
