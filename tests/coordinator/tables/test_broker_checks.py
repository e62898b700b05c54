"""Checks before a group is looked at (1.2), topics, placement (3.1), load (3.3), FindCoordinator (1.12)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.counted import CountedConfig
from groupsim.cluster.counted.broker_parts import CountedMetadata
from groupsim.cluster.counted.controller import CountedController
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.ids import MemberIds
from groupsim.coordinator.testing import RANGE
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.protocol.javahash import java_string_hash
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Request,
    Response,
    SyncGroupRequest,
    TopicPartition,
)
from tests.helpers.tables_kit import Broker as Around
from tests.helpers.tables_kit import E, on_broker

T0 = TopicPartition("t", 0)
Make = Callable[[str], Request]

REQUESTS: dict[str, Make] = {
    "JoinGroup": lambda g: JoinGroupRequest(g, 10_000, 60_000, "m", protocols=RANGE),
    "SyncGroup": lambda g: SyncGroupRequest(g, 1, "m", None, "consumer", "range"),
    "Heartbeat": lambda g: HeartbeatRequest(g, 1, "m"),
    "LeaveGroup": lambda g: LeaveGroupRequest(g, (LeavingMember("m"),)),
    "OffsetCommit": lambda g: OffsetCommitRequest(g, (OffsetToCommit(T0, 1),)),
    "OffsetFetch": lambda g: OffsetFetchRequest(g, (T0,)),
    "OffsetDelete": lambda g: OffsetDeleteRequest(g, (T0,)),
    "DescribeGroups": lambda g: DescribeGroupsRequest((g,), version=5),
    "DeleteGroups": lambda g: DeleteGroupsRequest((g,)),
    "ListGroups": lambda g: ListGroupsRequest(),
}
NAMING_ONE = [name for name in REQUESTS if name != "ListGroups"]


def error_in(response: Any) -> E:
    """The error a response tells, wherever its API has the place for it."""
    if hasattr(response, "groups") and response.groups:
        return E(response.groups[0].error)
    if hasattr(response, "results"):
        return E(response.results[0][1])
    return E(response.error)


def answers(name: str, group: str = "g", **around: Any) -> Response:
    """The answer of a broker to this request, as it stands."""
    found: list[Response] = []

    async def story(made: Around) -> None:
        found.append(made.ask(REQUESTS[name](group)))

    on_broker(story, **around)
    return found[0]


# --- 1.2 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param(n, id=f"1.2-stopped-{n}") for n in REQUESTS])
def test_stopped_coordinator(name: str) -> None:
    """1.2: a coordinator that is stopped answers COORDINATOR_NOT_AVAILABLE to every API; JoinGroup echoes the id."""

    async def story(made: Around) -> None:
        made.coordinator.stop()
        answer = made.ask(REQUESTS[name]("g"))
        assert error_in(answer) is E.COORDINATOR_NOT_AVAILABLE
        assert getattr(answer, "member_id", "m") == "m"

    on_broker(story)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, id=f"1.2-empty-group-id-{n}")
        for n in ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetDelete")
    ],
)
@pytest.mark.parametrize("lead", [True, False])
def test_empty_group_id_is_refused(name: str, lead: bool) -> None:
    """1.2: group id "" is INVALID_GROUP_ID for requests of members, whichever broker leads; JoinGroup echoes the id."""
    answer = answers(name, "", lead=lead)
    assert error_in(answer) is E.INVALID_GROUP_ID
    assert getattr(answer, "member_id", "m") == "m"


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, id=f"1.2-empty-group-id-{n}") for n in ("OffsetFetch", "DescribeGroups", "DeleteGroups")],
)
def test_empty_group_id_is_allowed_for_old_standalone_clients(name: str) -> None:
    """1.2: OffsetFetch, DescribeGroups and DeleteGroups take "" for a group like any other."""
    assert error_in(answers(name, "")) in (E.NONE, E.GROUP_ID_NOT_FOUND)


def test_empty_group_id_can_commit() -> None:
    """1.2: OffsetCommit takes "" too, and stores it in partition 0."""

    async def story(made: Around) -> None:
        call = made.send(REQUESTS["OffsetCommit"](""))
        await made.loop.sleep(5_000)
        assert error_in(call.response) is E.NONE
        assert len(made.log.read(0)) == 1

    on_broker(story)


@pytest.mark.parametrize(
    ("session_ms", "ok"),
    [
        pytest.param(5_999, False, id="1.2-session-too-short"),
        pytest.param(6_000, True, id="1.2-session-shortest"),
        pytest.param(1_800_000, True, id="1.2-session-longest"),
        pytest.param(1_800_001, False, id="1.2-session-too-long"),
    ],
)
def test_session_timeout_bounds(session_ms: int, ok: bool) -> None:
    """1.2: a session timeout out of bounds is INVALID_SESSION_TIMEOUT with the id echoed."""

    async def story(made: Around) -> None:
        answer = made.ask(JoinGroupRequest("g", session_ms, 60_000, "m", protocols=RANGE))
        expected = E.UNKNOWN_MEMBER_ID if ok else E.INVALID_SESSION_TIMEOUT
        assert (answer.error, answer.member_id) == (expected, "m")  # type: ignore[union-attr]

    on_broker(story)


@pytest.mark.parametrize("rebalance_ms", [-1, 0, 2**31 - 1])
def test_rebalance_timeout_is_not_validated(rebalance_ms: int) -> None:
    """1.2: any rebalance timeout passes."""

    async def story(made: Around) -> None:
        answer = made.ask(JoinGroupRequest("g", 10_000, rebalance_ms, "m", protocols=RANGE))
        assert answer.error is E.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]

    on_broker(story)


@pytest.mark.parametrize("name", [pytest.param(n, id=f"1.2-not-leader-{n}") for n in NAMING_ONE])
def test_not_the_leader(name: str) -> None:
    """1.2: a broker that does not lead the group's partition answers NOT_COORDINATOR."""
    assert error_in(answers(name, lead=False)) is E.NOT_COORDINATOR


