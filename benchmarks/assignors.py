"""The assignors beside kafka-python's, on the same groups in the same run.

    python -m benchmarks.assignors [--full]

CPU seconds; the best of several runs where a run is short. `first` is our time with no partition objects made before,
`again` the time of every later round of the same topics in the process. kafka-python works with bare numbers per
topic, so the first round of `range` and `roundrobin` pays for the objects that our results consist of. kafka-python's
sticky assignor needs memory in proportion to members × partitions; its large case runs only with `--full`, in a process
of its own, and is given up after the limit. The times of Kafka's Java classes are from its own benchmark notes, on
another machine, and stand there for orientation only.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from groupsim.members.assignors import RangeAssignor, RoundRobinAssignor, StickyAssignor
from groupsim.members.assignors.common import forget_partitions
from groupsim.protocol.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.sticky_data import encode_sticky_user_data

FULL_LIMIT_S = 360


class Group(NamedTuple):
    """Topics by number of partitions, and what each member subscribes to."""

    topics: dict[str, int]
    members: dict[str, list[str]]


def uniform(topics: int, partitions: int, members: int) -> Group:
    names = {f"topic-{n:04d}": partitions for n in range(topics)}
    return Group(names, {f"consumer-{n:05d}": list(names) for n in range(members)})


def subsets(topics: int, partitions: int, members: int, each: int) -> Group:
    """Every member on its own random choice of topics."""
    random = Random(1)
    names = {f"topic-{n:04d}": partitions for n in range(topics)}
    return Group(names, {f"consumer-{n:05d}": random.sample(sorted(names), each) for n in range(members)})


# --- ours and theirs ---------------------------------------------------------------------------------------------


def ours(group: Group) -> tuple[dict[str, TopicMetadata], list[MemberSubscription]]:
    topics = {name: TopicMetadata(name, count) for name, count in group.topics.items()}
    return topics, [MemberSubscription(name, tuple(wanted)) for name, wanted in group.members.items()]


class Cluster:
    """kafka-python's cluster metadata, as far as its assignors look."""

    def __init__(self, group: Group) -> None:
        self._partitions = {name: dict.fromkeys(range(count)) for name, count in group.topics.items()}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(self._partitions[topic].keys()) if topic in self._partitions else None


class Member(NamedTuple):
    member_id: str
    group_instance_id: str | None
    metadata: Any


def theirs(group: Group) -> tuple[Cluster, list[Member]]:
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    members = [
        Member(name, None, ConsumerProtocolSubscription(0, list(wanted), b"")) for name, wanted in group.members.items()
    ]
    return Cluster(group), members


def their_assign(name: str) -> Callable[[Cluster, Sequence[Member]], Any]:
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    kinds = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
    assign: Callable[[Cluster, Sequence[Member]], Any] = kinds.get(name, StickyPartitionAssignor)().assign
    return assign


def after_a_leave(members: Sequence[MemberSubscription], result: GroupAssignment) -> list[MemberSubscription]:
    """Everybody but the last joins again, with what it got in its user data."""
    return [
        MemberSubscription(m.member_id, m.topics, encode_sticky_user_data(result.partitions[m.member_id], 1), (), 1)
        for m in members[:-1]
    ]


# --- measuring ---------------------------------------------------------------------------------------------------


def cpu(work: Callable[[], Any], at_most: int = 7) -> tuple[float, Any]:
    """The best CPU time of a few runs (as many as fit two seconds), and the last result."""
    best, spent, result = float("inf"), 0.0, None
    for _ in range(at_most):
        result = None
        gc.collect()
        began = time.process_time()
        result = work()
        took = time.process_time() - began
        best, spent = min(best, took), spent + took
        if spent > 2:
            break
    return best, result


def cold(work: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        forget_partitions()
        return work()

    return run


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.2f} ms"


def peer_in_a_process(group: Group, limit_s: float) -> float | str:
    """CPU seconds of kafka-python's sticky in a process of its own; or how it ended without a result."""
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.queues.Queue[float] = context.Queue()

    def run() -> None:
        cluster, members = theirs(group)
        answers.put(cpu(lambda: their_assign("sticky")(cluster, members), 1)[0])

    process = context.Process(target=run)
    process.start()
    process.join(limit_s)
    if process.is_alive():
        process.kill()
        process.join()
        return f"over {limit_s:.0f} s"
    return answers.get() if process.exitcode == 0 else f"died ({process.exitcode})"


