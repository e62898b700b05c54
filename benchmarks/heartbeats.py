"""Heartbeats per CPU second of the whole simulator, beside SimPy running a bare toy.

    python -m benchmarks.heartbeats [--sizes 100,1000,10000] [--repeat 3] [--json]

Ours: real consumers, connections with a latency per segment, a broker, the coordinator's core with its session
timers, in a quiet group: no records, the poll blocked in one long wait. Measured from the moment the group is stable.
With the trace `off`, `normal` (quiet heartbeats counted) and `full` (each listed, sent, received and answered); and
with Kafka's `default` settings, the trace `normal`: then the 0.6 OffsetCommits that fall on a heartbeat count with it.

SimPy's toy has none of that: one process per member that waits three seconds, sends (a latency), has the coordinator
move its session deadline (a dictionary), and waits for the answer (a latency). `lean` writes the latencies as timeouts
in the member's own process; `messages` has a coordinator process with a store, and an event per answer. In both, as in
the real group, the members beat in step: all of them got their assignment at the same time.

No work here grows with the group, and no collector runs; yet a heartbeat costs more in a large one, because what
belongs to one member has left the processor's caches when its turn comes again. `heartbeat_floor` measures the same
three events with nothing around them: the second table holds layer against layer and tells how each grows.

`churn` is the other figure: a group that forms, loses a member by a crash and is stable again, against as many bare
events through the same loop and in a plain `heapq`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import simpy

from benchmarks.common import INTERVAL_US, LATENCY_US, Stopwatch, best, group, table, tracing
from benchmarks.heartbeat_floor import FLOORS, bare_heapq
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop, run_virtual

HEARTBEATS = 200_000
SIZES = (100, 1_000, 10_000)
LEVELS = ("off", "normal", "full", "default")
LAYERS = ("bare heap", "event loop", "simpy lean", "simpy messages", "off")


def _horizon_us(members: int) -> int:
    return INTERVAL_US * max(HEARTBEATS // members, 10)


def ours(members: int, level: str) -> dict[str, Any]:
    """Heartbeats of a quiet group of real consumers."""
    found: dict[str, Any] = {}

    async def main(loop: VirtualLoop) -> None:
        cluster, consumers = group(loop, members, properties={"enable.auto.commit": level == "default"})
        await loop.sleep(30 * SECOND_US)
        snapshot = cluster.snapshot("group")
        assert snapshot is not None
        assert (snapshot.state, len(snapshot.members)) == ("Stable", members)
        before = sum(consumer.heartbeats for consumer in consumers)
        watch = Stopwatch()
        watch.start()
        await loop.sleep(_horizon_us(members))
        cpu = watch.stop()
        count = sum(consumer.heartbeats for consumer in consumers) - before
        found.update(who=level, members=members, heartbeats=count, cpu=cpu, rate=count / cpu)

    run_virtual(main, trace=tracing("normal" if level == "default" else level))
    return found


def simpy_lean(members: int, horizon_us: int) -> int:
    """One process per member; the coordinator is a dictionary."""
    env = simpy.Environment()
    luck = random.Random(0).random
    low, width = LATENCY_US[0], LATENCY_US[1] - LATENCY_US[0]
    deadlines: dict[int, int] = {}
    count = 0

    def member(number: int) -> Any:
        nonlocal count
        timeout = env.timeout
        yield timeout(INTERVAL_US)
        while True:
            yield timeout(low + int(luck() * width))
            deadlines[number] = env.now + 45 * SECOND_US
            yield timeout(low + int(luck() * width))
            count += 1
            yield timeout(INTERVAL_US)

    for number in range(members):
        env.process(member(number))
    env.run(until=horizon_us)
    return count


def simpy_messages(members: int, horizon_us: int) -> int:
    """One process per member, and a coordinator process that takes messages from a store and answers by events."""
    env = simpy.Environment()
    luck = random.Random(0)
    inbox = simpy.Store(env)
    deadlines: dict[int, int] = {}
    count = 0

    def coordinator() -> Any:
        while True:
            number, answered = yield inbox.get()
            deadlines[number] = env.now + 45 * SECOND_US
            answered.succeed()

    def member(number: int) -> Any:
        nonlocal count
        yield env.timeout(INTERVAL_US)
        while True:
            yield env.timeout(luck.randint(*LATENCY_US))
            answered = env.event()
            yield inbox.put((number, answered))
            yield answered
            yield env.timeout(luck.randint(*LATENCY_US))
            count += 1
            yield env.timeout(INTERVAL_US)

    env.process(coordinator())
    for number in range(members):
        env.process(member(number))
    env.run(until=horizon_us)
    return count


TOYS = {"simpy lean": simpy_lean, "simpy messages": simpy_messages}
BARE = {**TOYS, **FLOORS}


def toy(members: int, kind: str) -> dict[str, Any]:
    """The same heartbeats in SimPy, or with no simulator at all."""
    watch = Stopwatch()
    watch.start()
    count = BARE[kind](members, _horizon_us(members))
    cpu = watch.stop()
    return {"who": kind, "members": members, "heartbeats": count, "cpu": cpu, "rate": count / cpu}


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the events of a run meanwhile: what the kernel takes off its row and its heap. The list's one number."""
    count = [0]
    turn = VirtualLoop._turn.__code__

    def look(frame: FrameType, event: str, result: Any) -> None:
        if event == "c_call" and frame.f_code is turn and result.__name__ in ("heappop", "pop"):
            count[0] += 1

    sys.setprofile(look)
    try:
        yield count
    finally:
        sys.setprofile(None)


