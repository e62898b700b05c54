"""Python that README and docs show, where no test of its subject runs it: as it stands, with what a fragment lacks."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from groupsim import Simulation, load_text, run_scenario, write_trace

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
CRASH = """
run-for: 90s
topics: {orders: {partitions: 4, rate: 1/s}}
groups: {g1: {members: {c: {count: 2}}}}
timeline: [{at: 20s, do: crash, member: c-1}]
"""


def text(name: str) -> str:
    """A page."""
    return (ROOT / name).read_text(encoding="utf-8")


def indented(name: str, word: str) -> str:
    """The indented listing of a page that has this word."""
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text(name), re.MULTILINE)
    (found,) = [block for block in blocks if word in block]
    return textwrap.dedent(str(found)).strip() + "\n"


def fenced(name: str, word: str) -> str:
    """The Python listing of a page that has this word."""
    (found,) = [one for one in re.findall(r"```python\n(.*?)```", text(name), re.DOTALL) if word in one]
    return str(found)


def test_the_readmes_test_passes() -> None:
    """The test of a crashed member, as any test with `sim` is run."""
    names: dict[str, Any] = {}
    exec(fenced("README.md", "is_removed_when"), names)
    Simulation().run(names["test_a_crashed_member_is_removed_when_its_session_ends"])


PAGE = "docs/writing-a-test.md"
FRAGMENTS = """
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim import Simulation
from groupsim.assignors import RangeAssignor as MyAssignor
from groupsim.faults import *

{fixture}

async def test_the_fixture(sim, busy):
    assert busy.settled
    assert len(busy.assignment) == 4


async def test_the_faults(sim):
    sim.topic("orders", 2)
    sim.member("c1")
{faults}
    await sim.until(lambda: lost.hits or sim.now_us > 200_000_000, within="300s")
    assert [fault.seen > 0 for fault in sim.faults] == [True] * 3


{marker}
async def test_the_marker(sim):
    assert (sim.seed, len(sim.cluster.brokers)) == (3, 3)


{parametrized}
async def test_the_versions(sim):
    sim.topic("orders")
    sim.member("c1")
    await sim.settled(members=1)


{property}

async def test_the_expectations(sim):
    sim.topic("orders", 4, rate=1)
    members = [sim.member(name) for name in ("c1", "c2")]
    await sim.settled(members=2)
    await sim.run_for("20s")
    members[0].crash()
    await sim.settled(members=1)
{expectations}
"""


def test_the_fragments_of_the_test_page_run(pytester: pytest.Pytester) -> None:
    """Fixture, faults, marker, parameters, property and expectations of docs/writing-a-test.md, each in a test."""
    pytester.makepyfile(
        FRAGMENTS.format(
            fixture=indented(PAGE, "async def busy"),
            faults=textwrap.indent(indented(PAGE, "LoseResponse(Match("), "    "),
            marker=indented(PAGE, "@pytest.mark.sim(seed=3"),
            parametrized=indented(PAGE, 'parametrize("sim"'),
            property=indented(PAGE, "@given("),
            expectations=textwrap.indent(indented(PAGE, 'sim.expect("no-two-owners")'), "    "),
        )
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore::groupsim.FaultStruckNothing")
    result.assert_outcomes(passed=7)


def test_the_run_without_pytest_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """The last listing of docs/writing-a-test.md prints the group's snapshot."""
    exec(indented(PAGE, "print(Simulation(seed=1).run(story))"), {})
    assert "state='Stable'" in capsys.readouterr().out


