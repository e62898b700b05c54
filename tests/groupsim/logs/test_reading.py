"""What lines of real programs say of an incident: layouts, signs in every dialect, names, and the order of lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from groupsim.logs import finding
from groupsim.logs.files import render
from groupsim.logs.reading import signs as table
from groupsim.logs.reading.incident import Finding, judge
from groupsim.logs.reading.names import group_of, member_of
from groupsim.logs.reading.records import moment, read, records
from groupsim.logs.reading.signs import SIGNS, Sign, signs_in
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import run_scenario

UUID = "0c9b1c62-54ec-4f38-a98c-27b42a866693"
OTHER = "5de1f3f3-9a0e-4a35-8c4e-0d6b1f4f2a11"
THIRD = "7a1c2f90-3c1d-4f65-b7a7-1d2f0b4c9e22"
COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"


def broker(at: str, message: str) -> str:
    """A line of a broker, on one day."""
    return f"[2026-03-01 {at}] INFO [GroupCoordinator 1]: {message} {COORDINATOR}"


def opens(at: str, member: str, generation: int = 7, group: str = "orders") -> str:
    """A rebalance that a new member begins."""
    return broker(
        at,
        f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {generation} "
        f"(__consumer_offsets-3) (reason: Adding new member {member} with group instance id None)",
    )


def stable(at: str, generation: int = 8, group: str = "orders") -> str:
    """The end of a rebalance."""
    return broker(at, f"Stabilized group {group} generation {generation} (__consumer_offsets-3) with 2 members")


def failed(at: str, member: str, group: str = "orders") -> str:
    """A session that ends at the coordinator."""
    return broker(at, f"Member {member} in group {group} has failed, removing it from the group")


def found(*lines: str, file: str = "app.log") -> list[list[Finding]]:
    """What a log with these lines says."""
    return judge(records(file, lines))


def headline(*lines: str) -> Finding:
    """The first finding of the only group."""
    (findings,) = found(*lines)
    return findings[0]


@pytest.mark.parametrize(
    ("line", "clock"),
    [
        ("[2026-03-01 10:20:30,500] INFO x", 37230.5),
        ("2026-03-01T10:20:30.500123Z DEBUG librdkafka: x", 37230.500123),
        ("2026/03/01 10:20:30.500 consumer.go:149: x", 37230.5),
        ("2026-03-01T10:20:31.000Z 2026-03-01 10:20:30,500 INFO x", 37230.5),
        ("[INFO] 03/01/2026 10:20:30 AM x", 37230),
        ("[INFO] 03/01/2026 10:20:30 PM x", 37230 + 43200),
        ("Mar  1 10:20:30.500 WARN x", 37230.5),
        ("10:20:30.500 [info] x", 37230.5),
        ("%4|1772360430.500|MAXPOLL|rdkafka#consumer-1| x", 37230.5),
        ("1772360430.500 RDKAFKA-7-SEND: c: x", 37230.5),
        ("nothing that is a time: 99:99", None),
        ("2026-13-41 10:20:30 x", None),
    ],
)
def test_the_time_of_a_line_is_read_in_every_form(line: str, clock: float | None) -> None:
    """A time with or without date, zone or fraction, an epoch and a month's name are read; of two the inner one."""
    at = moment(line)
    assert (at is None) if clock is None else at is not None and at % 86_400 == pytest.approx(clock)


def test_lines_without_a_head_belong_to_the_record_before() -> None:
    """A stack trace and a message of several lines are one record; a log of bare messages has one a line.

    Records that are not about groups are not kept.
    """
    whole = records(
        "a.log", ["10:00:00.000 [info] Group member (g,coor=<0.1.0>,cb=<0.2.0>,generation=4):", " reason: x"]
    )
    assert [(one.number, "reason: x" in one.text) for one in whole] == [(1, True)]
    assert len(records("a.log", ["joined the group", "left the group", "made tea"])) == 2


def test_a_view_that_lists_the_newest_line_first_is_turned_round() -> None:
    """An export of a log store, newest first, is judged in the order of time."""
    rows = [opens("10:00:00,000", f"pod-{UUID}"), failed("10:00:09,500", f"old-{OTHER}"), stable("10:00:09,600")]
    assert headline(*reversed(rows)).says == headline(*rows).says
    assert headline(*rows).sign is table.HELD_OPEN


