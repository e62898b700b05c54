"""The figures over many groups of one run: how many were affected, how much, how many at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from groupsim.cli.render import timeline
from groupsim.scenarios.loading.load import load_file, load_text
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.many_groups import many_groups, most_together, without_coordinator

SCENE = Path(__file__).parents[3] / "scenarios" / "library" / "brokers-roll-forty-groups.yaml"


@pytest.fixture(scope="module")
def story() -> Story:
    """The story of forty groups under a roll of the brokers."""
    return tell(run_scenario(load_file(SCENE), seed=0).events)


def test_a_roll_without_a_pause_takes_the_coordinator_of_all_groups_at_once(story: Story) -> None:
    """The last of three brokers coordinates all forty groups when it is killed, and the figure has its time."""
    found = many_groups(story)
    assert found is not None
    (away,) = (hit for hit in found.hits if hit.title == "no coordinator")
    assert (found.groups, away.groups, away.together, away.together_us) == (40, 40, 40, 60_000_000)
    each = {name: sum(end - begin for begin, end in spans) for name, spans in without_coordinator(story).items()}
    assert (away.most, away.total) == (max(each.values()), sum(each.values()))
    assert each[away.worst] == away.most == each[found.worst.group]


def test_forty_groups_fit_on_a_screen_and_one_is_shown_in_full(story: Story) -> None:
    """The page has one section with generations, that of the group hit hardest, or of the one asked for."""
    for group in (None, "fleet-7"):
        console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        timeline.show(story, console, group=group)
        page = console.export_text()
        assert page.count("  gen    began") == 1
        assert len(page.splitlines()) <= 60
        assert ("\n40 groups" in page) == (group is None)
    assert "\nfleet-7 ·" in page


def test_the_headline_is_one_sentence_about_all_groups(story: Story) -> None:
    """It counts the groups, and their rebalances by cause; one group is named, the one hit hardest."""
    assert story.headline.startswith("no rebalance in any of 40 groups: all formed, the last in 6.0 s;")
    text = (
        "run-for: 30s\n"
        "cluster: {logs: counted}\n"
        "topics: {orders: {partitions: 2, rate: 1/s}}\n"
        "groups: {fleet: {count: 9, members: {c: 2}}}\n"
        "timeline: [{at: 15s, do: stop, member: fleet-3-c-1}, {at: 18s, do: stop, member: fleet-5-c-2}]\n"
    )
    headline = tell(run_scenario(load_text(text), seed=0).events).headline
    assert headline.startswith("2 rebalances in 2 of 9 groups: 2 × deploy-leave; hardest hit: 1 rebalance of fleet-")
    assert "(and 1 rebalance" not in headline


def test_stretches_that_touch_are_not_at_once() -> None:
    """A group whose time ends where that of another begins does not overlap it."""
    assert most_together({"a": [(0, 5)], "b": [(5, 9)], "c": [(8, 10)]}) == (2, 8)


def test_few_groups_are_not_summed_up(story: Story) -> None:
    """Fewer groups than the limit are not summed up."""
    import attrs

    assert many_groups(attrs.evolve(story, groups=story.groups[:8])) is None
