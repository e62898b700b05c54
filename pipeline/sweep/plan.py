"""What has to run, in which order, and how much of it a worker is handed at a time.

Runs go seed by seed over all cells, so that a sweep that is stopped early has compared all cells evenly. A handful runs
first to learn what a run costs; then a task is about a second of work, and a wave has some tasks for each core. A wave
is what is written at once, and what an interruption may lose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Experiment

Run = tuple[int, int]  # cell, seed

TASK_US = 1_000_000  # Spark takes 6 to 25 ms to hand out a task
SHORTEST_TASK_US = 250_000  # near the end tasks get smaller, so that all cores end together
TASKS_PER_CORE = 6
MOST_RUNS = 2_000  # in one task, however short they are


@frozen
class Wave:
    """Tasks that are handed out together; a task is the runs it consists of."""

    number: int
    tasks: tuple[tuple[Run, ...], ...]

    @property
    def runs(self) -> list[Run]:
        """All its runs."""
        return [run for task in self.tasks for run in task]


class Plan:
    """The runs that are still to do, and what is known of their costs (µs of one core).

    `workers` is asked before every wave: executors of a cluster come one by one.
    """

    def __init__(self, experiment: Experiment, finished: Collection[Run], workers: Callable[[], int]) -> None:
        self._workers = workers
        cells = [cell.number for cell in experiment.cells]
        runs = [(cell, seed) for seed in experiment.seeds for cell in cells]
        self._open = deque(run for run in runs if run not in finished)
        self._waves = 0
        self._cost: dict[int, tuple[int, int]] = {}  # cell → runs seen, their µs

    @property
    def left_us(self) -> int:
        """What the runs that are not handed out yet will cost."""
        return self.estimate_us(self._open)

    def learn(self, runs: Sequence[Run], costs_us: Sequence[int]) -> None:
        """What runs have cost."""
        for (cell, _), us in zip(runs, costs_us, strict=True):
            count, total = self._cost.get(cell, (0, 0))
            self._cost[cell] = (count + 1, total + us)

    def estimate_us(self, runs: Iterable[Run]) -> int:
        """What these runs will cost, by their cells; a cell not seen yet costs the mean."""
        mean = self._mean_us()
        return sum(self._of_cell(cell, mean) for cell, _ in runs)

    def _mean_us(self) -> int:
        count, total = (sum(column) for column in zip(*self._cost.values())) if self._cost else (0, 0)
        return total // count if count else TASK_US

    def _of_cell(self, cell: int, mean: int) -> int:
        count, total = self._cost.get(cell, (0, 0))
        return max(1, total // count if count else mean)

    def pilot(self) -> Wave:
        """One run for each core, from cells spread over the grid: from them it learns what runs cost."""
        if not self._open:
            return self._wave([])
        first = self._open[0][1]
        row = [run for run in self._open if run[1] == first]
        count = min(self._workers(), len(row))
        chosen = [row[index * len(row) // count] for index in range(count)]
        self._open = deque(run for run in self._open if run not in chosen)
        return self._wave([(run,) for run in chosen])

    def waves(self) -> Iterator[Wave]:
        """The rest, one wave at a time, each by what is known when it is asked for."""
        while self._open:
            most = self._workers() * TASKS_PER_CORE
            size = min(TASK_US, max(SHORTEST_TASK_US, self.left_us // most))
            yield self._wave([self._task(size) for _ in range(most) if self._open])

    def _wave(self, tasks: list[tuple[Run, ...]]) -> Wave:
        self._waves += 1
        return Wave(self._waves, tuple(tasks))

    def _task(self, size_us: int) -> tuple[Run, ...]:
        task: list[Run] = []
        cost, mean = 0, self._mean_us()
        while self._open and cost < size_us and len(task) < MOST_RUNS:
            task.append(self._open.popleft())
            cost += self._of_cell(task[-1][0], mean)
        return tuple(task)