def compare(peer: float | str | None, mine: float) -> tuple[str, str]:
    """How the peer did, and the ratio if there is one."""
    if peer is None:
        return "not run", ""
    return (peer, "") if isinstance(peer, str) else (seconds(peer), f"{peer / mine:,.0f}")


# --- the tables ----------------------------------------------------------------------------------------------------

SIMPLE_SIZES = [(1, 100, 10), (1, 1_000, 100), (10, 1_000, 100), (100, 10, 50), (1_000, 4, 100), (1, 100_000, 1_000)]


def simple_assignors(console: Console) -> None:
    table = Table(title="range and roundrobin, equal subscriptions", title_justify="left")
    for column in (
        "assignor",
        "topics × partitions × members",
        "kafka-python",
        "first",
        "again",
        "ratio first",
        "again",
    ):
        table.add_column(column, justify="left" if column == "assignor" else "right")
    for kind in (RangeAssignor, RoundRobinAssignor):
        for size in SIMPLE_SIZES:
            group = uniform(*size)
            cluster, members = theirs(group)
            peer, _ = cpu(lambda: their_assign(kind.name)(cluster, members))  # noqa: B023
            topics, subscriptions = ours(group)
            first, _ = cpu(cold(lambda: kind().assign(topics, subscriptions)))  # noqa: B023
            again, _ = cpu(lambda: kind().assign(topics, subscriptions))  # noqa: B023
            ratios = (f"{peer / first:.1f}", f"{peer / again:.1f}")
            table.add_row(kind.name, " × ".join(f"{n:,}" for n in size), *map(seconds, (peer, first, again)), *ratios)
    console.print(table)


def sticky_uniform(console: Console, full: bool) -> None:
    table = Table(title="sticky, equal subscriptions", title_justify="left")
    for column in ("partitions × members", "kafka-python", "fresh", "ratio", "after a leave"):
        table.add_column(column, justify="right")
    for partitions, members in ((10_000, 100), (100_000, 1_000), (1_000_000, 2_000)):
        group = uniform(1, partitions, members)
        peer: float | str | None = None
        if partitions == 10_000 or (partitions == 100_000 and full):
            peer = peer_in_a_process(group, FULL_LIMIT_S)
        topics, subscriptions = ours(group)
        fresh, result = cpu(cold(lambda: StickyAssignor().assign(topics, subscriptions)))  # noqa: B023
        rejoined = after_a_leave(subscriptions, result)
        del result
        leave, _ = cpu(cold(lambda: StickyAssignor().assign(topics, rejoined)))  # noqa: B023
        theirs_took, ratio = compare(peer, fresh)
        table.add_row(f"{partitions:,} × {members:,}", theirs_took, seconds(fresh), ratio, seconds(leave))
    console.print(table)
    console.print("Java, for orientation: 100,000 × 1,000 26 ms; 1,000,000 × 2,000 0.25 s fresh, 2.0 s after a leave")


def sticky_general(console: Console) -> None:
    table = Table(title="sticky, differing subscriptions", title_justify="left")
    for column in ("topics × partitions × members, topics each", "kafka-python", "fresh", "ratio", "after a leave"):
        table.add_column(column, justify="right")
    for size in ((50, 20, 50, 12), (200, 50, 200, 50)):
        group = subsets(*size)
        peer = peer_in_a_process(group, FULL_LIMIT_S)
        topics, subscriptions = ours(group)
        fresh, result = cpu(cold(lambda: StickyAssignor().assign(topics, subscriptions)))  # noqa: B023
        rejoined = after_a_leave(subscriptions, result)
        leave, _ = cpu(cold(lambda: StickyAssignor().assign(topics, rejoined)))  # noqa: B023
        shape = f"{' × '.join(map(str, size[:3]))}, {size[3]}"
        theirs_took, ratio = compare(peer, fresh)
        table.add_row(shape, theirs_took, seconds(fresh), ratio, seconds(leave))
    console.print(table)
    console.print("Java, for orientation: 200 × 50 × 200, 50 5.9 s fresh")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assignors", description=main.__doc__)
    text = f"kafka-python's sticky on 100,000 × 1,000 too (minutes and gigabytes, at most {FULL_LIMIT_S} s)"
    parser.add_argument("--full", action="store_true", help=text)
    options = parser.parse_args(arguments)
    console = Console(width=max(100, Console().width))
    simple_assignors(console)
    sticky_uniform(console, options.full)
    sticky_general(console)


if __name__ == "__main__":
    main()
