"""Real clients on `groupsim serve`, beside a real Kafka broker and beside librdkafka's own mock cluster, in one run.

    python -m benchmarks.serving [--members 1,5,20] [--repeat 5] [--delay-ms 500] [--seconds 3] [--records N] [--json]

Groups of confluent-kafka consumers, roundrobin over 20 partitions: seconds from the first consumer's construction until
all hold their share, and from the `close` of one until the others hold theirs; medians. The initial delay
(`group.initial.rebalance.delay.ms`) is the same for Kafka and ours; the mock's is 3 s and cannot be changed from
outside C, so the time beyond the delay stands beside it (`--delay-ms 3000` makes all alike). The heartbeat interval,
which decides when the others learn that one left, is the same for all. Repeats are interleaved, so that a slow moment
of the machine strikes all alike. The aim: at most 100 ms above Kafka, and less than the mock, which after a leave waits
out a session timeout (6 s here) less a second. With `--delay-ms 0` joins are a race: whether the first members are
Stable before the last ones come, and these cost the others a heartbeat interval more (a fast server loses it).

Requests per second: a loop of heartbeats of a member that joined, and one of Produce and Fetch by turns, over one
socket, one request at a time; the best of the repeats.

Then what `benchmarks.serving_load` measures: records per second of real clients on three brokers, idle CPU, the time of
a heartbeat beside other consumers, memory per record (`--records 0` leaves it out).

Needs `groupsim[serve]`, and Java and Kafka's jars for the broker (`tools/kafka_jars.py`).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks import serving_load, serving_raw
from benchmarks.common import table
from benchmarks.serving_groups import timed
from benchmarks.serving_peers import KAFKA, MOCK, OURS, Peer, started

NAMES = (OURS, KAFKA, MOCK)
TOPICS = tuple(f"t{number}" for number in range(5))
AIM_MS = 100
WARM_SECONDS = 6

Row = dict[str, Any]


def run(members: tuple[int, ...], repeat: int, delay_ms: int, heartbeat_ms: int, seconds: float) -> list[Row]:
    """Measure; a row for each server and measure. Raises as `serving_peers.started`, TimeoutError, RuntimeError."""
    with ExitStack() as stack:
        peers = [stack.enter_context(started(name, delay_ms, TOPICS)) for name in NAMES]
        for peer in peers:  # a broker makes its offsets topic at the first group
            timed(peer.bootstrap, "warm", 1, TOPICS, heartbeat_ms)
        rows = [row for size in members for row in _groups(peers, size, repeat, heartbeat_ms)]
        return rows + _rates(peers, repeat, seconds)


def _groups(peers: list[Peer], size: int, repeat: int, heartbeat_ms: int) -> list[Row]:
    found: dict[str, list[Any]] = {peer.name: [] for peer in peers}
    for number in range(repeat):
        for peer in peers:
            group = f"g{size}-{number}-{time.time_ns()}"
            found[peer.name].append(timed(peer.bootstrap, group, size, TOPICS, heartbeat_ms))
    rows = []
    for peer in peers:
        joins = [times.join for times in found[peer.name]]
        recoveries = [times.recover for times in found[peer.name] if times.recover is not None]
        rows.append(_row(peer, "join", size, median(joins), joins) | {"delay": peer.delay_ms / 1_000})
        if recoveries:
            rows.append(_row(peer, "recover", size, median(recoveries), recoveries))
    return rows


def _rates(peers: list[Peer], repeat: int, seconds: float) -> list[Row]:
    loops: dict[str, Callable[[Peer], float]] = {
        "heartbeats": lambda peer: serving_raw.heartbeats(peer.bootstrap, seconds),
        "produce/fetch": lambda peer: serving_raw.produce_fetch(peer.bootstrap, TOPICS[0], seconds),
    }
    _warm(peers, loops, seconds)
    rows = []
    for measure, loop in loops.items():
        found: dict[str, list[float]] = {peer.name: [] for peer in peers}
        for _ in range(repeat):
            for peer in peers:
                found[peer.name].append(loop(peer))
        rows += [_row(peer, measure, 1, max(found[peer.name]), found[peer.name]) for peer in peers]
    return rows


def _warm(peers: list[Peer], loops: dict[str, Callable[[Peer], float]], seconds: float) -> None:
    """Let a Java broker's compiler see what it is to be fast at; all get the same."""
    for loop in loops.values():
        for peer in peers:
            for _ in range(round(WARM_SECONDS / seconds)):
                loop(peer)


def _row(peer: Peer, measure: str, members: int, value: float, all_: list[float]) -> Row:
    return {"server": peer.name, "measure": measure, "members": members, "value": value, "all": all_}


def _shown(rows: list[Row]) -> None:
    by_case = {(row["measure"], row["members"], row["server"]): row for row in rows}
    times = [row for row in rows if row["measure"] in {"join", "recover"}]
    table(
        "Seconds until real consumers hold a stable assignment (medians)",
        ("measure", "server", "s", "least–most", "− delay", "− Kafka", "/ mock", "aim"),
        [_timed_cells(row, by_case) for row in times],
    )
    table(
        "Requests per second, one at a time over one socket (best)",
        ("loop", "server", "requests/s", "/ Kafka", "/ mock"),
        [
            (
                row["measure"],
                row["server"],
                int(row["value"]),
                *(f"{row['value'] / by_case[row['measure'], 1, name]['value']:.2f}" for name in (KAFKA, MOCK)),
            )
            for row in rows
            if row not in times
        ],
    )


def _timed_cells(row: Row, by_case: dict[tuple[str, int, str], Row]) -> tuple[str, ...]:
    case = row["measure"], row["members"]
    kafka, mock = by_case[*case, KAFKA], by_case[*case, MOCK]
    above_ms = 1_000 * (row["value"] - kafka["value"])
    # The mock's delay is another: what can be compared with Kafka is what is left without it.
    beyond = row["value"] - row.get("delay", 0)
    return (
        f"{row['measure']}, {row['members']}",
        row["server"],
        f"{row['value']:.3f}",
        f"{min(row['all']):.2f}–{max(row['all']):.2f}",
        f"{beyond:.3f}" if "delay" in row else "",
        f"{above_ms:+.0f} ms",
        f"{row['value'] / mock['value']:.2f}",
        "" if row["server"] != OURS else "yes" if above_ms <= AIM_MS and row["value"] < mock["value"] else "NO",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--members", default="1,5,20", help="sizes of the groups; 20 partitions are shared")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--delay-ms", type=int, default=500, help="group.initial.rebalance.delay.ms of Kafka and ours")
    parser.add_argument("--heartbeat-ms", type=int, default=500, help="the consumers' heartbeat.interval.ms")
    parser.add_argument("--seconds", type=float, default=3, help="of each loop of requests")
    parser.add_argument("--records", type=int, default=200_000, help="of each run of producer and consumer; 0: none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = tuple(map(int, options.members.split(",")))
    rows = run(sizes, options.repeat, options.delay_ms, options.heartbeat_ms, options.seconds)
    load = serving_load.run(options.records) if options.records else []
    if options.json:
        print(json.dumps(rows + load, indent=1))
        return
    _shown(rows)
    if load:
        serving_load.shown(load)


if __name__ == "__main__":
    main()
