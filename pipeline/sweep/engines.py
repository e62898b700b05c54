"""Where runs are simulated: what every engine can do, and which one is taken."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable
from typing import Protocol

from attrs import frozen

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.plan import Wave
from groupsim.pipeline.sweep.work import Package, Table

POOL, SPARK, AUTO = "pool", "spark", "auto"
ENGINES = (POOL, SPARK, AUTO)
_MASTER = re.compile(r"local(\[(0*[1-9]\d*|\*)(,\s*0*[1-9]\d*)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|mesos)://.+")


@frozen
class EngineOptions:
    """What the user asked for: an engine, a Spark master or a Spark Connect server, a number of workers."""

    engine: str = AUTO
    master: str | None = None
    remote: str | None = None
    workers: int | None = None

    def chosen(self) -> str:
        """The engine to take: Spark where a cluster is named, else a pool, which has no fixed cost.

        Raises SweepError for options that contradict each other.
        """
        if self.engine not in ENGINES:
            raise SweepError(f"--engine {self.engine}: no such engine", f"one of {', '.join(ENGINES)}", bad_input=True)
        if self.master and self.remote:
            raise SweepError("--master and --remote name two clusters", "leave one of them out", bad_input=True)
        if self.workers is not None and self.workers < 1:
            raise SweepError(f"--workers {self.workers}: at least one is needed", bad_input=True)
        if self.remote and not self.remote.startswith("sc://"):
            raise SweepError(
                f"--remote {self.remote}: no address of a Spark Connect server",
                "such as sc://localhost:15002; for a Spark master use --master",
                bad_input=True,
            )
        if self.master is not None and not _MASTER.fullmatch(self.master):
            raise SweepError(
                f"--master {self.master}: no Spark master",
                "such as local[4], spark://host:7077, yarn or k8s://https://host:6443",
                bad_input=True,
            )
        clustered = bool(self.master or self.remote)
        if self.engine == POOL and clustered:
            raise SweepError(
                "--engine pool runs on this machine only",
                "leave out --master and --remote, or the engine",
                bad_input=True,
            )
        return SPARK if clustered or self.engine == SPARK else POOL


@frozen
class Done:
    """A task that has been performed."""

    wave: int
    task: int
    tables: list[Table]


class Pack(Protocol):
    """Packs tasks for their journey."""

    def __call__(self, tasks: Iterable[tuple[tuple[int, int], ...]], /) -> Package: ...


class Engine(Protocol):
    """Performs waves of tasks."""

    @property
    def workers(self) -> int:
        """How many runs it simulates at a time."""

    def perform(self, waves: Iterable[Wave], pack: Pack) -> Generator[Done]:
        """Perform waves, each asked for when there is room for it; tasks come back in any order.

        Raises SweepError when it cannot go on. A closed iterator stops what is still running.
        """

    def close(self) -> None:
        """Let go of processes and sessions."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
