"""`groupsim run --rebalance N`: the requests and answers of one rebalance in the terminal, as Mermaid and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from tests.helpers.front_stage import call

LARGE = """
title: many
run-for: 20s
broker: {version: "3.9", properties: {group.initial.rebalance.delay.ms: 100}}
cluster: {logs: counted}
topics: {orders: {partitions: 40, rate: 10/s}}
groups: {g: {members: {pod: {count: 40, stagger: 1ms}}}}
timeline: [{at: 10s, do: stop, member: pod-7}]
"""


def printed(scene: str, number: int, *more: str) -> dict[str, Any]:
    """The only rebalance of that number as a document."""
    (found,) = json.loads(call("run", scene, "--rebalance", number, "--json", *more).stdout)["rebalances"]
    return dict(found)


def words(found: dict[str, Any], host: str | None = None) -> list[str]:
    """What the lines of a process say, in order."""
    return [line["words"] for line in found["lines"] if host in (None, line["host"])]


@pytest.fixture(name="large")
def large_(tmp_path: Path) -> Path:
    """A group of 40 that one member leaves."""
    path = tmp_path / "many.yaml"
    path.write_text(LARGE, encoding="utf-8")
    return path


def test_the_leader_gets_all_subscriptions_and_sends_the_plan() -> None:
    """The first start of three: an id first (KIP-394), then JoinGroup; list and plan are the leader's alone."""
    found = printed("four-scenes", 1)
    assert found["leader"] == "c1"
    assert words(found, "c1") == [
        "JoinGroup without a member id",
        "JoinGroup: MEMBER_ID_REQUIRED and an id to join with (KIP-394)",
        "JoinGroup",
        "JoinGroup: generation 1, leader, 3 subscriptions",
        "assigns by range",
        "SyncGroup with the plan for 3",
        "SyncGroup: its partitions",
    ]
    assert words(found, "c2")[3:] == [
        "JoinGroup: generation 1, c1 leads, empty list",
        "SyncGroup, empty",
        "SyncGroup: its partitions",
    ]


def test_parked_requests_are_marked_with_the_time_of_their_answer() -> None:
    """A JoinGroup waits for the others: what it says of its answer is when that answer was sent."""
    found = printed("four-scenes", 1)
    parked = [line for line in found["lines"] if line["parked"]]
    assert {line["api"] for line in parked} == {"JoinGroup", "SyncGroup"}
    answers = {line["number"]: line["at_us"] for line in found["lines"] if line["what"] == "answer"}
    assert all(answers[line["number"]] == line["answered_us"] > line["at_us"] for line in parked)
    shown = call("run", "four-scenes", "--rebalance", 1).stdout
    assert "JoinGroup: parked until 0:06.005 (5.0 s)" in shown
    assert "a parked SyncGroup waits until the leader's assignment is committed" in shown


def test_members_hear_of_a_rebalance_by_heartbeat_and_leave_by_leavegroup() -> None:
    """LeaveGroup begins it, REBALANCE_IN_PROGRESS carries it to the member that stays."""
    found = printed("four-scenes", 3)
    assert words(found, "c2") == ["onPartitionsRevoked(3)", "LeaveGroup", "LeaveGroup: done"]
    assert words(found, "c1")[0] == "Heartbeat: REBALANCE_IN_PROGRESS"
    states = [line["words"] for line in found["lines"] if line["what"] == "state"]
    assert states == ["PreparingRebalance", "CompletingRebalance", "Stable"]


@pytest.mark.parametrize(
    "scene", ["four-scenes", "coordinator-crashes-preparing", "bounced-member-holds-rebalance-open"]
)
def test_lines_are_in_order_and_every_answer_follows_its_request(scene: str) -> None:
    """By the coordinator's clock; also where requests get lost."""
    for found in json.loads(call("run", scene, "--rebalance", 2, "--json").stdout)["rebalances"]:
        times = [line["at_us"] for line in found["lines"]]
        assert times == sorted(times)
        asked: set[int] = set()
        for line in found["lines"]:
            if line["what"] == "request":
                asked.add(line["number"])
            elif line["what"] == "answer" and line["api"] != "Heartbeat":
                assert line["number"] in asked


def test_a_generation_that_was_begun_twice_is_shown_twice() -> None:
    """The coordinator crashes while it is preparing; the next one begins the same generation again."""
    first, second = json.loads(call("run", "coordinator-crashes-preparing", "--rebalance", 2, "--json").stdout)[
        "rebalances"
    ]
    assert (first["outcome"], second["outcome"]) == ("lost", "stable")
    lost = next(line["words"] for line in first["lines"] if line["what"] == "lost")
    assert lost.startswith("JoinGroup never arrives")


