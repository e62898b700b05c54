"""The analysis on Spark gives the numbers of the plain one, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_tables import Made, experiment, on_disk

from groupsim.eventloop.randomness import Stream
from groupsim.pipeline.analysis import analyse

pytest.importorskip("pyspark")

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
            made.generations.append({"cell": cell, "seed": seed, "began_us": 5, "ended_us": 5 + luck.below(10**7)})
    made.run(2, 9, status="failed", error="boom")
    return made


def test_results_from_spark_are_those_of_the_plain_engine_byte_by_byte(tmp_path: Path) -> None:
    """Grouped tasks on two local workers and a loop in this process write the same three files."""
    written = {}
    for engine in ("plain", "spark"):
        directory = on_disk(tmp_path / engine, experiment(GRID, 10), _made(), parts=2)
        analyse(directory, engine)
        written[engine] = {file.name: file.read_bytes() for file in sorted((directory.path / "results").iterdir())}
    assert set(written["plain"]) == {"answer.json", "cells.parquet", "comparisons.parquet"}
    assert written["spark"] == written["plain"]
