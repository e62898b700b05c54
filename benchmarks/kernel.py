"""The event loop alone, beside SimPy and bare heapq in the same run.

    python benchmarks/kernel.py [--members 1000] [--seconds 600] [--repeat 3]

Workloads, all in virtual time, all single-threaded; the best of the repeats counts, in CPU time:

* bare: heapq with tuples and callbacks, nothing else: the limit in pure Python;
* events: the loop's `call_at`, each member re-arming itself;
* host events: the same through a host;
* wake-ups: each member a story that sleeps;
* heartbeats: request with a latency, an answer, response with a latency: three heap events of hosts, two draws;
* SimPy: a process per member, the bare toy (a timeout, two latencies, a shared counter), as users would write it.
"""

from __future__ import annotations

import argparse
import heapq
import random
import time
from collections.abc import Callable
from typing import Any

import simpy

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.interface import EventLoop, Order
from groupsim.eventloop.virtual import run_virtual

INTERVAL_US = 3_000_000
LATENCY = "uniform(1ms, 5ms)"


def bare(members: int, horizon_us: int) -> int:
    """Bare heapq: (when, ticket, callback, argument)."""
    heap: list[tuple[int, int, Callable[[int, int], None], int]] = []
    ticket = count = 0

    def beat(now: int, member: int) -> None:
        nonlocal ticket, count
        ticket += 1
        count += 1
        heapq.heappush(heap, (now + INTERVAL_US, ticket, beat, member))

    for member in range(members):
        beat(member * 1_000, member)
    while heap:
        when, _, callback, member = heapq.heappop(heap)
        if when > horizon_us:
            break
        callback(when, member)
    return count


def events(members: int, horizon_us: int) -> int:
    """`EventLoop.call_at`, each member re-arming itself."""
    return _events(members, horizon_us, lambda loop, _: loop)


def host_events(members: int, horizon_us: int) -> int:
    """The same through a host of the member's own."""
    return _events(members, horizon_us, lambda loop, member: loop.host(f"m{member}"))


def _events(members: int, horizon_us: int, where: Callable[[EventLoop, int], Any]) -> int:
    count = 0

    async def main(loop: EventLoop) -> None:
        def beat(call_at: Callable[..., Any]) -> None:
            nonlocal count
            count += 1
            call_at(loop.now_us + INTERVAL_US, beat, call_at)

        for member in range(members):
            loop.call_at(member * 1_000, beat, where(loop, member).call_at)
        await loop.sleep(horizon_us)

    run_virtual(main)
    return count


def wakeups(members: int, horizon_us: int) -> int:
    """Each member a story that sleeps."""
    count = 0

    async def main(loop: EventLoop) -> None:
        async def member_story() -> None:
            nonlocal count
            while True:
                count += 1
                await loop.sleep(INTERVAL_US)

        for member in range(members):
            loop.host(f"m{member}").start_soon(member_story, name=f"m{member}")
        await loop.sleep(horizon_us)

    run_virtual(main)
    return count


def heartbeats(members: int, horizon_us: int) -> int:
    """A heartbeat as three heap events: due at the member, at the coordinator, back at the member."""
    count = 0
    latency = parse_distribution(LATENCY)

    async def main(loop: EventLoop) -> None:
        broker = loop.host("broker")

        def member(number: int) -> None:
            host, stream = loop.host(f"m{number}"), loop.stream("latency", str(number))

            def send(_: object) -> None:
                broker.call_at(loop.now_us + latency.draw(stream), receive, None, order=Order.MESSAGE)

            def receive(_: object) -> None:
                host.call_at(loop.now_us + latency.draw(stream), answered, None, order=Order.MESSAGE)

            def answered(_: object) -> None:
                nonlocal count
                count += 1
                host.call_at(loop.now_us + INTERVAL_US, send)

            host.call_at(number * 1_000, send)

        for number in range(members):
            member(number)
        await loop.sleep(horizon_us)

    run_virtual(main)
    return count


def simpy_toy(members: int, horizon_us: int) -> int:
    """SimPy with a process per member: wait, send, answer."""
    env = simpy.Environment()
    luck = random.Random(0)
    count = 0

    def member(number: int) -> Any:
        nonlocal count
        yield env.timeout(number * 1_000)
        while True:
            yield env.timeout(INTERVAL_US)
            yield env.timeout(luck.randint(1_000, 5_000))
            count += 1
            yield env.timeout(luck.randint(1_000, 5_000))

    for number in range(members):
        env.process(member(number))
    env.run(until=horizon_us)
    return count


def rate(workload: Callable[[int, int], int], members: int, horizon_us: int) -> float:
    """Units of the workload per CPU second."""
    began = time.process_time()
    count = workload(members, horizon_us)
    return count / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--members", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    horizon_us = options.seconds * 1_000_000
    workloads = [bare, events, host_events, wakeups, heartbeats, simpy_toy]
    best = dict.fromkeys(workloads, 0.0)
    for _ in range(options.repeat):  # interleaved, so that a slow moment of the machine strikes all alike
        for workload in workloads:
            best[workload] = max(best[workload], rate(workload, options.members, horizon_us))
    print(f"{options.members} members, {options.seconds} virtual seconds, best of {options.repeat}, per CPU second")
    for workload, value in best.items():
        print(f"  {workload.__name__:12} {value:12,.0f}   {1e6 / value:6.2f} µs")
    print(f"heartbeats / SimPy's toy: {best[heartbeats] / best[simpy_toy]:.2f}")
    print(f"events / bare heapq:      {best[events] / best[bare]:.2f}")


if __name__ == "__main__":
    main()