@pytest.mark.parametrize(
    "line",
    [
        "worker-1  | %4|1772360430.500|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval "
        "(300000ms) exceeded by 88ms (adjust max.poll.interval.ms): leaving group",
        "\x1b[33mWARN\x1b[0m librdkafka: MAXPOLL [thrd:main]: Application maximum poll interval (300000ms) exceeded",
        "Level: Warning\tMessage:[thrd:main]: Application maximum poll interval (300000ms) exceeded by 3ms",
        "> **Local: Maximum application poll interval (max.poll.interval.ms) exceeded**",
        '{"ts":1,"msg":"Application maximum poll interval\\t(300000ms) exceeded by 9ms"}',
    ],
)
def test_no_layout_hides_a_message(line: str) -> None:
    """Prefixes of collectors, colours, JSON escapes and marks of a web page leave the message as it is."""
    assert headline(line).sign is table.POLL_LIMIT


def test_a_message_that_is_wrapped_is_read_as_one() -> None:
    """A message that goes on in the next line, which has no head, is found."""
    assert headline("10:00:00.000 WARN Application maximum poll", "interval (300000ms) exceeded by 3ms").count == 1


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        # Java
        ("[Consumer clientId=c, groupId=g] consumer poll timeout has expired. This means the time", table.POLL_LIMIT),
        (
            "Member c-1 sending LeaveGroup request to coordinator b:9092 due to consumer poll timeout has expired.",
            table.POLL_LIMIT,
        ),
        (
            "Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: session "
            "timed out without receiving a heartbeat response. isDisconnected: false.",
            table.NO_ANSWER,
        ),
        (
            "Offset commit failed on partition t-0 at offset 5: The coordinator is not aware of this member.",
            table.COMMIT_REFUSED,
        ),
        (
            "Offset commit failed on partition t-0 at offset 5: This is not the correct coordinator.",
            table.NOT_COORDINATOR,
        ),
        (
            "CommitFailedException: Commit cannot be completed since the group has already rebalanced",
            table.COMMIT_REFUSED,
        ),
        ("Attempt to heartbeat failed since group is rebalancing", table.REBALANCING),
        (
            "Request joining group due to: cached metadata has changed from (version3: {}) to (version4: {})",
            table.METADATA,
        ),
        ("JoinGroup failed due to fatal error: Group authorization failed.", table.FORBIDDEN),
        ("Received fatal exception: group.instance.id c-1: FencedInstanceIdException", table.FENCED),
        # brokers
        (failed("10:00:00,000", "c-1"), table.REMOVED),
        ("[GroupId g] Member m1 fenced from the group because its session expired.", table.REMOVED),
        ("[GroupId g] Member m1 fenced from the group because the member session expired.", table.REMOVED),
        (
            "[GroupId g] Member m1 fenced from the group because the classic member failed to join within the "
            "rebalance timeout.",
            table.LATE,
        ),
        ("[GroupId g] Member m1 fenced from the group because the member failed to sync within timeout.", table.LATE),
        ("[GroupId g] Static member m1 with instance id i is fenced by existing member m2.", table.FENCED),
        (
            "[GroupId g] Member m1 fenced from the group because it failed to transition from epoch 4 within 300000ms.",
            table.REVOKED_TOO_LATE,
        ),
        ("Group g removed dynamic members who haven't joined: Set(c-1)", table.LATE),
        ("Pending member c-1 in group g has been removed after session timeout expiration.", table.ABANDONED),
        ("(reason: Freshly-loaded group g (size 5) is over capacity 4. Rebalancing)", table.FULL),
        (
            "(reason: Error COORDINATOR_X when storing group assignment during SyncGroup (member: c-1))",
            table.NOT_STORED,
        ),
        (
            "Number of insync replicas for partition __consumer_offsets-3 is [1], below required minimum [2]",
            table.NOT_STORED,
        ),
        (
            "Number of alive brokers '1' does not meet the required replication factor '3' for the offsets topic",
            table.NO_COORDINATOR,
        ),
        (
            "Request memberId=c-2 for static member with groupInstanceId=i1 is fenced by current memberId=c-1",
            table.FENCED,
        ),
        (
            "Static member m1 with instance id i1 cannot join the group because the instance id is owned by m2 member.",
            table.UNRELEASED,
        ),
        ("Cannot upgrade the classic group g to consumer group because the policy is disabled.", table.UPGRADE_REFUSED),
        # librdkafka
        (
            "%4|1772360430.5|SESSTMOUT|c#consumer-1| [thrd:main]: Consumer group session timed out (in join-state "
            "steady) after 30089 ms (broker 1, last error was Success)",
            table.NO_ANSWER,
        ),
        (
            "Consumer group session timed out after 9 ms (last error was Broker: Group rebalance in progress)",
            table.LATE,
        ),
        (
            "JoinGroup response: GenerationId -1, Protocol , LeaderId : Broker: Inconsistent group protocol",
            table.NO_COMMON_PROTOCOL,
        ),
        ("Fatal error: Broker: Static consumer fenced by other consumer with same group.instance.id", table.FENCED),
        ("FindCoordinator response error: Broker: Coordinator not available", table.NO_COORDINATOR),
        ("SyncGroup response: Unknown broker error (0 bytes of MemberState data)", table.NOT_STORED),
        ("(re)joining with 4 assigned partition(s): Metadata for subscribed topic(s) has changed", table.METADATA),
        ("(re)joining with 0 assigned partition(s): Metadata for subscribed topic(s) has changed", table.JOINED),
        # kafka-python and aiokafka
        ("WARNING:kafka.coordinator:Heartbeat poll expired, leaving group", table.POLL_LIMIT),
        ("kafka.coordinator - WARNING - Heartbeat session expired, marking coordinator dead", table.NO_ANSWER),
        (
            "Heartbeat failed: KafkaError('Unexpected exception in heartbeat task: RequestTimedOutError()')",
            table.NO_ANSWER,
        ),
        ("Error sending JoinGroupRequest_v0 to node 0 [[Error 7] RequestTimedOutError]", table.JOIN_GIVEN_UP),
        ("failed due to fatal error: [Error 26] InvalidSessionTimeoutError", table.BAD_SESSION),
        # kafkajs, franz-go, sarama, kafka-go, brod, ruby-kafka
        (
            '{"message":"[Connection] Response Heartbeat","error":"The group is rebalancing, so a rejoin is needed"}',
            table.REBALANCING,
        ),
        (
            '{"message":"[Runner] The coordinator is not aware of this member, re-joining the group","groupId":"g"}',
            table.UNKNOWN_MEMBER,
        ),
        (
            "heartbeat errored again while waiting for user revoke to finish; group: g, err: UNKNOWN_MEMBER_ID",
            table.LATE,
        ),
        ('{"msg":"join group failed","err":"FENCED_INSTANCE_ID: another consumer"}', table.FENCED),
        (
            "kafka server: The provider group protocol type is incompatible with the other members.",
            table.NO_COMMON_PROTOCOL,
        ),
        ("kafka server: The provided member is not known in the current generation.", table.UNKNOWN_MEMBER),
        ("kafka server: Offset's topic has not yet been created.", table.NO_COORDINATOR),
        ("Failed to join group g: [16] Not Coordinator For Group: the broker returns this", table.NOT_COORDINATOR),
        ("[27] Rebalance In Progress: the coordinator has begun rebalancing the group", table.REBALANCING),
        ("re-joining group, reason::fenced_instance_id", table.FENCED),
        ("Error sending heartbeat: Kafka::UnknownMemberId", table.UNKNOWN_MEMBER),
        ("[[g] {}:] [join_group] Timed out while waiting for response 2", table.JOIN_GIVEN_UP),
        (
            "rebalance error: kafka server: Request was for a consumer group that is not coordinated by this broker.",
            table.NOT_COORDINATOR,
        ),
        (
            "stream-thread [a-1] This implies that this thread missed a rebalance and dropped out of the group.",
            table.LATE,
        ),
        (
            "TaskMigratedException: Client request for task 0_0 has been fenced due to a rebalance. Caused by: "
            "CommitFailedException: Offset commit cannot be completed",
            table.COMMIT_REFUSED,
        ),
        ("[GroupId g] Member m1 joins the consumer group using the consumer protocol.", table.JOINED),
        ("[GroupId g] Member m1 left the consumer group.", table.LEFT),
        ("[GroupId g] Static member m2 with instance id i1 is fenced by existing member m1.", table.FENCED),
        ("[GroupId g] Computed new metadata hash: 123.", table.METADATA),
        ("The consumer group has reached its maximum capacity of 4 members.", table.FULL),
        (
            "The consumer group member has a smaller member epoch (3) than the one known by the group coordinator (4).",
            table.STALE_EPOCH,
        ),
        (
            "Cannot join the consumer group g with the classic protocol because the group migration is disabled.",
            table.UPGRADE_REFUSED,
        ),
        ("Error committing offsets: Kafka::UnknownMemberId", table.COMMIT_REFUSED),
        (
            "Current config state offset 3 does not match group assignment 5. Forcing rebalance.",
            table.FORCED_BY_CONNECT,
        ),
        (
            "JoinGroup failed: Coordinator b:9092 (id: 2147483647 rack: null) is loading the group.",
            table.NOT_COORDINATOR,
        ),
        ("Kafka::InconsistentGroupProtocol: Kafka::InconsistentGroupProtocol", table.NO_COMMON_PROTOCOL),
        # a coordinator that a client does not reach, and commits that its replicas do not get
        (
            "%4|1772360430.5|COMMITFAIL|c#consumer-1| [thrd:main]: Offset commit (manual) failed for 1/1 "
            "partition(s): Local: Waiting for coordinator: t[0]@5",
            table.UNREACHED,
        ),
        (
            "%7|1772360430.5|FAIL|c#consumer-1| [thrd:GroupCoordinator]: GroupCoordinator: b:9092: Connect to "
            "ipv4#10.0.0.1:9092 failed: Connection refused (after 1ms in state CONNECT)",
            table.UNREACHED,
        ),
        (
            "[Consumer clientId=c, groupId=g] Connection to node 2147483646 (b/10.0.0.1:9092) could not be "
            "established. Node may not be available.",
            table.UNREACHED,
        ),
        ("WARNING:kafka.coordinator:Coordinator unknown during heartbeat -- will retry", table.UNREACHED),
        ("Offset commit failed on partition t-0 at offset 5: The request timed out.", table.COMMIT_TIMED_OUT),
        (
            "Offset commit (manual) failed for 1/1 partition(s): Broker: Request timed out: t[0]@5",
            table.COMMIT_TIMED_OUT,
        ),
        (
            "[GroupMetadataManager brokerId=1] Finished unloading __consumer_offsets-3. Removed 0 cached offsets",
            table.NOT_COORDINATOR,
        ),
    ],
)
def test_a_line_says_the_same_in_every_dialect(line: str, sign: Sign) -> None:
    """The message of each program has the sign of what happened, and none that is nearer to a cause."""
    assert signs_in(line)[0] is sign


