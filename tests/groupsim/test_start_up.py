"""What starting costs: modules are counted, because time differs from machine to machine (`benchmarks/start_up.py`)."""

from __future__ import annotations

import subprocess
import sys

import pytest
import refresh_titles

from groupsim.scenarios.loading import catalogue

HEAVY = {"trio", "ruamel", "pyspark", "pyarrow", "duckdb", "plotly", "structlog", "javaproperties", "cattrs"}
COUNT = "import sys; print(*(m for m in sys.modules), file=sys.stderr)"
COMMAND = """
import sys
from groupsim.__main__ import main
sys.argv = ["groupsim", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
MADE = "import groupsim; sim = groupsim.Simulation(seed=1, logs=sys.argv[1])\n"
LIVED = """
async def story(sim):
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled("g1", members=1)

sim.run(story)
"""


def loaded(code: str, *arguments: str) -> tuple[int, set[str]]:
    """How many modules of ours a new process has after `code`, and the packages of the others."""
    code = f"import sys\n{code}\n{COUNT}"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    names = done.stderr.split()
    ours = [name for name in names if name.partition(".")[0] == "groupsim"]
    return len(ours), {name.partition(".")[0] for name in names} - {"groupsim"}


@pytest.mark.parametrize(("command", "most"), [("--help", 40), ("list", 40)])
def test_a_light_command_loads_few_modules(command: str, most: int) -> None:
    """`--help` and `list` load neither a loop, nor a reader of YAML, nor a room below (104 modules and more before)."""
    count, others = loaded(COMMAND, command)
    assert count <= most
    assert not others & HEAVY


@pytest.mark.parametrize(
    ("logs", "code", "most"),
    [
        ("replicated", MADE, 202),
        ("counted", MADE + LIVED, 351),
        ("replicated", MADE + LIVED, 436),
    ],
)
def test_a_simulation_loads_what_it_needs(logs: str, code: str, most: int) -> None:
    """A simulation that is made loads at most half of the 405 modules of before; each kind of logs adds its own.

    A member of a classic group leaves out those of a member of the consumer protocol; its coordinator loads both kinds.
    """
    count, others = loaded(code, logs)
    assert count <= most
    assert others & HEAVY == {"trio"}


def test_the_index_of_titles_has_what_the_files_say() -> None:
    """`groupsim list` prints from an index, and it is up to date; tools/refresh_titles.py writes it."""
    assert (catalogue.library() / catalogue.INDEX).read_text("utf-8") == refresh_titles.index_text()


def test_a_command_leaves_the_modules_out_of_pythons_last_search_for_garbage() -> None:
    """The objects of the modules are set apart when the command ends, whether it succeeded or not."""
    frozen = "import gc; print('frozen', gc.get_freeze_count() > 20_000)"
    for command, code in (["list"], 0), (["run", "no-such-file.yaml"], 2):
        ended = COMMAND.replace("not end.code", f"(end.code or 0) == {code}")
        done = subprocess.run(
            [sys.executable, "-c", f"{ended}\n{frozen}", *command], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "frozen True"


def test_a_command_hardly_searches_for_garbage() -> None:
    """It needs the modules to its end; with Python's own thresholds a run of one scene makes more than 200 searches."""
    count = "import gc; print('searches', sum(one['collections'] for one in gc.get_stats()))"
    command = [sys.executable, "-c", f"{COMMAND}\n{count}", "run", "acks-1-leader-dies"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    name, searches = done.stdout.splitlines()[-1].split()
    assert (name, int(searches) <= 60) == ("searches", True)
