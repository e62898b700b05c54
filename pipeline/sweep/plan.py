"""What has to run, in which order, and how much of it a worker is handed at a time.

Runs go seed by seed over all cells, so that a sweep that is stopped early has compared all cells evenly. A handful runs
first to learn what a run costs; then tasks are cut by the clock: some seconds of work while there is much to do, less
towards the end. What is planned is never listed as a whole: what is kept grows with the cells and with what is under
way, and each task costs the same however many runs are still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from attrs import frozen

from groupsim.pipeline.sweep.chunks import Cost, Finished, Run

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Experiment

TASK_US = 1_000_000  # until costs are known
SHORTEST_TASK_US = 250_000  # near the end tasks get smaller, so that all cores end together
LONGEST_TASK_US = 20_000_000  # Spark's driver needs some ms for each task
TASKS_PER_CORE = 6  # in a wave
WAVES = 3  # that what is left would take; two are under way at a time
MOST_RUNS = 2_000  # in one task, however short they are


@frozen
class Task:
    """Runs that one worker performs at a time, and the number of the task in its sweep."""

    number: int
    runs: tuple[Run, ...]


@frozen
class Wave:
    """Tasks that are handed out together."""

    tasks: tuple[Task, ...]

    @property
    def runs(self) -> list[Run]:
        """All its runs."""
        return [run for task in self.tasks for run in task.runs]


class Plan:
    """The runs that are still to do, and what is known of their costs (µs of one core).

    `workers` is asked before every wave: executors of a cluster come one by one.
    """

    def __init__(self, experiment: Experiment, finished: Finished, workers: Callable[[], int]) -> None:
        self._workers = workers
        self._cells = [cell.number for cell in experiment.cells]
        self._seeds = experiment.seeds
        self._finished = finished
        self._piloted: set[Run] = set()
        self._coming = self._in_order()
        self._tasks = 0
        self._costs: dict[int, tuple[int, int]] = {}  # cell → runs seen, their µs
        self._seen, self._seen_us = 0, 0
        self._left = self._counts()  # cell → runs that are not finished
        self._unknown = sum(self._left.values())  # of cells whose costs are not known
        self._known_us = 0  # what the others will cost
        self.open = self._unknown  # runs that are not handed out

    def _counts(self) -> dict[int, int]:
        """How many runs of each cell are to be done. A seed all of whose cells are alike costs no look at each."""
        left = dict.fromkeys(self._cells, len(self._seeds))
        every = sum(1 << cell for cell in self._cells)
        whole = 0
        for seed in self._seeds:
            bits = self._finished.cells.get(seed, 0)
            if bits & every == every:
                whole += 1
            elif bits:
                for cell in self._cells:
                    left[cell] -= bits >> cell & 1
        return {cell: count - whole for cell, count in left.items()}

    def _in_order(self) -> Iterator[Run]:
        for seed in self._seeds:
            bits = self._finished.cells.get(seed, 0)
            for cell in self._cells:
                if not bits >> cell & 1 and (not self._piloted or (cell, seed) not in self._piloted):
                    yield cell, seed

    @property
    def left_us(self) -> int:
        """What all runs that are not finished will cost, those under way included."""
        return self._known_us + self._unknown * self._mean_us()

    @property
    def known(self) -> bool:
        """Whether anything is known of what runs cost."""
        return self._seen > 0

    def learn(self, costs: Iterable[Cost], finished: bool = True) -> None:
        """What runs have cost; `finished`: they were among those to do, and are done now."""
        for cost in costs:
            if cost.cell not in self._left:
                continue
            before = self._of_cell(cost.cell)
            known = cost.cell in self._costs
            if known:
                self._known_us -= self._left[cost.cell] * before
            else:
                self._unknown -= self._left[cost.cell]
            count, total = self._costs.get(cost.cell, (0, 0))
            self._costs[cost.cell] = count + cost.runs, total + cost.us
            self._seen, self._seen_us = self._seen + cost.runs, self._seen_us + cost.us
            if finished:
                self._left[cost.cell] -= cost.runs
            self._known_us += self._left[cost.cell] * self._of_cell(cost.cell)

    def _mean_us(self) -> int:
        return max(1, self._seen_us // self._seen) if self._seen else TASK_US

    def _of_cell(self, cell: int) -> int:
        count, total = self._costs.get(cell, (0, 0))
        return max(1, total // count) if count else self._mean_us()

    def pilot(self) -> Wave:
        """One run for each core, from cells spread over the grid: from them it learns what runs cost.

        Nothing when costs are known already, from what an earlier sweep has kept.
        """
        first = next(self._coming, None)
        if first is None or self.known:
            self._coming = chain([] if first is None else [first], self._coming)
            return Wave(())
        seed = first[1]
        row = [(cell, seed) for cell in self._cells if (cell, seed) not in self._finished]
        count = min(self._workers(), len(row))
        chosen = [row[index * len(row) // count] for index in range(count)]
        self._piloted = set(chosen)
        self._coming = self._in_order()
        return Wave(tuple(self._numbered([run]) for run in chosen))

    def waves(self) -> Iterator[Wave]:
        """The rest, one wave at a time, each by what is known when it is asked for."""
        while self.open:
            most = self._workers() * TASKS_PER_CORE
            open_us = self.left_us * self.open // max(1, sum(self._left.values()))
            size = min(LONGEST_TASK_US, max(SHORTEST_TASK_US, open_us // (most * WAVES)))
            yield Wave(tuple(self._task(size) for _ in range(most) if self.open))

    def _task(self, size_us: int) -> Task:
        runs: list[Run] = []
        cost = 0
        while cost < size_us and len(runs) < MOST_RUNS:
            run = next(self._coming, None)
            if run is None:
                break
            runs.append(run)
            cost += self._of_cell(run[0])
        return self._numbered(runs)

    def _numbered(self, runs: list[Run]) -> Task:
        self._tasks += 1
        self.open -= len(runs)
        return Task(self._tasks, tuple(runs))
