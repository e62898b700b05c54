"""Clients of other libraries: expected lines are those that the libraries wrote of the same story, at a 4.4.0 broker.

kafka-python 2.0.2 and 2.3.3, aiokafka 0.14.0, franz-go 1.22.2, sarama 1.61.1, kafkajs 2.2.4; kafka-python 1.3.5 and
brod 4.6.2, which that broker does not speak with or was not there, are held against their sources.
"""

from __future__ import annotations

import json

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.logs import files as logs
from groupsim.members.profiles import PROFILES
from tests.helpers.logged_member import ORDERS, begun, callback, called, eager, join, shown

REBALANCES = "REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."
BOTH = "TopicPartition(topic='orders', partition=0), TopicPartition(topic='orders', partition=1)"
ONE = "TopicPartition(topic='orders', partition=0)"
JOINING = "kafka.coordinator - INFO - (Re-)joining group g1"
LEADS = "kafka.coordinator - INFO - Elected group leader -- performing partition assignments using range"


def test_kafka_python_2_3_tells_a_rebalance_in_its_own_words() -> None:
    """By the logger of each of its modules; that it was given a member id and asks again is a failure to it."""
    generation = (
        "kafka.coordinator - INFO - Successfully joined group g1 <Generation {} (member_id: c-1, protocol: range)>"
    )
    assert shown(eager("kafka-python-2.3"), " - ") == [
        "kafka.consumer.subscription_state - INFO - Updating subscribed topics to: ['orders']",
        "kafka.cluster - INFO - Coordinator for group/g1 is "
        "BrokerMetadata(nodeId='coordinator-1', host='broker-1', port=9092, rack=None)",
        "kafka.coordinator - INFO - Discovered coordinator coordinator-1 for group g1",
        "kafka.coordinator.consumer - INFO - Revoking previously assigned partitions set() for group g1",
        JOINING,
        "kafka.coordinator - INFO - Received member id c-1 for group g1; will retry join-group",
        "kafka.coordinator - INFO - Failed to join group g1: [Error 79] MemberIdRequiredError",
        JOINING,
        generation.format(1),
        LEADS,
        f"kafka.consumer.subscription_state - INFO - Updated partition assignment: [{BOTH}]",
        f"kafka.coordinator.consumer - INFO - Setting newly assigned partitions {{{BOTH}}} for group g1",
        "kafka.coordinator.heartbeat - WARNING - Heartbeat failed for group g1 because it is rebalancing",
        f"kafka.coordinator.consumer - INFO - Revoking previously assigned partitions {{{BOTH}}} for group g1",
        JOINING,
        generation.format(2),
        LEADS,
        f"kafka.consumer.subscription_state - INFO - Updated partition assignment: [{ONE}]",
        f"kafka.coordinator.consumer - INFO - Setting newly assigned partitions {{{ONE}}} for group g1",
        "kafka.coordinator - INFO - Leaving consumer group g1 (member c-1).",
        "kafka.coordinator - INFO - LeaveGroup request for group g1 returned successfully",
    ]


def test_older_kafka_python_has_joined_when_it_is_synced() -> None:
    """2.0.2 says who leads before it says that it joined; 1.3.5 says that it joined twice, in two ways."""
    joined = "kafka.coordinator - INFO - Successfully joined group g1 with generation 1"
    newer, oldest = (shown(eager(profile), " - ") for profile in ("kafka-python-2.x", "kafka-python-1.3"))
    assert newer[newer.index(LEADS) + 1] == oldest[oldest.index(LEADS) + 1] == joined
    once = "kafka.coordinator - INFO - Joined group 'g1' (generation 1) with member_id c-1"
    assert (once in newer, oldest[oldest.index(LEADS) - 1]) == (False, once)
    assert "kafka.coordinator - WARNING - Heartbeat failed for group g1 because it is rebalancing" in newer
    assert "kafka.coordinator - INFO - Leaving consumer group (g1)." in newer
    assert not any("Received member id" in line for line in newer)


def test_aiokafka_has_one_logger_and_asks_for_its_member_id_in_silence() -> None:
    """It prints what it revokes as the frozen set it is, and says nothing before it leaves."""
    found = [line for line in shown(eager("aiokafka"), " - aiokafka.consumer.group_coordinator - ") if line]
    assert found[:7] == [
        "INFO - Discovered coordinator 1 for group g1",
        "INFO - Revoking previously assigned partitions set() for group g1",
        "INFO - (Re-)joining group g1",
        "INFO - Joined group 'g1' (generation 1) with member_id c-1",
        "INFO - Elected group leader -- performing partition assignments using range",
        "INFO - Successfully synced group g1 with generation 1",
        f"INFO - Setting newly assigned partitions {{{BOTH}}} for group g1",
    ]
    assert found[8] == f"INFO - Revoking previously assigned partitions frozenset({{{BOTH}}}) for group g1"
    assert found[-1] == "INFO - LeaveGroup request succeeded"


