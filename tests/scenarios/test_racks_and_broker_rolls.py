"""A cut between two racks, and a rolling restart of all brokers."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.runtime.runner import Run


def three_racks(**keys: object) -> Draft:
    """Three brokers in racks a, b and c; member m-1 is in rack a, m-2 in no rack."""
    return (
        scenario("racks", run_for="60s")
        .cluster(brokers=3, racks=["a", "b", "c"])
        .broker(version="4.1")
        .topic("t", partitions=3, replication=3, rate="5/s")
        .group("g", members={"m-1": {"properties": {"client.rack": "a"}}, "m-2": {}})
        .at("20s").cut_racks(racks=["a", "b"], for_="15s", **keys)
    )  # fmt: skip


def cut(run: Run) -> set[str]:
    """Return the pairs of hosts that a run's faults cut off."""
    begun = [event.reason for event in run.events if event.kind is Kind.FAULT_BEGUN]
    return {words.split(" for ")[0].removeprefix("isolate ") for words in begun}


def back(run: Run, after_us: int) -> list[int]:
    """Return the brokers that the controller unfenced after this time, in order."""
    later = (event for event in run.events if event.kind is Kind.BROKER_UNFENCED and event.t_us > after_us)
    return [event.payload["node"] for event in later]


def test_a_cut_is_between_brokers_and_members_of_the_two_racks() -> None:
    """Broker 0 loses broker 1, member m-1 of rack a loses broker 1; rack c and m-2 reach all."""
    run = three_racks().run(seed=0)
    assert cut(run) == {"broker-0 and broker-1", "m-1 and broker-1"}
    fenced = [event for event in run.events if event.kind is Kind.BROKER_FENCED]
    assert not fenced  # both reach the controllers


def test_the_rack_without_the_controllers_loses_them() -> None:
    """With the controllers in rack a, the broker of rack b is fenced at the end of its session, and returns."""
    run = three_racks(controller="a").run(seed=0)
    assert "broker-1 and controller" in cut(run)
    assert [event.payload["node"] for event in run.events if event.kind is Kind.BROKER_FENCED] == [1]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"racks": ["a", "d"]}, "no broker is in a rack `d`"),
        ({"racks": ["a", "a"]}, "is not a pair"),
        ({"racks": ["a", "b"], "controller": "c"}, "is not one of the racks"),
    ],
)
def test_racks_that_make_no_cut_are_refused(keys: dict[str, object], words: str) -> None:
    """Unknown racks, one rack twice and a controller elsewhere are errors before a run."""
    draft = scenario("s", run_for="9s").cluster(racks=["a", "b", "c"]).topic("t").group("g", members=1)
    with pytest.raises(ScenarioError, match=words):
        draft.at("1s").cut_racks(for_="1s", **keys).run()


def test_brokers_go_one_after_the_other_when_all_is_in_sync() -> None:
    """Each broker of three restarts once, in order, and the next one only when every replica is in sync again."""
    run = (
        scenario("roll", run_for="120s")
        .broker(version="4.1")
        .topic("t", partitions=6, replication=3, rate="10/s")
        .group("g", members={"m": 2}, properties={"auto.offset.reset": "earliest"})
        .at("15s").roll_brokers(downtime="5s")
        .run(seed=0)
    )  # fmt: skip
    assert back(run, 15_000_000) == [0, 1, 2]
    missing: set[tuple[str | None, int | None]] = set()
    left_us = 0
    for event in run.events:
        if event.kind is not Kind.ISR_CHANGED:
            continue
        if event.reason == "controlled shutdown" and event.t_us > left_us + 1_000_000:
            assert not missing  # the first partition that the next broker leaves
        left_us = event.t_us if event.reason == "controlled shutdown" else left_us
        (missing.discard if len(event.payload["isr"]) == 3 else missing.add)((event.topic, event.partition))
    assert left_us
    assert not missing


def test_a_rolling_upgrade_gives_every_broker_the_new_release() -> None:
    """With `version` each broker restarts as that release, and `crash` kills instead of stopping."""
    run = (
        scenario("upgrade", run_for="90s")
        .broker(version="2.6.0")
        .topic("t", partitions=3, replication=3, rate="1/s")
        .group("g", members={"m": 1})
        .at("15s").roll_brokers(how="crash", downtime="1s", wait="started", pause="10s", version="2.6.1")
        .run(seed=0)
    )  # fmt: skip
    assert back(run, 15_000_000) == [0, 1, 2]


def test_counted_logs_have_no_brokers_to_roll() -> None:
    """Both steps need replicated logs."""
    draft = scenario("s", run_for="9s").cluster(logs="counted", racks=["a", "b"]).topic("t").group("g", members=1)
    with pytest.raises(ScenarioError, match="`roll-brokers` needs replicated logs"):
        draft.at("1s").roll_brokers().run()
