"""A test author looks for something that is not there: what there is, or why it cannot be, is told."""

from __future__ import annotations

import pytest

from groupsim import ErrorCode, Simulation
from groupsim.protocol.messages import Api, HeartbeatRequest

pytest_plugins = ["pytester"]


async def test_a_look_for_heartbeats_that_are_not_listed_is_refused(sim: Simulation) -> None:
    """Quiet heartbeats are counted, so no test holds because there are none; those with an error are there."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    for kind, columns in (("request.sent", {"host": "c1"}), ("response.received", {"error": None})):
        with pytest.raises(ValueError, match=r'look at `member.heartbeats`, or list them all.*level="full"'):
            sim.find(kind, api="Heartbeat", **columns)
    answer = await sim.request(HeartbeatRequest("g1", 1, "nobody"))
    assert [event.error for event in sim.find("response.sent", api="Heartbeat", error=answer.error.name)]


async def test_a_look_for_what_cannot_be_is_refused(sim: Simulation) -> None:
    """`assert not sim.find(…)` holds with a misspelt name whatever happens: such a name is told."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    for columns, told in (
        ({"api": "SyncGroups"}, "no API 'SyncGroups'; did you mean `SyncGroup`"),
        ({"error": "UNKNOWN_MEMBER"}, "no error code 'UNKNOWN_MEMBER'; did you mean `UNKNOWN_MEMBER_ID`"),
        ({"host": "c2"}, "no host 'c2'"),
    ):
        with pytest.raises(ValueError, match=told):
            sim.find("response.received", **columns)
    assert sim.find("response.received", host="c1", api=Api.JOIN_GROUP, error=ErrorCode.MEMBER_ID_REQUIRED)
    assert not sim.find("response.received", host="producer-orders", error="DISCONNECTED")


@pytest.mark.sim(level="full")
async def test_a_full_trace_lists_every_heartbeat(sim: Simulation) -> None:
    """With `level="full"` there are as many requests as the member counts."""
    sim.topic("orders", 2)
    member = sim.member("c1")
    await sim.settled(members=1)
    await sim.run_for("10s")
    assert len(sim.find("request.sent", api="Heartbeat")) == member.heartbeats == 3


def explained(result: pytest.RunResult) -> list[str]:
    """What stands beside the errors: not the summary, which has it once more where pytest finds itself in CI."""
    return [line.removeprefix("E").strip() for line in result.outlines if line.startswith("E ")]


def test_an_attribute_that_is_not_there_is_told_with_what_is(pytester: pytest.Pytester) -> None:
    """A name that an answer, a snapshot, an error code or an event does not have is answered with those it has."""
    pytester.makepyfile(
        """
        from groupsim import ErrorCode
        from groupsim.coordinator.testing import Bench

        async def test_near(sim):
            sim.topic("orders", 2)
            sim.member("c1")
            (await sim.stable(members=1)).static_members

        async def test_far(sim):
            sim.topic("orders", 2)
            sim.member("c1")
            (await sim.stable(members=1)).xyz

        def test_class():
            ErrorCode.FENCED

        async def test_word(sim):
            sim.topic("orders", 2)
            getattr(sim.events[0], "from")

        def test_bench():
            Bench().advance(3)

        def test_other():
            "text".xyz
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=6)
    assert [
        line.partition(", held")[0] for line in explained(result) if "did you mean" in line or " has: " in line
    ] == [
        "did you mean `members`?",
        "GroupSnapshot has: generation, group_id",
        "did you mean `FENCED_INSTANCE_ID` or `FENCED_LEADER_EPOCH`?",
        "did you mean `from_`?",
        "did you mean `advance_ms` or `advance_to`?",
    ]


def test_an_argument_that_is_not_taken_is_told_with_what_is(pytester: pytest.Pytester) -> None:
    """A request's field by another name, a method's argument by another one: the nearest, or all there are."""
    pytester.makepyfile(
        """
        from groupsim.protocol.messages import JoinGroupRequest, OffsetCommitRequest

        def test_field():
            JoinGroupRequest(group="g1")

        def test_far():
            OffsetCommitRequest("g1", xyz=3)

        def test_method(sim):
            sim.topic("orders", partition=3)

        def test_other():
            int("3", bse=2)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=4)
    told = [line for line in explained(result) if "did you mean" in line or " takes: " in line]
    assert [line.partition(", offsets")[0] for line in told] == [
        "did you mean `group_id` or `group_instance_id`?",
        "OffsetCommitRequest takes: group_id",
        "did you mean `partitions`?",
    ]


def test_a_mistake_is_shown_at_the_line_that_made_it(pytester: pytest.Pytester) -> None:
    """No frame of this package stands between the test's call and what was wrong with it."""
    pytester.makepyfile(
        """
        async def test_kind(sim):
            sim.find("group.stat")

        async def test_topics(sim):
            sim.topic("orders", 2)
            sim.member("c1", topics="orders")

        async def test_field(sim):
            sim.topic("orders", 2)
            sim.member("c1", proccessing="5ms")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=3)
    assert [line for line in result.outlines if ".py:" in line and "groupsim" in line.partition(".py:")[0]] == []


@pytest.mark.sim(brokers=3)
async def test_the_coordinators_broker_has_a_name(sim: Simulation) -> None:
    """`sim.coordinator()` is the node of the group's coordinator, before a move and after it."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    before = sim.coordinator()
    assert {event.host for event in sim.find("group.state")} == {f"broker-{before}"}
    assert sim.move_coordinator() == sim.coordinator() != before