@pytest.mark.parametrize(
    ("profile", "answered", "broken"),
    [
        (
            "kafka-python-2.3",
            "(node coordinator-1) for group g1: [Error 16] NotCoordinatorError.",
            ": Node Disconnected.",
        ),
        (
            "kafka-python-2.x",
            "(node coordinator-1) for group g1: [Error 16] NotCoordinatorForGroupError.",
            "Disconnected.",
        ),
        ("aiokafka", "(node 1)for group g1.", "(node 1)for group g1."),
    ],
)
def test_the_python_clients_mark_a_coordinator_dead(profile: str, answered: str, broken: str) -> None:
    """With the exception's name in that release, or without any reason, and a blank that aiokafka forgot."""
    tape = begun(profile)
    tape.at(2).client(Kind.COORDINATOR_LOST, "c1", reason="error response NOT_COORDINATOR")
    tape.at(3).client(Kind.COORDINATOR_LOST, "c1", reason="coordinator unavailable")
    *_, first, second = shown(tape.end(), " - WARNING - Marking the coordinator dead ")
    assert first == answered
    assert second.endswith(broken)


@pytest.mark.parametrize(
    ("api", "error", "line"),
    [
        (
            "JoinGroup",
            "INCONSISTENT_GROUP_PROTOCOL",
            "ERROR - Attempt to join group g1 failed due to fatal error: [Error 23] InconsistentGroupProtocolError",
        ),
        (
            "JoinGroup",
            "NOT_COORDINATOR",
            "INFO - Attempt to join group g1 failed due to obsolete coordinator information: [Error 16] "
            "NotCoordinatorError",
        ),
        ("SyncGroup", "REBALANCE_IN_PROGRESS", "INFO - SyncGroup for group g1 failed due to coordinator rebalance"),
        (
            "SyncGroup",
            "UNKNOWN_MEMBER_ID",
            "INFO - SyncGroup for group g1 failed due to [Error 25] UnknownMemberIdError",
        ),
    ],
)
def test_kafka_python_says_what_it_was_refused(api: str, error: str, line: str) -> None:
    """2.3 at INFO; 2.0.2 only what is fatal, the rest at DEBUG."""
    for profile, aloud in (("kafka-python-2.3", True), ("kafka-python-2.x", line.startswith("ERROR"))):
        tape = begun(profile)
        tape.client(Kind.RESPONSE_RECEIVED, "c1", api=api, error=error)
        assert (f"kafka.coordinator - {line}" in shown(tape.end(), " - ")) == aloud, profile


def test_kafka_python_leaves_aloud_when_it_was_not_polled() -> None:
    """2.3 explains it at length, 2.0.2 in five words; then both leave."""
    for profile, words in (
        ("kafka-python-2.3", "Consumer poll timeout has expired. "),
        ("kafka-python-2.x", "Heartbeat poll"),
    ):
        tape = begun(profile)
        tape.client(Kind.POLL_EXPIRED, "c1", payload={"limit_us": 1})
        tape.client(Kind.REQUEST_SENT, "c1", api="LeaveGroup")
        expired, leaving = shown(tape.end(), " - ")[-2:]
        assert f"WARNING - {words}" in expired
        assert "Leaving consumer group" in leaving


@pytest.mark.parametrize(
    ("profile", "lines"),
    [
        (
            "kafka-python-2.x",
            [
                "WARNING - Auto offset commit failed for group g1: CommitFailedError: Commit cannot be completed since "
                "the group has already",
                "ERROR - Offset commit failed: This is likely to cause duplicate message delivery",
                "WARNING - Auto offset commit failed for group g1: [Error 16] NotCoordinatorForGroupError: g1",
            ],
        ),
        (
            "kafka-python-2.3",
            [
                "WARNING - OffsetCommit for group g1 failed: [Error 25] UnknownMemberIdError: g1",
                "INFO - Failing OffsetCommit request since the consumer is not part of an active group",
                "ERROR - Offset commit failed: This is likely to cause duplicate message delivery",
                "WARNING - Auto offset commit failed for group g1: [Error 16] NotCoordinatorError: g1",
            ],
        ),
        (
            "aiokafka",
            [
                "ERROR - OffsetCommit failed for group g1 due to group error ([Error 25] UnknownMemberIdError: g1), "
                "will rejoin",
                "WARNING - Auto offset commit failed: [Error 25] UnknownMemberIdError: g1",
            ],
        ),
    ],
)
def test_the_python_clients_tell_of_failed_commits(profile: str, lines: list[str]) -> None:
    """Of a member that is none any more, of a client that knows it, of the wrong coordinator; of a timeout no line."""
    tape = begun(profile)
    before = len(shown(tape.end(), " - "))
    for error in ("UNKNOWN_MEMBER_ID", "CommitFailedException", "NOT_COORDINATOR", "TimeoutException"):
        tape.client(Kind.COMMIT_FAILED, "c1", error=error, payload={"auto": True, "offsets": {"orders-0": 1}})
    assert [line.partition(" - ")[2] for line in shown(tape.end(), " - ")[before:]] == lines