@pytest.mark.parametrize(
    "line",
    [
        "[Consumer clientId=c, groupId=g] Successfully joined group with generation 4",
        "[Consumer clientId=c, groupId=g] Adding newly assigned partitions: t-0",
        "Dynamic member with unknown member id: not a message of Kafka",
        "%7|1772360430.5|HEARTBEAT|c#consumer-1| [thrd:main]: Heartbeat for group generation id 4",
        "[GroupId g] Bumped group epoch to 5 with metadata hash 123.",
        "the coordinator of the project is on leave",
        "group of polls answered late: 90th percentile exceeded by 40 ms",
        "etcd: heartbeat failed: context deadline exceeded (timeout) in session 5",
        "login of unknown member 4711 of the club refused",
        "[Consumer clientId=c, groupId=g] Connection to node 2 (b/10.0.0.1:9092) could not be established.",
        "the report was committed at an offset of 5 s; the next request timed out",
    ],
)
def test_what_a_healthy_member_logs_is_no_sign(line: str) -> None:
    """Lines of a join, of an assignment and of heartbeats decide nothing."""
    assert signs_in(line) == []


@pytest.mark.parametrize(
    ("line", "group", "member"),
    [
        (failed("10:00:00,000", "my app-1", "g 1"), "g 1", "my app-1"),
        (failed("10:00:00,000", f"app-{UUID}"), "orders", f"app-{UUID}"),
        (opens("10:00:00,000", f"app-{UUID}"), "orders", f"app-{UUID}"),
        ("[Consumer instanceId=i1, clientId=c1, groupId=g1] (Re-)joining group", "g1", "i1"),
        ("[Consumer clientId=c1, groupId=g1] Member c1-9 sending LeaveGroup request", "g1", "c1-9"),
        ('%7|1.5|X|app#consumer-2| [thrd:main]: Group "g1" heartbeat error', "g1", "app#consumer-2"),
        ('orders-1  | %4|1.5|X|rdkafka#consumer-1| [thrd:main]: Group "g1": leave', "g1", "orders-1"),
        ('[pod/orders-7d/app] %4|1.5|X|rdkafka#consumer-1| Group "g1": leave', "g1", "orders-7d"),
        ('{"groupId":"g1","memberId":"m1","clientId":"c1"}', "g1", "m1"),
        ("heartbeat errored; group: g1, err: x", "g1", ""),
        ("Group member (g1,coor=<0.1.0>,cb=<0.2.0>,generation=4): re-joining", "g1", "<0.1.0>"),
        ("[GroupId g1] Member m1 fenced from the group because its session expired.", "g1", "m1"),
        ("[GroupId g1] Member m1 joins the consumer group using the consumer protocol.", "g1", "m1"),
        ("[GroupId g1] Static member m1 with instance id i joins the consumer group using the", "g1", "m1"),
        ("[GroupId g1] Static member m1 with instance id i temporarily left the consumer group.", "g1", "m1"),
        (
            "[GroupId g1] Static member with instance id i re-joins the consumer group. Created a new member m2",
            "g1",
            "m2",
        ),
        ("[GroupId g1] Dynamic member m1 has left group through explicit `LeaveGroup` request", "g1", "m1"),
        ("Cannot upgrade classic group g 1 to consumer group because online upgrade is disabled.", "g 1", ""),
        ("stream-thread [app-StreamThread-1] Detected that the thread is being fenced", "", "app-StreamThread-1"),
        ("Not authorized to access group: Group authorization failed", "", ""),
        ("Heartbeat failed for group g1 because it is rebalancing", "g1", ""),
        ("Group g1 removed dynamic members who haven't joined: Set(c-1, c-2)", "g1", "c-1"),
        ("unable to join group session: FENCED_INSTANCE_ID: another consumer", "", ""),
        ("Attempt to join group failed due to fatal error: The consumer group is full.", "", ""),
        ("Failed to join group failed-orders: [15] Group Coordinator Not Available", "failed-orders", ""),
        ("Offset commit (manual) failed: Broker: Not coordinator for group: t[0]@5(Broker: x)", "", ""),
    ],
)
def test_group_and_member_of_a_line(line: str, group: str, member: str) -> None:
    """Each dialect's names of group and member are found, and a collector's prefix where the client has no own name."""
    assert (group_of(line), member_of(line)) == (group, member)


