"""What a replicated cluster costs: brokers, logs, replication, producers, groups that pull.

    python -m benchmarks.cluster [--brokers 6] [--partitions 200] [--consumers 50] [--groups 5] [--minutes 10]
                                 [--rates 0,50,200] [--trace normal] [--repeat 1] [--profile]

One topic and one group of consumers per `--groups`; three replicas of each partition; one producer per topic with
acks=1, so that `--rates` (records per second of the whole cluster) come in batches of few records, each copied by two
followers and pulled by one consumer. A rate of 0 is a quiet cluster: brokers beat, members beat, offsets are committed.

CPU seconds of the whole run, its formation and the groups' first rebalance included; beside it, in the same process,
as many bare events through the same loop: what the heap alone takes. `x real` is virtual time over CPU time.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from typing import Any

from benchmarks.common import Stopwatch, table, tracing
from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from


def build(loop: VirtualLoop, case: argparse.Namespace, rate: int) -> tuple[Cluster, list[Consumer]]:
    """Cluster, topics with their producers, and consumers started over a second."""
    cluster = Cluster(loop, ClusterConfig(brokers=case.brokers))
    replication = min(3, case.brokers)
    for number in range(case.groups):
        share = rate * (number + 1) // case.groups - rate * number // case.groups
        partitions = case.partitions * (number + 1) // case.groups - case.partitions * number // case.groups
        cluster.create_topic(f"topic-{number}", partitions, replication=replication, rate=share)
    profile, consumers = PROFILES["java"], []
    for number in range(case.consumers):
        group = number % case.groups
        settings, _ = settings_from(profile, {"group.id": f"group-{group}", "client.id": f"c{number}"})
        consumer = Consumer(loop, f"member-{number}", settings, cluster.transport, None, profile=profile)
        consumer.subscribe([f"topic-{group}"])
        loop.call_at(SECOND_US * number // max(case.consumers, 1), lambda c: c.start(), consumer)
        consumers.append(consumer)
    return cluster, consumers


def ours(case: argparse.Namespace, rate: int) -> dict[str, Any]:
    """One run; checks at its end that the groups are stable and that nothing was lost or left behind."""
    found: dict[str, Any] = {"rate": rate}
    tickets = 0

    async def main(loop: VirtualLoop) -> None:
        nonlocal tickets
        cluster, consumers = build(loop, case, rate)
        await loop.sleep(case.minutes * 60 * SECOND_US)
        for group in range(case.groups if consumers else 0):
            snapshot = cluster.snapshot(f"group-{group}")
            assert snapshot is not None
            assert snapshot.state == "Stable", snapshot
        topics = [name for name in cluster.controller.image.topics if name.startswith("topic-")]
        found["records"] = sum(_written(cluster, topic) for topic in topics)
        tickets = loop.ticket()

    profiler = cProfile.Profile() if case.profile else None
    watch = Stopwatch()
    watch.start()
    if profiler is not None:
        profiler.enable()
    run_virtual(main, trace=tracing(case.trace))
    if profiler is not None:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
    found |= {"cpu": watch.stop(), "events": tickets}
    return found


def _written(cluster: Cluster, topic: str) -> int:
    image = cluster.controller.image
    total = 0
    for number, state in enumerate(image.topics[topic].partitions):
        log = cluster.log(topic, number, state.leader)
        total += log.end_offset
    return total


def bare(count: int) -> float:
    """CPU seconds of so many events through the same loop, a thousand of them waiting at any time."""
    left = count

    async def main(loop: VirtualLoop) -> None:
        hosts = [loop.host(f"h{number}") for number in range(10)]

        def again(number: int) -> None:
            nonlocal left
            left -= 1
            if left > 0:
                hosts[number % 10].call_at(loop.now_us + 1_000, again, number)

        for number in range(1_000):
            hosts[number % 10].call_at(number, again, number)
        await loop.until(lambda: left <= 0) if count < 1_000 else await loop.sleep(2_000 * (count // 1_000 + 2))

    watch = Stopwatch()
    watch.start()
    run_virtual(main)
    return watch.stop()


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("brokers", 6), ("partitions", 200), ("consumers", 50), ("groups", 5), ("minutes", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rates", default="0,50,200")
    parser.add_argument("--trace", default="normal", choices=("off", "normal", "full"))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    case = parser.parse_args()
    rows = []
    for rate in (int(text) for text in case.rates.split(",")):
        best = min((ours(case, rate) for _ in range(case.repeat)), key=lambda found: found["cpu"])
        heap = bare(best["events"])
        speed = case.minutes * 60 / best["cpu"]
        figures = [f"{figure:.1f}" for figure in (best["cpu"], heap, best["cpu"] / heap, speed)]
        rows.append([rate, best["records"], best["events"], *figures])
    title = f"{case.brokers} brokers, {case.partitions} partitions, {case.consumers} consumers, {case.minutes} minutes"
    table(title, ["records/s", "records", "events", "CPU s", "bare s", "ratio", "x real"], rows)


if __name__ == "__main__":
    main()
