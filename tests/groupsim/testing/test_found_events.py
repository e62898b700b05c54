"""A search without a result shows the existing events, or why no event can match."""

from __future__ import annotations

import pytest

from groupsim import ErrorCode, Simulation
from groupsim.protocol.messages.group import Api, HeartbeatRequest

pytest_plugins = ["pytester"]


async def test_a_look_for_heartbeats_that_are_not_listed_is_refused(sim: Simulation) -> None:
    """Quiet heartbeats are counted, so no test holds because there are none; those with an error are there."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    for kind, columns in (("request.sent", {"host": "c1"}), ("response.received", {"error": None})):
        with pytest.raises(ValueError, match=r'use `member.heartbeats`, or list all of them.*level="full"'):
            sim.find(kind, api="Heartbeat", **columns)
    answer = await sim.request(HeartbeatRequest("g1", 1, "unknown"))
    assert [event.error for event in sim.find("response.sent", api="Heartbeat", error=answer.error.name)]


async def test_a_look_for_what_cannot_be_is_refused(sim: Simulation) -> None:
    """`assert not sim.find(…)` would pass with a misspelt name: such a name is an error."""
    sim.topic("orders", 2)
    sim.member("c1")
    await sim.settled(members=1)
    for columns, printed in (
        ({"api": "SyncGroups"}, "no API 'SyncGroups'; did you mean `SyncGroup`"),
        ({"error": "UNKNOWN_MEMBER"}, "no error code 'UNKNOWN_MEMBER'; did you mean `UNKNOWN_MEMBER_ID`"),
        ({"host": "c2"}, "no host 'c2'"),
    ):
        with pytest.raises(ValueError, match=printed):
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
