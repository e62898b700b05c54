"""The engines that simulate runs: their common interface, and the choice of one."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Mapping
from typing import Protocol

from attrs import field

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.merging import Job
from groupsim.pipeline.sweep.place import Place
from groupsim.pipeline.sweep.plan import Task, Wave
from groupsim.pipeline.sweep.work import Package, TaskResult
from groupsim.protocol.values import frozen

POOL, SPARK, AUTO = "pool", "spark", "auto"
TICK_S = 4.0  # of silence, after which an engine gives a sign of life
ENGINES = (POOL, SPARK, AUTO)
_MASTER = re.compile(r"local(\[(0*[1-9]\d*|\*)(,\s*0*[1-9]\d*)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|mesos)://.+")


@frozen
class EngineOptions:
    """The user's choice: an engine, a Spark master or a Spark Connect server, a number of workers, settings.

    `conf` are Spark's own settings. They go before ours, and those of `spark-defaults.conf` do, too.
    """

    engine: str = AUTO
    master: str | None = None
    remote: str | None = None
    workers: int | None = None
    conf: Mapping[str, str] = field(factory=dict)

    @property
    def clustered(self) -> bool:
        """Whether a cluster is named, be it this machine."""
        return bool(self.master or self.remote)

    def chosen(self) -> str:
        """Return the chosen engine: Spark where a master or a server is given.

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
        if self.engine == POOL and self.clustered:
            raise SweepError(
                "--engine pool runs on this machine only",
                "leave out --master and --remote, or the engine",
                bad_input=True,
            )
        return SPARK if self.clustered else self.engine


@frozen
class Done:
    """A finished task, and its result."""

    task: Task
    answer: TaskResult


@frozen
class Merging:
    """A wave of another kind: chunks that workers which share the storage merge.

    What cannot be merged ends the wave with an error; if `optional`, it stays as it is, and counts as it is.
    """

    jobs: tuple[Job, ...]
    place: Place
    optional: bool = False


class Pack(Protocol):
    """Packs the inputs of tasks for other machines."""

    def __call__(self, tasks: Iterable[Task], /) -> Package: ...


class Engine(Protocol):
    """Performs waves of tasks."""

    @property
    def workers(self) -> int:
        """How many runs it simulates at a time."""

    @property
    def shares(self) -> bool:
        """Whether its workers write where the sweep lies; otherwise their tables come back."""

    def perform(self, waves: Iterable[Wave | Merging], pack: Pack) -> Generator[Done | None]:
        """Perform waves, each planned when there is room for it; tasks come back in any order.

        Yields nothing (None) for chunks that were merged, and every few seconds in which no task came back. Raises
        SweepError when it cannot go on. A closed iterator stops the running tasks.
        """

    def close(self) -> None:
        """Let go of processes and sessions."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
