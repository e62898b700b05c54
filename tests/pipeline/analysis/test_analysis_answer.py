"""The answer of an analysis, on tables made by hand whose right answer is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.eventloop.randomness import Stream
from groupsim.pipeline.analysis import analyse, answer_of, read_answer
from groupsim.pipeline.analysis.answer import Answer
from groupsim.pipeline.analysis.front import dominates, front
from groupsim.pipeline.experiment.model import Goal
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.place import Place
from tests.helpers.analysis_tables import GOALS, Made, experiment, on_disk

S = 1_000_000
GRID = [
    {"assignor": assignor, "membership": membership}
    for assignor in ("range", "cooperative-sticky")
    for membership in ("dynamic", "static")
]
ONE_AXIS = [{"session": session} for session in ("45s", "10s", "6s")]


def _luck(seed: int, cell: int | str = "") -> int:
    """What chance adds: a second at most, shared by the cells of a seed unless a cell is named."""
    return Stream(seed, "test.luck", str(cell)).below(S)


def _answer(made: Made, grid: list[dict[str, str]], seeds: int, goals: Any = GOALS, baseline: int = 0) -> Answer:
    answer, _ = answer_of(experiment(grid, seeds, goals, baseline), made.read)
    return answer


def _stopped(grid: list[dict[str, str]], seeds: int, stopped: Callable[[int], int], **more: Any) -> Made:
    made = Made()
    for cell in range(len(grid)):
        for seed in range(seeds):
            values = {"stopped_us": stopped(cell) + _luck(seed) + _luck(seed, cell) // 10, "lag_area": 5}
            made.run(cell, seed, **values, **{name: value(cell, seed) for name, value in more.items()})
    return made


def test_best_cell_is_recommended_with_its_margin_over_the_baseline() -> None:
    """The sentence names the setting, both values, the seeds and the interval of the paired difference."""
    answer = _answer(_stopped(GRID, 30, lambda cell: [12, 2, 4, 0][cell] * S), GRID, 30)
    assert answer.recommended == 3
    assert answer.decision == "change"
    assert answer.runner_up == 1
    assert answer.sentence == (
        "Use assignor=cooperative-sticky, membership=static: stopped time 0.5 s instead of "
        "12.5 s with assignor=range, membership=dynamic (mean of 30 seeds, difference 12.00 s, 95 % CI 11.99–12.02 s)."
    )
    against = answer.compared(3, "baseline", "stopped_us")
    assert against is not None
    assert against.low is not None
    assert against.high is not None
    assert against.low <= -12 * S <= against.high
    assert against.verdict == "better"


def test_pairing_finds_what_the_spread_of_the_seeds_hides() -> None:
    """A tenth of a second is significant when every seed shows it, though seeds differ by a second."""
    answer = _answer(_stopped(ONE_AXIS, 30, lambda cell: 2 * S - cell * S // 10), ONE_AXIS, 30)
    assert answer.recommended == 2
    alone = answer.cell(2).statistics["stopped_us"]
    assert alone.high is not None
    assert alone.high > 2 * S + S // 3
    assert [answer.compared(cell, "baseline", "stopped_us").verdict for cell in (1, 2)] == ["better", "better"]  # type: ignore[union-attr]


def test_cells_without_a_difference_are_called_that() -> None:
    """Where only chance differs, nothing is recommended against the baseline."""
    made = Made()
    for cell in range(3):
        for seed in range(30):
            made.run(cell, seed, stopped_us=5 * S + _luck(seed, cell), lag_area=_luck(seed, f"lag {cell}"))
    answer = _answer(made, ONE_AXIS, 30)
    assert answer.decision == "no significant difference"
    assert answer.recommended == answer.baseline == 0
    assert answer.sentence.startswith("No significant difference between the 3 cells")
    assert answer.sentence.endswith("keep session=45s.")


def test_seeds_that_all_agree_leave_no_doubt_and_no_division_by_zero() -> None:
    """Zero variance: equal cells are equal, different ones differ, with a point as interval."""
    made = Made()
    for cell, stopped in enumerate((3 * S, 3 * S, 1 * S)):
        for seed in range(30):
            made.run(cell, seed, stopped_us=stopped, lag_area=5)
    answer = _answer(made, ONE_AXIS, 30)
    assert answer.compared(1, "baseline", "stopped_us").verdict == "equal"  # type: ignore[union-attr]
    assert answer.recommended == 2
    found = answer.compared(2, "baseline", "stopped_us")
    assert found is not None
    assert (found.difference, found.low, found.high) == (-2 * S, -2 * S, -2 * S)
    assert found.p_corrected < 0.05


def test_one_seed_makes_no_claim() -> None:
    """One seed: no recommendation, no interval, no verdict but that more are needed."""
    answer = _answer(_stopped(GRID, 1, lambda cell: [12, 2, 4, 0][cell] * S), GRID, 1)
    assert answer.decision == "more seeds needed"
    assert answer.recommended is None
    assert "One seed is too few" in answer.sentence
    assert {one.verdict for one in answer.comparisons if one.pairs} == {"too few seeds"}
    assert answer.cell(0).statistics["stopped_us"].low is None


def test_few_seeds_that_cannot_tell_many_cells_apart_say_how_many_could() -> None:
    """Six seeds and ten cells: no difference could be significant, so none is denied, and nothing is recommended."""
    grid = [{"n": str(number)} for number in range(10)]
    answer = _answer(_stopped(grid, 6, lambda cell: (10 - cell) * S), grid, 6)
    assert (answer.decision, answer.recommended) == ("more seeds needed", None)
    assert answer.sentence.startswith("6 seeds are too few for an answer: at least 9 are needed")
    assert "So far n=9 has the lowest" in answer.sentence


def test_seeds_that_were_asked_for_need_not_be_asked_for_again() -> None:
    """Half-way through a sweep that has enough seeds, the remedy is to go on with it; else it is to ask for more."""
    made = _stopped(ONE_AXIS, 3, lambda cell: cell * S)
    assert "(the same command runs the rest)" in _answer(made, ONE_AXIS, 30).sentence
    assert "(the same sweep with `--seeds 30` adds them)" in _answer(made, ONE_AXIS, 3).sentence


def test_cells_that_agree_in_every_seed_need_no_more_of_them() -> None:
    """Six seeds and ten cells without any difference are an answer: there is none."""
    grid = [{"n": str(number)} for number in range(10)]
    made = Made()
    for cell in range(10):
        for seed in range(6):
            made.run(cell, seed, stopped_us=seed * S, lag_area=5)
    answer = _answer(made, grid, 6)
    assert (answer.decision, answer.recommended) == ("no significant difference", 0)


def test_what_the_sentence_says_is_not_said_again() -> None:
    """The margin over the runner-up is told once; a step says among which cells somebody leads."""
    made = _stopped(ONE_AXIS, 30, lambda cell: [1, 5, 9][cell] * S)
    answer = _answer(made, ONE_AXIS, 30, goals=(Goal("stopped_us", "minimise", at_most=6 * S),))
    assert answer.decision == "keep the baseline"
    assert "the next best, session=10s, has" in answer.sentence
    assert not any("runner-up" in reason for reason in answer.reasons)
    assert "is lowest of the 2 cells within the limits" in answer.reasons[0]


def test_only_seeds_that_both_cells_have_finished_are_compared() -> None:
    """Failed and missing runs leave their seed out of the pair, and are told."""
    made = _stopped(ONE_AXIS, 30, lambda cell: (3 - cell) * S)
    made.runs = [run for run in made.runs if (run["cell"], run["seed"]) not in {(1, 4), (1, 5)}]
    made.run(1, 4, status="failed", error="boom")
    answer = _answer(made, ONE_AXIS, 30)
    found = answer.compared(1, "baseline", "stopped_us")
    assert found is not None
    assert (found.pairs, found.unpaired) == (28, 2)
    cell = answer.cell(1)
    assert (cell.done, cell.failed, cell.unfinished) == (28, 1, 1)
    assert cell.warnings == ("1 of 30 runs failed", "1 of 30 runs are not finished")
    assert "session=10s: 1 of 30 runs failed" in answer.warnings


def test_runs_without_a_value_are_counted_and_not_taken_for_zero() -> None:
    """No crash, no detection time: the mean is over runs with one, the others are told."""
    detection = lambda cell, seed: None if seed % 3 else 10 * S  # noqa: E731
    made = _stopped(ONE_AXIS, 30, lambda cell: S, detection_us=detection)
    answer = _answer(made, ONE_AXIS, 30, goals=(Goal("detection_us", "minimise"),))
    found = answer.cell(0).statistics["detection_us"]
    assert (found.n, found.missing, found.value) == (10, 20, 10 * S)
    assert any("no crash detection time in 20 of 30 runs" in text for text in answer.warnings)


def test_a_recommendation_names_its_price() -> None:
    """In what the recommended cell is significantly worse than the baseline: in the sentence, the interval below it."""
    again = lambda cell, seed: [0, 0, 40][cell] + seed % 3  # noqa: E731
    moved = lambda cell, seed: [30, 30, 12][cell] + seed % 3  # noqa: E731
    made = _stopped(ONE_AXIS, 30, lambda cell: (3 - cell) * S, duplicates=again, moved=moved)
    answer = _answer(made, ONE_AXIS, 30)
    assert answer.recommended == 2
    assert answer.sentence.endswith(" Its price: records delivered again 41 instead of 1.")
    assert any(reason.startswith("Price: records delivered again difference 40") for reason in answer.reasons)


def test_a_baseline_that_stays_says_which_measures_speak_against_it() -> None:
    """The goal is tied or won by the baseline, and another cell is significantly better in something else."""
    moved = lambda cell, seed: [69, 37, 50][cell] + seed % 3  # noqa: E731
    unserved = lambda cell, seed: [168, 120, 81][cell] * S + _luck(seed, cell)  # noqa: E731
    for stopped, decision in ([5, 5, 5], "no significant difference"), ([1, 5, 5], "keep the baseline"):
        made = _stopped(ONE_AXIS, 30, lambda cell, at=stopped: at[cell] * S, moved=moved, unserved_us=unserved)
        answer = _answer(made, ONE_AXIS, 30)
        assert (answer.decision, answer.recommended) == (decision, 0)
        assert answer.sentence.endswith(
            " Other measures speak against it: unserved time of all partitions 81 s instead of 169 s with session=6s; "
            "partitions moved 38 instead of 70 with session=10s."
        )
        assert any(reason.startswith("Against it: unserved time of all partitions diff") for reason in answer.reasons)


def test_cells_beyond_the_limits_speak_against_nothing() -> None:
    """What is better elsewhere is no argument for a cell that may not be chosen."""
    moved = lambda cell, seed: [69, 37, 50][cell]  # noqa: E731
    made = _stopped(ONE_AXIS, 30, lambda cell: [1, 9, 9][cell] * S, moved=moved)
    answer = _answer(made, ONE_AXIS, 30, (Goal("stopped_us", "minimise", at_most=5 * S),))
    assert "speak against it" not in answer.sentence


def test_without_goals_unserved_time_decides_and_then_lag() -> None:
    """Less unserved time wins, though at least one partition stands still for longer."""
    made = _stopped(ONE_AXIS, 30, lambda cell: (cell + 1) * S, unserved_us=lambda cell, seed: (9 - cell) * S + seed)
    answer = _answer(made, ONE_AXIS, 30, ())
    assert [goal.metric for goal in answer.goals] == ["unserved_us", "lag_area"]
    assert answer.recommended == 2


def test_open_standstills_and_failed_expectations_are_warned_of() -> None:
    """A run that had not settled when it ended is in the numbers, and the answer says so."""
    made = _stopped(ONE_AXIS, 30, lambda cell: (3 - cell) * S)
    made.stop(2, 7, 0, 5 * S, open=True)
    made.runs[0]["expectations_failed"] = 2
    answer = _answer(made, ONE_AXIS, 30)
    assert answer.cell(0).warnings == ("an expectation failed in 1 of 30 runs",)
    assert answer.cell(2).warnings[0].startswith("a partition still stood at the end of 1 of 30 runs")


def test_cells_that_break_a_limit_are_out_however_good_else() -> None:
    """The fastest detection evicts live members: the limit on those decides before the goal does."""
    evicted = lambda cell, seed: [0, 0, 3][cell]  # noqa: E731
    made = _stopped(ONE_AXIS, 30, lambda cell: (3 - cell) * S, false_evictions=evicted)
    goals = (Goal("stopped_us", "minimise"), Goal("false_evictions", "minimise", at_most=1))
    answer = _answer(made, ONE_AXIS, 30, goals)
    assert answer.recommended == 1
    assert not answer.cell(2).keeps
    assert answer.cell(2).limits[0].breaking == 30
    assert 2 not in answer.front


def test_limits_that_no_cell_keeps_are_named_with_the_nearest_cell() -> None:
    """Nothing is recommended; the sentence says which cell comes nearest and by how much it misses."""
    made = _stopped(ONE_AXIS, 30, lambda cell: (3 - cell) * 10 * S)
    answer = _answer(made, ONE_AXIS, 30, (Goal("stopped_us", "minimise", at_most=5 * S),))
    assert answer.decision == "no cell within the limits"
    assert answer.recommended is None
    assert "nearest is session=6s" in answer.sentence
    assert "at most 5.0 s” is missed with 10." in answer.sentence


def test_baseline_that_breaks_a_limit_is_left_for_one_that_keeps_it() -> None:
    """The sentence says that the limit, not the first goal, is why."""
    lost = lambda cell, seed: [40, 0, 0][cell]  # noqa: E731
    made = _stopped(ONE_AXIS, 30, lambda cell: 5 * S, lost=lost)
    answer = _answer(made, ONE_AXIS, 30, (Goal("stopped_us", "minimise"), Goal("lost", "minimise", at_most=0)))
    assert answer.decision == "change"
    assert answer.recommended in (1, 2)
    assert "which the baseline breaks (40 records)" in answer.sentence


def test_second_goal_decides_among_cells_tied_in_the_first() -> None:
    """No significant difference in standstill: the cell with less lag is taken, and the reasons say so."""
    made = Made()
    for cell in range(3):
        for seed in range(30):
            made.run(cell, seed, stopped_us=5 * S + _luck(seed, cell), lag_area=(9 - cell) * 1000 + _luck(seed) // 1000)
    answer = _answer(made, ONE_AXIS, 30)
    assert answer.recommended == 2
    assert "no other differs significantly" in answer.reasons[0]
    assert "all others are significantly different" in answer.reasons[1]
    assert "lag area" in answer.sentence


def test_of_cells_still_tied_the_one_with_fewest_changes_is_taken() -> None:
    """Two cells are equally better than the baseline: the one that changes one axis, not two, is recommended."""
    made = Made()
    for cell, stopped in enumerate((9 * S, 1 * S, 9 * S, 1 * S)):
        for seed in range(30):
            made.run(cell, seed, stopped_us=stopped, lag_area=5)
    answer = _answer(made, GRID, 30)
    assert answer.recommended == 1
    assert any("nearest to the baseline" in reason for reason in answer.reasons)


def test_difference_below_a_per_cent_is_no_reason_to_change() -> None:
    """Every seed is a millisecond faster: significant, and called too small to matter."""
    made = Made()
    for cell in range(3):
        for seed in range(30):
            made.run(cell, seed, stopped_us=10 * S + _luck(seed) - 1000 * cell, lag_area=5)
    answer = _answer(made, ONE_AXIS, 30)
    assert answer.compared(2, "baseline", "stopped_us").verdict == "negligible"  # type: ignore[union-attr]
    assert answer.recommended == 0


def test_more_is_better_where_the_goal_says_so() -> None:
    """`maximise` turns the order, the verdicts and the front."""
    made = _stopped(ONE_AXIS, 30, lambda cell: S, delivered=lambda cell, seed: 1000 + 100 * cell)
    answer = _answer(made, ONE_AXIS, 30, (Goal("delivered", "maximise"),))
    assert answer.recommended == 2
    assert answer.compared(2, "baseline", "delivered").verdict == "better"  # type: ignore[union-attr]
    assert answer.front == (2,)


def test_front_holds_the_trade_offs_and_knows_who_is_surely_not_on_it() -> None:
    """Detection against false evictions: both ends are on the front, a cell worse in both is surely off it."""
    grid = [{"session": session} for session in ("45s", "10s", "6s", "50s")]
    made = Made()
    for cell, (detection, evicted) in enumerate(((45, 0), (10, 1), (6, 4), (50, 2))):
        for seed in range(30):
            made.run(cell, seed, detection_us=detection * S + _luck(seed), false_evictions=evicted)
    answer = _answer(made, grid, 30, (Goal("false_evictions", "minimise"), Goal("detection_us", "minimise")))
    assert answer.front == (0, 1, 2)
    worse = answer.cell(3)
    assert (worse.front, worse.dominated_by, worse.dominated_surely) == (False, 0, True)


@given(st.dictionaries(st.integers(0, 40), st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1))
def test_front_is_exactly_the_cells_that_none_dominates(points: dict[int, tuple[float, ...]]) -> None:
    """No cell of the front is dominated by any, and every other cell is dominated by one of the front."""
    found = front(points)
    assert found
    for cell in points:
        by_any = any(dominates(other, points[cell]) for other in points.values())
        assert (cell in found) != by_any
        assert by_any == any(dominates(points[other], points[cell]) for other in found)


def test_effects_of_the_axes_average_over_the_other_settings() -> None:
    """membership=static saves 10 s under range and 4 s under the other assignor: 7 s on average, the extremes told."""
    answer = _answer(_stopped(GRID, 30, lambda cell: [12, 2, 6, 2][cell] * S), GRID, 30)
    effect = next(one for one in answer.effects if (one.axis, one.metric) == ("membership", "stopped_us"))
    assert effect.contexts == 2
    assert effect.difference is not None
    assert abs(effect.difference + 7 * S) < S // 10
    assert effect.verdict == "better"
    assert effect.least is not None
    assert effect.most is not None
    assert effect.least < -9 * S < -5 * S < effect.most
    (told,) = [line for line in answer.reasons if line.startswith("membership=static instead of")]
    assert "lowers stopped time on average" in told
    assert "by other settings 4.0 to 10.0 s)" in told


def test_standstills_are_pooled_over_the_seeds_of_a_cell() -> None:
    """p50 and max of one standstill, and of a partition's unserved time: partitions that never stood count as 0."""
    made = _stopped(ONE_AXIS, 10, lambda cell: S)
    for seed in range(10):
        made.deliveries += [
            {"cell": 0, "seed": seed, "group_id": "g", "topic": "t", "partition_id": partition}
            for partition in range(4)
        ]
        made.stop(0, seed, 0, 2 * S)
        made.stop(0, seed, 0, 3 * S)
    found = _answer(made, ONE_AXIS, 10).cell(0).statistics
    assert (found["standstill_p50_us"].value, found["standstill_p50_us"].pooled) == (2 * S, 20)
    assert found["standstill_max_us"].value == 3 * S
    assert found["unavailable_p50_us"].value == 0
    assert (found["unavailable_max_us"].value, found["unavailable_max_us"].pooled) == (5 * S, 40)


