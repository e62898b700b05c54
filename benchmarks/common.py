"""What the benchmarks of the whole simulator share: a group of real consumers, and clean measurements."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Level, Trace
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from

INTERVAL_US = 3 * SECOND_US
LATENCY_US = (200, 800)


def tracing(name: str) -> Trace:
    """A trace of that level; what it is told is kept in memory, as a test or the runner would keep it."""
    trace = Trace(Level[name.upper()])
    if trace.level is not Level.OFF:
        trace.subscribe(MemorySink())
    return trace


def group(
    loop: VirtualLoop,
    size: int,
    *,
    partitions: int | None = None,
    rate: float = 0,
    behaviour: Behaviour | None = None,
    properties: Mapping[str, object] = {},
    client: str = "java",
) -> tuple[Cluster, list[Consumer]]:
    """A cluster and a group of Java consumers on one topic, started over a second; `client` is their profile."""
    cluster = Cluster(loop, ClusterConfig.with_counted_logs())
    cluster.create_topic("events", size if partitions is None else partitions, rate=rate)
    profile = PROFILES[client]
    consumers = []
    for number in range(size):
        settings, _ = settings_from(
            profile, {"group.id": "group", "client.id": f"c{number}", "enable.auto.commit": False, **properties}
        )
        consumer = Consumer(
            loop,
            f"member-{number}",
            settings,
            cluster.transport,
            cluster.data,
            behaviour=behaviour,
            profile=profile,
        )
        consumer.subscribe(["events"])
        loop.call_at(SECOND_US * number // size, _start, consumer)
        consumers.append(consumer)
    return cluster, consumers


def _start(consumer: Consumer) -> None:
    consumer.start()


class Stopwatch:
    """CPU seconds of this process between `start` and `stop`."""

    def start(self) -> None:
        gc.collect()
        self.began = time.process_time()

    def stop(self) -> float:
        return time.process_time() - self.began


def in_a_process(module: str, *case: str) -> dict[str, Any]:
    """Run one case of a benchmark in a process of its own, with nothing left over from other cases."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--case", *case]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def best(module: str, key: str, repeat: int, cases: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """The best of the repeats of each case, interleaved so that a slow moment of the machine strikes all alike."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for _ in range(repeat):
        for case in cases:
            result = in_a_process(module, *case)
            if case not in found or result[key] > found[case][key]:
                found[case] = result
    return [found[case] for case in cases]


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, numbers to the right."""
    grid = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        grid.add_row(*(f"{cell:,.0f}" if isinstance(cell, int) else f"{cell}" for cell in row))
    Console().print(grid)
