"""What one run of a small rolling deploy costs, beside as many bare events.

    python -m benchmarks.deploy [--rates 0/s,6/s,24/s] [--runs 20] [--repeat 5] [--json]

Ours: six members, 24 partitions, five virtual minutes, a StatefulSet rolled pod by pod (two rebalances each), with
records at several rates: a whole run with its trace, the story told of it, and the rows of every table of a sweep. The
heap events of the run are counted, and as many events that do nothing but schedule the next one are run on our own
loop and on a plain `heapq`, in the same process, in turn with the runs. A part is the best of the repeats of one seed;
`sweep` is the mean over so many seeds one after the other, through `pipeline.runs.simulate`, garbage collection
included; `2,000` what so many runs take on two cores, `ratio` a run over its bare events on our loop.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from benchmarks.common import Stopwatch, in_a_process, table
from benchmarks.heartbeat_floor import bare_heapq
from benchmarks.heartbeats import bare_events, counted
from groupsim.pipeline.runs import Label, Lists, rows_of, simulate
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.loading.canonical import canonical_json, scenario_from_json
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import tell

RATES = ("0/s", "6/s", "24/s")
RUNS = 20
CORES, SWEEP = 2, 2_000
SCENARIO = """
title: a small rolling deploy
run-for: 300s
broker: {version: "3.9"}
cluster: {logs: counted}
topics: {orders: {partitions: 24, rate: RATE}}
groups:
  orders:
    client: java-3.9
    properties: {auto.offset.reset: earliest, partition.assignment.strategy: range}
    processing: lognormal(median=2ms, p95=10ms)
    members: {pod: {count: 6, stagger: 100ms}}
timeline:
  - {at: 30s, do: rolling-restart, kind: statefulset, start-time: "lognormal(median=12s, p95=45s)", ready-time: 10s,
     stop-time: "uniform(0s, 200ms)"}
"""
_NOBODY = {"cell": 0, "digest": "", "code": "", "repeat": ""}


def ours(rate: str, runs: int, repeat: int) -> dict[str, Any]:
    """The deploy at one rate, in turn with bare events; milliseconds of CPU."""
    document = canonical_json(parse_document(SCENARIO.replace("RATE", rate)), "deploy")
    scenario = scenario_from_json(document)
    with counted() as events:
        trace = run_scenario(scenario, seed=1).events
    story = tell(trace)
    label = Label(0, 1, "", "", "")
    parts: dict[str, Callable[[], object]] = {
        "run": lambda: run_scenario(scenario, seed=1),
        "tell": lambda: tell(trace),
        "rows": lambda: rows_of(Lists(trace), story, label),
        "heapq": lambda: bare_heapq(events[0]),
    }
    best: dict[str, float] = {}
    for _ in range(repeat):
        for name, part in parts.items():
            best[name] = min(best.get(name, 1e9), _cpu_ms(part))
        bare = bare_events(events[0])["cpu"] * 1_000  # without the start of a loop, as in `heartbeats`
        best["bare"] = min(best.get("bare", 1e9), bare)
    best["sweep"] = _cpu_ms(lambda: _sweep(document, runs)) / runs
    return {"rate": rate, "events": events[0], "told": len(trace), **best, "ratio": best["run"] / best["bare"]}


def _sweep(document: str, runs: int) -> None:
    for seed in range(runs):
        simulate(document, seed, **_NOBODY)  # type: ignore[arg-type]


def _cpu_ms(part: Callable[[], object]) -> float:
    watch = Stopwatch()
    watch.start()
    part()
    return watch.stop() * 1_000


def run(
    rates: tuple[str, ...] = RATES, runs: int = RUNS, repeat: int = 5, as_json: bool = False
) -> list[dict[str, Any]]:
    """Measure and print; returns the rows."""
    found = [in_a_process("deploy", rate, str(runs), str(repeat)) for rate in rates]
    if not as_json:
        names = ("run", "tell", "rows", "bare", "heapq", "sweep")
        columns = ("rate", "events", *names, "ratio", "2,000")
        shown = [
            (
                row["rate"],
                row["events"],
                *(f"{row[name]:.0f}" for name in names),
                f"{row['ratio']:.1f}",
                f"{row['sweep'] * SWEEP / CORES / 1_000:.0f} s",
            )
            for row in found
        ]
        table("One run of a small rolling deploy, and as many bare events: ms of CPU", columns, shown)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rates", default=",".join(RATES))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is None:
        rows = run(tuple(options.rates.split(",")), options.runs, options.repeat, options.json)
        if options.json:
            print(json.dumps(rows, indent=1))
        return
    rate, runs, repeat = options.case
    print(json.dumps(ours(rate, int(runs), int(repeat))))


if __name__ == "__main__":
    main()
