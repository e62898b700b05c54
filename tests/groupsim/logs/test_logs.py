from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs import files as logs
from tests.helpers.trace_builders import Tape

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
    """A topic's built-in producer, which subscribes to nothing, leaves no empty file."""
    tape = Tape().at(1)
    payload = {"profile": "java-producer", "topics": ["orders"]}
    tape.add(Kind.PROCESS_STARTED, host="producer-orders", payload=payload)
    tape.add(Kind.WARNING, host="producer-orders", reason="a batch is late")
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


@pytest.mark.parametrize(
    ("version", "line"),
    [
        (
            "2.8",
            "Dynamic Member with unknown member id joins group g1 in Empty state. Created a new member id c1-1 for "
            "this member and add to the group.",
        ),
        (
            "4.4",
            "Dynamic member with unknown member id joins group g1 in state Empty. Created a new member id c1-1 and "
            "added the member to the group.",
        ),
    ],
)
def test_a_client_that_cannot_ask_for_a_member_id_is_added_at_once(version: str, line: str) -> None:
    """Before JoinGroup v4; the words of both coordinators differ by more than the full stop."""
    tape = Tape()
    tape.add(Kind.RUN_STARTED, payload={"broker": version})
    tape.join("c1")
    (found,) = messages(logs.render(tape.end())["broker-1.log"])
    assert found.endswith(f"] {line}" if version == "4.4" else f": {line}")


def troubled(broker: str) -> list[str]:
    """What a broker of this version logs of a static member, a fenced one, and three that go."""
    tape = Tape()
    tape.add(Kind.RUN_STARTED, payload={"broker": broker})
    tape.members["s"] = "i1-1"
    tape.coordinator(Kind.MEMBER_ADDED, member="i1-1", payload={"instance_id": "i1"})
    tape.prepare("s", "ADD_MEMBER").complete("s").stable()
    tape.coordinator(
        Kind.MEMBER_FENCED, member="i1-0", reason="offset-commit", payload={"instance_id": "i1", "current": "i1-1"}
    )
    tape.join("c1").join("c2").join("c3")
    why = {"client_reason": "bye"}
    tape.coordinator(Kind.MEMBER_REMOVED, member="c1-1", reason="left", payload=why)
    tape.prepare("c1", "LEAVE_GROUP", "bye")
    tape.coordinator(Kind.MEMBER_REMOVED, member="c9-1", reason="left", payload={"pending": True, **why})
    tape.remove("c2", "join-timeout").remove("c3", "join-timeout").complete("s").stable().prepare("s", "SYNC_EXPIRED")
    return logs.render(tape.end())["broker-1.log"]


def test_the_java_coordinator_speaks_as_a_real_4_4_0_does() -> None:
    """Line by line as that release wrote them, the operations that it calls by each other's name included."""
    found = [line.split("] ", 2)[2] for line in troubled("4.4") if "Stabilized" not in line and "joins" not in line]
    package = "org.apache.kafka.coordinator.group"
    manager = f"({package}.GroupMetadataManager)"
    begun = "Preparing to rebalance group g1 in state PreparingRebalance with old generation"
    instance = "group instance id i1"
    left = "through explicit `LeaveGroup` request; client reason: bye"
    fenced = (
        "Request memberId=i1-0 for static member with groupInstanceId=i1 is fenced by existing memberId=i1-1 during"
    )
    assert found == [
        f"{begun} 0 (reason: Adding new member i1-1 with {instance}; client reason: not provided). {manager}",
        f"{fenced} operation txn-offset-commit ({package}.classic.ClassicGroup)",
        f"[Group g1] Member c1-1 has left group {left} {manager}",
        f"{begun} 1 (reason: explicit `LeaveGroup` request for (c1-1) members.). {manager}",
        f"[Group g1] Pending member c9-1 has left group {left} {manager}",
        f"Group g1 removed dynamic members who haven't joined: [c2-1, c3-1] {manager}",
        f"{begun} 2 (reason: Removing [i1-1] on pending sync request expiration). {manager}",
    ]


def test_the_scala_coordinator_prints_sets_and_operations_its_own_way() -> None:
    """Until 3.9: Set(…), and an offset commit is one."""
    printed = "\n".join(troubled("3.9"))
    assert "haven't joined: Set(c2-1, c3-1)" in printed
    assert "during operation offset-commit" in printed


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
        "INFO [Consumer clientId=app-1, groupId=g1] Notifying assignor about the new "
        "Assignment(partitions=[orders-0, orders-1])",
        "INFO [Consumer clientId=app-1, groupId=g1] Adding newly assigned partitions: orders-0, orders-1",
    ]


