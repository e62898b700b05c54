"""What Spark computes in one session is what is computed without it: a sweep, the analysis, the traffic of traces.

To start and warm a session costs ten times what these tests ask of it, so they share one; among the slow tests each
starts its own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groupsim.eventloop.randomness import Stream
from groupsim.pipeline.analysis import analyse
from groupsim.pipeline.analysis.engines import cluster
from groupsim.pipeline.analysis.intervals import rank
from groupsim.pipeline.analysis.traffic import traffic_of_sweep
from groupsim.pipeline.experiment import load_experiment
from groupsim.pipeline.sweep import chunks, register
from groupsim.pipeline.sweep.directory import Directory
from groupsim.pipeline.sweep.driver import sweep
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.place import Place
from groupsim.pipeline.sweep.plan import Plan
from groupsim.pipeline.sweep.spark.frames import Cluster
from groupsim.pipeline.sweep.spark.session import session
from groupsim.pipeline.tables.metrics import P50, P99
from tests.helpers import small_sweep, spark_cluster
from tests.helpers.analysis_tables import Made, experiment, on_disk


@pytest.fixture(scope="module", params=["one session", pytest.param("their own", marks=pytest.mark.slow)])
def spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """A session with two cores that everything uses while it is there; or none, so that each starts its own."""
    if why := spark_cluster.why_not():
        pytest.skip(f"no Spark: {why}")
    if request.param == "their own":
        yield
        return
    with session(EngineOptions(workers=2), lean=True, settings={"spark.sql.shuffle.partitions": "2"}):
        yield


@pytest.mark.usefixtures("spark")
def test_two_cores_make_the_tables_of_one_process(tmp_path: Path) -> None:
    """In a session that the process has already, which is left running."""
    experiment = small_sweep.load(tmp_path)
    one = sweep(experiment, tmp_path / "pool", EngineOptions("pool", workers=1))
    two = sweep(experiment, tmp_path / "two", EngineOptions("spark", workers=2))
    assert small_sweep.tables(tmp_path / "pool") == small_sweep.tables(tmp_path / "two")
    assert [(done.engine, done.workers, done.failed) for done in (one, two)] == [("pool", 1, 0), ("spark", 2, 0)]


@pytest.mark.usefixtures("spark")
def test_a_data_source_puts_sql_between_the_runs_and_their_tables(tmp_path: Path) -> None:
    """Runs are rows that SQL chooses; what it has chosen is simulated once, and the pool does the rest of the sweep."""
    file = small_sweep.write(tmp_path)
    everything = sweep(load_experiment(str(file)), tmp_path / "pool", EngineOptions("pool", workers=1)).directory
    out = tmp_path / "out"
    with session(EngineOptions(workers=2)) as spark:
        register(spark)
        spark.read.format("groupsim").option("experiment", str(file)).load().createOrReplaceTempView("planned")
        assert spark.table("planned").count() == 6
        chosen = spark.sql("select seed, cell from planned where cell <> 1 or seed = 0")
        for _ in range(2):  # what is there is passed over
            chosen.write.format("groupsim").mode("append").save(str(out))
        lost = spark.range(3).selectExpr("cast(id as int) as cell", "id as seed")
        with pytest.raises(Exception, match="no longer says which experiment"):
            lost.write.format("groupsim").mode("append").save(str(out))
    found = Directory.open(out)
    assert sorted(found.finished) == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)]
    assert found.tables("spans", runs=[(2, 1)]) == everything.tables("spans", runs=[(2, 1)])
    done = sweep(load_experiment(str(file)), out, EngineOptions("pool", workers=1))
    assert done.performed == 1
    assert small_sweep.tables(out) == small_sweep.tables(tmp_path / "pool")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("known", [[], [(1, 0)], [(0, 0), (2, 1), (1, 3), (2, 3)], [(cell, 0) for cell in range(3)]])
def test_what_is_lacking_is_what_an_anti_join_with_the_manifests_leaves(
    tmp_path: Path, known: list[tuple[int, int]]
) -> None:
    """The plan's bits and Spark's `left anti` over the planned runs and the rows of the manifests agree."""
    file = small_sweep.write(tmp_path, seeds=5)
    planned = load_experiment(str(file))
    place = Place(str(tmp_path / "out"))
    chunks.write(place, chunks.Chunk("0000-000001", len(known), 0, tuple(chunks.spans(known)), (), ()))
    plan = Plan(planned, chunks.read(place).finished, lambda: 2)
    with session(EngineOptions(workers=2)) as spark:
        register(spark)
        spark.read.format("groupsim").option("experiment", str(file)).load().createOrReplaceTempView("planned")
        rows = spark.read.schema(chunks.ROW).json(str(tmp_path / "out/chunks"))
        rows.selectExpr("explode(runs) as span").createOrReplaceTempView("manifests")
        left = spark.sql(
            "select cell, seed from planned left anti join manifests on cell between span.first_cell and span.last_cell"
            " and seed between span.first_seed and span.last_seed order by seed, cell"
        ).collect()
    assert [tuple(row) for row in left] == [run for wave in plan.waves() for run in wave.runs]
    assert len(left) == 15 - len(known)


@pytest.mark.usefixtures("spark")
def test_the_listing_of_the_page_on_sweeps_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a small experiment called as the listing's is; by its whole path, for the session began in another folder."""
    page = (Path(__file__).parents[4] / "docs/sweeps.md").read_text("utf-8")
    listings = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(listings) == 2
    small_sweep.write(tmp_path, seeds=1).rename(tmp_path / "grid.yaml")
    monkeypatch.chdir(tmp_path)
    for listing in listings:
        text = re.sub(r'"(grid\.yaml|chosen)"', lambda name: repr(str(tmp_path / name[1])), listing)
        exec(compile(text, "docs/sweeps.md", "exec"), {"__name__": "listing"})
    assert "|   0|" in capsys.readouterr().out
    assert len(Directory.open("results").finished) == 3
    assert len(Directory.open("chosen").finished) == 2