LOADING = dict.fromkeys(REQUESTS, E.COORDINATOR_LOAD_IN_PROGRESS) | {"Heartbeat": E.NONE}


@pytest.mark.parametrize(("name", "error"), [pytest.param(n, e, id=f"1.2-loading-{n}") for n, e in LOADING.items()])
def test_loading(name: str, error: E) -> None:
    """1.2: while the partition loads: Heartbeat NONE, everything else, SyncGroup too, LOAD_IN_PROGRESS."""

    async def story(made: Around) -> None:
        made.lead_all(load_us=50_000)
        assert error_in(made.ask(REQUESTS[name]("g"))) is error

    on_broker(story, lead=False)


def test_old_coordinator_answers_a_sync_during_the_load_otherwise() -> None:
    """1.2 [old]: the Scala coordinator answered SyncGroup REBALANCE_IN_PROGRESS while loading."""

    async def story(made: Around) -> None:
        made.lead_all(load_us=50_000)
        assert error_in(made.ask(REQUESTS["SyncGroup"]("g"))) is E.REBALANCE_IN_PROGRESS

    on_broker(story, lead=False, properties={"broker.version": "3.9"})


@pytest.mark.parametrize(
    ("version", "named", "error"),
    [
        pytest.param(5, (None, None), E.INCONSISTENT_GROUP_PROTOCOL, id="1.2-sync-v5-nothing"),
        pytest.param(5, ("consumer", None), E.INCONSISTENT_GROUP_PROTOCOL, id="1.2-sync-v5-no-name"),
        pytest.param(5, (None, "range"), E.INCONSISTENT_GROUP_PROTOCOL, id="1.2-sync-v5-no-type"),
        pytest.param(5, ("consumer", "range"), E.UNKNOWN_MEMBER_ID, id="1.2-sync-v5-both"),
        pytest.param(4, (None, None), E.UNKNOWN_MEMBER_ID, id="1.2-sync-v4"),
    ],
)
def test_sync_has_to_name_its_protocol(version: int, named: tuple[str | None, str | None], error: E) -> None:
    """1.2: SyncGroup v5+ without protocol type or name: INCONSISTENT_GROUP_PROTOCOL from the API layer."""

    async def story(made: Around) -> None:
        answer = made.ask(SyncGroupRequest("g", 1, "m", None, *named, version=version))
        assert error_in(answer) is error

    on_broker(story)


