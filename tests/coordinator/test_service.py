"""The coordinator of one broker on the event loop."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection

import pytest

from groupsim.coordinator import runtime
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.service import GroupCoordinator
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Request,
    SyncAssignment,
    SyncGroupRequest,
    TopicPartition,
)
from tests.helpers.coordinator_fakes import FakeCall, MemoryLog, Topics

PROTOCOLS = (JoinProtocol("range", b""),)


class Broker:
    """A coordinator with its fakes, and a way to send requests."""

    def __init__(self, loop: VirtualLoop, config: CoordinatorConfig) -> None:
        self.loop = loop
        self.log = MemoryLog(loop)
        self.host = loop.host("broker-1")
        self.topics = Topics({"t": 3})
        self.coordinator = GroupCoordinator(loop, self.host, 1, config, self.log, self.topics)

    def lead_all(self, epoch: int = 0, *, load_us: int = 0) -> None:
        for partition in range(self.coordinator.config.offsets_topic_num_partitions):
            self.coordinator.elect(partition, epoch, load_us=load_us)

    def send(self, request: Request, client_id: str = "client") -> FakeCall:
        call = FakeCall(request, client_id)
        self.coordinator.handle(call)
        return call

    def join(self, client_id: str, member_id: str = "", version: int = 3) -> FakeCall:
        request = JoinGroupRequest("g", 10_000, 60_000, member_id, protocols=PROTOCOLS, version=version)
        return self.send(request, client_id)

    async def wait_ms(self, duration_ms: int) -> None:
        await self.loop.sleep(1_000 * duration_ms)


def run(
    story: Callable[[Broker], Awaitable[None]],
    *,
    config: CoordinatorConfig | None = None,
    lead: bool = True,
    kinds: Collection[Kind] | None = None,
) -> list[TraceEvent]:
    """Run the story on a broker that leads everything; returns the trace, of these `kinds` alone if they are given."""
    events: list[TraceEvent] = []
    trace = Trace(kinds=kinds)
    trace.subscribe(events.append)
    loop = VirtualLoop(seed=7, trace=trace)

    async def main(running: VirtualLoop) -> None:
        broker = Broker(running, config or CoordinatorConfig())
        if lead:
            broker.lead_all()
        await story(broker)

    loop.run(main)
    return events


async def form(broker: Broker, *clients: str) -> list[str]:
    """Form a stable group; returns the member ids, leader first."""
    calls = [broker.join(client) for client in clients]
    await broker.wait_ms(6_100)
    answers = [call.response for call in calls]
    assert all(isinstance(answer, JoinGroupResponse) for answer in answers)
    ids = [answer.member_id for answer in answers]
    leader = answers[0].leader
    for member in sorted(ids, key=lambda one: one == leader):
        plan = tuple(SyncAssignment(one, one.encode()) for one in ids) if member == leader else ()
        broker.send(SyncGroupRequest("g", answers[0].generation_id, member, None, "consumer", "range", plan))
    await broker.wait_ms(10)
    return sorted(ids, key=lambda one: one != leader)


async def heartbeats(broker: Broker, members: list[str], generation: int, times: int, every_ms: int = 3_000) -> None:
    """Let these members heartbeat a few times."""
    for _ in range(times):
        await broker.wait_ms(every_ms)
        for member in members:
            broker.send(HeartbeatRequest("g", generation, member))


def test_group_forms_and_becomes_stable() -> None:
    """Two members join, sync, and the snapshot shows a stable group with their assignments."""

    async def story(broker: Broker) -> None:
        ids = await form(broker, "a", "b")
        group = broker.coordinator.snapshot("g")
        assert group is not None
        assert group.state == "Stable"
        assert {m.member_id: m.assignment for m in group.members} == {one: one.encode() for one in ids}

    kinds = [event.kind for event in run(story)]
    assert kinds.count(Kind.GROUP_STATE) == 3


def test_silent_member_is_expelled_by_its_session_timer() -> None:
    """A member that stops heartbeating is removed at its session timeout, and the removal is caused by that timer."""

    async def story(broker: Broker) -> None:
        ids = await form(broker, "a", "b")
        await heartbeats(broker, ids[:1], 1, 4)
        group = broker.coordinator.snapshot("g")
        assert group is not None
        assert [m.member_id for m in group.members] == ids[:1]

    events = run(story)
    removed = next(event for event in events if event.kind is Kind.MEMBER_REMOVED)
    fired = next(event for event in events if event.seq == removed.cause)
    assert removed.reason == "session-expired"
    assert fired.kind is Kind.TIMER_FIRED
    assert fired.reason == f"heartbeat-g-{removed.member}"


def members_fall_silent(pause_ms: int) -> Callable[[Broker], Awaitable[None]]:
    """A story in which sessions end one after the other, with a pause of the broker in between."""

    async def story(broker: Broker) -> None:
        ids = await form(broker, "a", "b", "c", "d")
        await heartbeats(broker, ids, 1, 5)
        await heartbeats(broker, ids[1:], 1, 2)
        if pause_ms:
            broker.host.pause()
            await broker.wait_ms(pause_ms)
            broker.host.resume()
        await heartbeats(broker, ids[2:], 1, 6)
        rejoined = [broker.join(one, member_id=one) for one in ids[2:]]
        await broker.wait_ms(90_000)
        assert all(call.responses for call in rejoined)

    return story


@pytest.mark.parametrize("pause_ms", [0, 9_000])
def test_timers_fire_alike_when_nobody_wants_to_hear_of_them_being_set(pause_ms: int) -> None:
    """Where moves of timers are not told, alarms that ring too early see for themselves: the same fire, and when."""
    story = members_fall_silent(pause_ms)
    told = [event for event in run(story) if event.kind is Kind.TIMER_FIRED]
    untold = run(story, kinds=[Kind.TIMER_FIRED])
    assert len(told) > 4
    assert [(one.t_us, one.reason) for one in untold] == [(one.t_us, one.reason) for one in told]


def test_every_move_of_a_session_is_told_to_who_asks() -> None:
    """Also one that the alarm would ring too early for: each round that ends sets the member's timer anew."""

    async def story(broker: Broker) -> None:
        (member,) = await form(broker, "a")
        for _ in range(3):
            await broker.wait_ms(1_000)
            assert broker.join("a", member_id=member).responses

    told = [event for event in run(story) if event.kind is Kind.TIMER_SET]
    sessions = [event for event in told if event.reason is not None and event.reason.startswith("heartbeat-")]
    assert len(sessions) >= 4, [event.reason for event in told]
    assert len({event.t_us for event in sessions}) >= 4