def test_pooled_metric_can_be_a_goal() -> None:
    """A quantile of standstills decides like any other metric, compared seed by seed."""
    made = _stopped(ONE_AXIS, 30, lambda cell: S)
    for cell in range(3):
        for seed in range(30):
            for partition in range(5):
                made.stop(cell, seed, partition, (3 - cell) * S + _luck(seed, partition))
    answer = _answer(made, ONE_AXIS, 30, (Goal("standstill_p95_us", "minimise"),))
    assert answer.recommended == 2
    found = answer.compared(2, "baseline", "standstill_p95_us")
    assert found is not None
    assert found.difference == -2 * S


def test_order_of_rows_and_parts_changes_no_byte(tmp_path: Path) -> None:
    """The same rows in other parts and another order give the same answer, and the same files."""
    made = _stopped(GRID, 12, lambda cell: [12, 2, 4, 0][cell] * S)
    for seed in range(12):
        made.stop(1, seed, seed % 3, _luck(seed))
    texts = []
    for number, parts in enumerate((1, 4)):
        directory = on_disk(tmp_path / str(number), experiment(GRID, 12), made, parts, lambda seed: 5 * seed)
        analyse(directory, EngineOptions("pool"))
        texts.append([file.read_bytes() for file in sorted((directory.results).iterdir())])
    assert texts[0] == texts[1]