@pytest.mark.parametrize(
    ("profile", "node", "position", "partitions", "speakers"),
    [
        ("java-2.3", "(id: 2147483646 rack: null)", "{offset}", "{}", ("AbstractCoordinator", "ConsumerCoordinator")),
        ("java-2.8", "(id: 2147483646 rack: null)", "", "{}", ("AbstractCoordinator", "ConsumerCoordinator")),
        ("java-3.0", "(id: 2147483646 rack: null)", "", "{}", ("ConsumerCoordinator", "ConsumerCoordinator")),
        ("java-4.0", "(id: 2147483646 rack: null isFenced: false)", "", "{}", ("ConsumerCoordinator", "ConsumerUtils")),
        ("java-4.4", "(id: +1 rack: null isFenced: false)", "", "[{}]", ("ConsumerCoordinator", "ConsumerUtils")),
    ],
)
def test_each_release_of_the_java_client_prints_its_own_way(
    profile: str, node: str, position: str, partitions: str, speakers: tuple[str, str]
) -> None:
    """Nodes, positions, partitions, and the class in whose name a line is logged: as the releases' jars have them."""
    tape = Tape()
    tape.add(Kind.PARTITION_LEADER, topic="orders", partition=0, to="1", payload={"epoch": 3})
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app", "profile": profile})
    tape.client(Kind.COORDINATOR_FOUND, "c1", payload={"node": 1})
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="revoked", payload={"partitions": ["a-1", "a-2"]})
    tape.client(Kind.POSITION_SET, "c1", topic="orders", partition=0, reason="committed", payload={"offset": 7})
    found, revoked, committed = logs.render(tape.end())["c1.log"]
    internals = "org.apache.kafka.clients.consumer.internals"
    assert found.endswith(f"Discovered group coordinator broker-1:9092 {node} ({internals}.{speakers[0]})")
    verb = "Revoking" if profile == "java-2.3" else "Revoke"
    shown = "[a-1, a-2]" if profile == "java-2.3" else partitions.format("a-1, a-2")
    assert f"{verb} previously assigned partitions {shown} ({internals}." in revoked
    assert ("ConsumerRebalanceListenerInvoker" in revoked) == (speakers[1] == "ConsumerUtils")
    leader = "broker-1:9092 " + node.replace("2147483646", "1").replace("+1", "1")
    current = f"LeaderAndEpoch{{leader=Optional[{leader}], epoch=3}}"
    where = (
        position.format(offset=7) or f"FetchPosition{{offset=7, offsetEpoch=Optional.empty, currentLeader={current}}}"
    )
    assert committed.endswith(f"for partition orders-0 to the committed offset {where} ({internals}.{speakers[1]})")
    assert ("[Consumer" in committed) == (speakers[1] != "ConsumerUtils")


def test_a_fenced_heartbeat_is_caught_aloud_and_nothing_is_given_away_by_who_ends() -> None:
    """Java's thread says whom it caught; what is lost when the application then closes is no rebalance's."""
    tape = Tape()
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app", "profile": "java-4.4", "instance_id": "i1"})
    reason = "heartbeat answered FENCED_INSTANCE_ID"
    tape.client(Kind.PROCESS_FAILED, "c1", error="FencedInstanceIdException", reason=reason)
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="lost", payload={"partitions": ["a-1"]})
    printed = "\n".join(logs.render(tape.end())["c1.log"])
    caught = "] Caught fenced group.instance.id Optional[i1] error in heartbeat thread (org.apache.kafka.clients"
    assert ("ERROR [Consumer instanceId=i1, clientId=app, groupId=g1" + caught) in printed
    assert ("Lost previously assigned partitions [a-1]" in printed, "Giving away" in printed) == (True, False)


def synced(profile: str, protocol: str = "cooperative-sticky") -> str:
    """c1 has orders-2 and orders-10; its next round takes the latter and gives orders-0; then all is lost."""
    tape = Tape()
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app", "profile": profile, "topics": ["a", "orders"]})
    tape.join("c1").coordinator(Kind.GROUP_STATE, to="Stable", generation=1, payload={"protocol": protocol})
    for number in (10, 2):
        tape.client(Kind.PARTITION_OWNED, "c1", topic="orders", partition=number)
    given = {"assignment": {"c1-1": ["orders-2", "orders-0"], "c2-1": []}}
    tape.client(Kind.ASSIGNMENT_COMPUTED, "c2", payload=given)
    tape.client(Kind.RESPONSE_RECEIVED, "c1", api="SyncGroup", generation=2)
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="assigned", payload={"partitions": ["orders-0"]})
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="lost", payload={"partitions": ["orders-0"]})
    return "\n".join(logs.render(tape.end())["c1.log"])


def test_a_cooperative_java_client_logs_what_it_compares() -> None:
    """In several lines, as people grep for them; with tabs since 2.6, in other words before, not at all when eager."""
    printed = synced("java-3.9")
    assert (
        "INFO [Consumer clientId=app, groupId=g1] Updating assignment with\n"
        "\tAssigned partitions:                       [orders-0, orders-2]\n"
        "\tCurrent owned partitions:                  [orders-2, orders-10]\n"
        "\tAdded partitions (assigned - owned):       [orders-0]\n"
        "\tRevoked partitions (owned - assigned):     [orders-10]\n (org.apache.kafka"
    ) in printed
    assert "about the new Assignment(partitions=[orders-2, orders-0])" in printed
    assert "\nnewly added partitions: [orders-0]\n" in synced("java-2.4")
    assert "Updating" not in synced("java-3.9", "range") + synced("java-2.3")


