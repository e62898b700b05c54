"""Scenarios on brokers and with clients of releases that had a defect: the release shows it, its fix does not."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.python_api import scenario
from groupsim.scenarios.runtime.runner import Run


def static_restart(**broker: Any) -> Run:
    """A static member restarts in a Stable group, and then the coordinator moves to the next broker."""
    return (
        scenario("static", run_for="70s")
        .broker(**broker)
        .topic("orders", partitions=2)
        .group("g", members={"a": {"instance_id": "i", "client": "java-2.8"}})
        .at("30s")
        .restart("a", how="crash", downtime="1s")
        .at("50s")
        .move_coordinator()
        .run(seed=1)
    )


def fenced(run: Run) -> bool:
    """Whether a member was fenced."""
    return any(event.kind is Kind.MEMBER_FENCED for event in run.events)


@pytest.mark.parametrize(("version", "shows"), [("2.3", True), ("2.6.0", True), ("2.6.1", False), ("4.4", False)])
def test_a_broker_has_the_defects_of_its_release(version: str, shows: bool) -> None:
    """KAFKA-10284: with 2.3 to 2.6.0 a static member that restarted is fenced after a fail-over."""
    assert fenced(static_restart(version=version)) is shows


def test_a_defect_is_added_by_name() -> None:
    """`defects` gives a broker a defect that its release does not have."""
    assert fenced(static_restart(version="4.4", defects=["KAFKA-10284"]))


def test_ids_of_static_members_follow_the_release() -> None:
    """Kafka 2.3.0 made a static member's id of its instance and a time, later releases of a UUID."""

    def ids(version: str) -> set[str]:
        run = static_restart(version=version)
        return {str(event.member) for event in run.events if event.kind is Kind.MEMBER_REPLACED}

    assert all(one.removeprefix("i-").isdecimal() for one in ids("2.3.0"))
    assert not any(one.removeprefix("i-").isdecimal() for one in ids("2.3.1"))


def test_brokers_of_one_cluster_may_have_different_releases() -> None:
    """During an upgrade from 2.6.0 to 2.6.1 it depends on the broker whether the new id is written."""
    assert fenced(static_restart(version="2.6.0"))
    upgraded = {str(node): {"version": "2.6.1"} for node in range(3)}
    assert not fenced(static_restart(version="2.6.0", brokers=upgraded))


@pytest.mark.parametrize("logs", ["replicated", "counted"])
def test_a_broker_comes_back_with_another_release(logs: str) -> None:
    """A rolling upgrade: restarted with 2.6.1, the coordinator writes the new id of a static member."""

    def upgraded(**keys: str) -> bool:
        draft = scenario("upgrade", run_for="100s").broker(version="2.6.0").cluster(logs=logs)
        draft = draft.topic("orders", partitions=2)
        draft = draft.group("g", members={"a": {"instance_id": "i", "client": "java-2.8"}})
        for node in (0, 1, 2):
            draft = draft.at(f"{10 + 5 * node}s").crash_broker(str(node))
            draft = draft.at(f"{11 + 5 * node}s").restart_broker(str(node), **keys)
        draft = draft.at("50s").restart("a", how="crash", downtime="1s").at("70s").move_coordinator()
        return not fenced(draft.run(seed=1))

    assert [upgraded(), upgraded(version="2.6.1")] == [False, True]


MISTAKES = [
    ({"defects": ["KAFKA-10248"]}, "unknown defect `KAFKA-10248` of a broker", "did you mean `KAFKA-10284`"),
    ({"brokers": {"7": {"version": "2.6.1"}}}, "there is no broker '7'", "numbered 0 to 2"),
    ({"version": "2.6.0", "brokers": {"1": {"version": "2.8"}}}, "other request versions", "such as 2.6.0 and 2.6.1"),
]


@pytest.mark.parametrize(("broker", "problem", "remedy"), MISTAKES)
def test_what_cannot_be_is_refused_with_the_remedy(broker: dict[str, Any], problem: str, remedy: str) -> None:
    """An unknown defect, an unknown broker, and a release with other request versions are errors."""
    with pytest.raises(ScenarioError) as refused:
        static_restart(**broker)
    assert problem in str(refused.value)
    assert remedy in str(refused.value)