def test_offset_fetch_v1_has_its_errors_per_partition() -> None:
    """1.9: before v2 an error of the whole group is repeated per partition."""

    async def story(made: Around) -> None:
        answer: Any = made.ask(OffsetFetchRequest("g", (T0,), version=1))
        assert [(o.partition, o.error) for o in answer.offsets] == [(T0, E.NOT_COORDINATOR)]

    on_broker(story, lead=False)


# --- 1.7, 1.11 topics --------------------------------------------------------------------------------------------

UNKNOWN = [
    pytest.param(TopicPartition("nope", 0), id="1.7-topic-unknown"),
    pytest.param(TopicPartition("t", 3), id="1.7-partition-unknown"),
    pytest.param(TopicPartition("t", -1), id="1.7-partition-negative"),
]


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_commit_of_unknown_topics(unknown: TopicPartition) -> None:
    """1.7: what the broker does not know is UNKNOWN_TOPIC_OR_PARTITION; the rest is stored; order is kept."""

    async def story(made: Around) -> None:
        call = made.send(OffsetCommitRequest("g", (OffsetToCommit(unknown, 1), OffsetToCommit(T0, 2))))
        await made.loop.sleep(5_000)
        expected = ((unknown, E.UNKNOWN_TOPIC_OR_PARTITION), (T0, E.NONE))
        assert call.response == OffsetCommitResponse(expected)

    on_broker(story)


def test_a_partition_named_twice() -> None:
    """1.7: a partition that is named twice is answered twice, beside a topic that is unknown as well as alone."""

    async def story(made: Around) -> None:
        unknown = TopicPartition("nope", 0)
        long, short = OffsetToCommit(T0, 1, metadata="x" * 5_000), OffsetToCommit(T0, 2)
        call = made.send(OffsetCommitRequest("g", (long, OffsetToCommit(unknown, 1), short)))
        await made.loop.sleep(5_000)
        assert isinstance(call.response, OffsetCommitResponse)
        assert call.response.partitions == (
            (T0, E.OFFSET_METADATA_TOO_LARGE),
            (unknown, E.UNKNOWN_TOPIC_OR_PARTITION),
            (T0, E.NONE),
        )

    on_broker(story)


def test_commit_of_nothing_but_unknown_topics_is_not_checked() -> None:
    """1.7: if nothing is left the coordinator is not called: a stale member goes unnoticed, nothing is created."""

    async def story(made: Around) -> None:
        unknown = TopicPartition("nope", 0)
        for times in (1, 2):
            offsets = (OffsetToCommit(unknown, 1),) * times
            answer = made.ask(OffsetCommitRequest("g", offsets, 99, "ghost"))
            assert answer == OffsetCommitResponse(((unknown, E.UNKNOWN_TOPIC_OR_PARTITION),) * times)
            made.ask(OffsetCommitRequest("g", offsets))
            assert made.coordinator.snapshot("g") is None

    on_broker(story)


def test_offset_delete_of_unknown_topics() -> None:
    """1.11: unknown topics are answered per partition by the API layer."""

    async def story(made: Around) -> None:
        made.send(REQUESTS["OffsetCommit"]("g"))
        await made.loop.sleep(5_000)
        unknown = TopicPartition("nope", 0)
        call = made.send(OffsetDeleteRequest("g", (unknown, T0)))
        await made.loop.sleep(5_000)
        answer: Any = call.response
        assert (answer.error, answer.partitions) == (
            E.NONE,
            ((unknown, E.UNKNOWN_TOPIC_OR_PARTITION), (T0, E.NONE)),
        )

    on_broker(story)


# --- 3.1 placement -----------------------------------------------------------------------------------------------

PLACES = [
    pytest.param("", 0, 0, id="3.1-empty"),
    pytest.param("group-id", 506_313_513, 13, id="3.1-group-id"),
    pytest.param("my-group", -1_906_497_762, 12, id="3.1-my-group"),
    pytest.param("test", 3_556_498, 48, id="3.1-test"),
    pytest.param("foo", 101_574, 24, id="3.1-foo"),
    pytest.param("polygenelubricants", -2_147_483_648, 0, id="3.1-min-value"),
]


@pytest.mark.parametrize(("group", "hash_code", "partition"), PLACES)
def test_placement(group: str, hash_code: int, partition: int) -> None:
    """3.1: Java's hash of the group id, its absolute value, modulo 50; the smallest integer maps to 0."""
    assert java_string_hash(group) == hash_code
    assert partition_for(group) == partition