@pytest.mark.parametrize(
    ("profile", "logger", "given_away"),
    [
        ("java-2.1", None, None),
        ("java-2.4", "consumer.KafkaConsumer", "since generation has been reset,"),
        ("java-3.0", "consumer.KafkaConsumer", "since generation has been reset,"),
        ("java-3.7", "consumer.internals.LegacyKafkaConsumer", "since generation/memberID has been reset,"),
        ("java-4.4", "consumer.internals.ClassicKafkaConsumer", "since generation/memberID has been reset,"),
    ],
)
def test_java_says_what_it_subscribes_to_and_what_it_gives_away(
    profile: str, logger: str | None, given_away: str | None
) -> None:
    """The class that says the former has had three names; both lines are younger than the protocol."""
    printed = synced(profile)
    line = f"Subscribed to topic(s): a, orders (org.apache.kafka.clients.{logger})"
    assert (line in printed, "Subscribed to" in printed) == (logger is not None, logger is not None)
    assert ("Giving away all assigned partitions as lost" in printed) == (given_away is not None)
    assert (given_away or "") in printed


def test_java_says_whether_its_coordinator_was_disconnected() -> None:
    """A connection that broke under a request has no cause; else Java hangs up itself, and says so since 3.1."""
    tape = Tape()
    tape.client(Kind.PROCESS_STARTED, "c1", payload={"client_id": "app", "profile": "java-3.9"})
    tape.client(Kind.COORDINATOR_FOUND, "c1", payload={"node": 1})
    tape.at(1).client(Kind.COORDINATOR_LOST, "c1", reason="error response NOT_COORDINATOR")
    tape.at(2).client(Kind.COORDINATOR_LOST, "c1", reason="coordinator unavailable")
    tape.at(3).client(Kind.REQUEST_FAILED, "c1", api="Heartbeat", error="DISCONNECTED")
    tape.client(Kind.COORDINATOR_LOST, "c1", reason="coordinator unavailable")
    printed = [re.sub(r".*groupId=g1] | \([\w.]+\)$", "", line) for line in logs.render(tape.end())["c1.log"]]
    node = "broker-1:9092 (id: 2147483646 rack: null)"
    lost = f"Group coordinator {node} is unavailable or invalid due to cause: "
    assert printed[1:] == [
        f"{lost}error response NOT_COORDINATOR. isDisconnected: false. Rediscovery will be attempted.",
        f"Requesting disconnect from last known coordinator {node}",
        f"{lost}coordinator unavailable. isDisconnected: true. Rediscovery will be attempted.",
        f"{lost}null. isDisconnected: true. Rediscovery will be attempted.",
    ]


def test_files_are_written_whole_into_a_new_directory(tmp_path: Path) -> None:
    """One file per broker and member, the list of them, and nothing temporary is left."""
    written = logs.write_logs(bounced(), tmp_path / "deep" / "logs")
    assert [path.name for path in written] == ["broker-1.log", "c1.log"]
    left = sorted(path.name for path in (tmp_path / "deep" / "logs").iterdir())
    assert left == [".groupsim-logs", "broker-1.log", "c1.log"]


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


def test_a_member_of_a_consumer_group_logs_its_states() -> None:
    """Java's asynchronous consumer has lines of its own: one for each change of state, none of generations."""
    tape = Tape()
    config = {"group.protocol": "consumer"}
    started = {"client_id": "app-1", "profile": "java-4.x", "release": "4.4", "topics": ["orders"], "config": config}
    tape.client(Kind.PROCESS_STARTED, "c1", payload=started)
    tape.client(Kind.CLIENT_STATE, "c1", from_="UNSUBSCRIBED", to="JOINING")
    tape.client(Kind.CLIENT_STATE, "c1", from_="JOINING", to="RECONCILING", generation=2)
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="assigned", payload={"partitions": ["orders-0"]})
    tape.client(Kind.CLIENT_STATE, "c1", from_="PREPARE_LEAVING", to="LEAVING")
    lines = logs.render(tape.end())["c1.log"]
    assert [re.sub(r"Member \S* with", "Member M with", line).split("] ", 2)[-1] for line in lines] == [
        f"{text} (org.apache.kafka.clients.consumer.internals.{speaker})"
        for text, speaker in (
            ("Subscribed to topic(s): orders", "AsyncKafkaConsumer"),
            ("Member M with epoch 0 transitioned from UNSUBSCRIBED to JOINING.", "ConsumerMembershipManager"),
            ("Member M with epoch 2 transitioned from JOINING to RECONCILING.", "ConsumerMembershipManager"),
            ("Adding newly assigned partitions: [orders-0]", "ConsumerRebalanceListenerInvoker"),
            ("Member M with epoch -1 transitioned from PREPARE_LEAVING to LEAVING.", "ConsumerMembershipManager"),
        )
    ]
