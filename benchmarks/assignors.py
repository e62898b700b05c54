"""The assignors beside kafka-python's, on the same groups in the same run.

    python -m benchmarks.assignors [--full]

`range` and `roundrobin` first (`benchmarks.range_roundrobin` says how they are measured), then the sticky ones: CPU
seconds, the best of several runs where a run is short, each with no partition objects made before. kafka-python's
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
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.assignor_groups import Group, ours, subsets, their_assign, theirs, uniform
from benchmarks.range_roundrobin import simple_assignors
from groupsim.assignors import StickyAssignor
from groupsim.assignors.base.common import partition_cache
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription
from groupsim.protocol.embedded.sticky_data import encode_sticky_user_data

FULL_LIMIT_S = 360


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
        partition_cache.clear()
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
    console = Console(width=max(120, Console().width))
    simple_assignors(console)
    sticky_uniform(console, options.full)
    sticky_general(console)


if __name__ == "__main__":
    main()
