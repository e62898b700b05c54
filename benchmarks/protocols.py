"""What the consumer protocol (KIP-848) costs beside the classic one: CPU time of the whole simulator.

    python -m benchmarks.protocols [--short] [--repeat 9] [--before CHECKOUT] [--json]

Three figures, each under both protocols, with the same client (Java 4), the same broker and no trace:

    quiet N   µs per heartbeat of a quiet group of N members: no records, commits, look-ups of metadata
    churn N   CPU s of N members that form a group, lose one by a crash, and have arrived
    deploy    ms of CPU of a run as a sweep does it: the rolling deploy of `benchmarks.deploy`, six records a second

A classic heartbeat is sent every 3 s, one of the consumer protocol every 5 s, so a figure of `quiet` is for one
heartbeat, not for a minute. A group has arrived when every member is stable and no target is left to reconcile.

Each measurement is a process of its own; the protocols take turns, so that a slow moment of the machine strikes both.
The median of the repeats counts. `ratio` is the median of the ratios of neighbours, `least` and `most` the extremes.

With `--before` the classic figures are measured in another checkout, too, by that checkout's code, in turn with those
of this one. Its `benchmarks/common.py` must have `group`; the client is then the default of both checkouts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import INTERVAL_US, Stopwatch, group, table, tracing
from benchmarks.deploy import SCENARIO
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.pipeline.runs import simulate
from groupsim.protocol.messages.releases import BASELINE
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.loading.canonical import canonical_json

HERE = Path(__file__).resolve().parent.parent
CLIENT = "java-4.x"
CLASSIC, CONSUMER, DEFAULT = "classic", "consumer", "default"
#: Figure, number of members (0: its own), and the greatest ratio that is aimed at.
CASES = (("quiet", 100, 1.3), ("quiet", 1_000, 1.3), ("quiet", 10_000, 1.3), ("churn", 1_000, 1.5), ("deploy", 0, 1.3))
SHORT = (("quiet", 100, 1.3), ("churn", 100, 1.5), ("deploy", 0, 1.3))
BEFORE_AIM = 1.1
Row = dict[str, Any]
UNITS = {"quiet": "µs", "churn": "s", "deploy": "ms"}
HEARTBEATS = 100_000
RUNS = 10
_NO_LOOK_UPS = {"metadata.max.age.ms": 24 * 3_600_000}  # else a member asks for metadata every five minutes
_NOBODY: Any = {"cell": 0, "digest": "", "code": "", "repeat": ""}
_LONGEST_US = 600 * SECOND_US
_SESSION_US = 50 * SECOND_US  # the session, 45 s, and a check of it


def _given(protocol: str) -> dict[str, Any]:
    """Return the arguments of `group` for a protocol; the default client's for `default`, as old checkouts have it."""
    if protocol == DEFAULT:
        return {"properties": _NO_LOOK_UPS}
    return {"client": CLIENT, "properties": {"group.protocol": protocol, **_NO_LOOK_UPS}}