def test_quiet_heartbeat_is_answered_with_one_and_the_same_object() -> None:
    """A quiet heartbeat allocates no answer of its own."""

    async def story(broker: Broker) -> None:
        ids = await form(broker, "a")
        first = broker.send(HeartbeatRequest("g", 1, ids[0])).response
        assert broker.send(HeartbeatRequest("g", 1, ids[0])).response is first

    run(story)


def test_broker_that_does_not_lead_the_partition_says_so() -> None:
    """Without leadership every request is answered NOT_COORDINATOR, and a resignation ends leadership."""

    async def story(broker: Broker) -> None:
        assert broker.join("a").response == JoinGroupResponse(ErrorCode.NOT_COORDINATOR)
        broker.lead_all(epoch=3)
        parked = broker.join("a")
        for partition in broker.coordinator.led_partitions:
            broker.coordinator.resign(partition, 3)
        assert not parked.responses
        for partition in broker.coordinator.led_partitions:
            broker.coordinator.resign(partition, 4)
        assert parked.response.error is ErrorCode.NOT_COORDINATOR
        assert broker.send(HeartbeatRequest("g", 1, "x")).response.error is ErrorCode.NOT_COORDINATOR

    run(story, lead=False)


@pytest.mark.parametrize(
    ("version", "sync_error"), [("4.1", "COORDINATOR_LOAD_IN_PROGRESS"), ("2.8.1", "REBALANCE_IN_PROGRESS")]
)
def test_answers_while_the_partition_loads(version: str, sync_error: str) -> None:
    """While loading a heartbeat is answered NONE, everything else that the load goes on; SyncGroup by version."""

    async def story(broker: Broker) -> None:
        broker.lead_all(load_us=5_000_000)
        tp = TopicPartition("t", 0)
        sync = SyncGroupRequest("g", 1, "m", None, "consumer", "range")
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert broker.send(HeartbeatRequest("g", 1, "m")).response.error is ErrorCode.NONE
        assert broker.send(sync).response.error.name == sync_error
        assert broker.join("a").response.error is loading
        assert broker.send(LeaveGroupRequest("g", (LeavingMember("m"),))).response.error is loading
        assert broker.send(OffsetCommitRequest("g", (OffsetToCommit(tp, 1),))).response.error is loading
        assert broker.send(OffsetFetchRequest("g", (tp,))).response.error is loading
        assert broker.send(DescribeGroupsRequest(("g",))).response.groups[0].error is loading
        assert broker.send(ListGroupsRequest()).response.error is loading
        assert broker.send(DeleteGroupsRequest(("g",))).response.results == (("g", loading),)
        await broker.wait_ms(5_001)
        assert broker.send(HeartbeatRequest("g", 1, "m")).response.error is ErrorCode.UNKNOWN_MEMBER_ID

    run(story, config=CoordinatorConfig(version), lead=False)


