"""`diff` and `sweep` of one pair of settings: the same figures, and so never opposite advice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from groupsim.cli.render.run_diff import compare
from groupsim.pipeline import runs
from groupsim.pipeline.analysis import answer_of
from groupsim.pipeline.experiment.varied import experiment_varying
from groupsim.pipeline.runs import Label, Lists, rows_of
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import tell

SEEDS = 6
SCENARIO = """
run-for: 100s
cluster: {logs: counted}
topics: {orders: {partitions: 12, rate: 60/s}}
groups:
  g:
    assignor: range
    on-revoked: 1s
    properties: {session.timeout.ms: 45000}
    members: {c: {count: 4, start-spread: "uniform(0s, 2s)"}, late: {start: never}}
timeline:
  - {at: 40s, do: start, member: late}
  - {at: 60s, do: restart, member: c-1, how: crash, downtime: 5s}
"""
PAIRS = (
    "groups.g.assignor=range,cooperative-sticky",
    "groups.g.properties.session.timeout.ms=45000,10000",
    "groups.g.instance-id=as-is,{name}",
)
SAME = {
    "unserved_us": "unserved, summed over partitions",
    "stopped_us": "stopped",
    "moved": "partitions moved",
    "rebalances": "rebalances",
    "duplicates": "records delivered twice",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_diff_and_sweep_of_one_pair_never_give_opposite_advice(pair: str, tmp_path: Path) -> None:
    """The sweep's paired difference is the mean of what `diff` says seed by seed; what it recommends has less of it."""
    file = tmp_path / "pair.yaml"
    file.write_text(SCENARIO)
    experiment = experiment_varying(str(file), [pair], SEEDS)
    made: dict[str, list[pa.Table]] = {}
    changes: dict[str, list[int]] = {name: [] for name in SAME}
    for seed in range(SEEDS):
        scenarios = [scenario_from_json(cell.document) for cell in experiment.cells]
        events = [run_scenario(one, seed=seed).events for one in scenarios]
        rows = {row.name: row.change for row in compare(events[0], events[1], ("A", "B")).rows}
        for name, row in SAME.items():
            changes[name].append(rows[row] or 0)
        for cell, trace in enumerate(events):
            for name, table in runs.to_arrow(rows_of(Lists(trace), tell(trace), Label(cell, seed))).items():
                made.setdefault(name, []).append(table)
    answer, _ = answer_of(experiment, lambda name, columns: pa.concat_tables(made[name]).select(list(columns)))
    for name, seen in changes.items():
        found = answer.compared(1, "baseline", name)
        assert found is not None
        assert found.difference == pytest.approx(sum(seen) / SEEDS)
    unserved = sum(changes["unserved_us"])
    assert answer.decision in {"change", "keep the baseline"}
    assert (answer.recommended == 1) == (unserved < 0)
