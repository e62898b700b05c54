"""What brokers log of groups of the consumer protocol, in the words of their release."""

from __future__ import annotations

import re

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.logs.files import render
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import run_scenario
from tests.conformance.cases import Case
from tests.conformance.core import CorePeer
from tests.conformance.player import play
from tests.groupsim.logs.consumer_plays import CASES, SETTINGS, expected, logged
from tests.helpers.trace_builders import Tape


@pytest.mark.parametrize("release", ["4.0.1", "4.4"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_play_is_logged_as_a_real_broker_logs_it(case: Case, release: str) -> None:
    """The lines of the simulated broker's log, in their order, are those of a real broker of the release."""

    async def main(loop: VirtualLoop) -> None:
        played = await play(case, CorePeer(loop, None, {**SETTINGS, "broker.version": release}))
        assert played.failure is None or played.failure == ""

    trace, sink = Trace(), MemorySink()
    trace.subscribe(sink)
    run_virtual(main, trace=trace)
    started = TraceEvent(0, 0, Kind.RUN_STARTED, payload={"broker": release})
    lines = logged(case, render([started, *sink.events])["broker-0.log"])
    wanted = expected(release)[case.play]
    assert lines[: len(wanted)] == wanted
    assert all("session expired" in line or "Bumped" in line for line in lines[len(wanted) :])


def of_scene(name: str) -> list[str]:
    """The lines of all brokers of a scene of the library, without their layout."""
    path = catalogue.find(name)
    files = render(run_scenario(scenario_of(read_document(path), path.stem)).events)
    lines = [line for file in sorted(files) if file.startswith("broker-") for line in files[file]]
    return [re.sub(r"^\[[^]]*\] (\w+) \[[^]]*\] (.*) \(\S+\)$", r"\1 \2", line) for line in lines]


def test_a_refused_instance_id_is_logged_with_its_owner() -> None:
    """Each attempt of a member whose instance id is in use is a line with both members."""
    refused = [line for line in of_scene("consumer-static-killed-unreleased") if "cannot join" in line]
    assert len(refused) > 1
    owner = "QTFs69feRf2ddirkEOktxQ"
    form = (
        rf"INFO \[GroupId g1\] Static member \S{{22}} with instance id c2 cannot join the group because the instance "
        rf"id is owned by member {owner}\."
    )
    assert all(re.fullmatch(form, line) for line in refused)


@pytest.mark.parametrize(
    ("scene", "line"),
    [
        (
            "consumer-upgrade-refused",
            "INFO Cannot upgrade classic group g1 to consumer group because online upgrade is disabled.",
        ),
        (
            "consumer-upgrade-refused-user-data",
            "WARN Cannot upgrade classic group g1 to consumer group: userData from a custom assignor would be lost.",
        ),
    ],
)
def test_a_refused_upgrade_is_logged_with_its_reason(scene: str, line: str) -> None:
    """A classic group that is not upgraded has a line in the broker's words, which are not those of the answer."""
    assert line in of_scene(scene)


def test_a_classic_member_that_leaves_a_consumer_group_has_its_reason_in_the_log() -> None:
    """The line has the reason that the LeaveGroup request was sent with."""
    left = [line for line in of_scene("consumer-upgrade-by-rolling") if "`LeaveGroup`" in line]
    assert left
    for line in left:
        assert re.fullmatch(
            r"INFO \[GroupId g1\] Dynamic member consumer-g1-1-\S+ has left group through explicit `LeaveGroup` "
            r"request; client reason: the consumer is being closed",
            line,
        )


def test_a_static_member_that_an_administrator_removes_is_logged_without_its_id() -> None:
    """The request names the instance id alone, and has the reason of Kafka's Admin."""
    (line,) = (one for one in of_scene("consumer-every-trigger") if "`LeaveGroup`" in one)
    assert re.fullmatch(
        r"INFO \[GroupId g1\] Static member  with instance id \S+ has left group through explicit `LeaveGroup` "
        r"request; client reason: member was removed by an admin",
        line,
    )


def test_a_coordinator_that_moves_loads_and_unloads_consumer_groups() -> None:
    """The former coordinator logs the group's epoch, the new one its number of members."""
    lines = of_scene("consumer-coordinator-moves")
    assert "INFO [GroupId=billing] Unloaded group metadata for group epoch 4." in lines
    assert "INFO Loaded consumer group billing with 3 members." in lines


def test_a_fenced_instance_id_is_logged_with_its_owner() -> None:
    """A heartbeat of a member whose instance id another one has is a line with both of them."""
    tape = Tape()
    tape.add(Kind.RUN_STARTED, payload={"broker": "4.4"})
    tape.coordinator(Kind.MEMBER_ADDED, member="m1", payload={"instance_id": "i", "protocols": [], "state": "Empty"})
    sent = tape.client(Kind.REQUEST_SENT, "c2", api="ConsumerGroupHeartbeat", payload={"epoch": 3, "instance_id": "i"})
    received = tape.coordinator(
        Kind.REQUEST_RECEIVED, member="m2", api="ConsumerGroupHeartbeat", generation=3, cause=sent
    )
    tape.coordinator(
        Kind.RESPONSE_SENT, member="m2", api="ConsumerGroupHeartbeat", error="FENCED_INSTANCE_ID", cause=received
    )
    shown = render(tape.end())["broker-1.log"]
    assert "[GroupId g1] Static member m2 with instance id i is fenced by existing member m1. " in shown[-1]


def test_a_group_of_offsets_alone_has_a_line_since_4_0() -> None:
    """The first offset of a group without members is logged once by the Java coordinator, and by none before."""
    for version, count in (("3.9", 0), ("4.0", 1), ("4.4", 1)):
        tape = Tape()
        tape.add(Kind.RUN_STARTED, payload={"broker": version})
        for offset in (1, 2):
            tape.coordinator(
                Kind.RECORD_APPENDED,
                topic="__consumer_offsets",
                partition=42,
                payload={"type": "offset", "key": "g1/t-0", "value": offset},
            )
        lines = [line for file in render(tape.end()).values() for line in file]
        assert sum("Creating a simple consumer group via manual offset commit." in line for line in lines) == count
        assert all(line.endswith("(org.apache.kafka.coordinator.group.OffsetMetadataManager)") for line in lines)