# --- the analysis of a sweep ---------------------------------------------------------------------------------------

GRID = [{"assignor": a, "membership": m} for a in ("range", "cooperative-sticky") for m in ("dynamic", "static")]


def _made() -> Made:
    made = Made()
    for cell in range(len(GRID)):
        for seed in range(9):
            luck = Stream(seed, "test.spark", str(cell))
            stopped = (4 - cell) * 1_000_000 + luck.below(3_000_000)
            detection = None if seed % 2 else luck.below(10**9)
            made.run(cell, seed, stopped_us=stopped, lag_area=luck.below(10**12), detection_us=detection)
            for partition in range(4):
                made.stop(cell, seed, partition, luck.below(stopped))
            made.changes.append(
                {"cell": cell, "seed": seed, "kind": "rebalance", "began_us": 5, "ended_us": 5 + luck.below(10**7)}
            )
    made.run(2, 9, status="failed", error="boom")
    return made


@pytest.mark.usefixtures("spark")
def test_results_from_spark_are_those_of_the_plain_engine_byte_by_byte(tmp_path: Path) -> None:
    """Grouped tasks on two local workers and a loop in this process write the same three files."""
    written = {}
    for engine in ("pool", "spark"):
        directory = on_disk(tmp_path / engine, experiment(GRID, 10), _made(), parts=2)
        analyse(directory, EngineOptions(engine))
        written[engine] = {file.name: file.read_bytes() for file in sorted((directory.path / "results").iterdir())}
    assert set(written["pool"]) == {"answer.json", "cells.parquet", "comparisons.parquet"}
    assert written["spark"] == written["pool"]


# --- traffic -------------------------------------------------------------------------------------------------------

KINDS = ("request.sent", "request.received", "response.sent", "response.received", "request.failed", "timer.set")
APIS = ("JoinGroup", "Heartbeat", "Fetch")
ERRORS = (None, "REBALANCE_IN_PROGRESS")