def test_a_member_that_fails_while_another_joins_held_the_rebalance_open() -> None:
    """The headline names the dead member and how long the rebalance waited for it."""
    said = headline(
        opens("10:00:00,000", f"app-{UUID}"), failed("10:00:42,300", f"app-{OTHER}"), stable("10:00:42,400")
    )
    assert (said.sign, said.who) == (table.HELD_OPEN, (f"app-{OTHER}",))
    assert "waited 42.3 s for app-" in said.says


def test_a_member_that_a_rebalance_drops_after_minutes_was_busy() -> None:
    """No session is that long: it heard of the rebalance and did not join."""
    rows = opens("10:00:00,000", f"app-{UUID}"), failed("10:05:00,000", f"app-{OTHER}"), stable("10:05:00,000")
    assert headline(*rows).sign is table.LATE


def test_a_member_that_fails_in_a_stable_group_was_removed() -> None:
    """Without a rebalance that waits for it, its session ended, and that began the next one."""
    assert headline(stable("10:00:00,000"), failed("10:00:42,300", f"app-{OTHER}")).sign is table.REMOVED


def test_members_that_fail_after_a_load_did_not_find_the_next_coordinator() -> None:
    """Sessions that end soon after the group was loaded at another broker are laid to the move."""
    loads = broker("10:00:00,000", "Loading group metadata for orders with generation 7")
    rows = [loads, *(failed("10:00:30,000", f"app-{uuid}") for uuid in (UUID, OTHER, THIRD))]
    assert headline(*rows).sign is table.MOVED_TOO_SLOWLY
    late = [loads, failed("10:30:30,000", f"app-{UUID}")]
    assert headline(*late).sign is table.REMOVED


