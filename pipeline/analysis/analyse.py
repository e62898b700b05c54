"""The analysis of a sweep's directory: statistics per cell, comparisons, choice, text, and the files of results.

Two rounds of grouped tasks, one task per cell: first the statistics, then (when the best cell is known) the
comparisons. The tasks get integers and are the same functions on every engine, so the numbers are too. Everything
after them is small and happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from groupsim.pipeline.analysis import recommendation, wording
from groupsim.pipeline.analysis.answer import (
    BASELINE,
    BEST,
    BETTER,
    CHANGE,
    EQUAL,
    KEEP,
    MORE_SEEDS,
    NO_DATA,
    NO_DIFFERENCE,
    NONE_WITHIN_LIMITS,
    NOTHING,
    WORSE,
    Answer,
    CellAnswer,
    Comparison,
    StatedGoal,
    Statistic,
)
from groupsim.pipeline.analysis.cells import compare, judged, statistics
from groupsim.pipeline.analysis.effects import effects
from groupsim.pipeline.analysis.engines import Here, Seen, as_schema, cluster, spark_installed
from groupsim.pipeline.analysis.front import dominator, front
from groupsim.pipeline.analysis.given import by_circumstance
from groupsim.pipeline.analysis.intervals import FEW
from groupsim.pipeline.analysis.observations import (
    EXPECTATIONS,
    OPEN,
    REBALANCES,
    RUN,
    Observed,
    Reader,
    observations,
    observed,
)
from groupsim.pipeline.analysis.traffic import traffic_of_sweep
from groupsim.pipeline.tables.metrics import METRICS, RUN_METRICS
from groupsim.pipeline.tables.schemas import TRACES

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.experiment import Experiment
    from groupsim.pipeline.sweep.directory import Directory
    from groupsim.pipeline.sweep.engines import EngineOptions

DEFAULT_GOALS = (StatedGoal("unserved_us", "lower"), StatedGoal("lag_area", "lower"))
# What a setting may cost: a recommendation names those in which it is worse, or the baseline that stays is.
COSTS = ("unserved_us", "lag_area", "duplicates", "lost", "evictions", "poll_evictions", "moved", "rebalances")
LARGE = 1_000_000  # observations from which Spark on two cores is done sooner (docs/sweeps.md has the figures)


def goals_of(experiment: Experiment) -> tuple[StatedGoal, ...]:
    """The experiment's goals; without any, unserved time first and lag second."""
    directions = {"minimise": "lower", "maximise": "higher"}
    return (
        tuple(
            StatedGoal(goal.metric, directions[goal.direction], goal.at_most, goal.at_least)
            for goal in experiment.goals
        )
        or DEFAULT_GOALS
    )


def answer_of(experiment: Experiment, read: Reader) -> tuple[Answer, pa.Table]:
    """The answer to an experiment from its tables; with the observations it rests on. Writes nothing."""
    seen = observations(read)
    return _answer(experiment, Here(seen)), seen


def analyse(
    directory: Directory,
    options: EngineOptions | None = None,
    engine: Any = None,
    note: Callable[[str], object] = lambda sentence: None,
) -> Answer:
    """Analyse a sweep and write `results/cells.parquet`, `comparisons.parquet` and `answer.json` (the last one last).

    The engine of `options` is `pool` (this process), `spark` (in the session that they describe; `engine` is one that
    is up, of the sweep) or `auto`: Spark for large sweeps where it is installed. The numbers are the same from both.
    Full traces, if there are any, are counted on Spark as well (not with `pool`). `note` is called with a sentence on
    the engine. Raises SweepError when Spark cannot be had or the disk is full.
    """
    from groupsim.pipeline.analysis.observed_on_spark import observed_on
    from groupsim.pipeline.analysis.results import write_results
    from groupsim.pipeline.sweep.engines import AUTO, POOL, SPARK, EngineOptions
    from groupsim.pipeline.sweep.errors import SweepError

    options = options or EngineOptions()
    chosen, about = options.chosen(), _about(directory)
    if chosen == AUTO:
        chosen = SPARK if about > LARGE and spark_installed() else POOL
    with ExitStack() as stack:
        if chosen == SPARK:
            on = stack.enter_context(cluster(options, directory, engine))
            answer = _answer(directory.experiment, stack.enter_context(observed_on(on, directory)))
            traffic_of_sweep(directory, on)
            note(f"analysed on Spark: about {about:,} values")
        else:
            answer = _answer(directory.experiment, Here(observations(directory.read)))
            note(f"analysed in this process: about {about:,} values; Spark from {LARGE:,} on, or with --engine spark")
            if options.engine != POOL and directory.files(TRACES.name):
                try:
                    traffic_of_sweep(directory, stack.enter_context(cluster(options, directory, engine)))
                except SweepError as error:
                    answer = attrs.evolve(answer, warnings=(*answer.warnings, f"the traces were not counted: {error}"))
    write_results(directory.place, answer)
    return answer