def test_franz_go_tells_an_eager_rebalance_in_its_own_words() -> None:
    """As its basic logger writes them: level, message, keys and values."""
    joined = "group: g1, member_id: c-1, instance_id: <nil>, generation: {}, balance_protocol: range, leader: true"
    syncing = "[INFO] syncing; group: g1, protocol_type: consumer, protocol: range"
    assert shown(eager("franz-go"), "Z ") == [
        "[INFO] beginning to manage the group lifecycle; group: g1",
        "[INFO] beginning autocommit loop; group: g1",
        "[INFO] joining group; group: g1",
        "[INFO] join returned MemberIDRequired, rejoining with response's MemberID; group: g1, member_id: c-1",
        f"[INFO] joined, balancing group; {joined.format(1)}",
        "[INFO] balancing group as leader",
        "[INFO] balanced; plan: c-1{orders[0 1]}",
        syncing,
        "[INFO] synced; group: g1, assigned: orders[0 1]",
        "[INFO] new group session begun; group: g1, added: orders[0 1], lost: ",
        "[INFO] beginning heartbeat loop; group: g1",
        f"[INFO] heartbeat errored; group: g1, err: {REBALANCES}",
        "[INFO] eager consumer revoking prior assigned partitions; group: g1, revoking: orders[0 1]",
        "[INFO] joining group; group: g1",
        f"[INFO] joined, balancing group; {joined.format(2)}",
        "[INFO] balancing group as leader",
        "[INFO] balanced; plan: c-1{orders[0]}",
        syncing,
        "[INFO] synced; group: g1, assigned: orders[0]",
        "[INFO] new group session begun; group: g1, added: orders[0], lost: ",
        "[INFO] beginning heartbeat loop; group: g1",
        "[INFO] heartbeat errored; group: g1, err: context canceled",
        "[INFO] leaving group; group: g1, member_id: c-1",
    ]


def test_franz_go_rebalances_by_parts() -> None:
    """It keeps what it has, loses in a session of its own what it is to give, and quits that one by itself."""
    tape = begun("franz-go")
    join(tape, "cooperative-sticky", ORDERS, first=True)
    callback(tape, "assigned", ORDERS)
    called(tape)
    join(tape, "cooperative-sticky", ORDERS[:1])
    callback(tape, "revoked", ORDERS[1:])
    lines = shown(tape.end(), "[INFO] ")
    errored = f"heartbeat errored; group: g1, err: {REBALANCES}"
    kept = "consumer calling onRevoke at the end of a session; consumer did not change any client-side subscription; "
    kept += "group: g1"
    first = lines.index(errored)
    assert lines[first : first + 3] == [errored, kept, "joining group; group: g1"]
    assert lines[-6:] == [
        "new group session begun; group: g1, added: , lost: orders[1]",
        "beginning heartbeat loop; group: g1",
        "calling onRevoke at the end of a session; group: g1, lost: orders[1], stage: 0",
        "forced rejoin quitting heartbeat loop; why: after revoking what we lost from a rebalance, is848: false",
        errored,
        kept,
    ]


def test_franz_go_gives_a_session_up_with_an_error() -> None:
    """A heartbeat of an unknown member ends it; a rebalance does not."""
    tape = begun("franz-go")
    called(tape, "UNKNOWN_MEMBER_ID")
    unknown = "group: g1, err: UNKNOWN_MEMBER_ID: The coordinator is not aware of this member."
    assert shown(tape.end(), "Z ")[-2:] == [
        f"[INFO] heartbeat errored; {unknown}",
        f"[ERROR] group manage loop errored; {unknown}, consecutive_errors: 1, backoff: 250ms",
    ]