def test_members_of_several_groups_that_fail_together_point_to_the_broker() -> None:
    """Three members of two groups within a second are one finding, apart from those of each group."""
    said = found(
        failed("10:00:00,000", f"a-{UUID}", "g1"),
        failed("10:00:00,010", f"b-{OTHER}", "g2"),
        failed("10:00:00,020", f"c-{THIRD}", "g2"),
    )
    assert [one[0].sign for one in said] == [table.TOGETHER, table.REMOVED, table.REMOVED]
    assert said[0][0].says.startswith("3 members lost their sessions within seconds")


def test_clients_that_lose_their_sessions_together_point_to_their_host() -> None:
    """Three clients without an answer within seconds, whatever their coordinators; two are no pattern."""
    rows = [
        f"%4|177236043{n}.500|SESSTMOUT|app-{n}#consumer-1| [thrd:main]: Consumer group session timed out (broker {n})"
        for n in range(3)
    ]
    assert headline(*rows).sign is table.TOGETHER
    assert headline(*rows[:2]).sign is table.NO_ANSWER


def test_joins_that_complete_at_once_evict_each_other() -> None:
    """Three joins in a row that wait for none of the members that are there; a slow one breaks the row."""
    rows = [
        line
        for n, uuid in enumerate((UUID, OTHER, THIRD))
        for line in (opens(f"10:00:0{n},000", f"app-{uuid}", 7 + n), stable(f"10:00:0{n},010", 8 + n))
    ]
    assert headline(*rows).sign is table.EVICTED
    assert headline(*rows[:3], stable("10:00:04,000"), *rows[4:]).sign is table.JOINED


