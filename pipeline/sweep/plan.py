"""The missing runs, their order, and the size of the tasks.

Runs go seed by seed over all cells, so that a sweep that is stopped early has compared all cells evenly. A handful runs
first, to measure the cost of a run; then tasks are cut by the clock: some seconds of work while there is much to do,
less towards the end.

A run is never an object here. The runs of a seed are a row, the bits of one number; those that are finished are taken
out of it (an anti-join over bits), and the rest goes into a task as spans. A task costs the seeds that are in it,
however many runs are left, and the stored data grows with cells and seeds only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from groupsim.pipeline.sweep.chunks import Cost, Finished, Run, Span
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Experiment

TASK_US = 1_000_000  # until costs are known
SHORTEST_TASK_US = 250_000  # near the end tasks get smaller, so that all cores end together
LONGEST_TASK_US = 20_000_000  # Spark's driver needs some ms for each task
TASKS_PER_CORE = 6  # in a wave
WAVES = 3  # that the rest would take; two are under way at a time
MOST_RUNS = 2_000  # in one task, however short they are


Row = tuple[int, int]  # a seed, and its cells as bits
Part = tuple[int, int, int]  # cells as bits, first and last seed


@frozen
class Task:
    """Runs that one worker performs at a time, and the number of the task in its sweep."""

    number: int
    spans: tuple[Span, ...]

    @property
    def count(self) -> int:
        """How many runs."""
        return sum(span.count for span in self.spans)

    @property
    def cells(self) -> set[int]:
        """The cells they are of."""
        return {cell for span in self.spans for cell in range(span.first_cell, span.last_cell + 1)}

    @property
    def runs(self) -> tuple[Run, ...]:
        """Each of them, seed by seed."""
        return tuple(sorted((run for span in self.spans for run in span.runs()), key=lambda run: (run[1], run[0])))


@frozen
class Wave:
    """Tasks that are handed out together."""

    tasks: tuple[Task, ...]

    @property
    def runs(self) -> list[Run]:
        """All its runs."""
        return [run for task in self.tasks for run in task.runs]


class Plan:
    """The missing runs, and their known costs (µs of one core).

    `workers` is called before every wave: executors of a cluster start one by one.
    """

    def __init__(self, experiment: Experiment, finished: Finished, workers: Callable[[], int]) -> None:
        self._workers = workers
        self._cells = [cell.number for cell in experiment.cells]
        self._seeds = experiment.seeds
        self._finished = finished
        self._every = sum(1 << cell for cell in self._cells)
        self._coming = self._in_order()
        self._begun: Row | None = None  # the rest of a seed that is planned in parts
        self._tasks = 0
        self._costs: dict[int, tuple[int, int]] = {}  # cell → runs seen, their µs
        self._seen, self._seen_us = 0, 0
        self._left = self._counts()  # cell → runs that are not finished
        self._unknown = sum(self._left.values())  # of cells whose costs are not known
        self._known_us = 0  # the cost of the others
        self.open = self._unknown  # runs that are not handed out

    def _counts(self) -> dict[int, int]:
        """How many runs of each cell are to be done. A seed all of whose cells are alike costs no look at each."""
        left = dict.fromkeys(self._cells, len(self._seeds))
        whole = 0
        for seed in self._seeds:
            bits = self._finished.cells.get(seed, 0)
            if bits & self._every == self._every:
                whole += 1
            elif bits:
                for cell in self._cells:
                    left[cell] -= bits >> cell & 1
        return {cell: count - whole for cell, count in left.items()}

    def _in_order(self) -> Iterator[Row]:
        for seed in self._seeds:
            lacking = self._every & ~self._finished.cells.get(seed, 0)
            if lacking:
                yield seed, lacking

    def _next(self) -> Row | None:
        row, self._begun = self._begun, None
        return row or next(self._coming, None)

    @property
    def left_us(self) -> int:
        """What all runs that are not finished will cost, those under way included."""
        return self._known_us + self._unknown * self._mean_us()

    @property
    def known(self) -> bool:
        """Whether the cost of any run is known."""
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
        """Plan one run for each core, from cells spread over the grid: their costs are measured.

        Nothing when an earlier sweep has stored the costs.
        """
        row = None if self.known else self._next()
        if row is None:
            return Wave(())
        seed, lacking = row
        cells = list(_cells(lacking))
        count = min(self._workers(), len(cells))
        chosen = [cells[index * len(cells) // count] for index in range(count)]
        left = lacking & ~sum(1 << cell for cell in chosen)
        self._begun = (seed, left) if left else None
        return Wave(tuple(self._numbered([(1 << cell, seed, seed)]) for cell in chosen))

    def waves(self) -> Iterator[Wave]:
        """Plan the rest, one wave at a time, each by the costs known when it is requested."""
        while self.open:
            most = self._workers() * TASKS_PER_CORE
            open_us = self.left_us * self.open // max(1, sum(self._left.values()))
            size = min(LONGEST_TASK_US, max(SHORTEST_TASK_US, open_us // (most * WAVES)))
            rows: dict[int, tuple[int, int]] = {}  # the cost of rows, while this wave is cut
            yield Wave(tuple(self._task(size, rows) for _ in range(most) if self.open))

    def _task(self, size_us: int, rows: dict[int, tuple[int, int]]) -> Task:
        parts: list[Part] = []
        cost = count = 0
        while cost < size_us and count < MOST_RUNS:
            whole = self._begun is None
            row = self._next()
            if row is None:
                break
            seed, lacking = row
            if whole and lacking not in rows:
                rows[lacking] = lacking.bit_count(), sum(map(self._of_cell, _cells(lacking)))
            runs, us = rows[lacking] if whole else (0, 0)
            if not whole or cost + us > size_us or count + runs > MOST_RUNS:
                lacking, runs, us = self._part(lacking, MOST_RUNS - count, size_us - cost)
                self._begun = (seed, row[1] & ~lacking) if lacking != row[1] else None
            cost, count = cost + us, count + runs
            if parts and parts[-1][0] == lacking and parts[-1][2] == seed - 1:
                parts[-1] = lacking, parts[-1][1], seed
            else:
                parts.append((lacking, seed, seed))
        return self._numbered(parts)

    def _part(self, lacking: int, most: int, size_us: int) -> tuple[int, int, int]:
        """The first runs of a row, until they are so many or take so long: their bits, their number, their µs."""
        chosen = runs = us = 0
        for cell in _cells(lacking):
            if us >= size_us or runs >= most:
                break
            chosen, runs, us = chosen | 1 << cell, runs + 1, us + self._of_cell(cell)
        return chosen, runs, us

    def _numbered(self, parts: Iterable[Part]) -> Task:
        spans = (Span(*cells, first, last) for bits, first, last in parts for cells in _stretches(bits))
        self._tasks += 1
        task = Task(self._tasks, tuple(spans))
        self.open -= task.count
        return task


def _cells(bits: int) -> Iterator[int]:
    """The cells of a row, from the first on."""
    for first, last in _stretches(bits):
        yield from range(first, last + 1)


def _stretches(bits: int) -> Iterator[tuple[int, int]]:
    """First and last cell of each stretch of neighbours in a row."""
    below = 0
    while bits:
        skipped = (bits & -bits).bit_length() - 1
        bits >>= skipped
        length = (~bits & bits + 1).bit_length() - 1
        yield below + skipped, below + skipped + length - 1
        bits >>= length
        below += skipped + length
