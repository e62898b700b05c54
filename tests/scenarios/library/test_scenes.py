"""Every scene of the library meets its expectations and documented figures, and its trace is equal in any process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import ages_table
import failover_table
import pytest

from groupsim.cli.commands.run import Shown, show
from groupsim.cli.render.screen import FEW_MEMBERS, SCREEN
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.canonical import canonical_json
from groupsim.scenarios.loading.catalogue import find, names
from groupsim.scenarios.loading.changes import changed, read_change
from groupsim.scenarios.loading.load import load_file, scenario_of
from groupsim.scenarios.plans.clusters import is_replicated
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.steps.actions import CrashBroker, RestartBroker
from tests.helpers.library_scenes import scene, traced

DOCS = Path(__file__).parents[3] / "docs"

# (scenario, check, part of its finding): the figures of the public threads
FIGURES = [
    ("silent-joiner-removed-at-session-end", "time-between", "10.000 s"),
    ("silent-joiner-removed-at-session-end", "time-between", "3.000 s"),
    ("bounced-member-holds-rebalance-open", "time-between", "42.2"),
    ("first-join-waits-initial-delay", "time-between", "3.1"),
    ("no-initial-delay-joins-in-milliseconds", "time-between", "0.00"),
    ("poll-loop-blocked-leaves", "time-between", "6.0"),
    ("old-clients-evict-each-other", "period", "5.0"),
    ("broker-stall-evicts-three-groups", "spread", "4 within 0.000"),
    ("leader-rejoins-for-ever", "period", "8.16"),
    ("already-rebalancing-for-ever", "period", "3.00"),
]
FAIL_OVERS = {
    row["scene"]: row[0] for row in failover_table.ROW.finditer((DOCS / "failover.md").read_text(encoding="utf-8"))
}
# Events of a scene that another process repeats: two thirds of the scenes have fewer. Among the slow tests, all.
SOME, ALL = 5_000, sys.maxsize
AGES = {row["scene"]: row[0] for row in ages_table.ROW.finditer((DOCS / "ancestors.md").read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", names())
def test_a_scenario_holds_what_it_expects(name: str) -> None:
    """Every expectation of every library file holds."""
    run = scene(name).run
    assert [str(one) for one in run.failed] == []
    assert run.exit_code == 0
    assert run.checks, "a scenario of the library expects something"


@pytest.mark.parametrize(("name", "check", "found"), FIGURES)
def test_the_figures_of_the_threads_come_out(name: str, check: str, found: str) -> None:
    """A figure that follows from a timer is exact."""
    judged = [one for one in scene(name).run.checks if check == one.expectation.check.NAME]
    assert any(one.finding.found.startswith(found) or f" {found}" in one.finding.found for one in judged), judged


@pytest.mark.parametrize("events", [SOME, pytest.param(ALL, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", names())
def test_another_process_makes_the_same_trace_of_the_canonical_text(
    name: str, events: int, elsewhere: Callable[[str, int], str]
) -> None:
    """Same seed, another hash seed, from JSON instead of YAML: equal to the byte, for the whole library."""
    assert elsewhere(canonical_json(read_document(find(name)), name), events) == scene(name).digest(events)


def test_another_seed_gives_another_trace() -> None:
    """The seed matters: latencies and ids differ."""
    scenario = load_file(find("four-scenes"))
    assert traced(scenario, 3)[1] != traced(scenario, 4)[1]


# --- on counted logs -------------------------------------------------------------------------------------------------


def counted(name: str) -> Scenario:
    """Return a scenario of the library on counted logs. Raises ScenarioError if it needs replicated logs."""
    path = find(name)
    return scenario_of(changed(read_document(path), [read_change("cluster.logs=counted")]), path.stem)


def about_brokers(name: str) -> str:
    """Return the parts of a library scenario that counted logs lack; nothing if they have all."""
    try:
        found = counted(name)
    except ScenarioError as error:
        return str(error.problems[0].message)
    idle = [note.message for note in found.notes if "has no effect here" in note.message]
    dying = [step.action.NAME for step in found.timeline if isinstance(step.action, CrashBroker | RestartBroker)]
    return ", ".join([*idle, *dying])


@pytest.mark.parametrize("name", names())
def test_the_library_holds_on_counted_logs(name: str) -> None:
    """Figures that do not depend on brokers are equal on counted logs, so sweeps can use them."""
    if why := about_brokers(name):
        pytest.skip(f"it is about brokers: {why}")
    run = run_scenario(counted(name), seed=3)
    assert [str(one) for one in run.failed] == []
    assert run.exit_code == 0


def test_most_of_the_library_is_not_about_brokers() -> None:
    """The test above covers more than forty scenes; fewer than ten request counted logs."""
    assert sum(not about_brokers(name) for name in names()) > 40
    assert sum(not is_replicated(load_file(find(name))) for name in names()) < 10


# --- documented figures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAIL_OVERS)
def test_the_fail_over_page_shows_the_figures_of_the_run(name: str) -> None:
    """The figures of docs/failover.md are those of a run; tools/failover_table.py writes them."""
    figures = "; ".join(failover_table.figures(scene(name).evidence.story))
    assert FAIL_OVERS[name].endswith(f"| {figures} |")


@pytest.mark.parametrize("name", AGES)
def test_the_comparison_of_the_ages_is_what_comes_out(name: str) -> None:
    """Each row of docs/ancestors.md is a run with seed 0; tools/ages_table.py writes it."""
    assert AGES[name] == ages_table.row(name, scene(name).run.events, scene(name).evidence.story)


# --- on a terminal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_a_run_of_at_most_three_members_fits_on_a_screen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 50 lines of 100 columns, notes on the settings included."""
    story = scene(name).evidence.story
    if sum(not lane.producer for lane in story.lanes) > FEW_MEMBERS:
        pytest.skip("it has more members")
    monkeypatch.setenv("COLUMNS", "100")
    printed, noted = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(noted):
        show(story, scene(name).run, Shown())
    lines = printed.getvalue().splitlines()
    assert lines[0]
    assert len(lines) + len(noted.getvalue().splitlines()) <= SCREEN
