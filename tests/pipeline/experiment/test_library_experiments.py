"""The experiments of the library: their grids are what docs/experiments.md says, and their goals get values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupsim.pipeline.experiment import Experiment, load_experiment
from groupsim.pipeline.experiment.catalogue import names
from groupsim.pipeline.runs import simulate
from groupsim.pipeline.tables.metrics import METRICS
from groupsim.pipeline.tables.schemas import TABLES

ROOT = Path(__file__).resolve().parents[3]

# Experiment → labels per axis, cells, given axes: what docs/experiments.md describes.
GRIDS = {
    "assignor-skew": ({"shape": 4, "assignor": 4}, 16, ("shape",)),
    "autoscaling-on-lag": ({"assignor": 3, "stabilization": 3, "lag": 2}, 18, ()),
    "consumer-assignment-interval": ({"spread": 3, "interval": 4}, 12, ("spread",)),
    "consumer-heartbeats": ({"interval": 4, "session": 4}, 12, ()),
    "consumer-migration-order": ({"way": 4, "policy": 4, "order": 4}, 64, ("way",)),
    "consumer-or-classic": ({"job": 10, "protocol": 3}, 30, ("job",)),
    "consumer-static-or-dynamic": ({"event": 5, "protocol": 2, "membership": 2}, 20, ("event", "protocol")),
    "consumer-uniform-or-range": ({"shape": 4, "assignor": 4}, 16, ("shape",)),
    "coordinator-silent": ({"broker-session": 3, "session": 3, "request-timeout": 2}, 18, ()),
    "duplicates-by-commit-policy": ({"event": 3, "commit": 5}, 15, ("event",)),
    "fleet-under-a-broker-roll": ({"roll": 6, "session": 2}, 12, ()),
    "initial-rebalance-delay": ({"pods": 2, "spread": 3, "delay": 6}, 36, ("pods", "spread")),
    "poll-interval-livelock": ({"tail": 2, "limit": 4, "records": 3}, 24, ("tail",)),
    "rolling-deploy": ({"size": 3, "assignor": 3, "membership": 2, "rollout": 3}, 45, ("size",)),
    "rolling-deploy-small": ({"callback": 2, "assignor": 3, "rollout": 3}, 18, ("callback",)),
    "session-timeout": ({"pauses": 3, "session": 6, "heartbeat": 3}, 42, ("pauses",)),
    "session-timeout-small": ({"session": 4}, 4, ()),
    "skew-grows-with-topics": ({"topics": 6, "assignor": 4}, 24, ("topics",)),
    "static-membership-deployment": ({"event": 3, "session": 3, "membership": 3}, 27, ("event",)),
    "static-membership-statefulset": ({"event": 5, "session": 3, "membership": 3}, 45, ("event",)),
}
# Two cells of each that differ in what the experiment is about: the first and the last.
ENDS = [(name, end) for name in GRIDS for end in (0, -1)]
# An experiment with many groups: what its document says of them, and that for few of them, which takes seconds less.
MANY_GROUPS = {"fleet-under-a-broker-roll": ('"count":400', '"count":12')}
COLUMN = {name: place for place, name in enumerate(TABLES["runs"].names)}
TABLE_OF_POOL = {"standstill": "stops", "unavailable": "stops", "rebalance": "changes"}


def section(name: str) -> str:
    """What docs/experiments.md says of an experiment."""
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    found = re.search(rf"^## `{name}`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found is not None, f"docs/experiments.md has no section on {name}"
    return found[1]


def test_every_experiment_of_the_library_is_described_here() -> None:
    """A new experiment needs its grid in this table, and so a section in the page."""
    assert sorted(GRIDS) == sorted(names())


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_grid_is_as_documented(name: str) -> None:
    """So many values per axis, so many cells, these axes given; question, source and notes are there."""
    experiment = load_experiment(name)
    axes, cells, given = GRIDS[name]
    assert {axis.name: len(axis.labels) for axis in experiment.axes} == axes
    assert (len(experiment.cells), experiment.given) == (cells, given)
    assert [problem for problem in experiment.warnings if "warning" in str(problem)] == []
    assert all((experiment.question, experiment.source, experiment.notes, experiment.goals))


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_page_tells_question_cells_and_answer(name: str) -> None:
    """The page's section has the question of the file, the number of cells, what is given, and a measured answer."""
    experiment, text = load_experiment(name), " ".join(section(name).split())
    assert experiment.question in text
    assert f"{len(experiment.cells)} cells" in text
    assert f"groupsim sweep {name} --out" in text
    for axis in experiment.axes:
        assert f"`{axis.name}`" in text, axis.name


@pytest.mark.parametrize(
    ("name", "end"),
    [pytest.param(name, end, marks=[pytest.mark.slow] if name in MANY_GROUPS else []) for name, end in ENDS],
)
def test_goals_get_values(name: str, end: int) -> None:
    """One seed of the first and the last cell runs, keeps what the scenario expects, and has a value for every goal."""
    experiment = load_experiment(name, 1)
    assert_values(experiment, end, experiment.cells[end].document)


@pytest.mark.parametrize(("name", "end"), [(name, end) for name, end in ENDS if name in MANY_GROUPS])
def test_goals_get_values_of_few_groups(name: str, end: int) -> None:
    """An experiment with hundreds of groups does the same with a dozen of them."""
    experiment = load_experiment(name, 1)
    many, few = MANY_GROUPS[name]
    document = experiment.cells[end].document
    assert document.count(many) == 1
    assert_values(experiment, end, document.replace(many, few))


def assert_values(experiment: Experiment, end: int, document: str) -> None:
    """Run a cell's document with one seed: it ends, as expected, with a value for every goal of the experiment."""
    cell = experiment.cells[end]
    rows = simulate(document, 0, cell=cell.number, digest=cell.digest, code="", repeat="")
    (run,) = rows["runs"]
    assert (run[COLUMN["status"]], run[COLUMN["expectations_failed"]]) == ("done", 0), run[COLUMN["error"]]
    for goal in experiment.goals:
        metric = METRICS[goal.metric]
        found = rows[TABLE_OF_POOL[metric.pool]] if metric.pool else run[COLUMN[goal.metric]]
        assert found is not None, goal.metric
