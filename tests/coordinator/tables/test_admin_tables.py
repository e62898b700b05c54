"""DescribeGroups and ListGroups (1.10), DeleteGroups (1.11)."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.coordinator.base.records import GroupRecord, OffsetRecord
from groupsim.coordinator.testing import Bench
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    JoinGroupRequest,
    JoinProtocol,
    ListGroupsRequest,
    TopicPartition,
)
from tests.helpers.tables_kit import (
    COMPLETING,
    DEAD,
    EMPTY,
    LIVE,
    PREPARING,
    STABLE,
    E,
    bench,
    broker,
    describe,
    listed,
    on_broker,
    scene,
)
from tests.helpers.tables_kit import Broker as Around

# --- DescribeGroups ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "error"),
    [
        pytest.param(5, E.NONE, id="1.10-describe-unknown-v5"),
        pytest.param(6, E.GROUP_ID_NOT_FOUND, id="1.10-describe-unknown-v6"),
    ],
)
def test_describe_unknown_group(version: int, error: E) -> None:
    """1.10: an unknown group is Dead; from v6 on that is GROUP_ID_NOT_FOUND with a message as well."""
    found = describe(bench(), version=version)
    assert (found.error, found.state, found.members) == (error, DEAD, ())
    assert (found.error_message is not None) is (error is not E.NONE)


def test_describe_stable_group() -> None:
    """1.10: Stable: type, protocol name, and of each member client, host, instance, chosen metadata and assignment."""
    stage = scene(STABLE, static=True, protocols=(JoinProtocol("range", b"meta"),))
    found = describe(stage.bench)
    assert (found.state, found.protocol_type, found.protocol) == (STABLE, "consumer", "range")
    by_id = {m.member_id: m for m in found.members}
    leader = by_id[stage.leader]
    assert (leader.client_id, leader.client_host, leader.group_instance_id) == ("a", "/127.0.0.1", "a")
    assert (leader.metadata, leader.assignment) == (b"meta", stage.leader.encode())


@pytest.mark.parametrize("state", [pytest.param(s, id=f"1.10-describe-{s}") for s in (EMPTY, PREPARING, COMPLETING)])
def test_describe_group_that_is_not_stable(state: str) -> None:
    """1.10: in other states protocolData is empty and members come without metadata."""
    stage = scene(state, protocols=(JoinProtocol("range", b"meta"),))
    found = describe(stage.bench)
    assert (found.state, found.protocol_type, found.protocol) == (state, "consumer", "")
    assert all(m.metadata == b"" for m in found.members)


def test_describe_shows_stored_assignments() -> None:
    """1.10: the previous assignments until the new ones are stored; none after a reset."""
    stage = scene(STABLE)
    previous = {stage.leader.encode(), stage.follower.encode()}
    for one in (stage.leader, stage.follower):
        stage.bench.join(member_id=one)
    assert stage.bench.state == COMPLETING
    assert {m.assignment for m in describe(stage.bench).members} == previous
    stage.bench.join("c")
    assert {m.assignment for m in describe(stage.bench).members} == {b""}


def test_describe_shows_the_state_of_now() -> None:
    """1.10: fields are read as they are, not as committed: a round shows at once though appends are under way."""
    stage = scene(STABLE)
    stage.bench.auto_commit = False
    stage.bench.commit_offset(1, group="other")
    stage.bench.join("c")
    assert describe(stage.bench).state == PREPARING


def test_group_appears_when_its_record_is_committed() -> None:
    """1.10: the existence of a group is read as committed, for DescribeGroups and ListGroups."""
    made = bench(auto_commit=False)
    made.join("a")
    assert (describe(made).state, listed(made)) == (DEAD, [])
    made.commit()
    assert (describe(made).state, listed(made)) == (PREPARING, [("g", "consumer", PREPARING)])


def test_deleted_group_disappears_when_its_tombstone_is_committed() -> None:
    """1.10: so is the end of one."""
    made = scene(EMPTY).bench
    made.auto_commit = False
    made.send(DeleteGroupsRequest(("g",)))
    assert describe(made).state == EMPTY
    made.commit()
    assert (describe(made).state, listed(made)) == (DEAD, [])


# --- ListGroups --------------------------------------------------------------------------------------------------


def assorted() -> Bench:
    """An Empty group `g`, a joining one `h` and a simple one `s`."""
    made = scene(EMPTY).bench
    made.join("x", group="h", protocol_type="connect")
    made.commit_offset(1, group="s")
    return made


FILTERS = [
    pytest.param({}, ["g", "h", "s"], id="1.10-list-all"),
    pytest.param({"states": ("Empty",)}, ["g", "s"], id="1.10-list-state"),
    pytest.param({"states": (" pREPARINGrebalance ",)}, ["h"], id="1.10-list-state-trimmed-any-case"),
    pytest.param({"states": ("Nonsense",)}, [], id="1.10-list-state-unknown"),
    pytest.param({"states": ("Nonsense", "Empty")}, ["g", "s"], id="1.10-list-state-one-unknown"),
    pytest.param({"types": ("Classic",)}, ["g", "h", "s"], id="1.10-list-type-any-case"),
    pytest.param({"types": ("consumer",)}, [], id="1.10-list-type-consumer"),
    pytest.param({"types": ("nonsense",)}, [], id="1.10-list-type-unknown"),
    pytest.param({"states": ("Empty",), "types": ("classic",)}, ["g", "s"], id="1.10-list-both"),
]


@pytest.mark.parametrize(("filters", "names"), FILTERS)
def test_list_filters(filters: dict[str, Any], names: list[str]) -> None:
    """1.10: states are trimmed and compared without case, types without case; unknown names match nothing."""
    assert [group for group, _, _ in listed(assorted(), **filters)] == names


def test_list_shows_simple_groups() -> None:
    """1.10: a simple group is listed as Empty with protocol type ""."""
    assert listed(assorted()) == [("g", "consumer", EMPTY), ("h", "connect", PREPARING), ("s", "", EMPTY)]


def test_list_of_several_partitions() -> None:
    """1.10: the broker's list is the union of its partitions; a loading one spoils it, one led elsewhere is skipped."""

    async def story(around: Around) -> None:
        for group in ("my-group", "test", "foo"):
            around.join(group, version=3)
        await around.loop.sleep(10_000)
        assert {g.group_id for g in around.ask(ListGroupsRequest()).groups} == {"my-group", "test", "foo"}  # type: ignore[union-attr]
        around.coordinator.resign(24, 5)
        assert {g.group_id for g in around.ask(ListGroupsRequest()).groups} == {"my-group", "test"}  # type: ignore[union-attr]
        around.coordinator.elect(24, 6, load_us=5_000)
        found = around.ask(ListGroupsRequest())
        assert (found.error, found.groups) == (E.COORDINATOR_LOAD_IN_PROGRESS, ())  # type: ignore[union-attr]

    on_broker(story)