def _about(directory: Directory) -> int:
    """Return the number of observations, from the counts of the manifests."""
    of_runs = directory.count("runs") * (len(RUN_METRICS) + 2)
    return of_runs + sum(directory.count(name) for name in ("stops", "deliveries", REBALANCES))


def _answer(experiment: Experiment, seen: Seen) -> Answer:
    """The answer; with given axes, one for each of their values and all together."""
    whole = _Analysis(experiment, seen)
    if not experiment.given:
        return whole.answer()

    def one(part: Experiment) -> Answer:
        return _Analysis(part, seen.of([cell.number for cell in part.cells])).answer()

    every = effects(whole.cells, whole.labels, experiment.baseline, whole.goals[:2])
    return by_circumstance(experiment, one, whole.axes(), every)


class _Analysis:
    """One analysis under way: the observations, and the results so far."""

    def __init__(self, experiment: Experiment, seen: Seen) -> None:
        self.experiment = experiment
        self.goals = goals_of(experiment)
        self.seen = seen
        self.labels = {cell.number: dict(cell.labels) for cell in experiment.cells}
        base = self.labels[experiment.baseline]
        self.changes = {
            number: sum(label != base.get(axis) for axis, label in labels.items())
            for number, labels in self.labels.items()
        }
        self.statistics: dict[int, dict[str, Statistic]] = {number: {} for number in self.labels}
        self.raw: dict[tuple[int, int, str], Comparison] = {}
        # Only the values that the goals need of all cells are stored here.
        needed = Here(seen.rows(None, self._needed()))
        self.cells = {number: observed(number, needed.rows([number])) for number in self.labels}

    def _needed(self) -> list[str]:
        return [RUN, EXPECTATIONS, OPEN, *(goal.of.pool or goal.metric for goal in self.goals)]

    def _observed(self, cell: int) -> Observed:
        return observed(cell, self.seen.rows([cell]))

    def _run(self, work: Callable[[Observed], list[Any]], kind: type) -> list[Any]:
        """One grouped task per cell; the rows in order of cells, then as the task made them."""
        table = self.seen.grouped(partial(_task, work, kind), as_schema(kind))
        order = {name: place for place, name in enumerate(METRICS)}
        found = [kind(**row) for row in table.to_pylist()]
        return sorted(found, key=lambda one: (one.cell, getattr(one, "role", ""), order[one.metric]))

    def answer(self) -> Answer:
        for one in self._run(statistics, Statistic):
            self.statistics[one.cell][one.metric] = one
        for number, cell in self.cells.items():
            if not self.statistics[number]:  # not a single run yet
                self.statistics[number] = {one.metric: one for one in statistics(cell)}
        self.limits = {
            number: recommendation.limits(cell, self.statistics[number], self.goals)
            for number, cell in self.cells.items()
        }
        self.means = {
            goal.metric: {
                number: value
                for number, found in self.statistics.items()
                if (value := found[goal.metric].value) is not None
            }
            for goal in self.goals
        }
        started = [number for number, cell in self.cells.items() if cell.done]
        self.within = [number for number in started if all(limit.keeps for limit in self.limits[number])]
        known = [number for number in self.within if number in self.means[self.goals[0].metric]]
        self.leader = (
            recommendation.leader(known, self.means[self.goals[0].metric], self.goals[0], self.changes)
            if known
            else None
        )
        self.comparisons = self._comparisons()
        self.effects = tuple(effects(self.cells, self.labels, self.experiment.baseline, self.goals[:2]))
        return self._answer(started)

    def _comparisons(self) -> tuple[Comparison, ...]:
        """Every cell against the baseline in all metrics of runs and in the goals; against the leader in the goals."""
        base = self.experiment.baseline
        goals = [goal.metric for goal in self.goals]
        every = list(dict.fromkeys([*goals, *(metric.name for metric in RUN_METRICS)]))
        plans = [(BASELINE, self._observed(base), every)]
        if self.leader is not None:
            plans.append((BEST, self._observed(self.leader), list(dict.fromkeys(goals))))
        found: list[Comparison] = self._run(partial(_compare, plans), Comparison)
        self.raw = {(one.cell, one.other, one.metric): one for one in found}
        better = {goal.metric: goal.better for goal in self.goals}
        comparisons: list[Comparison] = []
        for role, _, metrics in plans:
            for metric in metrics:
                family = [one for one in found if (one.role, one.metric) == (role, metric)]
                comparisons += judged(family, better.get(metric, ""))
        order = {name: place for place, name in enumerate(METRICS)}
        return tuple(sorted(comparisons, key=lambda one: (one.cell, one.role, order[one.metric])))

    def _compare(self, cells: Sequence[int], other: int, goal: StatedGoal) -> dict[int, Comparison]:
        """Cells against another one in a goal, corrected among themselves."""
        family = []
        for cell in cells:
            key = (cell, other, goal.metric)
            if key not in self.raw:
                self.raw[key] = compare(self.cells[cell], self.cells[other], BEST, goal.metric)
            family.append(self.raw[key])
        return {one.cell: one for one in judged(family, goal.better)}

    def _answer(self, started: Sequence[int]) -> Answer:
        choice = recommendation.choose(self.within, self.goals, self.means, self.changes, self._compare)
        decision, choice = self._decision(started, choice)
        runner_up = self._runner_up(choice.chosen)
        points = self._points()
        on_front = front(points)
        found = self._findings(decision, choice, runner_up)
        cells = tuple(self._cell(number, points, on_front) for number in self.labels)
        return Answer(
            title=self.experiment.title,
            question=self.experiment.question,
            sentence=wording.sentence(found),
            decision=decision,
            recommended=choice.chosen,
            runner_up=runner_up,
            best=self.leader,
            baseline=self.experiment.baseline,
            seeds=len(self.experiment.seeds),
            goals=self.goals,
            axes=self.axes(),
            cells=cells,
            comparisons=self.comparisons,
            effects=self.effects,
            front=on_front,
            reasons=wording.reasons(found),
            warnings=tuple(self._warnings(cells)),
        )

    def _decision(self, started: Sequence[int], choice: recommendation.Choice) -> tuple[str, recommendation.Choice]:
        nothing = attrs.evolve(choice, chosen=None)
        if not started:
            return NO_DATA, nothing
        if choice.chosen is None:
            self.leader = self._nearest_to_limits(started)
            return NONE_WITHIN_LIMITS, nothing
        ready = max(len(self.cells[number].done) for number in started)
        judged_steps = [one for one in self.comparisons if one.role == BEST and one.cell != one.other]
        if ready < FEW or (len(self.within) > 1 and recommendation.too_few(judged_steps)):
            return MORE_SEEDS, nothing
        if choice.all_tied and choice.steps and ready < self._needed_seeds() and not self._all_equal(judged_steps):
            return MORE_SEEDS, nothing  # "no significant difference" would be true of any numbers
        if len(self.within) > 1 and choice.all_tied and self.experiment.baseline in self.within:
            return NO_DIFFERENCE, choice
        return (KEEP if choice.chosen == self.experiment.baseline else CHANGE), choice

    def _needed_seeds(self) -> int:
        """Return the fewest seeds with which cells within the limits could differ significantly."""
        return recommendation.seeds_needed(len(self.within) - 1)

    def _all_equal(self, comparisons: Sequence[Comparison]) -> bool:
        """No seed differs in any goal: more of them are not likely to."""
        goals = {goal.metric for goal in self.goals}
        return all(one.verdict in {EQUAL, NOTHING} for one in comparisons if one.metric in goals)

    def _nearest_to_limits(self, started: Sequence[int]) -> int:
        """The cell that misses its worst limit by the smallest part of it."""

        def miss(number: int) -> float:
            return max(
                abs((limit.value or 0) - limit.limit) / max(1, abs(limit.limit))
                for limit in self.limits[number]
                if not limit.keeps
            )

        return min(started, key=lambda number: (miss(number), self.changes[number], number))

    def _runner_up(self, chosen: int | None) -> int | None:
        goal = self.goals[0]
        others = [number for number in self.within if number != chosen and number in self.means[goal.metric]]
        if chosen is None or not others:
            return None
        return recommendation.leader(others, self.means[goal.metric], goal, self.changes)

    def _findings(self, decision: str, choice: recommendation.Choice, runner_up: int | None) -> wording.Findings:
        chosen, first, base = choice.chosen, self.goals[0], self.experiment.baseline
        rival = None if chosen is None or runner_up is None else self._compare([chosen], runner_up, first)[chosen]
        mine = [one for one in self.comparisons if one.role == BASELINE and one.cell == chosen]
        return wording.Findings(
            decision=decision,
            labels=self.labels,
            baseline=base,
            goals=self.goals,
            statistics=self.statistics,
            limits=self.limits,
            choice=choice,
            leader=self.leader,
            runner_up=runner_up,
            against_baseline={one.metric: one for one in mine},
            against_runner_up=rival,
            price=[one for one in self._beside(first) if (one.cell, one.verdict) == (chosen, WORSE)],
            opposed=self._opposed(first),
            effects=self.effects,
            seeds=max((len(cell.done) for cell in self.cells.values()), default=0),
            asked=len(self.experiment.seeds),
            needed=self._needed_seeds(),
        )

    def _beside(self, first: StatedGoal) -> list[Comparison]:
        """Comparisons with the baseline in what costs something, but for the first goal, in the order of `COSTS`."""
        costs = [name for name in COSTS if name != first.metric]
        found = [one for one in self.comparisons if one.role == BASELINE and one.metric in costs]
        return sorted(found, key=lambda one: costs.index(one.metric))

    def _opposed(self, first: StatedGoal) -> list[Comparison]:
        """Of every such measure the cell within the limits that is best in it, if it is better than the baseline."""
        best: dict[str, Comparison] = {}
        for one in self._beside(first):
            if one.verdict == BETTER and one.cell in self.within:
                other = best.setdefault(one.metric, one)
                sign = METRICS[one.metric].sign
                if sign * (one.value or 0) < sign * (other.value or 0):
                    best[one.metric] = one
        return list(best.values())

    def _points(self) -> dict[int, tuple[float, ...]]:
        """Cells within the limits as points of the first two goals, lower is better."""
        goals = self.goals[:2]
        return {
            number: tuple(goal.sign * self.means[goal.metric][number] for goal in goals)
            for number in self.within
            if all(number in self.means[goal.metric] for goal in goals)
        }

    def _cell(self, number: int, points: Mapping[int, tuple[float, ...]], on_front: Sequence[int]) -> CellAnswer:
        cell, limits = self.cells[number], self.limits[number]
        over = dominator(number, points, on_front) if number in points else None
        surely = over is not None and any(
            self._compare([number], over, goal)[number].verdict == "worse" for goal in self.goals[:2]
        )
        return CellAnswer(
            number=number,
            labels=self.labels[number],
            changes=self.changes[number],
            done=len(cell.done),
            failed=len(cell.failed),
            unfinished=len(self.experiment.seeds) - len(cell.done) - len(cell.failed),
            keeps=bool(cell.done) and all(limit.keeps for limit in limits),
            limits=limits,
            front=number in on_front,
            dominated_by=over,
            dominated_surely=surely,
            warnings=tuple(self._doubts(cell)),
            statistics=self.statistics[number],
        )

    def _doubts(self, cell: Observed) -> Iterable[str]:
        """What makes the numbers of one cell doubtful."""
        runs, done = len(self.experiment.seeds), len(cell.done)
        if cell.failed:
            yield f"{len(cell.failed)} of {runs} runs failed"
        if unfinished := runs - done - len(cell.failed):
            yield f"{unfinished} of {runs} runs are not finished"
        if cell.expectations:
            yield f"an expectation failed in {cell.expectations} of {done} runs"
        if cell.open:
            yield f"a partition still stood at the end of {cell.open} of {done} runs: its standstill is cut short"
        for goal in self.goals:
            missing = done - len(cell.seeds(goal.metric))
            if missing:
                yield f"no {goal.of.title} in {missing} of {done} runs"

    def _warnings(self, cells: Sequence[CellAnswer]) -> Iterable[str]:
        by_warning: dict[str, list[CellAnswer]] = {}
        for cell in cells:
            for warning in cell.warnings:
                by_warning.setdefault(warning, []).append(cell)
        for warning, where in by_warning.items():
            yield f"{wording.place([cell.labels for cell in where], len(cells))}: {warning}"
        if all(map(_without_luck, cells)):
            yield (
                "the seeds hardly differ, so they say nothing about luck: "
                "give starts, processing times, pauses or faults of the scenario as distributions"
            )

    def axes(self) -> dict[str, tuple[str, ...]]:
        """The labels of every axis, in order."""
        names = dict.fromkeys(axis for labels in self.labels.values() for axis in labels)
        return {
            axis: tuple(dict.fromkeys(labels[axis] for labels in self.labels.values() if axis in labels))
            for axis in names
        }


def _without_luck(cell: CellAnswer) -> bool:
    """Whether several seeds agree in all that is measured, to a hundredth: only latencies are always drawn."""
    measured = [one for one in cell.statistics.values() if one.pooled is None and one.value is not None]
    return cell.done > 1 and bool(measured) and all(map(_is_flat, measured))


def _is_flat(one: Statistic) -> bool:
    if one.value is None or one.least is None or one.most is None:
        return False
    return one.most - one.least <= abs(one.value) / 100


def _task(work: Callable[[Observed], list[Any]], kind: type, table: pa.Table) -> pa.Table:
    """The grouped task: one cell's observations in, rows out. It runs on an executor: no state, no session."""
    import pyarrow as pa

    cell = table["cell"][0].as_py()
    return pa.Table.from_pylist([attrs.asdict(one) for one in work(observed(cell, table))], schema=as_schema(kind))


def _compare(plans: Sequence[tuple[str, Observed, Sequence[str]]], cell: Observed) -> list[Comparison]:
    return [
        compare(cell, other, role, metric)
        for role, other, metrics in plans
        if other.cell != cell.cell
        for metric in metrics
    ]
