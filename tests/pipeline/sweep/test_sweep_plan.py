"""What has to run, in which order and in which portions."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import pytest

from groupsim.pipeline.experiment import Experiment
from groupsim.pipeline.sweep.chunks import Cost, Finished, spans
from groupsim.pipeline.sweep.plan import LONGEST_TASK_US, TASKS_PER_CORE, WAVES, Plan
from groupsim.pipeline.sweep.repeat import repeat_command
from tests.helpers import small_sweep


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """Three cells, two hundred seeds."""
    return attrs.evolve(small_sweep.load(tmp_path), seeds=tuple(range(200)))


def finished(*runs: tuple[int, int]) -> Finished:
    """These runs as finished ones."""
    found = Finished()
    assert found.add(spans(runs))
    return found


def test_runs_go_seed_by_seed(experiment: Experiment) -> None:
    """A sweep that stops early has run all cells equally often, but for one."""
    plan = Plan(experiment, Finished(), lambda: 2)
    order = list(chain.from_iterable(wave.runs for wave in plan.waves()))
    assert order == [(cell, seed) for seed in range(200) for cell in range(3)]


def test_the_pilot_looks_at_cells_across_the_grid(experiment: Experiment) -> None:
    """One run for each worker, each of another cell; nothing runs twice or not at all."""
    plan = Plan(experiment, finished((0, 0)), lambda: 2)
    pilot = plan.pilot()
    assert [task.runs for task in pilot.tasks] == [((1, 0),), ((2, 0),)]
    rest = list(chain.from_iterable(wave.runs for wave in plan.waves()))
    assert sorted([*pilot.runs, *rest, (0, 0)]) == sorted((cell, seed) for seed in range(200) for cell in range(3))


def test_a_task_is_about_a_second_of_work(experiment: Experiment) -> None:
    """Costs learnt per cell decide how many runs a task has; a wave has some tasks for each worker."""
    us = {0: 10_000, 1: 20_000, 2: 150_000}
    plan = Plan(experiment, Finished(), lambda: 2)
    plan.learn([Cost(cell, 1, cost) for cell, cost in us.items()], finished=False)
    first = next(plan.waves())
    assert len(first.tasks) == 2 * TASKS_PER_CORE
    costs = [sum(us[cell] for cell, _ in task.runs) for task in first.tasks]
    wanted = 200 * sum(us.values()) // (2 * TASKS_PER_CORE * WAVES)
    assert all(wanted <= cost <= wanted + max(us.values()) for cost in costs)


def test_no_task_is_longer_than_an_interruption_may_cost(experiment: Experiment) -> None:
    """However much there is to do, a task ends after some twenty seconds."""
    plan = Plan(experiment, Finished(), lambda: 2)
    plan.learn([Cost(0, 1, 5_000_000)], finished=False)
    assert {len(task.runs) for task in next(plan.waves()).tasks} == {LONGEST_TASK_US // 5_000_000}


def test_what_is_left_is_a_running_sum(experiment: Experiment) -> None:
    """It is what the runs that are not finished cost by their cells, without a look at each of them."""
    plan = Plan(experiment, finished((0, 0), (1, 0), (2, 7)), lambda: 2)
    assert plan.left_us == 597 * 1_000_000  # nothing is known yet
    plan.learn([Cost(0, 10, 1_000_000), Cost(1, 1, 50_000)])
    mean = 1_050_000 // 11
    assert plan.left_us == 189 * 100_000 + 198 * 50_000 + 199 * mean
    plan.learn([Cost(1, 1, 150_000), Cost(2, 199, 199 * 70_000)])
    assert plan.left_us == 189 * 100_000 + 197 * 100_000


def test_what_is_left_is_shared_among_all_workers(experiment: Experiment) -> None:
    """Little work is cut into smaller tasks, so that no worker stands idle."""
    plan = Plan(attrs.evolve(experiment, seeds=tuple(range(8))), Finished(), lambda: 4)
    plan.learn([Cost(0, 1, 250_000)], finished=False)
    assert [len(task.runs) for task in next(plan.waves()).tasks] == [1] * 24


def test_workers_that_join_later_get_work(experiment: Experiment) -> None:
    """The number of workers is asked before every wave."""
    workers = iter([1, 5, 5, 5, 5, 5, 5, 5])
    plan = Plan(experiment, Finished(), lambda: next(workers))
    plan.learn([Cost(0, 1, 500_000)], finished=False)
    waves = plan.waves()
    assert [len(next(waves).tasks) for _ in range(2)] == [TASKS_PER_CORE, 5 * TASKS_PER_CORE]


def test_nothing_to_do_is_no_wave(experiment: Experiment) -> None:
    """When everything is finished there is neither pilot nor wave."""
    every = finished(*((cell, seed) for seed in range(200) for cell in range(3)))
    plan = Plan(experiment, every, lambda: 2)
    assert (plan.pilot().tasks, list(plan.waves())) == ((), [])


@pytest.mark.parametrize("holes", [[], [(1, 0)], [(1, seed) for seed in range(200)], [(0, 3), (2, 3), (1, 150)]])
@pytest.mark.parametrize("us", [20_000, 300_000, 3_000_000])
def test_tasks_have_each_lacking_run_once_and_stop_in_time(
    experiment: Experiment, holes: list[tuple[int, int]], us: int
) -> None:
    """Whatever is finished already, and wherever a task is cut: none is left out, and only its last run takes a task
    past its time.
    """
    plan = Plan(experiment, finished(*holes), lambda: 2)
    plan.learn([Cost(cell, 1, us) for cell in range(3)], finished=False)
    tasks = [task for wave in plan.waves() for task in wave.tasks]
    wanted = [(cell, seed) for seed in range(200) for cell in range(3) if (cell, seed) not in holes]
    assert [run for task in tasks for run in task.runs] == wanted
    assert [task.count for task in tasks] == [len(task.runs) for task in tasks]
    assert all((task.count - 1) * us < LONGEST_TASK_US for task in tasks)
    assert plan.open == 0


def test_a_task_costs_the_driver_the_same_however_many_runs_are_open(experiment: Experiment) -> None:
    """Lines of the plan that are carried out for a task, for what it has cost, and for what is left: counted."""

    def lines(seeds: int) -> int:
        plan = Plan(attrs.evolve(experiment, seeds=tuple(range(seeds))), Finished(), lambda: 2)
        plan.learn([Cost(cell, 1, 50_000) for cell in range(3)], finished=False)
        waves = plan.waves()
        next(waves)
        counted = 0

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal counted
            counted += event == "line"
            return trace if frame.f_code.co_filename == plan_file else None

        sys.settrace(trace)
        try:
            wave = next(waves)
            for task in wave.tasks:
                plan.learn([Cost(cell, task.count // 3, task.count * 50_000 // 3) for cell in task.cells])
                assert plan.left_us > 0
        finally:
            sys.settrace(None)
        assert {task.count for task in wave.tasks} == {LONGEST_TASK_US // 50_000}
        return counted

    plan_file = sys.modules[Plan.__module__].__file__
    few, many = lines(10_000), lines(100_000)
    assert few == many


def test_a_run_is_repeated_by_one_command(experiment: Experiment) -> None:
    """The command names the experiment's file and the settings of the cell."""
    command = repeat_command(experiment, experiment.cells[1])
    assert command == f"groupsim run {experiment.file} --set groups.g.assignor=sticky"