def test_describe_of_several_partitions() -> None:
    """1.10: LOADING and NOT_COORDINATOR are errors of the one group, in the order of the request."""

    async def story(around: Around) -> None:
        around.coordinator.resign(24, 5)
        around.coordinator.elect(48, 6, load_us=5_000)
        found = around.ask(DescribeGroupsRequest(("foo", "test", "my-group"), version=5)).groups  # type: ignore[union-attr]
        assert [(g.group_id, g.error) for g in found] == [
            ("foo", E.NOT_COORDINATOR),
            ("test", E.COORDINATOR_LOAD_IN_PROGRESS),
            ("my-group", E.NONE),
        ]

    on_broker(story)


# --- DeleteGroups ------------------------------------------------------------------------------------------------


def delete(made: Bench, *groups: str) -> tuple[tuple[str, E], ...]:
    """A DeleteGroups."""
    found = made.send(DeleteGroupsRequest(groups)).response
    assert isinstance(found, DeleteGroupsResponse)
    return found.results


DELETES = [
    pytest.param(DEAD, E.GROUP_ID_NOT_FOUND, id="1.11-delete-Dead"),
    pytest.param(PREPARING, E.NON_EMPTY_GROUP, id="1.11-delete-Preparing"),
    pytest.param(COMPLETING, E.NON_EMPTY_GROUP, id="1.11-delete-Completing"),
    pytest.param(STABLE, E.NON_EMPTY_GROUP, id="1.11-delete-Stable"),
    pytest.param(EMPTY, E.NONE, id="1.11-delete-Empty"),
]


