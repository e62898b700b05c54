"""Brokers whose ids do not begin at 0: `cluster: {brokers: [1, 2, 30]}`."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.log.files.data_dir import DataDirRefused
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.logs.files import render
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario

IDS = """\
run-for: 60s
cluster: {brokers: [1, 2, 30], racks: [east, west, north], logs: replicated}
topics: {orders: {partitions: 3, replication: 3, rate: 5/s, replicas: [[1, 2, 30], [2, 30, 1], [30, 1, 2]]}}
groups: {billing: {members: {c: {count: 2, start: 1s}}}}
timeline:
  - {at: 20s, do: crash-broker, broker: 30, restart-after: 15s}
  - {at: 45s, do: move-coordinator, group: billing, to: 1}
  - {at: 50s, do: freeze-broker, broker: 2, for: 1s}
"""


def errors(text: str) -> list[str]:
    """Message and remedy of every error of a file."""
    with pytest.raises(ScenarioError) as found:
        load_text(text)
    return [f"{one.message}; {one.remedy}" for one in found.value.problems]


def test_brokers_are_named_by_their_ids_everywhere() -> None:
    """Actions, faults, hosts of events, leaders and log files use the ids."""
    run = run_scenario(load_text(IDS))
    hosts = {event.host for event in run.events if (event.host or "").startswith("broker-")}
    assert hosts <= {"broker-1", "broker-2", "broker-30"}
    fenced = [(event.payload or {})["node"] for event in run.events if event.kind is Kind.BROKER_FENCED]
    assert fenced == [30]
    led = {event.to for event in run.events if event.kind is Kind.PARTITION_LEADER}
    assert led <= {"1", "2", "30", "-1"}
    loaded = [event for event in run.events if event.kind is Kind.GROUP_LOADED]
    assert loaded[-1].host == "broker-1"
    files = render(run.events)
    assert {name for name in files if name.startswith("broker-")} <= {"broker-1.log", "broker-2.log", "broker-30.log"}
    assert "[GroupCoordinator id=1" in "\n".join(files["broker-1.log"])


def test_counted_logs_have_brokers_of_these_ids_too() -> None:
    """Counted logs number the brokers as the file does."""
    text = IDS[: IDS.index("timeline")].replace("logs: replicated", "logs: counted")
    text = text.replace(", replicas: [[1, 2, 30], [2, 30, 1], [30, 1, 2]]", "")
    run = run_scenario(load_text(text + "timeline: [{at: 20s, do: move-coordinator, group: billing}]\n"))
    hosts = {event.host for event in run.events if (event.host or "").startswith("broker-")}
    assert hosts <= {"broker-1", "broker-2", "broker-30"}
    assert [event.kind for event in run.events if event.kind is Kind.GROUP_LOADED]


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ("broker: 30", "broker: 0", "there is no broker 0; write one of 1, 2, 30"),
        ("to: 1}", "to: 3}", "there is no broker 3; write one of 1, 2, 30"),
        ("[2, 30, 1]", "[2, 0, 1]", "there is no broker 0; write one of 1, 2, 30"),
        ("brokers: [1, 2, 30]", "brokers: [1, 2, 2]", "broker 2 is listed twice; give each broker an id of its own"),
        ("brokers: [1, 2, 30]", "brokers: []", "expected at least one id of a broker, found []; "),
        ("brokers: [1, 2, 30]", "brokers: [1, -2]", "expected a whole number of at least 0"),
        ("brokers: [1, 2, 30]", "brokers: [3000]", "3000 is the id of the controller; choose another one"),
    ],
)
def test_an_id_that_cannot_be_is_an_error_with_a_remedy(old: str, new: str, reported: str) -> None:
    """Unknown ids are refused at their place, with the valid ones."""
    assert any(reported in one.replace("`brokers`: ", "") for one in errors(IDS.replace(old, new, 1)))


def test_racks_go_to_the_brokers_in_the_order_of_the_list() -> None:
    """The first broker listed has the first rack, whatever its id."""
    racks: dict[int, str | None] = {}

    async def main(loop: VirtualLoop) -> None:
        config = ClusterConfig(brokers=2, broker_ids=(7, 4), racks=("east", "west"))
        image = Cluster(loop, config).controller.image
        racks.update({node: broker.rack for node, broker in image.brokers.items()})

    run_virtual(main)
    assert racks == {7: "east", 4: "west"}


def test_a_kept_cluster_goes_on_with_its_own_ids(tmp_path: Path) -> None:
    """Brokers 0 and 1 refuse a folder of brokers 1 and 2, and the message names the remedy."""

    async def main(loop: VirtualLoop, ids: tuple[int, ...]) -> None:
        Cluster(loop, ClusterConfig(brokers=2, broker_ids=ids, storage=tmp_path, kept=True)).close_files()

    run_virtual(lambda loop: main(loop, (1, 2)))
    with pytest.raises(DataDirRefused, match=r"kept here are 1, 2, and 0, 1 are asked for; .*brokers: \[1, 2\]"):
        run_virtual(lambda loop: main(loop, ()))
    run_virtual(lambda loop: main(loop, (1, 2)))
    assert (tmp_path / "broker-2").is_dir()
