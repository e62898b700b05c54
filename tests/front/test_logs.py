from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from builders import Tape

from groupsim import logs
from groupsim.eventloop.events import Kind, TraceEvent

STOCK = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (INFO|WARN|ERROR) .+ \([\w.]+\)")


def bounced(broker: str | None = None, profile: str = "java-3.9") -> list[TraceEvent]:
    """c2 joins, c1's session ends, on a broker of this version."""
    tape = Tape()
    tape.add(Kind.RUN_STARTED, payload={"broker": broker})
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app-1", "profile": profile})
    tape.join("c1").prepare("c1", "ADD_MEMBER", "rebalance failed due to MemberIdRequiredException")
    tape.at(3).complete("c1")
    tape.client(Kind.CLIENT_STATE, "c1", to="COMPLETING_REBALANCE", generation=1)
    tape.coordinator(Kind.REQUEST_RECEIVED, member="c1-1", api="SyncGroup", generation=1)
    tape.at(3.1).stable()
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="assigned", payload={"partitions": ["orders-0", "orders-1"]})
    tape.at(50).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED")
    return tape.end()


def messages(lines: list[str]) -> list[str]:
    """The lines without time and logger."""
    return [re.sub(r"^\[[^]]*\] | \([\w.]+\)$", "", line) for line in lines]


def test_who_says_nothing_has_no_file() -> None:
    """A topic's built-in producer, say, leaves no empty file."""
    tape = Tape().at(1)
    tape.add(Kind.PROCESS_STARTED, host="producer-orders", payload={"profile": "java-producer"})
    assert logs.render(tape.end()) == {}


def test_broker_lines_have_the_stock_layout() -> None:
    """Every line of a broker's file is one a stock parser accepts."""
    lines = logs.render(bounced())["broker-1.log"]
    assert len(lines) == 6
    assert all(STOCK.fullmatch(line) for line in lines)
    assert lines[2].startswith("[2026-01-01 00:00:03,000] INFO ")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.10", "INFO [GroupCoordinator 1]: Preparing to restabilize group g1 with old generation 1"),
        (
            "1.1",
            "INFO [GroupCoordinator 1]: Preparing to rebalance group g1 with old generation 1 (__consumer_offsets-0)",
        ),
        (
            "3.5",
            "INFO [GroupCoordinator 1]: Preparing to rebalance group g1 in state PreparingRebalance with old "
            "generation 1 (__consumer_offsets-0) (reason: removing member c1-1 on heartbeat expiration)",
        ),
        (
            "4.1",
            "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] Preparing to rebalance group g1 in "
            "state PreparingRebalance with old generation 1 (reason: removing member c1-1 on heartbeat expiration.).",
        ),
    ],
)
def test_a_rebalance_is_worded_as_the_brokers_version_does(version: str, expected: str) -> None:
    """The same event reads as the broker of that age would have logged it."""
    line = messages(logs.render(bounced(version))["broker-1.log"])[-1]
    assert line == expected.replace("consumer_offsets-0", f"consumer_offsets-{PARTITION}").replace(
        "partition=0", f"partition={PARTITION}"
    )


PARTITION = 42  # of __consumer_offsets, for the group g1


def test_the_clients_own_reason_is_quoted_from_3_2_on() -> None:
    """KIP-800: the reason a client gave stands behind the broker's own."""
    old, new = (logs.render(bounced(version))["broker-1.log"] for version in ("3.1", "3.2"))
    assert not any("client reason" in line for line in old)
    assert any("; client reason: rebalance failed due to MemberIdRequiredException" in line for line in new)


def test_a_java_client_logs_its_generation_and_partitions() -> None:
    """The member's own file tells of joins and callbacks in the Java client's words."""
    assert messages(logs.render(bounced())["c1.log"]) == [
        "INFO [Consumer clientId=app-1, groupId=g1] Successfully joined group with generation "
        "Generation{generationId=1, memberId='c1-1', protocol='range'}",
        "INFO [Consumer clientId=app-1, groupId=g1] Adding newly assigned partitions: orders-0, orders-1",
    ]


def test_librdkafka_has_a_layout_of_its_own() -> None:
    """Syslog level, epoch seconds, facility, client, thread."""
    lines = logs.render(bounced(profile="librdkafka-2.x"))["c1.log"]
    assert all(re.match(r"%\d\|\d+\.\d{3}\|[A-Z]+\|app-1#consumer-1\| \[thrd:main\]: ", line) for line in lines)
    assert lines[-1].endswith('Group "g1" assigning 2 partition(s) in join-state steady: orders-0, orders-1')


def test_files_are_written_whole_into_a_new_directory(tmp_path: Path) -> None:
    """One file per broker and member, and nothing temporary is left."""
    written = logs.write_logs(bounced(), tmp_path / "deep" / "logs")
    assert [path.name for path in written] == ["broker-1.log", "c1.log"]
    assert sorted(path.name for path in (tmp_path / "deep" / "logs").iterdir()) == ["broker-1.log", "c1.log"]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (
            "kafka-python-1.3",
            "2026-01-01 00:00:03,100 - kafka.coordinator - INFO - Setting newly assigned partitions "
            "{orders-0, orders-1} for group g1",
        ),
        (
            "franz-go",
            "2026-01-01T00:00:03.100Z INFO new group session begun, group: g1, added: orders-0, orders-1, lost: ",
        ),
        ("brod", "  orders-0, orders-1"),
    ],
)
def test_other_libraries_speak_their_own_way(profile: str, expected: str) -> None:
    """Layout and words are those of the library."""
    assert logs.render(bounced(profile=profile))["c1.log"][-1] == expected


def test_kafkajs_logs_json() -> None:
    """One JSON record per line, with level, time and message."""
    tape = Tape()
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app", "profile": "kafkajs"})
    tape.at(3)
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="Heartbeat", error="REBALANCE_IN_PROGRESS")
    (line,) = logs.render(tape.end())["c1.log"]
    assert json.loads(line)["message"] == "The group is rebalancing, so a rejoin is needed., resync group"
    assert json.loads(line)["timestamp"] == "2026-01-01T00:00:03.000Z"


def test_what_ended_a_client_is_logged_under_its_exception() -> None:
    """The event names an exception already: the log has it as it is."""
    tape = Tape()
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app-1", "profile": "java-3.9"})
    tape.client(Kind.PROCESS_FAILED, "c1", error="GroupAuthorizationException", reason="looking up the coordinator")
    (line,) = [line for line in messages(logs.render(tape.end())["c1.log"]) if line.startswith("ERROR")]
    assert line.endswith("GroupAuthorizationException: looking up the coordinator")


@pytest.mark.parametrize(
    ("error", "exception"),
    [
        ("INVALID_TRANSACTION_TIMEOUT", "InvalidTxnTimeoutException"),  # a code that is not called as its exception
        ("OffsetMetadataTooLarge", "OffsetMetadataTooLarge"),  # an exception that is not called one
    ],
)
def test_exceptions_are_called_as_kafka_calls_them(error: str, exception: str) -> None:
    """Whether the event names a code or an exception already."""
    tape = Tape()
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app-1", "profile": "java-3.9"})
    tape.client(Kind.PROCESS_FAILED, "c1", error=error, reason="too much")
    (line,) = [line for line in messages(logs.render(tape.end())["c1.log"]) if line.startswith("ERROR")]
    assert f"{exception}: " in line
