"""What brokers log of themselves: that they start and stop, what they load, and what they clean up."""

from __future__ import annotations

import re

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.logs import files as logs
from tests.helpers.trace_builders import Tape


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        (
            "4.4",
            [
                "INFO [GroupCoordinator id=2] Scheduling loading of metadata from __consumer_offsets-9 with epoch 3 "
                "(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)"
            ],
        ),
        (
            "3.9",
            [
                "INFO [GroupCoordinator 2]: Elected as the group coordinator for partition 9 in epoch 3 "
                "(kafka.coordinator.group.GroupCoordinator)",
                "INFO [GroupMetadataManager brokerId=2] Scheduling loading of offsets and group metadata from "
                "__consumer_offsets-9 for epoch 3 (kafka.coordinator.group.GroupMetadataManager)",
            ],
        ),
        (
            "2.4",
            [
                "INFO [GroupMetadataManager brokerId=2] Scheduling loading of offsets and group metadata from "
                "__consumer_offsets-9 (kafka.coordinator.group.GroupMetadataManager)"
            ],
        ),
    ],
)
def test_who_takes_a_coordinators_partition_over_says_so(version: str, lines: list[str]) -> None:
    """Before the groups that it loads; the leader of a partition of another topic says nothing."""
    tape = Tape()
    tape.add(Kind.RUN_STARTED, payload={"broker": version})
    for topic, old, new in (("orders", "1", "2"), ("__consumer_offsets", "1", "-1")):
        tape.add(Kind.PARTITION_LEADER, host="controller", topic=topic, partition=9, from_=old, to=new)
    moved = {"host": "controller", "topic": "__consumer_offsets", "partition": 9, "payload": {"epoch": 3}}
    tape.add(Kind.PARTITION_LEADER, from_="1", to="2", **moved)
    files = logs.render(tape.end())
    assert {name: [re.sub(r"^\[[^]]*\] ", "", line) for line in shown] for name, shown in files.items()} == {
        "broker-2.log": lines
    }


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        (
            "4.4",
            [
                "[GroupCoordinator id=1] Scheduling loading of metadata from __consumer_offsets-42 with epoch 3 "
                "(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)",
                "[GroupCoordinator id=1 topic=__consumer_offsets partition=42] Loaded classic group g1 with 2 members. "
                "(org.apache.kafka.coordinator.group.GroupMetadataManager)",
            ],
        ),
        (
            "3.9",
            [
                "[GroupCoordinator 1]: Elected as the group coordinator for partition 42 in epoch 3 "
                "(kafka.coordinator.group.GroupCoordinator)",
                "[GroupMetadataManager brokerId=1] Scheduling loading of offsets and group metadata from "
                "__consumer_offsets-42 for epoch 3 (kafka.coordinator.group.GroupMetadataManager)",
                "[GroupCoordinator 1]: Loading group metadata for g1 with generation 4 "
                "(kafka.coordinator.group.GroupCoordinator)",
            ],
        ),
        (
            "0.11",
            [
                "[Group Metadata Manager on Broker 1]: Scheduling loading of offsets and group metadata from "
                "__consumer_offsets-42 (kafka.coordinator.group.GroupMetadataManager)",
                "[GroupCoordinator 1]: Loading group metadata for g1 with generation 4 "
                "(kafka.coordinator.group.GroupCoordinator)",
            ],
        ),
    ],
)
def test_a_broker_that_starts_again_says_what_it_loads(version: str, lines: list[str]) -> None:
    """A load without an election is announced once, before its groups; one that followed an election not again."""
    tape = Tape(broker="broker-1")
    tape.add(Kind.RUN_STARTED, payload={"broker": version})
    place = {"topic": "__consumer_offsets", "partition": 42, "generation": 4}
    for epoch in (3, 3):
        tape.coordinator(Kind.GROUP_LOADED, payload={"members": 2, "generation": 4, "epoch": epoch}, **place)
    shown = [re.sub(r"^\[[^]]*\] INFO ", "", line) for line in logs.render(tape.end())["broker-1.log"]]
    assert shown == [*lines, lines[-1]]
    moved = {"host": "controller", "topic": "__consumer_offsets", "partition": 42, "payload": {"epoch": 5}}
    tape.add(Kind.PARTITION_LEADER, from_="2", to="1", **moved)
    tape.coordinator(Kind.GROUP_LOADED, payload={"members": 2, "generation": 4, "epoch": 5}, **place)
    again = logs.render(tape.end())["broker-1.log"][len(shown) :]
    assert len(again) == len(lines)


