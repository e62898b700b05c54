"""Real consumers of `group.protocol=consumer` on `groupsim serve`, on Kafka and on librdkafka's mock cluster.

    python -m benchmarks.serving_consumer [--members 1,5,20] [--repeat 5] [--at-once] [--json]

What `benchmarks.serving` measures for the classic protocol: seconds from the first confluent-kafka consumer's
construction until all hold their share, and from the `close` of one until the others hold theirs; medians. The
heartbeat interval, of which most of these times is made, is a setting of the brokers: 3 s for all, because that is the
mock's, and nothing outside C can change it. Repeats are interleaved, so that a slow moment of the machine strikes all
alike. The aim: at most 100 ms above Kafka.

A member hears of a change at its next heartbeat, and an interval counts from a member's first heartbeat. With members
that start at once the order of their first heartbeats, which is a matter of milliseconds, decides about whole
intervals: the first member holds all, and whose heartbeat comes before its own waits for one more interval. So the
members start at instants that are the same for all servers: one, and a moment later the others, all within the second
in which Kafka computes no second target (`group.consumer.assignment.interval.ms`). A close comes shortly before the
heartbeats. `--at-once` starts all at once, for the difference. A group of n has n (n - 1) partitions, so that each of
the others gets one of the member that closed, and the last heartbeat among them ends the time. With fewer it would be
that of one member; which one would depend on the member ids, and these are random.

The mock shares the four partitions of each topic among four members and gives the others nothing, so its times end
when four members hold all.

Needs `groupsim[serve]`, and Java and Kafka's jars for the broker (`tools/kafka_jars.py`).
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import ExitStack
from math import ceil
from statistics import median
from typing import Any

from benchmarks.common import table
from benchmarks.serving_groups import Pace, Times, timed
from benchmarks.serving_peers import KAFKA, MOCK, OURS, PARTITIONS, Peer, started

NAMES = (OURS, KAFKA, MOCK)
LEAST_TOPICS = 5
AIM_MS = 100
HEARTBEAT_MS = 3_000
"""The mock's."""
SECOND_S, LAST_S = 0.4, 0.8
"""When the second and the last member start. The first one's heartbeats come before those of the others."""
BROKERS = {
    "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
}

Row = dict[str, Any]


def topics(members: int) -> tuple[str, ...]:
    """The topics of a group: n (n - 1) partitions for n members."""
    count = max(LEAST_TOPICS, ceil(members * (members - 1) / PARTITIONS))
    return tuple(f"t{number}" for number in range(count))


def pace(members: int) -> Pace:
    """When the members of a group start, and when one closes: shortly before heartbeats, and when all have arrived."""
    apart = (LAST_S - SECOND_S) / max(1, members - 2)
    interval = HEARTBEAT_MS / 1_000
    return Pace((0.0, *(SECOND_S + apart * n for n in range(members - 1))), interval + SECOND_S / 2, interval)


def run(members: tuple[int, ...], repeat: int, names: tuple[str, ...] = NAMES, *, at_once: bool = False) -> list[Row]:
    """Measure; a row for each server and measure. Raises as `serving_peers.started`, TimeoutError."""
    with ExitStack() as stack:
        peers = [stack.enter_context(started(name, 0, topics(max(members)), more=BROKERS)) for name in names]
        for peer in peers:  # a broker makes its offsets topic at the first group
            timed(peer.bootstrap, "warm", 1, topics(1))
        return [row for size in members for row in _groups(peers, size, repeat, at_once=at_once)]


def _groups(peers: list[Peer], size: int, repeat: int, *, at_once: bool) -> list[Row]:
    found: dict[str, list[Times]] = {peer.name: [] for peer in peers}
    paced = None if at_once else pace(size)
    for number in range(repeat):
        for peer in peers:
            group = f"g{size}-{number}-{time.time_ns()}"
            by_topic = peer.name == MOCK
            found[peer.name].append(timed(peer.bootstrap, group, size, topics(size), by_topic=by_topic, pace=paced))
    rows = []
    for name, times in found.items():
        rows.append(_row(name, "join", size, [one.join for one in times]))
        recoveries = [one.recover for one in times if one.recover is not None]
        if recoveries:
            rows.append(_row(name, "recover", size, recoveries))
    return rows


def _row(server: str, measure: str, members: int, values: list[float]) -> Row:
    return {"server": server, "measure": measure, "members": members, "value": median(values), "all": values}


def cells(row: Row, rows: list[Row]) -> tuple[str, ...]:
    """A row of the table: the case, the server, its median and extremes, how far it is above Kafka, the aim."""
    case = row["measure"], row["members"]
    kafka = next(one for one in rows if (one["measure"], one["members"], one["server"]) == (*case, KAFKA))
    above_ms = 1_000 * (row["value"] - kafka["value"])
    return (
        f"{row['measure']}, {row['members']}",
        row["server"],
        f"{row['value']:.3f}",
        f"{min(row['all']):.2f}–{max(row['all']):.2f}",
        f"{above_ms:+.0f} ms",
        "" if row["server"] != OURS else "yes" if above_ms <= AIM_MS else "NO",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--members", default="1,5,20", help="sizes of the groups")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--at-once", action="store_true", help="start all members of a group at once")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = run(tuple(map(int, options.members.split(","))), options.repeat, at_once=options.at_once)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    table(
        "Seconds until real consumers of group.protocol=consumer hold their shares (medians)",
        ("measure", "server", "s", "least–most", "− Kafka", "aim"),
        [cells(row, rows) for row in rows],
    )


if __name__ == "__main__":
    main()
