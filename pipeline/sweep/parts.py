"""The files of tables: written before the row of their chunk, and read with a clear error for damaged or older ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from groupsim.pipeline.sweep.chunks import CHUNKS, SUFFIX, Chunk, Cost, File, spans
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.tables.schemas import RUNS, TRACES

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.sweep.place import Place


def read_part(place: Place, file: str, schema: pa.Schema, filters: Any = None, rows: int | None = None) -> pa.Table:
    """The columns of `schema` from one file. Raises SweepError when it is damaged, lacks a column, or has not so many
    `rows` of the manifest: another program wrote it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with place.open(file) as source:
            there = pq.read_metadata(source)
            lacking = [name for name in schema.names if name not in there.schema.names]
            if lacking:
                raise damaged(place, file, f"it has no column {', '.join(lacking)}: no sweep of this version wrote it")
            if rows is not None and there.num_rows != rows:
                raise damaged(place, file, f"it has {there.num_rows} rows, and the manifest says {rows}")
            source.seek(0)
            return pq.read_table(source, columns=schema.names, filters=filters).cast(schema)
    except FileNotFoundError:
        raise damaged(place, file, "it is not there") from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, ValueError) as error:
        if isinstance(error, OSError) and not _of_parquet(error):
            raise SweepError(f"{place / file}: cannot be read: {error.strerror or error}") from error
        raise damaged(place, file, str(error).splitlines()[0]) from error


def _of_parquet(error: OSError) -> bool:
    """Whether a file was read but is invalid: Arrow reports that with an OSError that no system has raised."""
    return error.errno is None


def damaged(place: Place, file: str, why: str) -> SweepError:
    """Return the error for a file that no sweep wrote like this. Only the runs of its chunk are repeated."""
    found = re.search(r"part-(.+)\.[^.]+\.parquet$", file)
    row = place / f"{CHUNKS}/{found[1]}{SUFFIX}" if found else f"the rows that name it in {place / CHUNKS}"
    return SweepError(
        f"{place / file}: damaged: {why}",
        f"restore it; or move away {row} (or its line in a file of many): the same sweep then runs these runs again",
        bad_input=True,
    )


def table_file(file: File) -> str:
    """Where a file of a manifest lies in the directory."""
    return f"tables/{file.table}/{file.file}"


def write_tables(
    place: Place, name: str, tables: Mapping[str, pa.Table], costs: Iterable[Cost], traces: bool, attempt: str
) -> Chunk:
    """Write the tables of one chunk; returns the row that makes it count. Tables without rows are not written.

    `attempt` sets the files apart from those of other attempts at the same chunk. Raises SweepError, and leaves none of
    its files then.
    """
    written: list[File] = []
    try:
        for table, rows in tables.items():
            if len(rows) and (table != TRACES.name or traces):
                file = File(table, f"part-{name}.{attempt}.parquet", len(rows), 0)
                written.append(file)
                written[-1] = attrs.evolve(file, bytes=place.write_table(table_file(file), rows))
    except BaseException:
        place.remove(map(table_file, written))
        raise
    keys = tables[RUNS.name].select(["cell", "seed", "status"]).to_pydict()
    runs = tuple(spans(zip(keys["cell"], keys["seed"], strict=True)))
    return Chunk(name, len(keys["cell"]), keys["status"].count("failed"), runs, tuple(costs), tuple(written))