def test_a_clean_up_has_lines_of_its_own() -> None:
    """An expiry check has one line: Scala counts expired offsets, Java tombstones; no client requested a deletion."""

    def shown(version: str) -> list[str]:
        tape = Tape(broker="broker-1")
        tape.add(Kind.RUN_STARTED, payload={"broker": version})
        for number in range(3):
            tape.coordinator(Kind.OFFSET_EXPIRED, topic="t", partition=number, payload={"offset": 5})
        gone = {"offsets": 3, "generation": 7}
        tape.coordinator(Kind.GROUP_DELETED, reason="nothing is left of it", payload=gone)
        tape.at(600).coordinator(Kind.GROUP_DELETED, reason="nothing is left of it", payload={**gone, "offsets": 0})
        tape.at(700).coordinator(Kind.GROUP_DELETED, reason="deleted by request", payload={"offsets": 2})
        return [re.sub(r"^\[[^]]*\] INFO ", "", line) for line in logs.render(tape.end())["broker-1.log"]]

    shard = "(org.apache.kafka.coordinator.group.GroupCoordinatorShard)"
    java = "[GroupCoordinator id=1 topic=__consumer_offsets partition=42]"
    assert shown("4.4") == [
        f"{java} Generated 4 tombstone records while cleaning up group metadata in 0 milliseconds. {shard}",
        f"{java} Generated 1 tombstone records while cleaning up group metadata in 0 milliseconds. {shard}",
        f"{java} The following groups were deleted: g1. A total of 2 offsets were removed. {shard}",
    ]
    manager = "[GroupMetadataManager brokerId=1]"
    by = "(kafka.coordinator.group.GroupMetadataManager)"
    assert shown("3.9") == [
        f"{manager} Group g1 transitioned to Dead in generation 7 {by}",
        f"{manager} Removed 3 expired offsets in 0 milliseconds. {by}",
        f"{manager} Group g1 transitioned to Dead in generation 7 {by}",
        "[GroupCoordinator 1]: The following groups were deleted: g1. A total of 2 offsets were removed. "
        "(kafka.coordinator.group.GroupCoordinator)",
    ]
    assert shown("1.1")[-1] == "[GroupCoordinator 1]: The following groups were deleted: g1 " + (
        "(kafka.coordinator.group.GroupCoordinator)"
    )


def moving(version: str) -> dict[str, list[str]]:
    """Broker 0 is restarted; then 1, which leads, goes on beside 2, which is to lead, and 0: what each says."""
    tape = Tape(broker="broker-1")
    tape.add(Kind.RUN_STARTED, payload={"broker": version})
    stop = tape.add(Kind.ACTION, payload={"do": "stop-broker", "broker": "coordinator"})
    tape.broker = "broker-0"
    tape.coordinator(Kind.GROUP_UNLOADED, generation=1)
    tape.add(Kind.BROKER_FENCED, host="controller", reason="shut down", cause=stop, payload={"node": 0})
    tape.add(Kind.ACTION, payload={"do": "restart-broker", "broker": "0"})
    again = tape.add(Kind.ACTION, payload={"do": "restart-broker", "broker": "0"})
    tape.add(Kind.ACTION_REFUSED, reason="broker 0 is running", cause=again)
    moved = {"host": "controller", "topic": "__consumer_offsets", "partition": 42}
    tape.add(Kind.PARTITION_LEADER, from_="1", to="2", payload={"epoch": 3, "isr": [2, 1, 0]}, **moved)
    tape.broker = "broker-1"
    tape.coordinator(Kind.GROUP_UNLOADED, generation=1)
    files = logs.render(tape.end())
    return {name: [re.sub(r"^\[[^]]*\] INFO ", "", line) for line in shown] for name, shown in files.items()}


