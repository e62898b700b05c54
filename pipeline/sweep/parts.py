"""Reading one part of a table: what is damaged, or older than this program, is said with the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groupsim.pipeline.sweep.errors import SweepError

if TYPE_CHECKING:
    import pyarrow as pa


def read_part(path: Path, schema: pa.Schema) -> pa.Table:
    """The columns of `schema` from one file. Raises SweepError when it is damaged, or was written without them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path, columns=schema.names).cast(schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        lacking = _lacking(path, schema)
        if not lacking:
            why = str(error).splitlines()[0].removeprefix(f"Could not open Parquet input source '{path}': ")
            raise damaged(path, why) from error
        raise SweepError(
            f"{path}: has no column {', '.join(lacking)}: an earlier version of groupsim wrote it",
            "sweep into a new directory, or read this one with the version that wrote it",
            bad_input=True,
        ) from error


def damaged(path: Path, why: str) -> SweepError:
    """A part that is not what a sweep wrote. All tables of its chunk have to go, for their rows belong together."""
    return SweepError(
        f"{path}: damaged: {why}",
        f"remove {path.parent.parent / '*' / path.name} (that chunk of runs, in all tables); "
        "the same sweep then runs it again",
        bad_input=True,
    )


def _lacking(path: Path, schema: pa.Schema) -> list[str]:
    """Columns that the file does not have; none when it cannot even say that."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        there = pq.read_schema(path).names
    except (pa.ArrowException, OSError, ValueError):
        return []
    return [name for name in schema.names if name not in there]
