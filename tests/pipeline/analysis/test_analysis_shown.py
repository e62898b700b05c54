"""The answer on the terminal and as a document."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.text import Text

from groupsim.cli.render import answer as answer_shown
from groupsim.pipeline.analysis import answer_of
from groupsim.pipeline.analysis.answer import Answer
from groupsim.pipeline.experiment.model import Goal
from groupsim.pipeline.tables.metrics import METRICS, POOLED_METRICS
from tests.helpers.analysis_tables import Made, experiment

S = 1_000_000
GOALS = (Goal("stopped_us", "minimise"), Goal("false_evictions", "minimise", at_most=1))


def _answer(cells: int) -> Answer:
    made = Made()
    for cell in range(cells):
        for seed in range(30):
            evicted = 3 if cell == cells - 1 else 0
            made.run(cell, seed, stopped_us=(cells - cell) * S + seed * 1000, false_evictions=evicted)
    grid = [{"session": f"{cell}s"} for cell in range(cells)]
    return answer_of(experiment(grid, 30, GOALS), made.read)[0]


def _shown(answer: Answer, width: int) -> str:
    console = Console(file=StringIO(), width=width, highlight=False)
    answer_shown.show(answer, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_table_tells_values_limits_and_what_each_cell_is() -> None:
    """Sentence first; then per cell the value, whether it is surely better, and its part in the answer."""
    lines = _shown(_answer(3), 160).splitlines()
    assert lines[1].startswith("Use session=1s: stopped time 2.0 s instead of 3.0 s with session=0s")
    assert any("at most 1" in line for line in lines)
    baseline, chosen, broken = (next(line for line in lines if line.startswith(f"{n}s ")) for n in range(3))
    assert baseline.rstrip().endswith("baseline")
    assert "better 2.0 s [" in chosen
    assert chosen.rstrip().endswith("recommended, on the front")
    assert "worse 3" in broken
    assert broken.rstrip().endswith("breaks a limit")


def test_a_total_is_told_per_run_and_a_length_is_not() -> None:
    """What adds up over a run says so in its column's head; a time to form or a quantile is no total."""
    heads = " ".join(_shown(_answer(3), 160).splitlines()[:8])
    assert "stopped time per run" in heads
    assert "false evictions per run" in heads
    assert METRICS["formed_us"].heading == "time to form"
    assert not any(metric.total for metric in POOLED_METRICS)


def test_narrow_terminal_loses_no_figure() -> None:
    """On eighty columns an interval stands below its value, and nothing is cut off."""
    text = _shown(_answer(3), 80)
    assert "…" not in text
    assert "better 2.0 s" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_headings_wrap_before_axes_do() -> None:
    """Where room is short a long heading takes more lines, so that what tells the cells apart stays on one."""
    made, label = Made(), "one pod after the other"
    for cell in range(2):
        for seed in range(30):
            made.run(cell, seed, stopped_us=(2 - cell) * S + seed * 1000, false_evictions=0)
    grid = [{"rollout": f"{label} {cell}"} for cell in range(2)]
    lines = _shown(answer_of(experiment(grid, 30, GOALS), made.read)[0], 88).splitlines()
    assert sum(line.startswith((f"{label} 0 ", f"{label} 1 ")) for line in lines) == 2
    assert not any("stopped time per run" in line for line in lines)


def test_more_than_fits_is_broken_and_not_cut_off() -> None:
    """Long labels and three goals on 80 columns: values stay whole, labels give way; on 40 nothing is lost either."""
    made = Made()
    labels = ("cooperative-sticky-with-more", "range-and-more-of-it")
    for cell in range(2):
        for seed in range(30):
            made.run(cell, seed, stopped_us=(350 + seed + cell) * S, false_evictions=seed, moved=100 + seed * cell)
    goals = (*GOALS, Goal("moved", "minimise"))
    grid = [{"assignor": label, "the kind of rollout": label} for label in labels]
    answer = answer_of(experiment(grid, 30, goals), made.read)[0]
    assert "…" not in _shown(answer, 40)
    wide, narrow = _shown(answer, 109), _shown(answer, 80)
    assert "…" not in narrow
    figures = [word for word in wide.split() if word.startswith("[") and word.endswith("]")]
    assert len(figures) == 5  # one is a point
    assert all(figure in narrow for figure in figures)