@pytest.mark.parametrize(("version", "told"), [("4.0", ""), ("3.9", "m")])
def test_a_join_that_is_sent_away_has_its_id_again_up_to_3_9(version: str, told: str) -> None:
    """A JoinGroup to a broker that does not lead the group, or loads it, is answered with its member id up to 3.9."""

    async def story(broker: Broker) -> None:
        answers = [broker.join("a", "m").response]
        broker.lead_all(load_us=5_000_000)
        answers.append(broker.join("a", "m").response)
        errors = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        assert answers == [JoinGroupResponse(error, member_id=told) for error in errors]

    run(story, config=CoordinatorConfig(version), lead=False)


def test_group_moves_to_another_broker_without_a_rebalance() -> None:
    """After a clean fail-over the same generation's heartbeats are good at the new coordinator."""

    async def story(broker: Broker) -> None:
        ids = await form(broker, "a", "b")
        other = GroupCoordinator(
            broker.loop, broker.loop.host("broker-2"), 2, broker.coordinator.config, broker.log, Topics()
        )
        for partition in broker.coordinator.led_partitions:
            broker.coordinator.resign(partition, 1)
            other.elect(partition, 1)
        call = FakeCall(HeartbeatRequest("g", 1, ids[0]))
        other.handle(call)
        assert call.response.error is ErrorCode.NONE
        before, after = broker.coordinator.snapshot("g"), other.snapshot("g")
        assert before is None
        assert after is not None
        assert after.state == "Stable"

    run(story)