def test_saramas_rebalances_show_by_its_sessions() -> None:
    """Subscriptions at the brokers that lead the partitions come and go; of the heartbeat's error it says nothing."""
    ended = [
        "consumer/broker/2 closed dead subscription to orders/0",
        "consumer/broker/0 closed dead subscription to orders/1",
        "consumergroup/g1 loop check partition number goroutine will exit, topics [orders]",
        "consumergroup/session/c-1/1 heartbeat loop stopped",
        "consumergroup/session/c-1/1 released",
    ]
    found = logs.render(eager("sarama"))["c1.log"]
    assert found[0].startswith("[sarama] 2026/01/01 00:00:01 client/")
    assert [line.split(" ", 3)[3] for line in found] == [
        "client/coordinator requesting coordinator for g1 from broker-0:9092",
        "client/coordinator coordinator for g1 is #1 (broker-1:9092)",
        "consumer/broker/2 added subscription to orders/0",
        "consumer/broker/0 added subscription to orders/1",
        *ended,
        "consumer/broker/2 added subscription to orders/0",
        "Closing Client",
    ]


def test_sarama_says_that_its_instance_is_fenced() -> None:
    """In the same words for a JoinGroup and a SyncGroup."""
    tape = begun("sarama")
    payload = {"client_id": "c", "profile": "sarama", "topics": ["orders"], "instance_id": "i1"}
    tape.client(Kind.PROCESS_STARTED, "c1", payload=payload)
    for api in ("JoinGroup", "SyncGroup"):
        tape.client(Kind.RESPONSE_RECEIVED, "c1", api=api, error="FENCED_INSTANCE_ID")
    assert shown(tape.end(), "00:00:01 ")[-2:] == ["JoinGroup failed: group instance id i1 has been fenced"] * 2


def test_kafkajs_logs_json() -> None:
    """One object a line: who speaks in the message, what it is about beside it."""
    tape = begun("kafkajs")
    join(tape, "roundrobin", ORDERS, first=True)
    called(tape)
    called(tape, "NOT_COORDINATOR")
    called(tape, "UNKNOWN_MEMBER_ID")
    tape.client(Kind.PROCESS_STOPPED, "c1")
    lines = logs.render(tape.end())["c1.log"]
    assert lines[1] == (
        '{"level":"INFO","timestamp":"2026-01-01T00:00:03.000Z","logger":"kafkajs","message":'
        '"[ConsumerGroup] Consumer has joined the group","groupId":"g1","memberId":"c-1","leaderId":"c-1",'
        '"isLeader":true,"memberAssignment":'
        '{"orders":[0,1]},"groupProtocol":"RoundRobinAssigner","duration":2000}'
    )
    heartbeat = ("ERROR", "[Connection] Response Heartbeat(key: 12, version: 3)")
    rejoins = ("WARN", "[Runner] The group is rebalancing, re-joining")
    found = [json.loads(line) for line in lines]
    assert [(one["level"], one["message"]) for one in found] == [
        ("INFO", "[Consumer] Starting"),
        ("INFO", "[ConsumerGroup] Consumer has joined the group"),
        *(heartbeat, rejoins, heartbeat, rejoins, heartbeat),
        ("ERROR", "[Runner] The coordinator is not aware of this member, re-joining the group"),
        ("INFO", "[Runner] consumer not running, exiting"),
        ("INFO", "[Consumer] Stopped"),
    ]
    assert [one["error"] for one in found if one["message"].startswith("[Runner] The group")] == [
        "The group is rebalancing, so a rejoin is needed",
        "This is not the correct coordinator for this group",
    ]


def test_brod_writes_records_of_several_lines() -> None:
    """The head names group and generation; what happened stands below it, as Erlang's terms."""
    found = "\n".join(logs.render(eager("brod"))["c1.log"])
    head = "[info] Group member (g1,coor=<0.1.0>,cb=<0.2.0>,generation={}):\n"
    assert head.format(1) + "elected=true\n" in found
    assert head.format(1) + "assignments received:\n  orders:\n    partition=0 begin_offset=" in found
    assert head.format(1) + "re-joining group, reason:rebalance_in_progress\n" in found
    assert found.endswith(head.format(2) + "Leaving group, reason: shutdown")


def test_a_library_without_compared_messages_has_no_log() -> None:
    """ruby-kafka has no logger unless it is given one: it has no file, and does not speak as Java does."""
    assert "c1.log" not in logs.render(eager("ruby-kafka"))


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_profile_is_rendered(profile: str) -> None:
    """No line has a placeholder left, or a value that the library's table does not know."""
    lines = logs.render(eager(profile)).get("c1.log", [])
    assert bool(lines) == (profile != "ruby-kafka")
    assert not [line for line in lines if "?" in line and not line.endswith("begin_offset=?")]
