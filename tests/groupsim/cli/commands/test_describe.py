"""What `groupsim describe` says of a group at a moment of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.helpers.front_stage import BOUNCE, call


def test_describe_shows_timers_and_purgatory(bounce: Path) -> None:
    """The state at a moment: who waits for what, and when each timer is due."""
    result = call("describe", bounce, "--at", "40s")
    assert result.exit_code == 0
    assert "g1 at 0:40.000: PreparingRebalance since 0:32.0" in result.stdout
    assert "its process crashed at 0:31.000" in result.stdout
    assert "JoinGroup" in result.stdout
    assert re.search(r"in .+ join-g1$", result.stdout, re.MULTILINE)


def test_describe_counts_what_a_member_with_many_partitions_has_of_each_topic(bounce: Path) -> None:
    """Who owns how much is seen at a glance, not counted from a wall of names."""
    many = "topics:\n  returns: {partitions: 5}\n  orders: {partitions: 24, rate: 40/s}\n"
    bounce.write_text(BOUNCE.replace("topics:\n  orders: {partitions: 4, rate: 40/s}\n", many))
    shown = call("describe", bounce, "--at", "20s").stdout
    assert re.search(r" 15 partitions$\n +orders \(12\): 0-11$\n +returns \(3\): 0-2$", shown, re.MULTILINE)
    first = json.loads(call("describe", bounce, "--at", "20s", "--json").stdout)["groups"]["g1"]["members"][0]
    assert len(first["partitions"]) in (14, 15)


def test_describe_shows_the_run_with_what_was_set(bounce: Path) -> None:
    """`--set` as for `run`: a session that is shorter is over by then, and the group is without the dead member."""
    setting = "groups.g1.properties.session.timeout.ms=6s"
    printed = call("describe", bounce, "--at", "40s", "--set", setting)
    assert (printed.exit_code, "Stable" in printed.stdout, "its process crashed" in printed.stdout) == (0, True, False)
    wrong = call("describe", bounce, "--at", "40s", "--set", "groups.g1.properties.session.timeout=6s")
    assert (wrong.exit_code, "did you mean" in wrong.stderr) == (2, True)


def test_describe_as_json(bounce: Path) -> None:
    """The same as data."""
    group = json.loads(call("describe", bounce, "--at", "40s", "--json").stdout)["groups"]["g1"]
    assert group["state"] == "PreparingRebalance"
    assert "join-g1" in [timer["name"] for timer in group["timers"]]
    assert group["rebalance"]["cause"] == "deploy-join"
    assert [one["process_ended_us"] for one in group["members"]].count(31_000_000) == 1
    (leader,) = (one for one in group["members"] if one["leader"])
    assert leader["member_id"] == group["leader"]
    assert leader["partitions"][0] == "orders-0"


def test_a_new_members_wait_is_shown_with_its_own_limit(bounce: Path) -> None:
    """A member that has never been in a generation is waited for five minutes, not for its session timeout."""
    lines = call("describe", bounce, "--at", "40s").stdout.splitlines()
    assert any("min" in line and "of 5 min" in line for line in lines)