@pytest.mark.parametrize(("state", "error"), DELETES)
def test_delete(state: str, error: E) -> None:
    """1.11: only an Empty group can be deleted."""
    made = scene(state).bench
    assert delete(made, "g") == (("g", error),)
    assert (made.shard.snapshot("g") is None) is (error is E.NONE)


def test_delete_missing_group() -> None:
    """1.11: a group that is not there: GROUP_ID_NOT_FOUND."""
    assert delete(bench(), "nobody") == (("nobody", E.GROUP_ID_NOT_FOUND),)


def test_delete_writes_tombstones() -> None:
    """1.11: tombstones for every offset, then for the group."""
    made = scene(EMPTY).bench
    made.commit_offset(5)
    made.commit_offset(5, partition=1)
    written = len(made.log)
    delete(made, "g")
    assert made.log[written:] == [
        OffsetRecord("g", TopicPartition("t", 0), None),
        OffsetRecord("g", TopicPartition("t", 1), None),
        GroupRecord("g", None),
    ]


def test_delete_ignores_pending_ids_and_stops_timers() -> None:
    """1.11: pending ids do not count; since 4.x the group's timers are cancelled with it."""
    made = scene(EMPTY).bench
    made.join("x", version=4)
    assert delete(made, "g") == (("g", E.NONE),)
    assert not [name for name in made.timers() if name.startswith(("heartbeat", "join", "sync"))]


def test_delete_is_per_group() -> None:
    """1.11: each group of a request is answered on its own, in order."""
    made = assorted()
    assert delete(made, "h", "s", "nobody", "g") == (
        ("h", E.NON_EMPTY_GROUP),
        ("s", E.NONE),
        ("nobody", E.GROUP_ID_NOT_FOUND),
        ("g", E.NONE),
    )


def test_a_group_is_looked_at_when_what_came_before_is_committed() -> None:
    """1.11: who joins a group meanwhile saves it; if it takes too long nothing is deleted, and the sender hears so."""
    made = assorted()
    made.auto_commit = False
    made.commit_offset(5, group="other")
    saved, given_up = made.send(DeleteGroupsRequest(("g",))), made.send(DeleteGroupsRequest(("s",)))
    made.join("late", group="g")
    made.commit(1)
    assert saved.response == DeleteGroupsResponse((("g", E.NON_EMPTY_GROUP),))
    made.commit()
    assert given_up.response == DeleteGroupsResponse((("s", E.NONE),))

    made = assorted()
    made.auto_commit = False
    made.commit_offset(5, group="other")
    given_up = made.send(DeleteGroupsRequest(("s",)))
    made.advance_ms(5_000)
    assert given_up.response == DeleteGroupsResponse((("s", E.COORDINATOR_NOT_AVAILABLE),))
    made.commit()
    assert made.shard.snapshot("s") is not None


@pytest.mark.parametrize("state", LIVE)
def test_members_cannot_be_deleted_from_under_a_broker_of_any_age(state: str) -> None:
    """1.11: the old coordinator refuses a group with members all the same."""
    made = Bench(broker("3.9").config)
    made.stable("a")
    if state != STABLE:
        made.join("b")
    if state == COMPLETING:
        made.join(member_id="a-1")
    assert made.state == state
    assert delete(made, "g") == (("g", E.NON_EMPTY_GROUP),)


def test_joining_a_deleted_group_makes_a_new_one() -> None:
    """1.11: after a delete the group id starts over, with a new first record."""
    made = scene(EMPTY).bench
    delete(made, "g")
    made.send(JoinGroupRequest("g", 10_000, 60_000, protocols=(JoinProtocol("range"),), version=3))
    assert (made.snapshot().generation, made.snapshot().previous_state) == (0, EMPTY)
