"""The observations of a sweep as SQL over its tables, and grouped tasks on them: the rows that `observations` makes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from groupsim.pipeline.analysis.engines import Task
from groupsim.pipeline.analysis.observations import EXPECTATIONS, OPEN, PLACE, REBALANCE, REBALANCES, RUN
from groupsim.pipeline.tables.metrics import RUN_METRICS

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.directory import Directory
    from groupsim.pipeline.sweep.spark.frames import Cluster

SPARK_TYPES = {"int32": "int", "int64": "bigint", "double": "double", "string": "string", "bool": "boolean"}
MEASURES = (*(metric.name for metric in RUN_METRICS), EXPECTATIONS)
COLUMNS = {
    "runs": ("cell", "seed", "status", *MEASURES),
    "stops": ("cell", "seed", *PLACE, "began_us", "ended_us", OPEN),
    "deliveries": ("cell", "seed", *PLACE),
    REBALANCES: ("cell", "seed", "kind", "began_us", "ended_us"),
}
"""Of each table the columns that are read."""

_PLACE = ", ".join(f"`{name}`" for name in PLACE)
_STACK = ", ".join(f"'{name}', cast(`{name}` as bigint)" for name in MEASURES)
QUERY = f"""
select cell, seed, '{RUN}' as metric, cast(status = 'done' as bigint) as value from {{runs}}
union all
select * from (
    select cell, seed, stack({len(MEASURES)}, {_STACK}) as (metric, value) from {{runs}} where status = 'done'
) where value is not null
union all
select cell, seed, 'standstill', ended_us - began_us from {{stops}}
union all
select cell, seed, '{OPEN}', cast(1 as bigint) from {{stops}} where `{OPEN}`
union all
select cell, seed, 'unavailable', sum(us) from (
    select cell, seed, {_PLACE}, ended_us - began_us as us from {{stops}}
    union all
    select cell, seed, {_PLACE}, cast(0 as bigint) from {{deliveries}}
) group by cell, seed, {_PLACE}
union all
select cell, seed, 'rebalance', ended_us - began_us from {{{REBALANCES}}} where kind = '{REBALANCE}'
"""


class OnSpark:
    """All observations as a DataFrame, cached on the cluster; rows of cells and metrics are collected on request."""

    def __init__(self, frame: Any, on: Cluster, cells: Sequence[int] | None = None) -> None:
        self._frame = frame
        self._on = on
        self._cells = cells

    def of(self, cells: Sequence[int]) -> OnSpark:
        """Those of some cells."""
        return OnSpark(self._frame, self._on, cells)

    def rows(self, cells: Sequence[int] | None = None, metrics: Sequence[str] | None = None) -> pa.Table:
        """The rows of cells and metrics, in no order."""
        found = self._chosen(self._cells if cells is None else cells)
        if metrics is not None:
            found = found.where(found.metric.isin(list(metrics)))
        return self._collected(found)

    def grouped(self, task: Task, schema: pa.Schema) -> pa.Table:
        """One task per cell; all their results, in any order."""
        ddl = ", ".join(f"`{field.name}` {SPARK_TYPES[str(field.type)]}" for field in schema)
        groups = self._chosen(self._cells).groupBy("cell")
        return self._collected(groups.applyInArrow(_group(pickle.dumps(task), self._on.zip_name), ddl)).cast(schema)

    def _chosen(self, cells: Sequence[int] | None) -> Any:
        return self._frame if cells is None else self._frame.where(self._frame.cell.isin(list(cells)))

    def _collected(self, frame: Any) -> Any:
        from groupsim.pipeline.sweep.spark.probe import explained
        from groupsim.pipeline.sweep.spark.session import jvm_log

        try:
            return frame.toArrow()
        except Exception as error:
            raise explained(error, jvm_log(self._on.session)) from error


@contextmanager
def observed_on(on: Cluster, directory: Directory) -> Iterator[OnSpark]:
    """Cache the observations of a directory on the cluster inside this block."""
    from groupsim.pipeline.sweep.spark.frames import frame
    from groupsim.pipeline.sweep.spark.session import describe

    describe(on.session, f"statistics of {directory.place.url.partition('?')[0]}")
    views = {name: f"groupsim_{name}" for name in COLUMNS}
    for name, columns in COLUMNS.items():
        frame(on, directory, name, columns).createOrReplaceTempView(views[name])
    kept = on.session.sql(QUERY.format(**views)).persist()
    try:
        yield OnSpark(kept, on)
    finally:
        try:
            kept.unpersist()
            for view in views.values():
                on.session.catalog.dropTempView(view)
        except Exception:  # Spark has ended, and its own error follows
            pass


def _group(packed: bytes, zip_name: str | None) -> Task:
    """The task for an executor, which imports our modules only when the zip is in its place."""
    from groupsim.pipeline.sweep.spark.remote import unpacking

    unpack = unpacking(zip_name) if zip_name else None

    # One argument: Spark gives functions of two the key as well.
    def group(rows: pa.Table) -> pa.Table:
        import pickle

        if unpack is not None:
            unpack()
        return pickle.loads(packed)(rows)

    return group