def _events(cell: int, seed: int) -> list[dict[str, Any]]:
    luck = Stream(seed, "test.traffic", str(cell))
    found = []
    for seq in range(1, 300):
        kind = luck.choice(KINDS)
        api = None if kind == "timer.set" else luck.choice(APIS)
        payload = {"took_us": luck.below(50)} if kind == "response.received" else {"other": 'took_us":7'}
        row = {"cell": cell, "seed": seed, "seq": seq, "t_us": luck.below(20_000_000), "kind": kind, "api": api}
        found.append({**row, "error": luck.choice(ERRORS) if api else None, "payload": json.dumps(payload)})
    return found


def _at_coordinator(event: dict[str, Any]) -> bool:
    joins = event["kind"] == "request.received" and event["api"] == "JoinGroup"
    return joins or (event["kind"] == "response.sent" and event["api"] == "Heartbeat" and event["error"] is not None)


def _recounted(events: list[dict[str, Any]], heartbeats: int, virtual_us: int) -> dict[tuple[str, Any, Any], int]:
    """Measure, name, error → value, of one cell."""
    found: Counter[tuple[str, Any, Any]] = Counter()
    seconds: Counter[tuple[int, int]] = Counter()
    took: dict[str, list[int]] = {}
    for event in events:
        kind, api = event["kind"], event["api"]
        found["events", kind, None] += 1
        measure = {"request.sent": "requests", "response.sent": "answers", "request.failed": "unanswered"}.get(kind)
        if measure:
            found[measure, api, None if measure == "requests" else event["error"]] += 1
        if _at_coordinator(event):
            seconds[event["seed"], event["t_us"] // 1_000_000] += 1
        if kind == "response.received":
            took.setdefault(api, []).append(json.loads(event["payload"])["took_us"])
    total = sum(seconds.values()) + heartbeats
    found["coordinator-requests", None, None] = total
    found["coordinator-mean", None, None] = 1000 * 1_000_000 * total // virtual_us
    found["coordinator-peak", None, None] = max(seconds.values())
    for api, times in took.items():
        times.sort()
        for measure, which in (("took-p50", P50), ("took-p99", P99)):
            found[measure, api, None] = times[rank(len(times), which) - 1]
        found["took-max", api, None] = times[-1]
    return dict(found)


@pytest.mark.usefixtures("spark")
def test_traffic_is_what_a_plain_recount_of_the_events_gives(tmp_path: Path) -> None:
    """Counts, the busiest second and nearest-rank times to answer, exactly, over several cells, seeds and files."""
    made = Made()
    events = {cell: [event for seed in range(3) for event in _events(cell, seed)] for cell in range(2)}
    for cell in events:
        for seed in range(3):
            made.run(cell, seed, virtual_us=20_000_000)
    more = {"traces": events[0] + events[1], "members": [{"cell": 1, "seed": 0, "heartbeats": 77}]}
    directory = on_disk(tmp_path, experiment([{"n": "0"}, {"n": "1"}], 3), made, more=more)
    with cluster(EngineOptions(workers=2), directory) as on:
        found = traffic_of_sweep(directory, on)
    assert isinstance(found, pa.Table)
    for cell, mine in events.items():
        rows = [row for row in found.to_pylist() if row["cell"] == cell]
        told = {(row["measure"], row["name"], row["error"]): row["value"] for row in rows}
        assert told == _recounted(mine, 77 * cell, 60_000_000)
        assert len(told) == len(rows)
    assert pq.read_table(tmp_path / "results" / "traffic.parquet").equals(found)


def test_sweep_without_traces_has_no_traffic(tmp_path: Path) -> None:
    """Nothing is written where there is nothing to count."""
    directory = on_disk(tmp_path, experiment([{}], 1), Made())
    assert traffic_of_sweep(directory, Cluster(None, None, True)) is None
    assert not (tmp_path / "results").exists()