def test_a_client_that_joins_again_and_again_leaves_members_behind() -> None:
    """Members that one client left in an open rebalance, one request timeout after the other, are its attempts."""
    attempt = "Dynamic Member with unknown member id joins group orders in PreparingRebalance state. Created a new "
    attempt += "member id {} for this member and add to the group."
    ids = [f"rb-{uuid}" for uuid in (UUID, OTHER, THIRD)]
    rows = [opens("10:00:00,000", f"app-{UUID}")]
    rows += [broker(f"10:00:{n}0,100", attempt.format(one)) for n, one in enumerate(ids, 1)]
    rows += [stable("10:01:00,000"), *(failed("10:01:30,000", one) for one in ids)]
    assert headline(*rows).sign is table.JOIN_GIVEN_UP


def test_a_request_that_is_sent_again_after_a_while_was_parked() -> None:
    """librdkafka repeats a JoinGroup whose connection broke: after minutes it had waited, after a moment it had not."""
    sent = "1772360430.500 RDKAFKA-7-SEND: c#consumer-1: b/1: Sent JoinGroupRequest (v0, 93 bytes @ 0, CorrId 2)"
    again = "{}.500 RDKAFKA-7-RETRY: c#consumer-1: b/1: Retrying JoinGroupRequest (v0, 93 bytes, retry 1/2)"
    assert headline(sent, again.format(1772361030)).sign is table.JOIN_GIVEN_UP
    assert found(sent, again.format(1772360431)) == []


def test_a_member_that_hears_of_a_rebalance_and_then_is_unknown_came_too_late() -> None:
    """Between the two answers it did not join; with a join between them it was removed for another reason."""
    called = '{"timestamp":"2026-03-01T10:00:00.000Z","clientId":"c","groupId":"g","error":"The group is rebalancing"}'
    joined = '{"timestamp":"2026-03-01T10:00:09.000Z","groupId":"g","message":"Consumer has joined the group"}'
    gone = '{"timestamp":"2026-03-01T10:00:40.000Z","clientId":"c","groupId":"g","error":"not aware of this member"}'
    assert headline(called, gone).sign is table.LATE
    assert headline(called, joined, gone).sign is table.UNKNOWN_MEMBER


