"""From the tables of a sweep to one long table of integers: cell, seed, metric, value.

All observations that the statistics need, from every table, so that one grouped task per cell sees all of them:
the columns of `runs`; per run whether it ended well (`RUN`), expectations that failed and standstills still open; and
the values of the pools (each standstill, each partition's unserved time in a run, the length of each rebalance).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import Factory

from groupsim.pipeline.tables.metrics import METRICS, RUN_METRICS
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    import pyarrow as pa

# Table name, columns → the table with these columns.
Reader = Callable[[str, Sequence[str]], "pa.Table"]

RUN, EXPECTATIONS, OPEN = "run", "expectations_failed", "open"
KEY = ("cell", "seed")
REBALANCE, REBALANCES = "rebalance", "changes"  # the kind of change, and the table that has them
PLACE = ("group_id", "topic", "partition_id")


def observations(read: Reader) -> pa.Table:
    """Every observation of a sweep, sorted by cell, metric, seed and value: equal tables give equal observations."""
    import pyarrow as pa

    parts = [*_of_runs(read), *_of_stops(read), _of_changes(read)]
    order = [(name, "ascending") for name in ("cell", "metric", "seed", "value")]
    return pa.concat_tables(parts).sort_by(order).combine_chunks()


def _part(table: pa.Table, metric: str, value: pa.ChunkedArray) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    name = pa.array([metric] * len(table), pa.string())
    values = pc.cast(value, pa.int64())
    made = pa.table({"cell": table["cell"], "seed": table["seed"], "metric": name, "value": values})
    return made.filter(pc.is_valid(made["value"]))


def _of_runs(read: Reader) -> Iterator[pa.Table]:
    import pyarrow.compute as pc

    columns = [metric.name for metric in RUN_METRICS] + [EXPECTATIONS]
    runs = read("runs", [*KEY, "status", *columns])
    well = pc.equal(runs["status"], "done")
    yield _part(runs, RUN, well)
    done = runs.filter(well)
    for column in columns:
        yield _part(done, column, done[column])


def _of_stops(read: Reader) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.compute as pc

    stops = read("stops", [*KEY, *PLACE, "began_us", "ended_us", OPEN])
    unserved = pc.subtract(stops["ended_us"], stops["began_us"])
    yield _part(stops, "standstill", unserved)
    still_open = stops.filter(stops[OPEN])
    yield _part(still_open, OPEN, pa.array([1] * len(still_open), pa.int64()))
    places = read("deliveries", [*KEY, *PLACE])
    none = pa.array([0] * len(places), pa.int64())
    every = pa.concat_tables(
        [stops.select([*KEY, *PLACE]).append_column("us", unserved), places.append_column("us", none)]
    )
    total = every.group_by([*KEY, *PLACE]).aggregate([("us", "sum")])
    yield _part(total, "unavailable", total["us_sum"])


def _of_changes(read: Reader) -> pa.Table:
    import pyarrow.compute as pc

    rounds = read(REBALANCES, [*KEY, "kind", "began_us", "ended_us"])
    rounds = rounds.filter(pc.equal(rounds["kind"], REBALANCE))
    return _part(rounds, "rebalance", pc.subtract(rounds["ended_us"], rounds["began_us"]))


@frozen
class Observed:
    """What was seen of one cell: by metric of runs seed → value, by pool seed → values, both in order of seeds."""

    cell: int
    done: tuple[int, ...]
    failed: tuple[int, ...]
    values: dict[str, dict[int, int]] = Factory(dict)
    pools: dict[str, dict[int, list[int]]] = Factory(dict)
    expectations: int = 0  # runs in which one failed
    open: int = 0  # runs with a standstill that did not end

    def sample(self, metric: str, seeds: Sequence[int]) -> list[int]:
        """The values of a metric of runs for these seeds, which all have one."""
        values = self.values[metric]
        return [values[seed] for seed in seeds]

    def clusters(self, pool: str, seeds: Sequence[int]) -> list[list[int]]:
        """The values of a pool, one list per seed; empty where the run had none."""
        values = self.pools.get(pool, {})
        return [values.get(seed, []) for seed in seeds]

    def seeds(self, metric: str) -> tuple[int, ...]:
        """The seeds that have a value of this metric: runs without a crash have no detection time."""
        found = METRICS[metric]
        return self.done if found.pool else tuple(self.values.get(metric, {}))


def observed(cell: int, table: pa.Table) -> Observed:
    """One cell's observations (in any order), taken apart."""
    ordered = table.sort_by([(name, "ascending") for name in ("metric", "seed", "value")])
    columns = (ordered[name].to_pylist() for name in ("metric", "seed", "value"))
    runs: dict[int, int] = {}
    values: dict[str, dict[int, int]] = {}
    pools: dict[str, dict[int, list[int]]] = {}
    for metric, seed, value in zip(*columns, strict=True):
        if metric == RUN:
            runs[seed] = value
        elif metric in METRICS or metric == EXPECTATIONS:
            values.setdefault(metric, {})[seed] = value
        else:
            pools.setdefault(metric, {}).setdefault(seed, []).append(value)
    return Observed(
        cell=cell,
        done=tuple(seed for seed, well in runs.items() if well),
        failed=tuple(seed for seed, well in runs.items() if not well),
        expectations=sum(1 for failed in values.pop(EXPECTATIONS, {}).values() if failed),
        open=len(pools.pop(OPEN, {})),
        values=values,
        pools=pools,
    )
