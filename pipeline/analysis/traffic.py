"""The traffic in the traces of a sweep: events by kind, requests, the coordinator's load, time to answer.

For sweeps with full traces, of ten million events and more, so it is Spark SQL over the files of the table `traces`.
All aggregates are integers (counts, sums, ranks), whose result does not depend on the order in which parts are merged.
It runs on the cluster that simulated, or in the session that the options name.

The result has a row per cell, measure, name and error:

    events                   of a kind (`name`)
    requests                 sent by clients, of an API (`name`)
    answers                  sent by brokers, of an API with an `error` or none; quiet heartbeats are not in a trace
    unanswered               requests that ended without an answer: DISCONNECTED, TIMED_OUT
    coordinator-requests     of the group's APIs, quiet heartbeats included (they are counted per process)
    coordinator-mean         of these per second of virtual time, in thousandths
    coordinator-peak         of these in the busiest second of any run, without quiet heartbeats
    took-p50 / -p99 / -max   from sending a request to its answer as the client sees it, of an API, in µs; nearest rank
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupsim.pipeline.tables.schemas import TRACES

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.directory import Directory
    from groupsim.pipeline.sweep.spark.frames import Cluster

TRAFFIC = "results/traffic.parquet"
MILLION = 1_000_000

# What a group's coordinator answers; Fetch, Metadata and FindCoordinator go to any broker.
COORDINATOR_APIS = (
    "JoinGroup",
    "SyncGroup",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DescribeGroups",
    "DeleteGroups",
    "TxnOffsetCommit",
    "ConsumerGroupHeartbeat",
)

AT_COORDINATOR = f"""(kind = 'request.received' and api in ({", ".join(map(repr, COORDINATOR_APIS))})
    or kind = 'response.sent' and api = 'Heartbeat' and error is not null)"""
# One pass over the narrow columns. Only the coordinator's requests are counted by second: the groups stay few.
COUNTS = f"""
with events as (
    select cell, kind, api, error, case when {AT_COORDINATOR} then seed end as seed,
        case when {AT_COORDINATOR} then t_us div {MILLION} end as second from traces
)
select cell, seed, second, kind, api, error, count(*) as n from events group by cell, seed, second, kind, api, error
"""
EVENTS = (
    "select cell, 'events' as measure, kind as name, cast(null as string) as error, sum(n) as value from counts "
    "group by cell, kind"
)
REQUESTS = """
select cell, case kind when 'request.sent' then 'requests' when 'response.sent' then 'answers' else 'unanswered' end
    as measure, api as name, case kind when 'request.sent' then null else error end as error, sum(n) as value
from counts where kind in ('request.sent', 'response.sent', 'request.failed') group by 1, 2, 3, 4
"""
LISTED = "select cell, seed, second, sum(n) as n from counts where second is not null group by cell, seed, second"
LOAD = "select cell, sum(n) as total, max(n) as peak from listed group by cell"
# Quantiles without sketches and without floats: equal times are counted, the ranks are sums of counts.
TOOK = """
with times as (
    select cell, api, cast(get_json_object(payload, '$.took_us') as bigint) as us from traces
    where kind = 'response.received'
), counted as (
    select cell, api, us, count(*) as n from times where us is not null group by cell, api, us
), ranked as (
    select cell, api, us, sum(n) over (partition by cell, api order by us) as upto,
        sum(n) over (partition by cell, api) as total from counted
)
select cell, api, min(case when 100 * upto >= 50 * total then us end) as p50,
    min(case when 100 * upto >= 99 * total then us end) as p99, max(us) as most
from ranked group by cell, api
"""
HEARTBEATS, VIRTUAL = ("members", ("cell", "seed", "heartbeats")), ("runs", ("cell", "seed", "virtual_us"))
COLUMNS = ("cell", "seed", "t_us", "kind", "api", "error", "payload")


def traffic_of_sweep(directory: Directory, on: Cluster) -> pa.Table | None:
    """Analyse the traces and write `results/traffic.parquet`; nothing, and no file, for a sweep without traces."""
    if not directory.files(TRACES.name):
        return None
    from groupsim.pipeline.sweep.spark.frames import frame

    sums = (_sums(frame(on, directory, *which)) for which in (HEARTBEATS, VIRTUAL))
    found = traffic_of(on.session, frame(on, directory, TRACES.name, COLUMNS), *sums)
    directory.place.write_table(TRAFFIC, found)
    return found


def traffic_of(spark: Any, traces: Any, heartbeats: dict[int, int], virtual_us: dict[int, int]) -> pa.Table:
    """The table of traffic from a DataFrame of traces; quiet heartbeats and virtual time are in other tables."""
    import pyarrow as pa

    traces.select(*COLUMNS).createOrReplaceTempView("traces")
    spark.sql(COUNTS).cache().createOrReplaceTempView("counts")
    spark.sql(LISTED).createOrReplaceTempView("listed")
    try:
        rows = [row for query in (EVENTS, REQUESTS) for row in spark.sql(query).toArrow().to_pylist()]
        load = {row["cell"]: row for row in spark.sql(LOAD).toArrow().to_pylist()}
        took = spark.sql(TOOK).toArrow().to_pylist()
    finally:
        spark.catalog.dropTempView("listed")
        spark.catalog.uncacheTable("counts")
        for view in ("counts", "traces"):
            spark.catalog.dropTempView(view)
    for cell in sorted({row["cell"] for row in rows}):
        rows += _load(cell, load.get(cell, {}), heartbeats.get(cell, 0), virtual_us.get(cell, 0))
    for row in took:
        for measure, column in (("took-p50", "p50"), ("took-p99", "p99"), ("took-max", "most")):
            rows.append(_row(row["cell"], measure, row[column], row["api"]))
    rows.sort(key=lambda row: (row["cell"], row["measure"], row["name"] or "", row["error"] or ""))
    return pa.Table.from_pylist(rows, schema=_schema())


def _schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.string()
    types = {"cell": pa.int32(), "measure": text, "name": text, "error": text, "value": pa.int64()}
    return pa.schema([pa.field(name, kind, name in {"name", "error"}) for name, kind in types.items()])


def _row(cell: int, measure: str, value: int, name: str | None = None) -> dict[str, Any]:
    return {"cell": cell, "measure": measure, "name": name, "error": None, "value": value}


def _load(cell: int, load: dict[str, int], heartbeats: int, virtual_us: int) -> list[dict[str, Any]]:
    total = load.get("total", 0) + heartbeats
    mean = 1000 * total * MILLION // virtual_us if virtual_us else 0
    measures = {"coordinator-requests": total, "coordinator-mean": mean, "coordinator-peak": load.get("peak", 0)}
    return [_row(cell, measure, value) for measure, value in measures.items()]


def _sums(table: Any) -> dict[int, int]:
    """The sum of a column over the runs of each cell."""
    _, _, column = table.columns
    totals = table.groupBy("cell").sum(column).toArrow().to_pydict()
    return {cell: total or 0 for cell, total in zip(*totals.values(), strict=True)}