def test_commit_for_unknown_topics_only_is_answered_without_the_coordinator() -> None:
    """A commit to unknown topics fails per partition and a stale member goes unnoticed; known ones are still stored."""

    async def story(broker: Broker) -> None:
        await form(broker, "a")
        known, unknown = TopicPartition("t", 0), TopicPartition("nope", 0)
        stale = broker.send(OffsetCommitRequest("g", (OffsetToCommit(unknown, 1),), 99, "stranger"))
        assert stale.response.partitions == ((unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),)
        mixed = broker.send(
            OffsetCommitRequest("g", (OffsetToCommit(unknown, 1), OffsetToCommit(known, 1)), 99, "stranger")
        )
        assert mixed.response.partitions == (
            (unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (known, ErrorCode.UNKNOWN_MEMBER_ID),
        )

    run(story)


def test_delete_groups_of_several_partitions_is_one_answer_in_order() -> None:
    """DeleteGroups asks several partitions and answers once, in the order of the request."""

    async def story(broker: Broker) -> None:
        await form(broker, "a")
        broker.send(OffsetCommitRequest("simple", (OffsetToCommit(TopicPartition("t", 0), 1),)))
        await broker.wait_ms(10)
        call = broker.send(DeleteGroupsRequest(("none", "simple", "g")))
        await broker.wait_ms(10)
        assert call.response.results == (
            ("none", ErrorCode.GROUP_ID_NOT_FOUND),
            ("simple", ErrorCode.NONE),
            ("g", ErrorCode.NON_EMPTY_GROUP),
        )

    run(story)


def test_requests_that_name_no_group_or_a_bad_timeout_are_refused() -> None:
    """The checks before the group is looked at: group id, session timeout bounds, SyncGroup v5 without protocol."""

    async def story(broker: Broker) -> None:
        invalid = ErrorCode.INVALID_GROUP_ID
        assert broker.send(HeartbeatRequest("", 1, "m")).response.error is invalid
        assert broker.send(JoinGroupRequest("", 10_000, protocols=PROTOCOLS)).response.error is invalid
        assert broker.send(LeaveGroupRequest("")).response.error is invalid
        short = broker.send(JoinGroupRequest("g", 5_999, 60_000, "me", protocols=PROTOCOLS)).response
        assert short == JoinGroupResponse(ErrorCode.INVALID_SESSION_TIMEOUT, member_id="me")
        assert broker.send(SyncGroupRequest("g", 1, "m")).response.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    run(story)


def test_fresh_member_ids_are_the_same_in_every_run_of_a_seed() -> None:
    """Ids are `<client id>-<uuid>` and follow from the seed alone."""
    seen: list[str] = []

    async def story(broker: Broker) -> None:
        seen.append(broker.join("a", version=9).response.member_id)

    run(story)
    run(story)
    assert seen[0] == seen[1]
    prefix, uuid = seen[0].split("-", 1)
    assert prefix == "a"
    assert len(uuid) == 36
    assert uuid[14] == "4"


def test_slow_log_delays_the_answers_to_heartbeats() -> None:
    """While an append is under way a heartbeat prolongs the session at once but is answered when it is committed."""

    async def story(broker: Broker) -> None:
        ids = await form(broker, "a")
        broker.log.latency_us = 2_000_000
        tp = TopicPartition("t", 0)
        commit = broker.send(OffsetCommitRequest("g", (OffsetToCommit(tp, 5),), 1, ids[0]))
        call = broker.send(HeartbeatRequest("g", 1, ids[0]))
        await broker.wait_ms(1_999)
        assert not call.responses
        assert not commit.responses
        await broker.wait_ms(2)
        assert call.response.error is ErrorCode.NONE

    run(story)


def test_stopped_coordinator_is_not_available() -> None:
    """A clean shutdown answers what is parked NOT_COORDINATOR and whatever comes later COORDINATOR_NOT_AVAILABLE."""

    async def story(broker: Broker) -> None:
        parked = broker.join("a")
        broker.coordinator.stop()
        assert parked.response.error is ErrorCode.NOT_COORDINATOR
        assert broker.join("a").response.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert broker.coordinator.led_partitions == ()

    run(story)


def test_deleted_topic_takes_offsets_of_every_partition_along() -> None:
    """After `topic_deleted` nothing is committed for that topic in any group; others keep theirs."""
    gone, kept = TopicPartition("t", 0), TopicPartition("u", 0)

    async def story(broker: Broker) -> None:
        broker.topics.counts["u"] = 1
        for group in ("s1", "s2"):
            broker.send(OffsetCommitRequest(group, (OffsetToCommit(gone, 1), OffsetToCommit(kept, 2))))
        await broker.wait_ms(10)
        broker.coordinator.topic_deleted("t")
        fetches = [broker.send(OffsetFetchRequest(group, None)) for group in ("s1", "s2")]
        await broker.wait_ms(10)
        for fetch in fetches:
            assert [(one.partition, one.offset) for one in fetch.response.offsets] == [(kept, 2)]

    run(story)


def test_offset_delete_names_unknown_topics_beside_the_others() -> None:
    """OffsetDelete answers for unknown topics itself, keeps the order, and lets a top-level error stand alone."""
    known, unknown = TopicPartition("t", 0), TopicPartition("nope", 0)

    async def story(broker: Broker) -> None:
        none = broker.send(OffsetDeleteRequest("s", (unknown, known)))
        assert none.response.error is ErrorCode.GROUP_ID_NOT_FOUND
        broker.send(OffsetCommitRequest("s", (OffsetToCommit(known, 1),)))
        deleted = broker.send(OffsetDeleteRequest("s", (unknown, known)))
        await broker.wait_ms(10)
        assert deleted.response.partitions == (
            (unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (known, ErrorCode.NONE),
        )

    run(story)


@pytest.mark.parametrize("settings", [{"broker.version": "3.9"}, {"group.coordinator.rebalance.protocols": "classic"}])
def test_a_broker_without_the_consumer_protocol_refuses_it(settings: dict[str, str]) -> None:
    """Both requests are answered UNSUPPORTED_VERSION, before anything else is looked at."""

    async def story(broker: Broker) -> None:
        unsupported = ErrorCode.UNSUPPORTED_VERSION
        assert broker.send(ConsumerGroupHeartbeatRequest("g", "m", 0)).response.error is unsupported
        described = broker.send(ConsumerGroupDescribeRequest(("g", "h"))).response
        assert [(group.group_id, group.error) for group in described.groups] == [("g", unsupported), ("h", unsupported)]

    run(story, config=CoordinatorConfig.from_properties(settings))


def test_the_consumer_protocol_is_answered() -> None:
    """A heartbeat is checked, and answered by its group; a client of version 0 is given an id of 22 letters."""

    async def story(broker: Broker) -> None:
        refused = broker.send(ConsumerGroupHeartbeatRequest("g", "m", 0)).response
        assert (refused.error, refused.error_message) == (
            ErrorCode.INVALID_REQUEST,
            "RebalanceTimeoutMs must be provided in first request.",
        )
        unknown = ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 9, ("t",), None, "sticky", ())
        assert broker.send(unknown).response.error is ErrorCode.UNSUPPORTED_ASSIGNOR
        call = broker.send(ConsumerGroupHeartbeatRequest("g", "", 0, None, None, 9, ("t",), None, None, (), version=0))
        await broker.wait_ms(10)
        assert (call.response.error, call.response.member_epoch) == (ErrorCode.NONE, 2)
        assert re.fullmatch(r"[\w-]{22}", call.response.member_id)
        described = broker.send(ConsumerGroupDescribeRequest(("g", "h", ""), True)).response
        assert [(group.group_id, group.error) for group in described.groups] == [
            ("g", ErrorCode.NONE),
            ("h", ErrorCode.GROUP_ID_NOT_FOUND),
            ("", ErrorCode.INVALID_GROUP_ID),
        ]
        assert (described.groups[0].state, described.groups[0].authorized_operations) == ("Stable", 3400)

    run(story)


@pytest.mark.parametrize(("lead", "error"), [(True, ErrorCode.NONE), (False, ErrorCode.NOT_COORDINATOR)])
def test_a_heartbeat_goes_to_the_coordinator(lead: bool, error: ErrorCode) -> None:
    """A broker that does not lead the group's partition says so, to a description, too."""

    async def story(broker: Broker) -> None:
        call = broker.send(ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 9, ("t",), None, None, ()))
        await broker.wait_ms(10)
        assert call.response.error is error
        assert broker.send(ConsumerGroupDescribeRequest(("g",))).response.groups[0].error is error

    run(story, lead=lead)