def quiet(members: int, protocol: str) -> float:
    """Microseconds per heartbeat of a quiet group."""
    found: list[float] = []

    async def main(loop: VirtualLoop) -> None:
        _, consumers = group(loop, members, **_given(protocol))
        await _arrived(loop, consumers)
        before = sum(consumer.heartbeats for consumer in consumers)
        watch = Stopwatch()
        watch.start()
        await loop.sleep(5 * INTERVAL_US * max(HEARTBEATS // members // 4, 2))
        cpu = watch.stop()
        found.append(cpu * 1e6 / (sum(consumer.heartbeats for consumer in consumers) - before))

    run_virtual(main, trace=tracing("off"))
    return found[0]


def churn(members: int, protocol: str) -> float:
    """CPU seconds of a group that forms, loses a member by a crash, and has arrived."""
    found: list[float] = []

    async def main(loop: VirtualLoop) -> None:
        watch = Stopwatch()
        watch.start()
        cluster, consumers = group(loop, members, **_given(protocol))
        await _arrived(loop, consumers)
        consumers.pop(members // 2).crash()
        await loop.sleep(_SESSION_US)
        await _arrived(loop, consumers)
        found.append(watch.stop())
        snapshot = cluster.snapshot("group")
        assert snapshot is not None
        assert (snapshot.state, len(snapshot.members)) == ("Stable", members - 1)
        assert sum(len(consumer.assignment) for consumer in consumers) == members  # as many partitions

    run_virtual(main, trace=tracing("off"))
    return found[0]


async def _arrived(loop: VirtualLoop, consumers: Sequence[Any]) -> None:
    """Wait until the group has been settled for three intervals of the longer heartbeat."""
    since, settled_us = loop.now_us, 0
    while settled_us < 15 * SECOND_US:
        await loop.sleep(SECOND_US)
        settled_us = settled_us + SECOND_US if all(one.settled for one in consumers) else 0
        assert loop.now_us < since + _LONGEST_US


def deploy(_: int, protocol: str) -> float:
    """Milliseconds of CPU of a run of a rolling deploy of six members, with the rows of a sweep."""
    scenario = SCENARIO.replace("RATE", "6/s")
    if protocol != DEFAULT:
        scenario = scenario.replace('"3.9"', f'"{BASELINE}"').replace("java-3.9", CLIENT)
    if protocol == CONSUMER:
        scenario = scenario.replace("partition.assignment.strategy: range", "group.protocol: consumer")
    document = canonical_json(parse_document(scenario), "deploy")
    simulate(document, RUNS, **_NOBODY)  # the first run of a process makes what others share
    watch = Stopwatch()
    watch.start()
    for seed in range(RUNS):
        simulate(document, seed, **_NOBODY)
    return watch.stop() * 1_000 / RUNS


FIGURES = {"quiet": quiet, "churn": churn, "deploy": deploy}


def _in(checkout: Path, figure: str, members: int, protocol: str) -> float:
    """Measure in a checkout, by its code and in its environment."""
    command = [str(checkout / ".venv" / "bin" / "python"), str(Path(__file__).resolve()), "--case", figure]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [*command, str(members), protocol], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"in {checkout}: {' '.join(command)} failed:\n{done.stderr}")
    return float(done.stdout)


def _row(figure: str, members: int, names: tuple[str, str], pairs: Sequence[tuple[float, float]], aim: float) -> Row:
    ratios = [second / first for first, second in pairs]
    return {
        "figure": figure,
        "members": members,
        "unit": UNITS[figure],
        "of": names,
        "first": statistics.median(first for first, _ in pairs),
        "second": statistics.median(second for _, second in pairs),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "aim": aim,
    }


def run(cases: Sequence[tuple[str, int, float]], repeat: int, before: Path | None) -> list[Row]:
    """Measure every case in turn; one row for each, and one more for the classic figure of another checkout."""
    rows = []
    for figure, members, aim in cases:
        pairs = [(_in(HERE, figure, members, CLASSIC), _in(HERE, figure, members, CONSUMER)) for _ in range(repeat)]
        rows.append(_row(figure, members, (CLASSIC, CONSUMER), pairs, aim))
        if before is not None:
            pairs = [
                (_in(before, figure, members, DEFAULT), _in(HERE, figure, members, DEFAULT)) for _ in range(repeat)
            ]
            rows.append(_row(figure, members, ("classic, before", "classic, now"), pairs, BEFORE_AIM))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="small groups only")
    parser.add_argument("--only", help="these figures alone, comma-separated: quiet, churn, deploy")
    parser.add_argument("--repeat", type=int, default=9, help="the median of so many measurements counts")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="measure the classic figures there, too")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    parser.add_argument("--case", nargs=3, metavar=("FIGURE", "MEMBERS", "PROTOCOL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        figure, members, protocol = options.case
        print(FIGURES[figure](int(members), protocol))
        return
    named = options.only.split(",") if options.only else list(FIGURES)
    cases = [case for case in (SHORT if options.short else CASES) if case[0] in named]
    rows = run(cases, options.repeat, None if options.before is None else options.before.resolve())
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    shown = [
        (
            f"{row['figure']} {row['members'] or 6}, {row['unit']}, {' / '.join(row['of'])}",
            *(f"{row[name]:.2f}" for name in ("first", "second", "ratio", "least", "most", "aim")),
        )
        for row in rows
    ]
    table("CPU time, the second beside the first", ("", "first", "second", "ratio", "least", "most", "aim"), shown)


if __name__ == "__main__":
    main()