def test_a_client_whose_coordinator_was_alive_stood_still() -> None:
    """A session without an answer, and the refusal seconds later; without the refusal the broker may be the cause."""
    silent = (
        "2026-03-01 10:00:00,000 - kafka.coordinator - WARNING - Heartbeat session expired, marking coordinator dead"
    )
    refused = "2026-03-01 10:00:03,100 - kafka.coordinator - WARNING - Heartbeat: local member_id was not recognized"
    assert headline(silent, refused).sign is table.STALLED
    assert headline(silent).sign is table.NO_ANSWER


def test_what_follows_does_not_hide_the_cause() -> None:
    """A poll limit is the headline among a hundred answers of a rebalance, which stand below it with their number."""
    noise = ["2026-03-01 10:00:00,000 [Consumer clientId=c, groupId=g] group is already rebalancing"] * 100
    cause = "2026-03-01 10:00:01,000 [Consumer clientId=c, groupId=g] consumer poll timeout has expired."
    (findings,) = found(*noise, cause, *noise)
    assert [(one.sign, one.count) for one in findings] == [(table.POLL_LIMIT, 1), (table.REBALANCING, 200)]
    assert findings[0].first.number == 101


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        ("[Consumer clientId=c, groupId=g] consumer poll timeout has expired.", "max.poll.records"),
        ("unable to join group session: INCONSISTENT_GROUP_PROTOCOL: no common protocol", "Balancers"),
        ("WARNING:kafka.coordinator:Heartbeat poll expired, leaving group", "max_poll_interval_ms"),
        ('{"logger":"kafkajs","error":"The coordinator is not aware of this member"}', "heartbeat()"),
        ("kafka server: The provided member is not known in the current generation.", "ConsumeClaim"),
        (failed("10:00:00,000", "c-1"), "session.timeout.ms"),
    ],
)
def test_advice_names_the_settings_of_the_library(line: str, setting: str) -> None:
    """What helps has the names of the library that wrote the line; Kafka's own where only a broker did."""
    assert setting in headline(line).do


@pytest.mark.parametrize(
    ("client", "advised"),
    [("app", "group.instance.id"), ("kafkajs", ""), ("sarama", "Consumer.Group.InstanceId"), ("ruby-kafka", "")],
)
def test_a_library_without_static_members_is_not_advised_to_use_them(client: str, advised: str) -> None:
    """A stable instance id helps where the library can send one; a broker's line shows the library by its member id."""
    rows = opens("10:00:00,000", f"{client}-{UUID}"), failed("10:00:42,300", f"{client}-{OTHER}")
    assert ("a stable" in headline(*rows).do) is bool(advised)
    assert advised in headline(*rows).do


def test_lines_without_a_group_belong_to_the_only_group_of_their_file() -> None:
    """A client that names its group in some lines is judged as one; with two groups the line stays without one."""
    head = "2026-03-01 10:00:00,000 - kafka.coordinator - WARNING - "
    unnamed = head + "Heartbeat poll expired, leaving group"
    named = head + "Heartbeat failed for group {} because it is rebalancing"
    assert [one[0].group for one in found(unnamed, named.format("g1"))] == ["g1"]
    assert {one[0].group for one in found(unnamed, named.format("g1"), named.format("g2"))} == {"", "g1", "g2"}


def test_a_folder_is_read_with_its_folders_and_packed_files(tmp_path: Path) -> None:
    """Text files of a folder are read, `.gz` is unpacked, and a binary file is skipped."""
    (tmp_path / "pods").mkdir()
    (tmp_path / "broker.log").write_text(stable("10:00:00,000"), "utf-8")
    (tmp_path / "pods" / "a.log.gz").write_bytes(gzip.compress(failed("10:00:00,000", "c-1").encode()))
    (tmp_path / "pods" / "index").write_bytes(b"\0\1has failed, removing it from the group")
    assert [one.file for one in read(tmp_path)] == ["broker.log", "a.log.gz"]