def drawn(columns: int, *more: object) -> list[str]:
    """The lines of a terminal of that width."""
    runner = CliRunner(env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    return runner.invoke(app, ["run", "four-scenes", "--rebalance", "1", *map(str, more)]).stdout.splitlines()


@pytest.mark.parametrize(("columns", "lanes"), [(100, True), (84, True), (80, False), (60, False)])
def test_members_have_lanes_where_the_width_allows(columns: int, lanes: bool) -> None:
    """Three members need 84 columns; below that the same stands in a list. No line is wider than the terminal."""
    shown = drawn(columns)
    assert max(map(len, shown)) <= columns
    assert any("│<──" in line for line in shown) is lanes
    assert any("c2  →" in line for line in shown) is not lanes


def test_arrows_end_at_the_members_lane_and_parked_members_are_shaded() -> None:
    """Under its name runs a member's lane; while its JoinGroup is parked it is shaded."""
    heading, *rows = drawn(100)[3:]
    column = heading.index("c2") + 1
    answer = next(row for row in rows if "c1 leads, empty list" in row and row[column - 1] == ">")
    assert answer[column] == "│"
    parked = [row[column] for row in rows if "⋮" in row]
    assert parked == ["│", "░", "░"]


def test_a_large_group_is_folded_unless_all_is_asked_for(large: Path) -> None:
    """What 37 members do alike is one line; the leader, the culprit and who was last keep theirs."""
    folded, whole = (call("run", large, "--rebalance", 2, *more).stdout for more in ((), ("--all",)))
    flat = " ".join(folded.split())
    assert re.search(
        r"37 members → JoinGroup: parked until 0:1\d\.\d+ \(.* to .*\) \(pod-\d+, pod-\d+ and 35 more\)", flat
    )
    assert re.search(r"37 members ← JoinGroup: generation 2, pod-1 leads, empty list", flat)
    assert len(folded.splitlines()) < 50
    assert len(re.findall(r"pod-\d+ +→ SyncGroup", whole)) == 39
    assert not re.search(r"\d+ members", whole)


STATEMENT = re.compile(
    r"    (participant (?P<new>\w+) as [^;#]+"
    r"|(?P<one>\w+)(->>|-->>|-x)(?P<two>\w+): [^;#]+"
    r"|Note over (?P<over>\w+): [^;#]+"
    r"|(?P<change>activate|deactivate) (?P<whom>\w+))"
)


def parsed(diagram: str) -> None:
    """Hold a diagram to the part of Mermaid's grammar that is used: known participants, activations that match."""
    head, *lines = diagram.splitlines()
    assert head == "sequenceDiagram"
    known: set[str] = set()
    active: dict[str, int] = {}
    for line in lines:
        found = STATEMENT.fullmatch(line)
        assert found, line
        if found["new"]:
            assert found["new"] not in known
            known.add(found["new"])
        for name in ("one", "two", "over", "whom"):
            assert found[name] is None or found[name] in known, line
        if found["change"]:
            active[found["whom"]] = active.get(found["whom"], 0) + (1 if found["change"] == "activate" else -1)
            assert active[found["whom"]] >= 0, line


@pytest.mark.parametrize("every", [(), ("--all",)])
def test_mermaid_is_a_sequence_diagram(every: tuple[str, ...], large: Path) -> None:
    """Every statement is one that the grammar has, also of lost requests and of a folded group."""
    for source in ("four-scenes", "coordinator-crashes-preparing", large):
        text = call("run", source, "--rebalance", 2, "--mermaid", *every).stdout
        for diagram in re.split(r"\n(?=sequenceDiagram)", text):
            parsed(diagram)
    assert "others->>K: " in call("run", large, "--rebalance", 2, "--mermaid").stdout


def test_mermaid_says_what_the_terminal_says() -> None:
    """The same lines in the same order."""
    found = printed("four-scenes", 2)
    text = call("run", "four-scenes", "--rebalance", 2, "--mermaid").stdout
    message = [line for line in text.splitlines() if "->>" in line or "Note over" in line]
    assert len(message) == len(found["lines"])
    assert all(line["words"].partition(";")[0] in one for line, one in zip(found["lines"], message, strict=True))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ("four-scenes", "--rebalance", 9),
            ("no rebalance to generation 9", "1 (first start, 0:00.005), 2 (session-ex"),
        ),
        (("four-scenes", "--rebalance", 2, "--group", "g"), ("no group 'g'", "did you mean `g1`")),
        (("broker-stall-evicts-three-groups", "--rebalance", 1), ("several groups", "--group")),
        (("four-scenes", "--mermaid"), ("--mermaid", "--rebalance N")),
        (("four-scenes", "--rebalance", 2, "--owners"), ("--owners prints a part of the story", "leave one")),
        (("four-scenes", "--rebalance", 2, "--mermaid", "--json"), ("two formats", "leave one")),
        (("four-scenes", "--rebalance", 2, "--seeds", 3), ("--seeds", "leave one")),
    ],
)
def test_what_there_is_not_ends_with_what_there_is(args: tuple[object, ...], says: tuple[str, ...]) -> None:
    """Exit code 2, with the remedy."""
    result = call("run", *args)
    assert result.exit_code == 2
    assert all(part in result.stderr for part in says), result.stderr


def test_a_group_of_several_is_chosen() -> None:
    """`--group` says which one's rebalance is meant."""
    group = json.loads(call("run", "broker-stall-evicts-three-groups", "--json").stdout)["groups"][1]["group"]
    assert printed("broker-stall-evicts-three-groups", 1, "--group", group)["group"] == group


def test_a_group_without_a_coordinator_says_so() -> None:
    """Kafka 0.8's consumers rebalance without a request to anybody."""
    assert "have no coordinator" in call("run", "three-ages-zookeeper-0.8", "--rebalance", 1).stdout
