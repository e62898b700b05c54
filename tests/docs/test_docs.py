from __future__ import annotations

import ast
import importlib.util
import re
import textwrap
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from groupsim import Simulation, load_text, run_scenario
from groupsim.eventloop.trace.events import SCHEMA_VERSION, Kind, TraceEvent

pytest_plugins = ["pytester"]

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
    """docs/states.md is what tools/draw_states.py makes of the tables of the coordinator's and the members' states."""
    assert page("states.md") == tool("draw_states").page()


def test_the_answers_of_each_state_are_those_of_the_core() -> None:
    """docs/answers.md is what tools/draw_answers.py hears from the coordinator's core, for each broker version."""
    assert page("answers.md") == tool("draw_answers").page()


@pytest.mark.parametrize(
    ("api", "sender", "state", "version", "expected"),
    [
        ("Heartbeat", "a member", "Dead", "4.4", "COORDINATOR_NOT_AVAILABLE"),
        ("OffsetCommit", "a member", "PreparingRebalance", "4.4", "NONE"),
        ("OffsetCommit", "a member", "CompletingRebalance", "4.4", "REBALANCE_IN_PROGRESS"),
        ("OffsetCommit", "a plain commit (no member id, generation −1)", "Empty", "4.4", "NONE"),
        ("JoinGroup v4", "a newcomer without a member id", "Empty", "2.2", "MEMBER_ID_REQUIRED"),
        ("JoinGroup v4", "a newcomer without a member id", "Empty", "2.0", "parked"),
    ],
)
def test_answers_that_introductions_get_wrong(api: str, sender: str, state: str, version: str, expected: str) -> None:
    """Tables 1.3 to 1.6 of the classic-protocol reference: what Dead, Empty and a rebalance answer; KIP-394."""
    drawn = tool("draw_answers")
    (row,) = [one for one in drawn.ROWS if (one.api, one.sender) == (api, sender)]
    assert drawn.answer(row, state, version) == expected


def test_the_defects_of_releases_are_those_of_the_code() -> None:
    """The tables of docs/defects.md are what tools/defects_table.py makes of the rows in the code."""
    assert tool("defects_table").page(page("defects.md")) == page("defects.md")


def test_the_page_of_invariants_lists_those_of_the_code() -> None:
    """The tables of docs/invariants.md are what tools/invariants_table.py makes of the rows in the code."""
    assert tool("invariants_table").page(page("invariants.md")) == page("invariants.md")


def test_the_trace_page_lists_every_kind_once() -> None:
    """docs/traces.md names exactly the kinds that the trace has."""
    listed = re.findall(r"^\| `([a-z.]+\.[a-z]+|action|warning|high-watermark)` \|", page("traces.md"), re.MULTILINE)
    assert sorted(listed) == sorted(kind.value for kind in Kind)


def test_the_trace_page_lists_the_columns_in_schema_order() -> None:
    """docs/traces.md names exactly the columns of a trace event, and the schema's version."""
    section = page("traces.md").split("## Columns")[1].split('\n\n"Who did it"')[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert listed == [name.rstrip("_") for name in TraceEvent._fields]
    assert f"(schema version {SCHEMA_VERSION})" in page("traces.md")


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link of the README and the documentation points at a file that exists."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    broken = [
        f"{path.name} → {target}"
        for path in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert broken == []


def names_in(path: Path) -> set[str]:
    """Functions, classes and methods (`Class.method`) that a module defines."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            found.update(f"{node.name}.{item.name}" for item in inner)
    return found


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_places_that_a_page_names_exist(name: str) -> None:
    """Every file that the page names is there, and every function is defined in a file it names."""
    text = (ROOT / name).read_text(encoding="utf-8")
    files = set(re.findall(r"`(\w[\w/]*\.py)`", text))
    assert [name for name in sorted(files) if not (ROOT / name).is_file()] == []
    defined = set().union(*(names_in(ROOT / name) for name in files))
    named = set(re.findall(r"`([A-Z]\w+\.\w+)`", text)) | set(re.findall(r"\.py`\s+`(\w+)`", text))
    assert sorted(named - defined) == []


def test_twenty_questions_have_an_answer_with_a_place() -> None:
    """CONTRIBUTING.md numbers twenty questions, and each answer names a file of the code."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    answers = re.findall(r"^\d+\. \*\*[^*]+\?\*\*(.*?)(?=^\d+\. |^## )", text, re.MULTILINE | re.DOTALL)
    assert [bool(re.search(r"`[\w/]+\.py`", answer)) for answer in answers] == [True] * 20


def test_the_examples_of_the_test_page_run(sim: Simulation) -> None:
    """Calls that docs/writing-a-test.md shows exist on the simulation."""
    calls = set(re.findall(r"\bsim\.(\w+)", page("writing-a-test.md")))
    assert (
        sorted(name for name in calls if not hasattr(type(sim), name) and name not in attrs.fields_dict(type(sim)))
        == []
    )


def test_the_tests_of_the_test_page_pass(pytester: pytest.Pytester) -> None:
    """What docs/writing-a-test.md shows whole runs as it stands: three tests of consumers, of which the last
    one's mutant fails, one that is run with a bug of the past and one that applies it, two of the coordinator alone,
    and a state machine.
    """
    blocks = re.findall(r"(?:^    .*\n|^\n)+", page("writing-a-test.md"), re.MULTILINE)
    whole = ("async def test_", "mutants", "import Bench", "RuleBasedStateMachine", "Shard(")
    shown = [textwrap.dedent(block) for block in blocks if any(word in block for word in whole)]
    assert len(shown) == 8
    pytester.makepyfile("import pytest\n" + "\n".join(shown))
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=8, xfailed=2)


@pytest.mark.parametrize("name", ["README.md", "docs/reading-a-run.md"])
def test_what_a_run_prints_is_shown_as_it_is(name: str) -> None:
    """The output in the README and on the page about it is real; tools/refresh_readme.py puts it there."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert tool("refresh_readme").refreshed(text) == text


def test_the_readme_is_short() -> None:
    """A picture and three commands stand on its first screen, and the whole is read in a few minutes."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    first = "\n".join(lines[:20])
    assert "](docs/pictures/demo.svg)" in first
    assert first.count("    .venv/bin/groupsim ") + first.count("    make demo") == 3


def test_the_scenario_in_the_readme_runs() -> None:
    """What the README shows as a scenario is one, and what it expects holds."""
    shown = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    run = run_scenario(load_text(shown[1]))
    assert [str(check) for check in run.failed] == []


def test_the_fail_over_page_has_a_row_for_each_scene() -> None:
    """Each once; `tests/scenarios/library` compares their figures with those of a run."""
    text = page("failover.md")
    table = tool("failover_table")
    shown = [row["scene"] for row in table.ROW.finditer(text)]
    assert shown == list(dict.fromkeys(shown))
    on_brokers = [path.stem for path in (ROOT / "scenarios" / "library").glob("coordinator-*.yaml")]
    assert [name for name in on_brokers if name not in (*shown, "coordinator-moves")] == []