def test_regular_expressions_are_resolved_a_little_later() -> None:
    """The result is an event of the broker's own, a millisecond after the heartbeat that began it."""

    async def story(broker: Broker) -> None:
        broker.send(ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 9, None, "x", None, ()))
        await broker.wait_ms(50)

    events = run(story)
    (resolved,) = [event for event in events if event.kind is Kind.REGEX_RESOLVED]
    assert (resolved.member, resolved.reason, resolved.payload) == ("m", "x", {"topics": []})


def test_groups_of_all_partitions_are_listed_and_described() -> None:
    """ListGroups is the union over partitions; DescribeGroups answers each group in the order of the request."""

    async def story(broker: Broker) -> None:
        await form(broker, "a")
        broker.send(OffsetCommitRequest("s", (OffsetToCommit(TopicPartition("t", 0), 1),)))
        await broker.wait_ms(10)
        listed = broker.send(ListGroupsRequest()).response
        assert sorted((one.group_id, one.state) for one in listed.groups) == [("g", "Stable"), ("s", "Empty")]
        described = broker.send(DescribeGroupsRequest(("s", "none", "g"))).response
        assert [one.state for one in described.groups] == ["Empty", "Dead", "Stable"]

    run(story)


def test_groups_that_clients_make_up_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a group belongs is looked up once, and once more when thousands of others were asked about meanwhile."""
    looked_up: list[str] = []

    def look_up(group_id: str, partitions: int) -> int:
        looked_up.append(group_id)
        return partition_for(group_id, partitions)

    async def story(broker: Broker) -> None:
        for groups in (("a", "a"), ("a",), tuple(f"made-up-{number}" for number in range(5_000)), ("a",)):
            broker.send(DescribeGroupsRequest(groups))

    monkeypatch.setattr(runtime, "partition_for", look_up)
    run(story)
    assert looked_up.count("a") == 2


def test_records_and_their_ends_stand_in_the_trace() -> None:
    """Each appended record is an event, each end of an append too, and what a commit brings about is caused by it."""

    async def story(broker: Broker) -> None:
        await form(broker, "a")

    events = run(story)
    appended = [event for event in events if event.kind is Kind.RECORD_APPENDED]
    assert [(event.payload or {}).get("value") for event in appended] == [
        {"generation": 0, "members": 0},
        {"generation": 1, "members": 1},
    ]
    stable = next(event for event in events if event.kind is Kind.GROUP_STATE and event.to == "Stable")
    assert next(event for event in events if event.seq == stable.cause).kind is Kind.APPEND_DONE


def test_timers_of_a_crashed_broker_are_silent() -> None:
    """After a crash no session of the old incarnation expires, even when the host is started again."""

    async def story(broker: Broker) -> None:
        await form(broker, "a")
        broker.host.crash()
        broker.host.start()
        await broker.wait_ms(60_000)

    assert not [event for event in run(story) if event.kind is Kind.TIMER_FIRED and "heartbeat" in (event.reason or "")]


@pytest.mark.parametrize(("release", "operations"), [("3.9", 328), ("4.0", 3_400)])
def test_operations_on_a_group_are_those_of_the_release(release: str, operations: int) -> None:
    """READ, DELETE, DESCRIBE; since 4.0 those on its configs, too: as a real 3.9.1 and a real 4.4.0 tell them."""

    async def story(broker: Broker) -> None:
        await form(broker, "a")
        asked = DescribeGroupsRequest(("g",), include_authorized_operations=True, version=3)
        assert broker.send(asked).response.groups[0].authorized_operations == operations

    run(story, config=CoordinatorConfig(release))
