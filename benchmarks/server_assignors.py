"""The coordinator's assignors beside Kafka's own classes: a large group's first target, and the one after a leave.

    python -m benchmarks.server_assignors [--members 10000] [--partitions 100000] [--repeat 5] [--json]

One topic, all members subscribe to it; then one of them leaves. CPU time of the assignor alone, the median of the
repeats. Kafka's released classes (`tools/kafka_jars.py` fetches them) compute the same targets in one Java process, the
first of whose repeats are slow, because nothing is compiled then. Without Java or the jars their columns are empty.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import table
from groupsim.assignors.server.interface import ServerAssignor, ServerGroup, ServerMember, Target
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.uniform import ServerUniform

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT), str(ROOT / "tools")]

import kafka_jars  # noqa: E402

from tests.assignors.server.groups import FixedTopics, as_line  # noqa: E402

PROGRAM = ROOT / "tests" / "assignors" / "server" / "ServerAssignors.java"
TOPIC = "A" * 22
ASSIGNORS: tuple[ServerAssignor, ...] = (ServerUniform(), ServerRange())
SECONDS = 600


def _timed(assignor: ServerAssignor, group: ServerGroup, topics: FixedTopics) -> tuple[float, dict[str, Target]]:
    began = time.process_time()
    targets = assignor.assign(group, topics)
    return time.process_time() - began, dict(targets)


def _group(names: list[str], targets: dict[str, Target]) -> ServerGroup:
    return ServerGroup(tuple(ServerMember(name, (TOPIC,), targets.get(name, {})) for name in names), homogeneous=True)


def _of_kafka(lines: list[str]) -> list[float] | None:
    """Return the CPU seconds of Kafka's classes for each line; None without them."""
    try:
        command = [kafka_jars.java(), "-Xshare:auto", "-Dtimes=true", "-cp", kafka_jars.class_path(kafka_jars.STORAGE)]
    except kafka_jars.Unavailable:
        return None
    done = subprocess.run(
        [*command, str(PROGRAM)], input="\n".join(lines), capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return [int(line) / 1e9 for line in done.stdout.split()]


def run(members: int, partitions: int, repeat: int) -> list[dict[str, Any]]:
    """Return one row for each assignor: seconds of the first target and after the leave, ours and Kafka's."""
    topics = FixedTopics({TOPIC: partitions})
    names = [f"member-{number:05d}" for number in range(members)]
    rows, lines = [], []
    for assignor in ASSIGNORS:
        first, later = _group(names, {}), None
        times: dict[str, list[float]] = {"first": [], "leave": []}
        for _ in range(repeat):
            took, targets = _timed(assignor, first, topics)
            times["first"].append(took)
            later = _group(names[: members // 2] + names[members // 2 + 1 :], targets)
            times["leave"].append(_timed(assignor, later, topics)[0])
        assert later is not None
        lines += [as_line(assignor.name, one, topics) for _ in range(repeat) for one in (first, later)]
        rows.append({"assignor": assignor.name, **{name: statistics.median(of) for name, of in times.items()}})
    theirs = _of_kafka(lines)
    for number, row in enumerate(rows):
        row["leave / first"] = row["leave"] / row["first"]
        if theirs is not None:
            own = theirs[2 * repeat * number : 2 * repeat * (number + 1)]
            row["kafka first"], row["kafka leave"] = statistics.median(own[::2]), statistics.median(own[1::2])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5, help="the median of so many measurements counts")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of a table")
    options = parser.parse_args()
    rows = run(options.members, options.partitions, options.repeat)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    columns = ("assignor", "first", "leave", "leave / first", "kafka first", "kafka leave")
    shown = [
        (row["assignor"], *("–" if row.get(name) is None else f"{row[name]:.3f}" for name in columns[1:]))
        for row in rows
    ]
    table(f"{options.members:,} members, {options.partitions:,} partitions, CPU s", columns, shown)


if __name__ == "__main__":
    main()