def test_results_are_written_and_read_back(tmp_path: Path) -> None:
    """`answer.json` gives the answer back; the tables have a row per cell and metric, and per comparison."""
    made = _stopped(ONE_AXIS, 8, lambda cell: (3 - cell) * S)
    directory = on_disk(tmp_path, experiment(ONE_AXIS, 8), made)
    answer = analyse(directory, EngineOptions("pool"))
    assert read_answer(Place.at(tmp_path)) == answer
    cells = pq.read_table(tmp_path / "results" / "cells.parquet")
    assert cells.num_rows == sum(len(cell.statistics) for cell in answer.cells)
    assert pq.read_table(tmp_path / "results" / "comparisons.parquet").num_rows == len(answer.comparisons)
    assert json.loads((tmp_path / "results" / "answer.json").read_text())["schema"] == 1


def test_bound_with_a_fraction_is_read_back(tmp_path: Path) -> None:
    """A bound of 2.5 rebalances is 2.5 in the answer that is read, too."""
    goals = (Goal("rebalances", "minimise", at_most=2.5),)
    made = _stopped(ONE_AXIS, 8, lambda cell: cell * S, rebalances=lambda cell, seed: cell + 1)
    answer = analyse(on_disk(tmp_path, experiment(ONE_AXIS, 8, goals), made), EngineOptions("pool"))
    assert [cell.keeps for cell in answer.cells] == [True, True, False]
    found = read_answer(Place.at(tmp_path))
    assert found == answer
    assert (found.goals[0].at_most, found.cells[0].limits[0].limit) == (2.5, 2.5)


