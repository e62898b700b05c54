"""The input of the cross-checks of docs/cross-checks.md: the runs of an experiment, and figures of them.

Times are microseconds; `spread` and similar functions format them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import field, frozen

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.pipeline.experiment import Experiment, load_experiment
from groupsim.pipeline.experiment.model import as_yaml
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.model import Generation, GroupStory, Standstill

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "cross-checks"
SECOND = 1_000_000
BEAT = 3 * SECOND  # heartbeat.interval.ms, where a file does not say otherwise
SLACK = 10_000  # round trips of 0.2 ms, a few of them


@frozen
class Seen:
    """One run: its seed, its story, and what no story has.

    pauses         the lengths of all pauses that ended
    bumped_us      when the epoch of the group was raised; targets: how many targets were computed
    """

    seed: int
    story: Story = field(repr=False)
    pauses: tuple[int, ...] = field(repr=False)
    bumped_us: tuple[int, ...] = field(repr=False)
    targets: int

    @property
    def group(self) -> GroupStory:
        """Its only group."""
        return self.story.groups[0]

    @property
    def rebalances(self) -> tuple[Generation, ...]:
        """The generations after the group had formed."""
        return self.group.rebalances

    def standstills(self, generation: int) -> list[Standstill]:
        """Those that ended with a generation."""
        return [one for one in self.group.standstills if one.generation == generation]


Cells = Mapping[str, Sequence[Seen]]


@frozen
class Finding:
    """What a check found: whether the expectation holds (or fails as the row explains), and the figures."""

    holds: bool
    measured: str


Judge = Callable[[Cells], Finding]


@frozen(kw_only=True)
class Row:
    """One row of the document: a claim, where it stands, what is expected, and how to find out."""

    place: str
    claim: str
    expected: str
    verdict: str
    because: str = ""
    experiment: str = ""
    judge: Judge | None = None


def experiment_of(name: str) -> Experiment:
    """An experiment of docs/cross-checks."""
    return load_experiment(str(FOLDER / f"{name}.yaml"))


@lru_cache(maxsize=2)
def cells_of(name: str, seeds: int | None = None) -> Cells:
    """Run an experiment, cell by cell; `seeds` takes only the first of them. Cells go by their labels."""
    experiment = experiment_of(name)
    chosen = experiment.seeds if seeds is None else experiment.seeds[:seeds]
    return {
        ", ".join(cell.labels.values()) or "all": [seen(cell.document, seed) for seed in chosen]
        for cell in experiment.cells
    }


def seen(document: str, seed: int) -> Seen:
    """Run the scenario of a canonical document."""
    run = run_scenario(scenario_from_json(document), seed=seed)
    story = tell(run.events)
    bumped = tuple(event.t_us for event in run.events if event.kind is Kind.EPOCH_BUMPED)
    targets = sum(event.kind is Kind.TARGET_COMPUTED for event in run.events)
    return Seen(seed, story, tuple(_pauses(run.events, story.end_us)), bumped, targets)


def _pauses(events: Iterable[TraceEvent], end_us: int) -> Iterable[int]:
    for event in events:
        if event.kind is Kind.PROCESS_PAUSED:
            length = int((event.payload or {})["pause_us"])
            if event.t_us + length < end_us:
                yield length


def settings(experiment: Experiment) -> str:
    """What an experiment sets beside the base scenario, what it varies, and its seeds."""
    fixed = [f"`{short(path)}: {as_yaml(value)}`" for path, value in experiment.common.items()]
    varied = [f"{axis.name}: {', '.join(axis.labels)}" for axis in experiment.axes]
    return "; ".join([*fixed, *varied, f"seeds 0–{experiment.seeds[-1]}"])


def short(path: str) -> str:
    """A path without what all of them share."""
    return path.removeprefix("groups.g.").removeprefix("properties.").removeprefix("broker.")


def seconds(value: float) -> str:
    """A time in seconds, or in milliseconds where it is short."""
    if abs(value) < SECOND / 10:
        return f"{value / 1000:.1f} ms"
    return f"{value / SECOND:.0f} s" if value >= 100 * SECOND else f"{value / SECOND:.1f} s"


def spread(values: Iterable[float]) -> str:
    """A distribution: median, and from the least to the most."""
    sorted_ = sorted(values)
    if not sorted_:
        return "none"
    if seconds(sorted_[0]) == seconds(sorted_[-1]):
        return seconds(sorted_[0])
    return f"median {seconds(sorted_[len(sorted_) // 2])} ({seconds(sorted_[0])} to {seconds(sorted_[-1])})"


def counts(values: Iterable[int]) -> str:
    """Counts: one number, or from the least to the most."""
    sorted_ = sorted(values)
    return f"{sorted_[0]}" if sorted_[0] == sorted_[-1] else f"{sorted_[0]} to {sorted_[-1]}"


def mean(values: Iterable[float]) -> float:
    """The mean; 0 for none."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def distance(values: Iterable[float], expected: Callable[[float], float]) -> float:
    """The largest distance between what was drawn and the distribution it should be of (Kolmogorov's D)."""
    sorted_ = sorted(values)
    size = len(sorted_)
    return max(
        max(abs(expected(value) - index / size), abs(expected(value) - (index + 1) / size))
        for index, value in enumerate(sorted_)
    )


def may_be(size: int) -> float:
    """How large Kolmogorov's D may be by chance, once in a thousand times."""
    return float(1.95 / size**0.5)


def uniform(low: float, high: float) -> Callable[[float], float]:
    """The distribution of numbers drawn evenly."""
    return lambda value: min(1.0, max(0.0, (value - low) / (high - low)))


def within(values: Iterable[float], low: float, high: float) -> bool:
    """Whether all of them lie there (both ends included, give or take round trips), and there is one at all."""
    listed = list(values)
    return bool(listed) and all(low - SLACK <= value <= high + SLACK for value in listed)


def flat(groups: Iterable[Iterable[Any]]) -> list[Any]:
    """One list of several."""
    return [one for group in groups for one in group]