def test_brokers_of_4_4_0_say_that_they_start_and_who_leads() -> None:
    """All replicas log a new leader; a broker does not log its own shutdown: log4j2 stops before."""
    service = "(org.apache.kafka.coordinator.group.GroupCoordinatorService)"
    runtime = "(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)"
    where = "metadata for __consumer_offsets-42"
    manager = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
    assert moving("4.4") == {
        "broker-0.log": [
            f"[GroupCoordinator id=0] Starting up. {service}",
            f"[GroupCoordinator id=0] Startup complete. {service}",
            f"[GroupCoordinator id=0] Scheduling unloading of {where} with epoch OptionalInt[3] {runtime}",
            f"[GroupCoordinator id=0] Ignored unloading {where} in epoch OptionalInt[3] since metadata was never "
            f"loaded. {runtime}",
        ],
        "broker-1.log": [
            f"[GroupCoordinator id=1] Scheduling unloading of {where} with epoch OptionalInt[3] {runtime}",
            f"[GroupCoordinator id=1] Started unloading {where} with epoch OptionalInt[3]. {runtime}",
            "[GroupCoordinator id=1 topic=__consumer_offsets partition=42] [GroupId=g1] Unloading group metadata for "
            f"generation 1. {manager}",
        ],
        "broker-2.log": [
            "[GroupCoordinator id=2] Scheduling loading of metadata from __consumer_offsets-42 with epoch 3 " + runtime,
        ],
    }


def test_brokers_with_the_scala_coordinator_say_that_they_stop_too() -> None:
    """By the coordinator's own logger; its manager says what it loads and unloads, but not of which groups."""
    shown = moving("3.9")
    coordinator, manager = (
        "(kafka.coordinator.group.GroupCoordinator)",
        "(kafka.coordinator.group.GroupMetadataManager)",
    )
    assert shown["broker-0.log"] == [
        f"[GroupCoordinator 0]: Unloading group metadata for g1 with generation 1 {coordinator}",
        *(f"[GroupCoordinator 0]: {text} {coordinator}" for text in ("Shutting down.", "Shutdown complete.")),
        *(f"[GroupCoordinator 0]: {text} {coordinator}" for text in ("Starting up.", "Startup complete.")),
        "[GroupCoordinator 0]: Resigned as the group coordinator for partition 42 in epoch OptionalInt[3] "
        + coordinator,
        "[GroupMetadataManager brokerId=0] Scheduling unloading of offsets and group metadata from "
        f"__consumer_offsets-42 {manager}",
    ]


def test_a_conversion_has_a_line() -> None:
    """A broker of 4.x says which way its group went; an append that failed is no line of its own."""
    tape = Tape()
    tape.add(Kind.RUN_STARTED, payload={"broker": "4.4"})
    for to, member in (("consumer", "m"), ("classic", None)):
        tape.coordinator(Kind.GROUP_CONVERTED, member=member, to=to, payload={"state": "Stable"})
    tape.coordinator(Kind.GROUP_CONVERTED, member="m", to="classic", payload={"state": "Stable"})
    (shown,) = logs.render(tape.end()).values()
    assert [line.partition("] [GroupId ")[2] for line in shown] == [
        "g1] Converted the classic group to a consumer group. "
        "(org.apache.kafka.coordinator.group.GroupMetadataManager)",
        "g1] Converted the consumer group to a classic group. "
        "(org.apache.kafka.coordinator.group.GroupMetadataManager)",
    ]