def test_fresh_ids_are_client_id_and_uuid() -> None:
    """J1: generated ids are `<clientId>-<uuid>`, version 4, and differ."""

    ids = MemberIds(VirtualLoop(seed=1), 1, 0)
    found = [ids.fresh("g", "consumer-g-1") for _ in range(20)]
    uuid = r"consumer-g-1-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(uuid, one) for one in found)
    assert len(set(found)) == 20


# --- 3.3 election ------------------------------------------------------------------------------------------------


def test_epochs_order_elections_and_resignations() -> None:
    """3.3: an election or resignation whose leader epoch is not newer is ignored."""

    async def story(made: Around) -> None:
        place = partition_for("g")
        made.coordinator.elect(place, 5)
        made.coordinator.resign(place, 5)
        assert place in made.coordinator.led_partitions
        made.coordinator.resign(place, 6)
        assert place not in made.coordinator.led_partitions
        made.coordinator.elect(place, 6)
        assert place not in made.coordinator.led_partitions
        made.coordinator.elect(place, 7)
        assert place in made.coordinator.led_partitions

    on_broker(story, lead=False)


def test_group_is_served_after_the_load() -> None:
    """3.3: once loaded the partition's groups are served as written."""

    async def story(made: Around) -> None:
        made.join(version=3)
        await made.loop.sleep(10_000)
        made.coordinator.resign(partition_for("g"), 1)
        other = made.another(2)
        other.elect(partition_for("g"), 2, load_us=30_000)
        assert other.snapshot("g") is None
        await made.loop.sleep(30_000)
        group = other.snapshot("g")
        assert group is not None
        assert (group.state, group.generation) == ("Empty", 0)

    on_broker(story)


# --- 1.12 FindCoordinator ----------------------------------------------------------------------------------------


def controller_of(loop: VirtualLoop, brokers: int = 3, stale_us: int = 0) -> CountedController:
    """The controller of a cluster where another coordinator is elected as soon as one is gone."""
    config = ClusterConfig.with_counted_logs(brokers=brokers, metadata_stale_us=stale_us)
    return CountedController(loop, config, CountedConfig(election_us=0))


def find(controller: CountedController, key: str) -> FindCoordinatorResponse:
    """Ask a broker for a group's coordinator."""
    metadata = CountedMetadata(controller)
    metadata.take(controller.image)
    return metadata.find_coordinator(FindCoordinatorRequest(key))


@pytest.mark.parametrize(
    "group", [pytest.param("my-group", id="1.12-leader"), pytest.param("", id="1.12-empty-group-id")]
)
def test_find_coordinator_names_the_partitions_leader(group: str) -> None:
    """1.12: the coordinator is the leader of the group's partition; "" is hashed like any other id."""

    async def main(loop: VirtualLoop) -> None:
        controller = controller_of(loop)
        controller.move_leader(TopicPartition("__consumer_offsets", partition_for(group)), 2)
        await loop.sleep(1)
        assert find(controller, group) == FindCoordinatorResponse(E.NONE, 2, "broker-2")

    VirtualLoop(seed=1).run(main)


def test_find_coordinator_without_a_leader() -> None:
    """1.12: no live leader: COORDINATOR_NOT_AVAILABLE, node -1, host ""."""
    loop = VirtualLoop(seed=1)
    controller = controller_of(loop, brokers=1)
    controller.broker_down(0)
    assert find(controller, "g") == FindCoordinatorResponse(E.COORDINATOR_NOT_AVAILABLE, -1, "")


def test_find_coordinator_can_be_stale() -> None:
    """1.12: for a while after a move the old leader is named; it will answer NOT_COORDINATOR."""

    async def main(loop: VirtualLoop) -> None:
        config = ClusterConfig.with_counted_logs(metadata_stale_us=1_000)
        controller = CountedController(loop, config, CountedConfig(election_us=2_000))
        place = partition_for("g")
        controller.move_leader(TopicPartition("__consumer_offsets", place), (place + 1) % 3)
        assert find(controller, "g").node == place % 3
        await loop.sleep(1_000)
        assert find(controller, "g").error is E.COORDINATOR_NOT_AVAILABLE
        await loop.sleep(1_001)
        assert find(controller, "g").node == (place + 1) % 3

    VirtualLoop(seed=1).run(main)
