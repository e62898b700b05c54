"""The notebook from a sweep to a plot."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

TABLES = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "sweep-to-plot.ipynb"


def test_the_notebook_runs_from_its_first_cell_to_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code cells, one after the other in an empty folder, sweep, ask and draw; no output is kept in the file."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, source in enumerate(code):
        exec(compile(source, f"{NOTEBOOK.name}, code cell {number}", "exec"), names)
    assert len(names["directory"].finished) == 18
    short, long = (
        sum(row["unserved_s"] for row in names["rows"] if row["session_ms"] == ms) for ms in ("10000", "45000")
    )
    assert 0 < short < long
    assert len(names["figure"].data) == 2
    assert (tmp_path / "unserved.html").stat().st_size > 1000
    assert not any(cell.get("outputs") for cell in cells)
    exec(tables_listing(), names)  # of docs/tables.md, on the same sweep
    assert len(names["changes"]) > 18


def tables_listing() -> str:
    """What docs/tables.md shows in Python, for the folder of the notebook."""
    (found,) = re.findall(r"^(    import pyarrow.*\n(?:    .*\n)+)", TABLES.read_text(encoding="utf-8"), re.MULTILINE)
    return textwrap.dedent(str(found)).replace("DIR/", "results/")
