"""The numbers of a sweep's page as plain data: metrics, cells, statistics, comparisons, values per seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from groupsim.pipeline.analysis import Answer
from groupsim.pipeline.page.budget import FIGURES_BYTES, within
from groupsim.pipeline.tables.metrics import METRICS, SCALE, Metric
from groupsim.scenarios.language.properties import without_secrets

MANY_VALUES = 100_000  # of one metric; of larger sweeps the first seeds are shown
STATISTIC = ("value", "low", "high", "p50", "p95", "least", "most", "n", "missing")
COMPARISON = ("difference", "low", "high", "pairs", "p_corrected", "verdict")


def metrics(answer: Answer) -> list[Metric]:
    """Return every metric, the goals' first, so that those left out for room matter least."""
    goals = [goal.metric for goal in answer.goals]
    return [METRICS[name] for name in dict.fromkeys([*goals, *METRICS])]


def described(metric: Metric, answer: Answer) -> dict[str, Any]:
    """Return a metric for the page: its name, format and direction (a goal may have the opposite one)."""
    better = next((goal.better for goal in answer.goals if goal.metric == metric.name), metric.better)
    return {
        "name": metric.name,
        "title": metric.title,
        "heading": metric.heading,
        "unit": str(metric.unit),
        "scale": SCALE[metric.unit],
        "better": better,
        "pooled": bool(metric.pool),
    }


def statistics(answer: Answer) -> dict[str, Any]:
    """Return metric → one list per cell (`STATISTIC`), as far as there is room; metrics of 0 everywhere, too."""
    parts = ((metric.name, _of_cells(answer, metric.name)) for metric in metrics(answer))
    return within(FIGURES_BYTES, parts)[0]


def _of_cells(answer: Answer, metric: str) -> list[list[Any]]:
    found = (attrs.asdict(cell.statistics[metric]) for cell in answer.cells)
    return [[_figure(one[name]) for name in STATISTIC] for one in found]


def comparisons(answer: Answer, role: str) -> dict[str, Any]:
    """Return metric → cell → its difference from the baseline or the best (`COMPARISON`)."""
    found: dict[str, dict[int, list[Any]]] = {}
    for one in answer.comparisons:
        if one.role == role:
            values = attrs.asdict(one)
            found.setdefault(one.metric, {})[one.cell] = [_figure(values[name]) for name in COMPARISON]
    ordered = [(metric.name, found[metric.name]) for metric in metrics(answer) if metric.name in found]
    return within(FIGURES_BYTES, ordered)[0] if ordered else {}


def values(answer: Answer, runs: Iterable[Mapping[str, Any]], seeds: Sequence[int]) -> dict[str, Any]:
    """Values per seed: metric → one list per cell, along `seeds` (those that fit); nothing where a run has none."""
    shown = list(seeds[: max(1, MANY_VALUES // max(1, len(answer.cells)))])
    place = {seed: index for index, seed in enumerate(shown)}
    line = {cell.number: index for index, cell in enumerate(answer.cells)}
    names = [metric.name for metric in metrics(answer) if not metric.pool]
    found: dict[str, list[list[int | None]]] = {name: [[None] * len(shown) for _ in line] for name in names}
    for run in runs:
        if run["status"] == "done" and run["seed"] in place and run["cell"] in line:
            for name in names:
                found[name][line[run["cell"]]][place[run["seed"]]] = run[name]
    fitting = within(FIGURES_BYTES, [(name, found[name]) for name in names])[0] if names else {}
    return {"seeds": shown, "of": fitting}


def cells(answer: Answer, settings: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every cell without its statistics: labels, settings, limits, place on the front."""
    return [
        {
            "number": cell.number,
            "baseline": _baseline(answer, cell.labels),
            "labels": list(cell.labels.values()),
            "settings": {path: str(value) for path, value in without_secrets(settings.get(cell.number, {})).items()},
            "done": cell.done,
            "failed": cell.failed,
            "unfinished": cell.unfinished,
            "keeps": cell.keeps,
            "limits": [attrs.asdict(limit) for limit in cell.limits],
            "front": cell.front,
            "dominated_by": cell.dominated_by,
            "warnings": list(cell.warnings),
        }
        for cell in answer.cells
    ]


def _baseline(answer: Answer, labels: Mapping[str, str]) -> int:
    """The cell that one with these labels is compared with: the baseline of its own circumstances."""
    mine = (one for one in answer.circumstances if all(labels[axis] == at for axis, at in one.labels.items()))
    found = next(mine, None)
    return answer.baseline if found is None else found.baseline


def effects(answer: Answer) -> list[dict[str, Any]]:
    """What changing one axis alone does."""
    return [{name: _figure(value) for name, value in attrs.asdict(one).items()} for one in answer.effects]


def _figure(value: Any) -> Any:
    """A number without digits that no plot shows."""
    return float(f"{value:.7g}") if isinstance(value, float) else value
