"""The answer as text: a sentence that an SRE can act on, its reasons, and its caveats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from groupsim.pipeline.analysis.answer import (
    BETTER,
    CHANGE,
    EQUAL,
    KEEP,
    MORE_SEEDS,
    NEGLIGIBLE,
    NO_DATA,
    NO_DIFFERENCE,
    NONE_WITHIN_LIMITS,
    UNCLEAR,
    WORSE,
    Comparison,
    Effect,
    Limit,
    StatedGoal,
    Statistic,
)
from groupsim.pipeline.analysis.intervals import CONFIDENCE
from groupsim.pipeline.analysis.recommendation import Choice, Step
from groupsim.pipeline.tables.metrics import METRICS, Metric, Unit
from groupsim.protocol.values import frozen


@frozen
class Findings:
    """The numbers and the choice that the text contains."""

    decision: str
    labels: Mapping[int, Mapping[str, str]]
    baseline: int
    goals: Sequence[StatedGoal]
    statistics: Mapping[int, Mapping[str, Statistic]]
    limits: Mapping[int, Sequence[Limit]]
    choice: Choice
    leader: int | None
    runner_up: int | None
    against_baseline: Mapping[str, Comparison]  # the chosen cell, by goal
    against_runner_up: Comparison | None
    price: Sequence[Comparison]  # metrics in which the chosen cell is significantly worse than the baseline
    opposed: Sequence[Comparison]  # metrics that favour another cell, where the baseline stays
    effects: Sequence[Effect]
    seeds: int  # that have finished
    asked: int  # of the command
    needed: int  # the fewest seeds that could separate cells

    @property
    def first(self) -> Metric:
        """The metric that decides."""
        return self.goals[0].of


def name(labels: Mapping[str, str]) -> str:
    """A cell by its labels."""
    return ", ".join(f"{axis}={label}" for axis, label in labels.items()) or "the scenario as it is"


def place(cells: Sequence[Mapping[str, str]], of: int) -> str:
    """Some of all cells: by name when they are few."""
    if len(cells) == of and of > 1:
        return f"all {of} cells"
    return "; ".join(map(name, cells)) if len(cells) <= 2 else f"{len(cells)} cells, {name(cells[0])} the first"


def difference(metric: Metric, one: Comparison | Effect) -> str:
    """`difference 12.9 s, 95 % CI 11.8–14.1 s`, without a sign: the surrounding text gives the direction."""
    assert one.difference is not None
    ends = [end for end in (one.low, one.high) if end is not None]
    if len(ends) < 2:
        return f"difference {metric.shown(abs(one.difference))}"
    if one.difference < 0:
        ends = [-end for end in reversed(ends)]
    digits = metric.digits([one.difference, *ends])
    while digits < 3 and ends[0] != ends[1] and metric.figure(ends[0], digits) == metric.figure(ends[1], digits):
        digits += 1
    low, high = (metric.figure(end, digits) for end in ends)
    dash = " to " if "-" in low + high else "–"
    shown = metric.shown(abs(one.difference), digits)
    return f"difference {shown}, {CONFIDENCE} % CI {low}{dash}{high} {metric.unit}".rstrip()


def sentence(found: Findings) -> str:
    """The answer in one sentence or two."""
    tellers = {
        NO_DATA: lambda _: (
            "No run has ended well, so there is nothing to compare: see the errors in the table of runs."
        ),
        MORE_SEEDS: _more_seeds,
        NONE_WITHIN_LIMITS: _none_within_limits,
        NO_DIFFERENCE: _no_difference,
        KEEP: _keep,
        CHANGE: _change,
    }
    return tellers[found.decision](found) + _beside_the_goals(found)


def _beside_the_goals(found: Findings) -> str:
    """What a reader of the recommendation alone would miss: its price, or the measures that speak against it."""
    if found.decision == CHANGE and found.price:
        return f" Its price: {_listed([_values(one) for one in found.price])}."
    if found.decision in {KEEP, NO_DIFFERENCE} and found.opposed:
        by_cell: dict[int, list[str]] = {}
        for one in found.opposed:
            by_cell.setdefault(one.cell, []).append(_values(one))
        each = [f"{_listed(words)} with {name(found.labels[cell])}" for cell, words in by_cell.items()]
        return f" Other measures speak against it: {'; '.join(each)}."
    return ""


def _values(one: Comparison) -> str:
    metric = METRICS[one.metric]
    digits = metric.digits([one.value, one.other_value])
    short = metric.unit is not Unit.SECONDS
    value = metric.figure(one.value, digits) if short else metric.shown(one.value, digits)
    counted = metric.unit is Unit.RECORDS and "records" in metric.title  # no "records delivered again 3 records"
    other = metric.figure(one.other_value, digits) if counted else metric.shown(one.other_value, digits)
    return f"{metric.title} {value} instead of {other}"


def _value(found: Findings, cell: int, metric: Metric, digits: int | None = None) -> str:
    return metric.shown(found.statistics[cell][metric.name].value, digits)


def _change(found: Findings) -> str:
    chosen = found.choice.chosen
    assert chosen is not None
    use = f"Use {name(found.labels[chosen])}: "
    first = found.against_baseline[found.first.name]
    base = f"with {_only_what_differs(found, found.baseline, chosen)}"
    if first.verdict == BETTER:
        return f"{use}{_instead(found.first, first, base)}."
    broken = [limit for limit in found.limits[found.baseline] if not limit.keeps]
    same = f"{_verdict_words(found.first, first)} {base}"
    if broken:
        limit = f"{_limit(broken[0])}, which the baseline breaks ({_limit_value(broken[0])})"
        return f"{use}it keeps the limit {limit}; {same}."
    for goal in found.goals[1:]:
        other = found.against_baseline.get(goal.metric)
        if other is not None and other.verdict == BETTER:
            return f"{use}{_instead(goal.of, other, base)}; {found.first.title}: {_verdict_words(found.first, first)}."
    return f"{use}{same}, but it leads against the other cells."


def _instead(metric: Metric, one: Comparison, base: str) -> str:
    digits = metric.digits([one.value, one.other_value])
    values = f"{metric.shown(one.value, digits)} instead of {metric.shown(one.other_value, digits)}"
    return f"{metric.title} {values} {base} (mean of {one.pairs} seeds, {difference(metric, one)})"


def _verdict_words(metric: Metric, one: Comparison) -> str:
    values = f"{metric.shown(one.value)} and {metric.shown(one.other_value)}"
    words = {
        UNCLEAR: f"no significant difference ({values})",
        NEGLIGIBLE: f"a difference too small to matter ({values})",
        EQUAL: f"no difference in any seed ({metric.shown(one.value)})",
        WORSE: f"{metric.shown(one.value)} instead of {metric.shown(one.other_value)} ({difference(metric, one)})",
    }
    return words.get(one.verdict, f"{one.verdict} ({values})")


def _only_what_differs(found: Findings, cell: int, other: int) -> str:
    return name({axis: label for axis, label in found.labels[cell].items() if label != found.labels[other].get(axis)})


def _keep(found: Findings) -> str:
    metric = found.first
    text = f"Keep {name(found.labels[found.baseline])}: {metric.title} {_value(found, found.baseline, metric)}"
    rival = found.against_runner_up
    if rival is None or found.runner_up is None:
        return f"{text}; no other cell keeps the limits."
    other = f"the next best, {name(found.labels[found.runner_up])},"
    if rival.verdict == BETTER:
        return (
            f"{text}; {other} has {metric.shown(rival.other_value)} ({rival.pairs} seeds, {difference(metric, rival)})."
        )
    return f"{text}; against {other} {_verdict_words(metric, rival)}."


def _no_difference(found: Findings) -> str:
    means = [found.statistics[cell][found.first.name].value for cell in _compared(found)]
    low, high = (metric_end(value for value in means if value is not None) for metric_end in (min, max))
    digits = found.first.digits([low, high])
    spread = f"from {found.first.figure(low, digits)} to {found.first.shown(high, digits)}"
    what = _listed([goal.of.title for goal in found.goals])
    kept = name(found.labels[found.baseline if found.choice.chosen is None else found.choice.chosen])
    return (
        f"No significant difference between the {len(means)} cells in {what} "
        f"({found.first.title} {spread}, means of {found.seeds} seeds): keep {kept}."
    )


def _compared(found: Findings) -> tuple[int, ...]:
    return found.choice.steps[0].before if found.choice.steps else (found.baseline,)


def _more_seeds(found: Findings) -> str:
    seeds = "One seed is" if found.seeds == 1 else f"{found.seeds} seeds are"
    unfinished = found.seeds < found.needed <= found.asked
    more = "the same command runs the rest" if unfinished else "the same sweep with `--seeds 30` adds them"
    text = f"{seeds} too few for an answer: at least {found.needed} are needed, 30 are a good start ({more})"
    if found.leader is None:
        return f"{text}."
    lowest = "lowest" if found.goals[0].sign > 0 else "highest"
    return (
        f"{text}. So far {name(found.labels[found.leader])} has the {lowest} {found.first.title} "
        f"({_value(found, found.leader, found.first)}), which may be chance."
    )


def _none_within_limits(found: Findings) -> str:
    text = "No cell keeps the limits: "
    if found.leader is None:
        return f"{text}none has a value to judge."
    broken = [limit for limit in found.limits[found.leader] if not limit.keeps]
    missed = _listed([f"{_limit(limit)} is missed with {_limit_value(limit)}" for limit in broken])
    return f"{text}nearest is {name(found.labels[found.leader])}, where {missed}."


def _limit(limit: Limit) -> str:
    metric = METRICS[limit.metric]
    return f"“{metric.title} {limit.bound} {metric.shown(limit.limit)}”"


def _limit_value(limit: Limit) -> str:
    return METRICS[limit.metric].shown(limit.value)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def reasons(found: Findings) -> tuple[str, ...]:
    """Why this cell: goal by goal, the margin over the runner-up, and which axis matters."""
    if found.decision in {NO_DATA, MORE_SEEDS}:
        return ()
    reasons = [_step(found, step) for step in found.choice.steps]
    last = found.choice.steps[-1].tied if found.choice.steps else ()
    if len(last) > 1 and found.decision == CHANGE:
        reasons.append("Of cells without a significant difference the one nearest to the baseline is taken.")
    if found.decision in {CHANGE, KEEP}:
        reasons += _margin(found) + _sureness(found)
    if found.decision in {CHANGE, KEEP, NO_DIFFERENCE}:
        reasons += _how_far_apart(found)
    return tuple(reasons + _axes(found))


def _step(found: Findings, step: Step) -> str:
    metric, cells = step.goal.of, len(step.before)
    best = "lowest" if step.goal.sign > 0 else "highest"
    value = _value(found, step.leader, metric)
    values = f"{name(found.labels[step.leader])} is {best} of {_field(found, step)} with {value}"
    rest = len(step.tied) - 1
    tied = "all others are significantly different" if not rest else f"{rest} of the others {_are(rest)} tied with it"
    if rest == cells - 1:
        tied = "no other differs significantly" if rest else "nothing to compare it with"
    return f"{metric.title[:1].upper()}{metric.title[1:]}: {values}; {tied}."


def _field(found: Findings, step: Step) -> str:
    """Which cells one of them leads."""
    if len(step.before) == len(found.labels):
        return f"all {len(step.before)} cells"
    return f"the {len(step.before)} cells {'within the limits' if step is found.choice.steps[0] else 'still tied'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _margin(found: Findings) -> list[str]:
    """Return the runner-up, unless the sentence contains it."""
    rival = found.against_runner_up
    if rival is None or found.runner_up is None or rival.difference is None:
        return []
    if found.decision == KEEP or found.runner_up == found.baseline:
        return []
    other = name(found.labels[found.runner_up])
    if rival.verdict in {BETTER, WORSE}:
        ahead = "Margin over" if rival.verdict == BETTER else "Behind"
        return [f"{ahead} the runner-up {other} in {found.first.title}: {difference(found.first, rival)}."]
    return [f"Against the runner-up {other} in {found.first.title}: {_verdict_words(found.first, rival)}."]


def _how_far_apart(found: Findings) -> list[str]:
    """Return the confidence in the statements of the sentence beside the goals."""
    beside = found.price if found.decision == CHANGE else found.opposed
    parts = [f"{METRICS[one.metric].title} {difference(METRICS[one.metric], one)}" for one in beside]
    return [f"{'Price' if found.decision == CHANGE else 'Against it'}: {'; '.join(parts)}."] if parts else []


def _sureness(found: Findings) -> list[str]:
    assert found.choice.chosen is not None
    sentences = []
    for limit in found.limits[found.choice.chosen]:
        if not limit.surely:
            sentences.append(
                f"The mean keeps {_limit(limit)} ({_limit_value(limit)}), but its interval reaches beyond."
            )
        if limit.breaking:
            runs = "one run" if limit.breaking == 1 else f"{limit.breaking} runs"
            sentences.append(f"In {runs} of the recommended cell {_limit(limit)} is not kept.")
    return sentences


def _axes(found: Findings) -> list[str]:
    """The axes in the first goal, the one that moves most first."""
    mine = [one for one in found.effects if one.metric == found.first.name and one.difference is not None]
    clear = [one for one in mine if one.verdict in {BETTER, WORSE}]
    clear.sort(key=lambda one: -abs(one.difference or 0))
    axes = dict.fromkeys(one.axis for one in clear)
    sentences = [_effect(found, next(one for one in clear if one.axis == axis)) for axis in axes]
    silent = [axis for axis in dict.fromkeys(one.axis for one in mine) if axis not in axes]
    if silent and len({one.axis for one in mine}) > 1:
        sentences.append(f"No significant effect on {found.first.title} on average: {_listed(silent)}.")
    return sentences


def _effect(found: Findings, one: Effect) -> str:
    metric = found.first
    way = "lowers" if (one.difference or 0) < 0 else "raises"
    text = f"{one.axis}={one.value} instead of {one.base} {way} {metric.title} on average ({difference(metric, one)}"
    if one.contexts < 2 or one.least is None or one.most is None or one.least == one.most:
        return f"{text})."
    sign = -1 if way == "lowers" else 1  # by how much it lowers or raises; below 0 where it does the opposite
    least, most = sorted((sign * one.least, sign * one.most))
    digits = metric.digits([least, most])
    shown = re.sub(r"-(?=\d)", "−", f"{metric.figure(least, digits)} to {metric.shown(most, digits)}")
    return f"{text}; by other settings {shown})."
