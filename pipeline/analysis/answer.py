"""The answer of a sweep as plain data: the content of `answer.json`, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from groupsim.pipeline.tables.metrics import METRICS, Metric
from groupsim.protocol.html_table import html_table, paragraph
from groupsim.protocol.values import frozen

SCHEMA = 1
MANY_CELLS = 24  # of a table that is read

# Verdicts of a comparison.
BETTER, WORSE, UNCLEAR, EQUAL, NEGLIGIBLE, TOO_FEW, NOTHING = (
    "better",
    "worse",
    "no significant difference",
    "equal",
    "negligible",
    "too few seeds",
    "nothing to compare",
)

# Roles: the reference of a comparison.
BASELINE, BEST = "baseline", "best"

# Decisions of an answer.
CHANGE, KEEP, NO_DIFFERENCE, MORE_SEEDS, NONE_WITHIN_LIMITS, NO_DATA, DEPENDS = (
    "change",
    "keep the baseline",
    "no significant difference",
    "more seeds needed",
    "no cell within the limits",
    "no data",
    "depends on what is given",
)


@frozen
class Statistic:
    """One metric in one cell, in the units of its column.

    `value` is the mean over the seeds, or the pooled quantile; `low` and `high` are its 95 % confidence interval.
    `n` seeds have a value, `missing` finished ones have none; `pooled` things were pooled (none for a metric of runs).
    """

    cell: int
    metric: str
    n: int
    missing: int
    pooled: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p50: float | None = None
    p50_low: float | None = None
    p50_high: float | None = None
    p95: float | None = None
    p95_low: float | None = None
    p95_high: float | None = None
    p99: float | None = None
    p99_low: float | None = None
    p99_high: float | None = None
    least: float | None = None
    most: float | None = None


@frozen
class Comparison:
    """One cell against another (`role`: baseline or best) in one metric, paired by seed: `difference` = cell - other.

    `pairs` seeds have both; `unpaired` have only one of the two. `p` is the test's, `p_corrected` Holm's over the
    cells compared with this other one.
    """

    cell: int
    other: int
    role: str
    metric: str
    pairs: int
    unpaired: int
    value: float | None
    other_value: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float
    p_corrected: float
    verdict: str


@frozen
class StatedGoal:
    """One goal: a metric, which way, and limits in the units of its column."""

    metric: str
    better: str
    at_most: int | float | None = None
    at_least: int | float | None = None

    @property
    def of(self) -> Metric:
        """The metric's entry in the catalogue."""
        return METRICS[self.metric]

    @property
    def sign(self) -> int:
        """1 when lower is better here, -1 when higher is."""
        return 1 if self.better == "lower" else -1


@frozen
class Limit:
    """A goal's limit in one cell: whether the mean keeps it, whether the whole interval does, and runs that do not."""

    metric: str
    bound: str
    limit: int | float
    value: float | None
    keeps: bool
    surely: bool
    breaking: int


@frozen
class CellAnswer:
    """One cell: its settings, whether it keeps the limits, and its place on the Pareto front."""

    number: int
    labels: Mapping[str, str]
    changes: int
    done: int
    failed: int
    unfinished: int
    keeps: bool
    limits: tuple[Limit, ...]
    front: bool
    dominated_by: int | None
    dominated_surely: bool
    warnings: tuple[str, ...]
    statistics: Mapping[str, Statistic]


@frozen
class Effect:
    """What changing one axis alone from the baseline's value to `value` does, on average over all other settings.

    `contexts` are the pairs of cells that differ in this axis only; `least` and `most` the extremes of their means.
    """

    axis: str
    value: str
    base: str
    metric: str
    contexts: int
    seeds: int
    difference: float | None
    low: float | None
    high: float | None
    p: float
    p_corrected: float
    verdict: str
    least: float | None
    most: float | None


@frozen
class Circumstance:
    """The answer for one combination of given axes (`labels`).

    `settings` are the other labels of `recommended`; `best` leads in the first goal, whether or not that is sure.
    """

    labels: Mapping[str, str]
    sentence: str
    decision: str
    baseline: int
    recommended: int | None
    settings: Mapping[str, str] | None
    runner_up: int | None
    best: int | None
    reasons: tuple[str, ...]


