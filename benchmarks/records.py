"""Records and fetches per CPU second of the whole simulator, beside a bare toy in SimPy.

    python -m benchmarks.records [--sizes 10,100,1000] [--repeat 3] [--json]

Ours: a stable group of real consumers with four partitions each and ten records a second in each partition, 1 ms of
processing per record, automatic commits every five seconds, heartbeats as always. Trace `off` and `normal` (records
delivered and processed, positions and commits are told as ranges). Measured from the moment the group is stable.

SimPy's toy: a process per consumer that fetches (two latencies), takes what there is by arithmetic, and sleeps while
it processes; no commits, no group.
"""

from __future__ import annotations

import argparse
import json
import random
from typing import Any

import simpy

from benchmarks.common import LATENCY_US, Stopwatch, best, group, table, tracing
from groupsim.cluster.counted.feed import Reader
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.behaviour import Behaviour

FETCHES = 50_000
SIZES = (10, 100, 1_000)
LEVELS = ("off", "normal")
PARTITIONS_EACH = 4
RATE_EACH = 10
PROCESSING_US = 1_000
_WARM_UP_US = 30 * SECOND_US


def _horizon_us(members: int) -> int:
    """Long enough for about so many fetches: a consumer of 40 records a second finds one at a time."""
    return max(FETCHES * SECOND_US // (members * PARTITIONS_EACH * RATE_EACH), SECOND_US)


def ours(members: int, level: str) -> dict[str, Any]:
    """Records through a stable group of real consumers."""
    found: dict[str, Any] = {}

    async def main(loop: VirtualLoop) -> None:
        partitions = members * PARTITIONS_EACH
        _, consumers = group(
            loop,
            members,
            partitions=partitions,
            rate=partitions * RATE_EACH,
            behaviour=Behaviour(processing=parse_distribution("1ms")),
            properties={"enable.auto.commit": True},
        )
        fetches = 0
        fetch = Reader.fetch

        def counted(reader: Reader, positions: Any) -> None:
            nonlocal fetches
            fetches += 1
            fetch(reader, positions)

        Reader.fetch = counted  # type: ignore[method-assign]
        await loop.sleep(_WARM_UP_US)
        records, fetches = sum(sum(c.positions.values()) for c in consumers), 0
        watch = Stopwatch()
        watch.start()
        await loop.sleep(_horizon_us(members))
        cpu = watch.stop()
        records = sum(sum(c.positions.values()) for c in consumers) - records
        found.update(_row(level, members, records, fetches, cpu))

    run_virtual(main, trace=tracing(level))
    return found


def _row(who: str, members: int, records: int, fetches: int, cpu: float) -> dict[str, Any]:
    return {"who": who, "members": members, "records": records, "fetches": fetches, "cpu": cpu, "rate": fetches / cpu}


def toy(members: int, kind: str) -> dict[str, Any]:
    """The same fetches in SimPy."""
    env = simpy.Environment()
    luck = random.Random(0).random
    low, width = LATENCY_US[0], LATENCY_US[1] - LATENCY_US[0]
    records = fetches = 0

    def consumer() -> Any:
        nonlocal records, fetches
        position, rate = 0, PARTITIONS_EACH * RATE_EACH
        while True:
            fetches += 1
            yield env.timeout(low + int(luck() * width))
            due = -(-(position + 1) * SECOND_US // rate)
            if due > env.now:
                yield env.timeout(due - env.now)
            end = rate * env.now // SECOND_US
            yield env.timeout(low + int(luck() * width))
            records += end - position
            yield env.timeout((end - position) * PROCESSING_US)
            position = end

    for _ in range(members):
        env.process(consumer())
    watch = Stopwatch()
    watch.start()
    env.run(until=_horizon_us(members))
    return _row("simpy", members, records, fetches, watch.stop())


def run(sizes: tuple[int, ...] = SIZES, repeat: int = 3, as_json: bool = False) -> list[dict[str, Any]]:
    """Measure and print; returns the rows."""
    cases = [(kind, str(size)) for size in sizes for kind in (*LEVELS, "simpy")]
    by_case = dict(zip(cases, best("records", "rate", repeat, cases), strict=True))
    for (_, size), result in by_case.items():
        result["beside simpy"] = round(result["rate"] / by_case["simpy", size]["rate"], 2)
    results = list(by_case.values())
    if not as_json:
        rows = [
            (
                r["who"],
                r["members"],
                int(r["records"] / r["cpu"]),
                int(r["rate"]),
                f"{1e6 / r['rate']:.1f}",
                r["beside simpy"],
            )
            for r in results
        ]
        columns = ("trace, or toy", "members", "records/s", "fetches/s", "µs a fetch", "/ simpy")
        table("Records and fetches per CPU second, stable group", columns, rows)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is None:
        rows = run(tuple(map(int, options.sizes.split(","))), options.repeat, options.json)
        if options.json:
            print(json.dumps(rows, indent=1))
        return
    kind, size = options.case
    print(json.dumps((ours if kind in LEVELS else toy)(int(size), kind)))


if __name__ == "__main__":
    main()
