"""Consumers of 0.8 in scenario files: settings, actions, faults, the story."""

from __future__ import annotations

import re

import pytest

from groupsim.eventloop.trace.trace import FULL
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import Run, StepError, run_scenario
from groupsim.scenarios.story import tell
from groupsim.testing.simulation import Simulation

FILE = """
run-for: 40s
broker: {version: "0.9.0"}
cluster: {brokers: 3%(logs)s}
topics:
  t: {partitions: 6, rate: 30/s}
groups:
  g:
    client: zookeeper-0.8
    processing: 10ms
    %(group)s
    members: {c: {count: 3, start: 1s}}
timeline:
  - {at: 10s, do: %(step)s}
expect:
  - every-partition-owned: end
"""


def ran(step: str = "burst-of-nothing", group: str = "", logs: str = "") -> Run:
    """Run the file with a step, with more of the group, on other logs."""
    text = FILE % {"step": step, "group": group, "logs": logs}
    if step == "burst-of-nothing":
        text = re.sub(r"timeline:\n.*\n", "", text)
    return run_scenario(load_text(text))


def test_a_test_can_have_such_a_member() -> None:
    """`Simulation.member` accepts the client by name, and the full trace lists the requests to ZooKeeper."""
    sim = Simulation(broker={"version": "0.9.0"}, level=FULL)

    async def story(sim: Simulation) -> None:
        sim.topic("t", 2, rate=2)
        members = [sim.member(name, client="zookeeper-0.8") for name in ("a", "b")]
        await sim.run_for("10s")
        assert [len(member.assignment) for member in members] == [1, 1]

    sim.run(story)
    assert any(event.api == "Zookeeper" for event in sim.events)


STEPS = [
    "stop, member: c-2",
    "crash, member: c-2",
    "pause, member: c-2, for: 9s",
    "restart, member: c-2",
    "isolate, member: c-2, connection: zookeeper, for: 12s",
    "stall, member: c-2, connection: zookeeper, for: 12s",
    "break, member: c-2, connection: zookeeper",
    "freeze-zookeeper, for: 12s",
    "add-partitions, topic: t, to: 9",
]


@pytest.mark.parametrize("step", STEPS)
def test_actions_and_faults_work_on_it(step: str) -> None:
    """Any event at 10 s leaves every partition with one owner at 40 s."""
    assert [str(one) for one in ran(step).failed] == []


def test_it_pulls_from_brokers_logs_too() -> None:
    """On a replicated cluster records come from the partitions' leaders; the story is the same."""
    run = ran("pause, member: c-2, for: 9s", logs=", logs: replicated")
    assert run.exit_code == 0
    (group,) = (group for group in tell(run.events).groups if group.group == "g")
    assert group.delivered > 500
    assert [round_.cause.value for round_ in group.rebalances] == ["session-expiry (pause)", "deploy-join"]


def test_rounds_are_told_without_a_coordinator() -> None:
    """The crashed process is named, and the rounds are counted."""
    (group,) = tell(ran("crash, member: c-2").events).groups
    last = group.generations[-1]
    assert (last.cause.value, last.culprit.host if last.culprit else "") == ("session-expiry (crash)", "c-2")
    assert (last.size, len(group.rebalances)) == (2, last.number - 1)


def test_rounds_that_new_topics_begin_are_told() -> None:
    """No member joined or left: the topics changed."""
    (group,) = tell(ran("add-partitions, topic: t, to: 9").events).groups
    assert group.generations[-1].cause.value == "metadata change"


def test_a_session_that_the_members_lost_is_told_as_evicted() -> None:
    """The paused member is evicted while it is alive, and its lane shows that it did not know."""
    story = tell(ran("pause, member: c-2, for: 9s").events)
    (eviction,) = story.groups[0].evictions
    assert (eviction.name.host, eviction.alive, eviction.cause.value) == ("c-2", True, "pause")


def test_its_settings_are_noted_by_their_names() -> None:
    """A key of later consumers is a note with its place; an impossible value an error."""
    later = {"step": "stop, member: c-1", "group": "properties: {session.timeout.ms: 9000}", "logs": ""}
    scenario = load_text(FILE % later)
    assert any("later consumers" in note.message for note in scenario.notes)
    with pytest.raises(ScenarioError, match=r"rebalance\.max\.retries"):
        load_text(FILE % {"step": "stop, member: c-1", "group": "properties: {rebalance.max.retries: 0}", "logs": ""})


def test_freezing_a_zookeeper_that_is_not_there_is_an_error() -> None:
    """A group with a coordinator has no ZooKeeper."""
    text = FILE % {"step": "freeze-zookeeper, for: 1s", "group": "", "logs": ""}
    with pytest.raises(StepError, match="no member uses ZooKeeper"):
        run_scenario(load_text(text.replace("zookeeper-0.8", "java-0.9")))


def test_what_0_8_cannot_do_is_an_error_of_the_step() -> None:
    """An enforced rebalance names the step."""
    with pytest.raises(StepError, match=r"0\.8's high-level consumer cannot"):
        ran("rejoin, member: c-1")