@frozen
class Answer:
    """The answer: a sentence to act on, why, and every number behind it. Cells are named by their number.

    With given axes there is an answer for each of their values in `circumstances`; cells are compared within them, and
    `recommended`, `runner_up`, `best` and `baseline` are those of the experiment's baseline.
    """

    title: str
    question: str
    sentence: str
    decision: str
    recommended: int | None
    runner_up: int | None
    best: int | None
    baseline: int
    seeds: int
    goals: tuple[StatedGoal, ...]
    axes: Mapping[str, tuple[str, ...]]
    cells: tuple[CellAnswer, ...]
    comparisons: tuple[Comparison, ...]
    effects: tuple[Effect, ...]
    front: tuple[int, ...]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    circumstances: tuple[Circumstance, ...] = ()

    @property
    def all_recommended(self) -> frozenset[int]:
        """Every cell that is recommended in some circumstances."""
        found = {self.recommended, *(one.recommended for one in self.circumstances)}
        return frozenset(number for number in found if number is not None)

    @property
    def all_baselines(self) -> frozenset[int]:
        """Every cell that others are compared with."""
        return frozenset({self.baseline, *(one.baseline for one in self.circumstances)})

    def cell(self, number: int) -> CellAnswer:
        """The cell of that number."""
        return next(cell for cell in self.cells if cell.number == number)

    def compared(self, cell: int, role: str, metric: str) -> Comparison | None:
        """The comparison of a cell with the baseline or the best in a metric, when there is one."""
        return next(
            (one for one in self.comparisons if (one.cell, one.role, one.metric) == (cell, role, metric)),
            None,
        )

    @property
    def shown_cells(self) -> list[CellAnswer]:
        """The cells of a table in order; of many the recommended, the baseline, the front, and then the first."""
        named = {self.runner_up, self.best} | self.all_recommended | self.all_baselines
        ranked = sorted(self.cells, key=lambda cell: (cell.number not in named, not cell.front, cell.number))
        return sorted(ranked[:MANY_CELLS], key=lambda cell: cell.number)

    def marks(self, cell: CellAnswer) -> str:
        """A cell's place in the answer, in words."""
        marks = (
            ("recommended", cell.number in self.all_recommended),
            ("baseline", cell.number in self.all_baselines),
            ("on the front", cell.front and len(self.goals) > 1 and len(self.cells) > 1),
            ("breaks a limit", bool(cell.done) and not cell.keeps),
            (f"{cell.failed} failed", bool(cell.failed)),
        )
        return ", ".join(mark for mark, holds in marks if holds)

    def _repr_html_(self) -> str:
        """What a notebook shows: the question, the sentence, its reasons, and a row for each cell."""
        headings = [*self.axes, *(goal.of.heading for goal in self.goals), "seeds", ""]
        rows = [
            [
                *(cell.labels.get(axis, "") for axis in self.axes),
                *(self._value(cell, goal) for goal in self.goals),
                cell.done,
                self.marks(cell),
            ]
            for cell in self.shown_cells
        ]
        texts = [self.question, *self.reasons, *self.warnings[:8]]
        lines = "".join(paragraph(text) for text in texts if text)
        rest = len(self.cells) - len(rows)
        more = paragraph(f"{len(rows)} of {len(self.cells)} cells; the page of the sweep has all") if rest else ""
        return paragraph(self.sentence, bold=True) + lines + html_table(headings, rows, len(rows)) + more

    def _value(self, cell: CellAnswer, goal: StatedGoal) -> str:
        """A mean with its interval, and the verdict where it differs significantly from the baseline's."""
        found, of = cell.statistics.get(goal.metric), goal.of
        if found is None or found.value is None:
            return "–"
        against = self.compared(cell.number, BASELINE, goal.metric)
        sign = f"{against.verdict} " if against is not None and against.verdict in (BETTER, WORSE) else ""
        digits = of.digits([found.value, found.low, found.high])
        low, high = (of.figure(value, digits) for value in (found.low, found.high))
        return f"{sign}{of.shown(found.value, digits)} [{low}–{high}]"


def to_document(answer: Answer) -> dict[str, Any]:
    """The answer as JSON data; `from_document` reads it back. Metrics that occur come with titles and units."""
    metrics = {
        metric.name: {"title": metric.title, "unit": str(metric.unit), "better": metric.better, "table": metric.table}
        for metric in METRICS.values()
    }
    return {"schema": SCHEMA, **attrs.asdict(answer), "metrics": metrics}


def from_document(document: Mapping[str, Any]) -> Answer:
    """The answer in a JSON document; `ValueError` when another version of groupsim wrote it."""
    import cattrs
    from cattrs.strategies import configure_union_passthrough

    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"the answer has schema {document.get('schema')!r}, this groupsim reads {SCHEMA}: analyse again"
        )
    converter = cattrs.Converter(forbid_extra_keys=False)
    configure_union_passthrough(int | float | None, converter)  # a bound of a count may have a fraction
    return converter.structure(document, Answer)