def test_a_trace_is_read_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The listings of docs/traces.md read the trace of a run with a crash: its story, and in pandas who did what."""
    run = run_scenario(load_text(CRASH))
    monkeypatch.chdir(tmp_path)
    write_trace(run.events, "out.jsonl")
    exec(indented("docs/traces.md", "read_trace("), {})
    assert "session-expiry" in capsys.readouterr().out
    pytest.importorskip("pandas")
    write_trace(run.events, "out.parquet")
    names: dict[str, Any] = {"pandas": pytest.importorskip("pandas")}
    page = indented("docs/traces.md", "pandas.read_parquet(")
    exec(page[page.index("events = pandas") :], names)
    caused = names["caused"]
    assert list(caused[caused.kind == "member.removed"]["kind_of_cause"]) == ["timer.fired"]


def test_the_script_and_the_stories_that_are_shown_are_those_that_run() -> None:
    """The lines that docs/conformance.md and docs/twins.md show stand in the suites in this order, without comments."""
    shown = re.sub(r" +#.*", "", fenced("docs/conformance.md", "@script(")).splitlines()
    lines = iter(text("tests/conformance/scripts/heartbeat.py").splitlines())
    assert [line for line in shown if line not in lines] == []
    for line in fenced("docs/twins.md", 'Story("sync').splitlines():
        assert line in text("tests/twins/stories.py")
    for line in fenced("docs/twins.md", "ConsumerStory(").splitlines():
        assert line in text("tests/twins/consumer/reconciling.py")


#: Each listing, by words that it alone of its page has, and the test that executes it.
HERE, GUIDE, TEST_PAGE = "tests/docs/test_listings.py", "tests/assignors/test_guide.py", "tests/docs/test_docs.py"
SERVED, SPARK = "tests/serving/test_serving_docs.py", "tests/pipeline/sweep/spark/test_spark_session.py"
RUN_BY = {
    "README.md": {
        "is_removed_when": (HERE, "test_the_readmes_test_passes"),
        "confluent_kafka": (SERVED, "test_the_tests_that_are_shown_pass"),
    },
    "docs/conformance.md": {"@script(": (HERE, "test_the_script_and_the_stories_that_are_shown_are_those_that_run")},
    "docs/serving.md": {"kafka_lab": (SERVED, "test_the_tests_that_are_shown_pass")},
    "docs/sweeps.md": {
        "load_experiment(": (SPARK, "test_the_listing_of_the_page_on_sweeps_runs"),
        "register_data_source(": (SPARK, "test_the_listing_of_the_page_on_sweeps_runs"),
    },
    "docs/tables.md": {
        "pyarrow": ("tests/pipeline/test_notebook.py", "test_the_notebook_runs_from_its_first_cell_to_its_last")
    },
    "docs/traces.md": {
        "read_trace(": (HERE, "test_a_trace_is_read_as_shown"),
        "pandas.read_parquet(": (HERE, "test_a_trace_is_read_as_shown"),
    },
    "docs/twins.md": dict.fromkeys(
        ('Story("sync', "ConsumerStory("),
        (HERE, "test_the_script_and_the_stories_that_are_shown_are_those_that_run"),
    ),
    "docs/writing-a-scenario.md": {
        "import scenario": ("tests/scenarios/loading/test_page.py", "test_the_python_example_runs")
    },
    "docs/writing-a-test.md": {
        **dict.fromkeys(
            (
                "async def busy",
                "LoseResponse(Match(",
                "@pytest.mark.sim(seed=3",
                'parametrize("sim"',
                "@given(",
                'sim.expect("no-two-owners")',
            ),
            (HERE, "test_the_fragments_of_the_test_page_run"),
        ),
        "print(Simulation(seed=1).run(story))": (HERE, "test_the_run_without_pytest_is_shown_whole"),
        **dict.fromkeys(
            (
                "import ErrorCode, TopicPartition",
                "assignment_bytes",
                "PollOnly",
                "import caught",
                "import mutant, mutants",
                "import Bench",
                "RuleBasedStateMachine",
                "Shard(",
            ),
            (TEST_PAGE, "test_the_tests_of_the_test_page_pass"),
        ),
    },
    "docs/writing-an-assignor.md": {
        "# everything_to_the_first.py": (GUIDE, "test_the_smallest_assignor_runs_on_the_group_beside_it"),
        "def test_one_member_gets_everything": (GUIDE, "test_the_test_in_the_guide_passes"),
        "@given": (GUIDE, "test_the_property_in_the_guide_holds"),
        "test_a_second_member_stands_by": (GUIDE, "test_the_test_of_a_group_in_the_guide_passes"),
        "nothing_else_moves": (GUIDE, "test_the_test_of_a_group_in_the_guide_passes"),
        "# fewest_first.py": (
            GUIDE,
            "test_the_assignor_that_explains_itself_prints_the_lines_in_the_guide",
        ),
        "# first_takes_all.py": (GUIDE, "test_the_assignor_of_the_coordinator_in_the_guide_runs"),
    },
}
#: What a test does with a listing: executes it, saves it and runs it, or finds its lines in a suite that runs.
EXECUTES = re.compile(r'\bexec\(|makepyfile\(|write_text\((?:PYTHON|listing)|text\("tests/(?:conformance|twins)/')
PYTHON = re.compile(r"^(?:from \w[\w.]* import|import \w|(?:async )?def |sim\.\w|@\w|\w+ = .*\()", re.MULTILINE)


def python_listings(name: str) -> list[str]:
    """Listings of a page that are Python: fenced as such, or indented lines that begin as Python does."""
    page = text(name)
    found = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    plain = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", plain, re.MULTILINE)]
    return [*found, *(block for block in blocks if PYTHON.search(block))]


def test_every_python_listing_is_run_by_a_test() -> None:
    """Each listing has the words of one row of its page, and each row the words of one listing."""
    for name in ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]:
        rows, listings = RUN_BY.get(name, {}), python_listings(name)
        found = [[words for words in rows if words in listing] for listing in listings]
        assert sorted(found) == sorted([words] for words in rows), name


@pytest.mark.parametrize(("page", "place"), [(page, place) for page in RUN_BY for place in set(RUN_BY[page].values())])
def test_the_test_of_a_listing_executes_it(page: str, place: tuple[str, str]) -> None:
    """The test that a row names is there, its module reads the page, and its body executes what it takes from there."""
    path, name = place
    assert page.rpartition("/")[2] in text(path)
    (body,) = [
        ast.get_source_segment(text(path), node) or ""
        for node in ast.parse(text(path)).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    assert EXECUTES.search(body)
