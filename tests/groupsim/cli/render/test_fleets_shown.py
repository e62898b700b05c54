"""A fleet in `run --seeds`, `diff` and `describe`: shown as one, with each of its groups on request."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from groupsim.cli.render.fleet_figures import bundles
from groupsim.scenarios.story.many_groups import fleets
from tests.helpers.front_stage import call

FLEET = """
title: Ten groups, and one beside them
run-for: 60s
cluster: {logs: counted}
topics: {orders: {partitions: 2, rate: 30/min}}
groups:
  fleet: {count: 10, members: {c: {count: 2, start-spread: "uniform(0s, 2s)"}}}
  audit: {members: {a: 2}}
timeline:
  - {at: 20s, do: stop, member: fleet-3-c-1}
  - {at: 30s, do: crash, member: fleet-5-c-1}
"""
SHORTER = "groups.fleet.properties.session.timeout.ms=10s"


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    """A file with ten groups of one specification, two of which lose a member."""
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return str(path)


def test_groups_whose_names_differ_in_a_number_are_a_fleet() -> None:
    """Whatever stands around the number; fewer than nine are no fleet, and other numbers in a name do not count."""
    ours = [f"v2-{n}-eu1" for n in range(1, 10)]
    assert fleets([*ours, "v3-1-eu1", "audit"]) == {"v2-{n}-eu1": tuple(ours)}
    assert fleets(f"fleet-{n}" for n in range(9)) == {"fleet": tuple(f"fleet-{n}" for n in range(9))}
    assert fleets(f"fleet-{n}" for n in range(8)) == {}


def test_a_fleet_is_one_bundle_unless_each_group_is_asked_for() -> None:
    """One group, or every group by itself, has figures of its own."""
    names = [*(f"fleet-{n}" for n in range(9)), "audit"]
    assert [(one.name, len(one.groups), one.fleet) for one in bundles(names)] == [
        ("fleet", 9, True),
        ("audit", 1, False),
    ]
    assert [one.name for one in bundles(names, each=True)] == names
    assert [one.name for one in bundles(names, "fleet-7")] == ["fleet-7"]


def test_seeds_add_the_figures_of_a_fleet_up(fleet: str) -> None:
    """Counts are summed, times to form are those of the slowest group, and the group that was hit hardest is named."""
    printed = call("run", fleet, "--seeds", "2").stdout
    assert re.search(r"fleet: groups that rebalanced +1 +1 +1", printed)
    assert re.search(r"fleet: hit hardest fleet-5 \(2 runs\)", printed)
    assert "audit: rebalances" in printed
    assert "fleet-5: rebalances" not in printed
    figures = {one["name"]: one for one in json.loads(call("run", fleet, "--seeds", "2", "--json").stdout)["figures"]}
    formed = [figures[f"fleet-{n}: time to form"]["most"] for n in range(1, 11)]
    delivered = [figures[f"fleet-{n}: records delivered"]["most"] for n in range(1, 11)]
    assert figures["fleet: time to form"]["most"] == max(formed)
    assert figures["fleet: records delivered"]["most"] == sum(delivered)


def test_seeds_show_one_group_or_every_group(fleet: str) -> None:
    """`--group` and `--all`; a group that the scenario does not have is refused."""
    one = call("run", fleet, "--seeds", "1", "--group", "fleet-3").stdout
    assert re.search(r"^ rebalances +1 +1 +1", one, re.MULTILINE)
    assert "fleet-3: rebalances" in call("run", fleet, "--seeds", "1", "--all").stdout
    wrong = call("run", fleet, "--seeds", "1", "--group", "fleet-33")
    assert (wrong.exit_code, "did you mean `fleet-3`" in wrong.stderr) == (2, True)


def test_a_comparison_names_the_group_that_changed_most(fleet: str) -> None:
    """A table for the fleet with the number of groups in which a figure changed; the owners in one line."""
    printed = call("diff", fleet, "--set", SHORTER).stdout
    assert "fleet, 10 groups" in printed
    assert re.search(r"^ rebalances +1 +2 +\+1 +1 +fleet-5", printed, re.MULTILINE)
    assert re.search(r"owners at the end: the same in \d+ of 10 groups of fleet", printed)
    assert "owners of fleet-1 at the end" not in printed
    alone = call("diff", fleet, "--set", SHORTER, "--group", "fleet-5").stdout
    assert re.search(r"^ rebalances +0 +1 +\+1", alone, re.MULTILINE)
    rows = {row["name"]: row for row in json.loads(call("diff", fleet, "--set", SHORTER, "--json").stdout)["rows"]}
    assert rows["fleet: rebalances"]["most_changed"] == "fleet-5"
    assert (rows["fleet-5: rebalances"]["change"], rows["fleet-1: rebalances"]["change"]) == (1, 0)
    wrong = call("diff", fleet, "--set", SHORTER, "--group", "fleet-50")
    assert (wrong.exit_code, "no group 'fleet-50' formed" in wrong.stderr) == (2, True)


def test_describe_counts_the_groups_of_a_fleet_that_are_alike(fleet: str) -> None:
    """A row for each state; the group whose rebalance is open longest is shown in full, and so is a group beside."""
    printed = call("describe", fleet, "--at", "21s").stdout
    assert "fleet at 0:21.000: 10 groups" in printed
    assert re.search(r"^ +9 +Stable +1 +2 +– +fleet-1, fleet-2 and 7 more", printed, re.MULTILINE)
    assert re.search(r"^ +1 +PreparingRebalance .* fleet-3$", printed, re.MULTILINE)
    assert "fleet-3: its rebalance is open longest" in printed
    assert printed.count("Rebalance since") == 1
    assert "audit at 0:21.000" in printed
    later = call("describe", fleet, "--at", "29s").stdout
    assert re.search(r"fleet-\d+: one of its sessions ends first, in \d+\.\d s", later)
    assert "fleet-3 at 0:21.000" in call("describe", fleet, "--at", "21s", "--group", "fleet-3").stdout
