"""The rows of the table `cells`: the settings behind the numbers of the cells. They depend on the experiment alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.pipeline.tables.schemas import CELLS, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.pipeline.experiment import Experiment

FILE = f"tables/{CELLS.name}/cells.parquet"


def cells_of(experiment: Experiment) -> pa.Table:
    """A row for each axis of each cell, in the order of the grid."""
    import pyarrow as pa

    rows = [
        (cell.number, axis, label, axis in experiment.given, cell.number == experiment.baseline)
        for cell in experiment.cells
        for axis, label in cell.labels.items()
    ]
    return pa.Table.from_pylist([dict(zip(CELLS.names, row, strict=True)) for row in rows], arrow_schema(CELLS))