def test_at_80_columns_the_axes_share_a_column_and_no_word_is_broken() -> None:
    """Three axes with long labels: on a narrow terminal every word of labels and marks is there, whole."""
    made = Made()
    axes = ("assignor", "rollout", "callback")
    grid = [
        dict(zip(axes, row)) for row in (("cooperative-sticky", "Deployment", "1 s"), ("range", "Recreate", "none"))
    ]
    for cell in range(2):
        for seed in range(30):
            made.run(cell, seed, stopped_us=(350 + seed + cell) * S, false_evictions=seed % 9, moved=100 + seed * cell)
    goals = (*GOALS, Goal("moved", "minimise"))
    narrow = _shown(answer_of(experiment(grid, 30, goals), made.read)[0], 80)
    words = set(narrow.split())
    assert {"cooperative-sticky,", "Deployment,", "Recreate,", "baseline,", "breaks", "limit"} <= words


def test_no_number_is_parted_from_its_unit() -> None:
    """Where "better 84.1 s" has no room on one line, the sign goes above the value."""
    made = Made()
    labels = (("1 s", "range", "Deployment"), ("1 s", "cooperative-sticky", "static StatefulSet"))
    for cell in range(2):
        for seed in range(30):
            counts = {"moved": 90 - 50 * cell + seed, "rebalances": 8 + 4 * cell}
            made.run(cell, seed, unserved_us=(257 - 170 * cell) * S + seed * 100_000, **counts)
    goals = tuple(Goal(metric, "minimise") for metric in ("unserved_us", "moved", "rebalances"))
    grid = [dict(zip(("callback", "assignor", "rollout"), row)) for row in labels]
    answer = answer_of(experiment(grid, 30, goals), made.read)[0]
    for width in range(60, 90):
        rows = [line.split() for line in _shown(answer, width).splitlines() if not line.startswith("1 s")]
        assert not [row for row in rows if "s" in row and not any(word[:1].isdigit() for word in row)], width


def test_axes_whose_words_are_broken_come_before_marks_on_one_line() -> None:
    """With four goals on eighty columns the marks wrap, and what is left goes to the names of the cells."""
    values = (("unserved time per run", "608 s\n[228–988]"), ("partitions moved", "441\n[411–471]"))
    worst = (("unserved time worst", "14.3 s\n[13.9–14.7]"), ("rebalances per run", "14.5\n[14.0–15.0]"))
    parts = (
        ("assignor, rollout", "cooperative-sticky, StatefulSet"),
        *values,
        *worst,
        ("seeds", "2"),
        ("", "on the front"),
    )
    widths = answer_shown._widths([list(map(Text, part)) for part in parts], 1, 80)
    assert widths[0] >= len("StatefulSet")
    assert widths[-1] < len("on the front")
    assert sum(widths) <= 80 - answer_shown.GAP * (len(widths) - 1)


def test_large_grid_shows_the_cells_that_matter() -> None:
    """Of thirty cells the recommended and the baseline are there, and the rest is said to be elsewhere."""
    text = _shown(_answer(30), 160)
    assert "24 of 30 cells" in text
    assert "recommended" in text
    assert "baseline" in text


def test_document_is_the_answer_as_plain_data() -> None:
    """Sentence, decision and cells under their names, with titles and units of the metrics beside them."""
    document = answer_shown.document(_answer(3))
    assert document["recommended"] == 1
    assert document["cells"][0]["statistics"]["stopped_us"]["n"] == 30
    assert document["metrics"]["stopped_us"]["unit"] == "s"