def test_sweep_without_a_finished_run_has_an_answer_that_says_so() -> None:
    """Only failures, or nothing at all: no numbers, no crash, the failures counted."""
    made = Made()
    made.run(0, 0, status="failed", error="boom")
    answer = _answer(made, ONE_AXIS, 2)
    assert answer.decision == "no data"
    assert answer.cell(0).failed == 1
    assert _answer(Made(), ONE_AXIS, 2).decision == "no data"


def test_one_cell_is_described() -> None:
    """Without an alternative the answer gives the value and compares nothing."""
    grid = [dict[str, str]()]
    answer = _answer(_stopped(grid, 10, lambda cell: 3 * S), grid, 10)
    assert answer.decision == "keep the baseline"
    assert answer.comparisons == ()


def test_seeds_that_hardly_differ_are_told() -> None:
    """A scenario that leaves nothing to chance gives one run many times: thirty seeds say no more than one."""
    same = Made()
    for run in range(30):
        same.run(run % 3, run // 3, stopped_us=(run % 3 + 1) * S, moved=4, rebalances=2)
    assert any("the seeds hardly differ" in warning for warning in _answer(same, ONE_AXIS, 10).warnings)
    luck = _answer(_stopped(ONE_AXIS, 10, lambda cell: (3 - cell) * S), ONE_AXIS, 10)
    assert not any("the seeds hardly differ" in warning for warning in luck.warnings)


SIZES = [{"size": size, **labels} for size in ("small", "large") for labels in GRID]


def test_given_axis_gets_an_answer_for_each_of_its_values() -> None:
    """A size is no choice: each has its own baseline and recommendation, and the sentence says which for which."""
    made = _stopped(SIZES, 30, lambda cell: [12, 2, 4, 9, 40, 30, 20, 10][cell] * S)
    answer, _ = answer_of(attrs.evolve(experiment(SIZES, 30), given=("size",)), made.read)
    assert answer.sentence == (
        "It depends on size: assignor=range, membership=static for size=small; "
        "assignor=cooperative-sticky, membership=static for size=large."
    )
    assert answer.decision == "depends on what is given"
    assert (answer.all_recommended, answer.all_baselines) == ({1, 7}, {0, 4})
    assert [one.labels for one in answer.circumstances] == [{"size": "small"}, {"size": "large"}]
    assert answer.reasons[1].startswith("size=large: Use assignor=cooperative-sticky, membership=static: stopped")
    assert {one.other for one in answer.comparisons if one.role == "baseline" and one.cell > 4} == {4}
    assert [cell.labels for cell in answer.cells] == SIZES
    assert [one.labels["size"] for one in answer.cells if one.front] == ["small", "large"]


def test_one_setting_for_all_circumstances_is_said_once() -> None:
    """When the same setting wins whatever is given, the sentence is one recommendation."""
    made = _stopped(SIZES, 30, lambda cell: [12, 2, 4, 1][cell % 4] * S * (1 + cell // 4))
    answer, _ = answer_of(attrs.evolve(experiment(SIZES, 30, baseline=4), given=("size",)), made.read)
    assert answer.sentence == ("Use assignor=cooperative-sticky, membership=static, whatever the size (2 compared).")
    assert (answer.decision, answer.baseline, answer.recommended) == ("change", 4, 7)


def test_circumstances_without_a_difference_recommend_nothing_new() -> None:
    """Where no circumstance shows a difference the sentence says so, and does not say `use`."""
    made = Made()
    for cell in range(len(SIZES)):
        for seed in range(30):
            made.run(cell, seed, stopped_us=5 * S + _luck(seed, cell), lag_area=5)
    answer, _ = answer_of(attrs.evolve(experiment(SIZES, 30), given=("size",)), made.read)
    assert answer.sentence == (
        "No significant difference between the cells: keep assignor=range, membership=dynamic, "
        "whatever the size (2 compared)."
    )


def test_circumstances_with_too_few_seeds_are_told_once_each() -> None:
    """The sentence tells of the first of them, the reasons of the others."""
    made = _stopped(SIZES, 4, lambda cell: cell * S)
    answer, _ = answer_of(attrs.evolve(experiment(SIZES, 4), given=("size",)), made.read)
    assert answer.sentence.startswith("For size=small: 4 seeds are too few")
    assert [reason[:10] for reason in answer.reasons] == ["size=large"]


def test_circumstances_are_written_and_read_back(tmp_path: Path) -> None:
    """The answers of all circumstances are in answer.json."""
    made = _stopped(SIZES, 8, lambda cell: cell * S)
    answer = analyse(on_disk(tmp_path, attrs.evolve(experiment(SIZES, 8), given=("size",)), made))
    assert len(answer.circumstances) == 2
    assert read_answer(Place.at(tmp_path)).circumstances == answer.circumstances


def test_auto_analyses_on_spark_what_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More values than `LARGE`, and Spark installed; a sentence names the engine, the number and the limit."""
    module = import_module("groupsim.pipeline.analysis.analyse")

    def asked(*_: object) -> Any:
        raise SweepError("a session was asked for")

    made = Made()
    for cell, seed in ((0, 0), (0, 1), (1, 0), (1, 1)):
        made.run(cell, seed, stopped_us=S, lag_area=1)
    directory = on_disk(tmp_path, experiment(ONE_AXIS[:2], 2), made)
    about, told = module._about(directory), list[str]()
    monkeypatch.setattr(module, "cluster", asked)
    monkeypatch.setattr(module, "LARGE", about)
    analyse(directory, EngineOptions("auto"), note=told.append)
    assert told == [
        f"analysed in this process: about {about:,} values; Spark from {about:,} on, or with --engine spark"
    ]
    monkeypatch.setattr(module, "LARGE", about - 1)
    monkeypatch.setattr(module, "spark_installed", lambda: False)
    analyse(directory, EngineOptions("auto"))
    monkeypatch.setattr(module, "spark_installed", lambda: True)
    with pytest.raises(SweepError, match="a session was asked for"):
        analyse(directory, EngineOptions("auto"))
