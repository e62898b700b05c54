from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import attrs

from groupsim.eventloop.events import SCHEMA_VERSION, Kind, TraceEvent

ROOT = Path(__file__).resolve().parents[2]


def tool(name: str) -> ModuleType:
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name: str) -> str:
    """A page of the documentation."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_state_diagram_is_drawn_from_the_table() -> None:
    """docs/states.md is what tools/draw_states.py makes of the coordinator's transition table."""
    assert page("states.md") == tool("draw_states").page()


def test_the_trace_page_lists_every_kind_once() -> None:
    """docs/traces.md names exactly the kinds that the trace has."""
    listed = re.findall(r"^\| `([a-z.]+\.[a-z]+|action|warning)` \|", page("traces.md"), re.MULTILINE)
    assert sorted(listed) == sorted(kind.value for kind in Kind)


def test_the_trace_page_lists_the_columns_in_schema_order() -> None:
    """docs/traces.md names exactly the columns of a trace event, and the schema's version."""
    section = page("traces.md").split("## Columns")[1].split('\n\n"Who did it"')[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert listed == [field.name.rstrip("_") for field in attrs.fields(TraceEvent)]
    assert f"(schema version {SCHEMA_VERSION})" in page("traces.md")


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link of the README and the documentation points at a file that exists."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    broken = [
        f"{path.name} → {target}"
        for path in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert broken == []