def test_every_sign_names_scenes_of_the_library() -> None:
    """Every scene that a sign names exists, and one of them logs the sign's words where its programs do."""
    silent = {
        table.NOT_STORED,
        table.FORCED_BY_CONNECT,
        table.JOIN_GIVEN_UP,
        table.OLD_GENERATION,
        table.BAD_SESSION,
        table.UNREACHED,
        table.COMMIT_TIMED_OUT,
    }
    forms = finding.index()
    for sign in SIGNS:
        assert set(sign.scenes) <= set(catalogue.names()), sign.name
        if sign.words and sign not in silent:
            with_words = {scene for form, scenes in forms.items() if sign in signs_in(form) for scene in scenes}
            assert with_words & set(sign.scenes), sign.name


@pytest.mark.parametrize(
    ("scene", "sign", "who"),
    [
        ("bounced-member-holds-rebalance-open", table.HELD_OPEN, "consumer-g1-1-"),
        ("poll-loop-blocked-leaves", table.POLL_LIMIT, "rdkafka#consumer-1"),
        ("already-rebalancing-for-ever", table.LATE, "consumer-g1-1-"),
        ("two-pods-one-instance-id", table.FENCED, "consumer-0-"),
        ("old-clients-evict-each-other", table.EVICTED, "brod-"),
        ("only-member-times-out", table.REMOVED, "kafkajs-"),
        ("heartbeat-gap-resets-generation", table.STALLED, "consumer-g1-1"),
        ("broker-stall-evicts-three-groups", table.TOGETHER, "consumer-"),
        ("leader-rejoins-for-ever", table.REJOINED, "rdkafka-"),
        ("joins-given-up-leave-ghosts", table.JOIN_GIVEN_UP, "ruby-kafka-"),
        ("group-is-full", table.FULL, "consumer-g1-1"),
        ("new-group-id-without-acl", table.FORBIDDEN, "consumer-billing-v2-1"),
        ("assignor-migration-in-one-bounce", table.NO_COMMON_PROTOCOL, "consumer-g1-1"),
        ("consumer-static-killed-unreleased", table.UNRELEASED, "c2"),
        ("consumer-four-scenes", table.REMOVED, "HBIKeL__QXOQ4xhZm4aR5Q"),
        ("consumer-rebalance-timeout-fences", table.REVOKED_TOO_LATE, "oNB_LrafTguMxajIhogang"),
        ("consumer-mixed-own-session", table.REMOVED, "vieNTEi3Tlux8QZbhy1A8w"),
        ("consumer-upgrade-refused", table.UPGRADE_REFUSED, "consumer-g1-1"),
        ("consumer-upgrade-by-rolling", table.LEFT, "consumer-g1-1-"),
        ("consumer-mixed-downgrade", table.LEFT, "G8p6XKOoRouiPcxnbYWiJw"),
        ("consumer-static-bounce", table.LEFT, "QTFs69feRf2ddirkEOktxQ"),
        ("consumer-burst-of-joins", table.JOINED, "9HSohSIoS1i3rxA6HawXJA"),
        ("consumer-coordinator-moves", table.NOT_COORDINATOR, "consumer-billing-1"),
        ("consumer-poll-limit-zombie", table.POLL_LIMIT, "consumer-g1-1"),
        ("coordinator-moves", table.NOT_COORDINATOR, "rdkafka#consumer-1"),
        ("killed-for-memory-and-back", table.LEFT, "rdkafka-"),
        ("staggered-start-one-rebalance", table.JOINED, "consumer-g1-1-"),
    ],
)
def test_the_logs_of_a_scene_say_what_its_story_says(scene: str, sign: Sign, who: str) -> None:
    """The logs of a run, read as those of a real incident, have the headline and the member of the scene's cause."""
    path = catalogue.find(scene)
    logs = render(run_scenario(scenario_of(read_document(path), path.stem)).events)
    lines = [one for file in sorted(logs) for one in records(file, "\n".join(logs[file]).split("\n"))]
    first = judge(lines)[0][0]
    assert first.sign is sign
    assert any(name.startswith(who) for name in first.who)