def churn(members: int, kind: str) -> dict[str, Any]:
    """A group that forms, loses a member and is stable again; or so many bare events, on our loop or in a heap."""
    name, _, events = kind.partition(" ")
    if name == "loop":
        return bare_events(int(events))
    if name == "heap":
        return bare_heap_events(int(events))
    watch = Stopwatch()
    found: dict[str, Any] = {}

    async def main(loop: VirtualLoop) -> None:
        watch.start()
        cluster, consumers = group(loop, members)
        await loop.sleep(30 * SECOND_US)
        first = cluster.snapshot("group")
        consumers[members // 2].crash()
        await loop.sleep(90 * SECOND_US)
        found["cpu"] = watch.stop()
        last = cluster.snapshot("group")
        assert first is not None
        assert last is not None
        assert (first.state, len(first.members)) == ("Stable", members)
        assert (last.state, len(last.members)) == ("Stable", members - 1)
        found["generations"] = last.generation

    with counted() as count:
        run_virtual(main, trace=tracing("off"))
    run_virtual(main, trace=tracing("off"))  # the one that is timed: `found` is its own
    return {"who": "group", "members": members, "events": count[0], **found, "rate": -found["cpu"]}


def bare_events(events: int) -> dict[str, Any]:
    """So many events that do nothing but schedule the next, a thousand of them waiting at a time."""
    left = events
    watch = Stopwatch()
    cpu = 0.0

    async def main(loop: VirtualLoop) -> None:
        nonlocal cpu
        over = loop.event()

        def fire(_: object) -> None:
            nonlocal left
            left -= 1
            if left > 0:
                loop.call_at(loop.now_us + INTERVAL_US, fire)
            elif left == 0:
                over.set()

        watch.start()
        for number in range(1_000):
            loop.call_at(number, fire)
        await over.wait()
        cpu = watch.stop()

    run_virtual(main, trace=tracing("off"))
    return {"who": "bare events, our loop", "events": events, "cpu": cpu, "rate": -cpu}


def bare_heap_events(events: int) -> dict[str, Any]:
    """The same in a plain `heapq`, with no loop at all."""
    watch = Stopwatch()
    watch.start()
    bare_heapq(events)
    cpu = watch.stop()
    return {"who": "bare events, heapq", "events": events, "cpu": cpu, "rate": -cpu}


def run(sizes: tuple[int, ...] = SIZES, repeat: int = 3, as_json: bool = False) -> list[dict[str, Any]]:
    """Measure and print; returns the rows."""
    cases = [(kind, str(size)) for size in sizes for kind in (*LEVELS, *BARE)]
    results = best("heartbeats", "rate", repeat, cases)
    by_case = dict(zip(cases, results, strict=True))
    for (kind, size), result in by_case.items():
        for name in TOYS:
            result[f"beside {name}"] = round(result["rate"] / by_case[name, size]["rate"], 2)
        result["growth"] = round(by_case[kind, str(sizes[0])]["rate"] / result["rate"], 2)
        result["kind"] = kind
    churned = _churn_rows(1_000, repeat)
    if as_json:
        return [*results, *churned]
    rows = [
        (r["who"], r["members"], int(r["rate"]), f"{1e6 / r['rate']:.2f}", *(r[f"beside {t}"] for t in TOYS))
        for r in results
    ]
    columns = ("trace, or toy", "members", "heartbeats/s", "µs each", *(f"/ {t}" for t in TOYS))
    table("Heartbeats per CPU second, quiet group", columns, rows)
    _show_layers(sizes, by_case)
    table(
        "A group of 1,000 forms, loses a member, is stable again",
        ("who", "events", "CPU s", "the group / this"),
        [(r["who"], r["events"], f"{r['cpu']:.3f}", r.get("ratio", "")) for r in churned],
    )
    return [*results, *churned]


def _show_layers(sizes: tuple[int, ...], by_case: dict[tuple[str, ...], dict[str, Any]]) -> None:
    """What a heartbeat costs in each layer, and how many times as much at each size as at the first."""
    names = {"off": "whole simulator, trace off"}
    rows = []
    for layer in LAYERS:
        results = [by_case[layer, str(size)] for size in sizes]
        cells = [f"{1e6 / r['rate']:.2f} (x {r['growth']:.2f})" for r in results]
        rows.append((names.get(layer, layer), *cells))
    table("µs per heartbeat, and growth", ("layer", *(f"{size:,} members" for size in sizes)), rows)


def _churn_rows(members: int, repeat: int) -> list[dict[str, Any]]:
    (ours_,) = best("heartbeats", "rate", repeat, [("churn", str(members), "group")])
    kinds = [f"{name} {ours_['events']}" for name in ("loop", "heap")]
    bare = best("heartbeats", "rate", repeat, [("churn", str(members), kind) for kind in kinds])
    return [ours_, *({**row, "ratio": round(ours_["cpu"] / row["cpu"], 1)} for row in bare)]


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
    kind, size, *more = options.case
    result = churn(int(size), *more) if kind == "churn" else (ours if kind in LEVELS else toy)(int(size), kind)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
