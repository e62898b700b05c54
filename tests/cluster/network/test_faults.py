"""Faults of the network: which hosts they strike, how often, for how long, and their events in the trace."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.network.faults import (
    After,
    AnswerError,
    Break,
    DelayResponse,
    Direction,
    Isolate,
    Latency,
    LoseResponse,
    Match,
    Refuse,
    Stall,
)
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, HeartbeatResponse, JoinGroupResponse

RESET = Disconnected("connection reset")


def test_latency_multiplies_and_adds_for_a_while(play: Any) -> None:
    """Only the host's segments slow down, both ways, and only while the fault lasts."""

    async def story(rig: Any) -> None:
        mine, other = rig.connect("member-1"), rig.connect("member-2")
        await rig.loop.sleep(10_000)
        rig.network.inject(Latency(Match(host="member-1"), add_us=500, percent=300, for_us=20_000))
        rig.beat(mine, "slow")
        rig.beat(other, "other")
        await rig.loop.sleep(30_000)
        rig.beat(mine, "again")
        await rig.loop.sleep(30_000)
        assert [(at, label) for at, label, _ in rig.got] == [(12_000, "other"), (17_000, "slow"), (42_000, "again")]

    play(story)


def test_latency_between_a_pair_leaves_others_alone(play: Any) -> None:
    """A fault of host and peer strikes the connections between those two."""

    async def story(rig: Any) -> None:
        near, far = rig.connect(node=0), rig.connect(node=1)
        await rig.loop.sleep(10_000)
        rig.network.inject(Latency(Match(host="member-1", peer="broker-1"), add_us=5_000))
        rig.beat(far, "far")
        rig.beat(near, "near")
        await rig.loop.sleep(30_000)
        assert [(at, label) for at, label, _ in rig.got] == [(12_000, "near"), (22_000, "far")]

    play(story)


def test_latency_falling_back_does_not_reorder(play: Any) -> None:
    """A request sent after a slow spell does not overtake the one sent during it."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        handle = rig.network.inject(Latency(Match(), add_us=50_000))
        rig.beat(connection, "slow")
        handle.end()
        rig.beat(connection, "fast")
        await rig.loop.sleep(100_000)
        assert rig.labels() == ["slow", "fast"]

    play(story)


@pytest.mark.parametrize(
    ("direction", "handled", "answered"),
    [
        (Direction.OUT, 1_010_000 + 1_000, 1_012_000),
        (Direction.IN, 11_000, 1_011_000),
        (Direction.BOTH, 1_011_000, 1_012_000),
    ],
)
def test_stall_holds_segments_one_way_or_both(play: Any, direction: Direction, handled: int, answered: int) -> None:
    """A stalled segment waits for the end of the stall: the request, or only its answer."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        rig.network.inject(Stall(Match(host="member-1"), direction, for_us=1_000_000))
        rig.beat(connection)
        await rig.loop.sleep(2_000_000)
        assert [at for at, _ in rig.coordinators[0].handled] == [handled]
        assert [at for at, _, _ in rig.got] == [answered]

    play(story)


def test_stall_named_after_the_broker_turns_round(play: Any) -> None:
    """What a stalled broker sends out waits; what it is sent arrives."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        rig.network.inject(Stall(Match(host="broker-0"), Direction.OUT, for_us=1_000_000))
        rig.beat(connection)
        await rig.loop.sleep(2_000_000)
        assert [at for at, _ in rig.coordinators[0].handled] == [11_000]
        assert [at for at, _, _ in rig.got] == [1_011_000]

    play(story)


def test_isolated_host_times_out_and_cannot_connect(play: Any) -> None:
    """Requests of an isolated host time out, new connections get nowhere, and all is well again afterwards."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        await rig.loop.sleep(10_000)
        rig.network.inject(Isolate(Match(host="member-1"), for_us=10_000_000))
        rig.beat(connection, "old", timeout_us=2_000_000)
        rig.beat(rig.connect(purpose="again"), "new", timeout_us=20_000_000)
        await rig.loop.sleep(20_000_000)
        (at, label, outcome), (later, _, answer) = rig.got
        assert (at, label, outcome.timed_out) == (2_010_000, "old", True)
        assert later == 10_012_000
        assert answer == HeartbeatResponse()

    events = play(story)
    begun = next(event for event in events if event.kind == "fault.begun")
    assert [event.kind for event in events if event.span == begun.span] == ["fault.begun", "fault.ended"]
    assert begun.host == "member-1"


def test_break_strikes_connections_that_are_up(play: Any) -> None:
    """Break ends the matching connections once; a new one works."""

    async def story(rig: Any) -> None:
        mine, other = rig.connect("member-1"), rig.connect("member-2")
        rig.join(mine, "mine")
        rig.join(other, "other")
        await rig.loop.sleep(10_000)
        handle = rig.network.inject(Break(Match(host="member-1")))
        assert (handle.hits, handle.over) == (1, True)
        await rig.loop.sleep(10_000)
        assert rig.got == [(11_000, "mine", RESET)]
        rig.beat(rig.connect("member-1"))
        await rig.loop.sleep(10_000)
        assert rig.got[-1][2] == HeartbeatResponse()

    play(story)


def test_refused_connections_break_after_a_round_trip(play: Any) -> None:
    """While connections are refused new ones break; those that are up go on."""

    async def story(rig: Any) -> None:
        up = rig.connect()
        rig.network.inject(Refuse(Match(host="broker-0"), for_us=1_000_000))
        rig.beat(rig.connect(purpose="data"), "refused")
        rig.beat(up, "up")
        await rig.loop.sleep(2_000_000)
        rig.beat(rig.connect(purpose="data"), "later")
        await rig.loop.sleep(2_000_000)
        assert rig.got[0] == (2_000, "refused", Disconnected("connection refused"))
        assert [outcome for _, _, outcome in rig.got[1:]] == [HeartbeatResponse()] * 2

    play(story)


def test_lost_response_breaks_the_connection(play: Any) -> None:
    """The request is carried out, its answer never comes, the connection breaks; the next one is spared."""

    async def story(rig: Any) -> None:
        handle = rig.network.inject(LoseResponse(Match(api=Api.JOIN_GROUP, group="g")))
        connection = rig.connect()
        rig.beat(connection, "beat")
        rig.join(connection, "join")
        await rig.loop.sleep(10_000)
        rig.coordinators[0].parked[0].answer(JoinGroupResponse())
        await rig.loop.sleep(10_000)
        assert [(label, outcome) for _, label, outcome in rig.got] == [("beat", HeartbeatResponse()), ("join", RESET)]
        assert (handle.hits, handle.over) == (1, True)
        rig.join(rig.connect(), "again")
        await rig.loop.sleep(10_000)
        rig.coordinators[0].parked[1].answer(JoinGroupResponse(generation_id=2))
        await rig.loop.sleep(10_000)
        assert rig.got[-1][2] == JoinGroupResponse(generation_id=2)

    events = play(story)
    dropped = next(event for event in events if event.kind == "request.dropped")
    begun = next(event for event in events if event.kind == "fault.begun")
    assert dropped.cause == begun.seq


def test_lost_response_may_leave_silence(play: Any) -> None:
    """Lost without a break, the connection falls silent until the client's own timeout."""

    async def story(rig: Any) -> None:
        rig.network.inject(LoseResponse(Match(api=Api.HEARTBEAT), After.SILENCE))
        connection = rig.connect()
        rig.beat(connection, "first", timeout_us=5_000_000)
        await rig.loop.sleep(1_000_000)
        rig.beat(connection, "second", timeout_us=5_000_000)
        await rig.loop.sleep(20_000_000)
        assert [(at, label, outcome.timed_out) for at, label, outcome in rig.got] == [
            (5_000_000, "first", True),
            (5_000_000, "second", True),
        ]
        assert len(rig.coordinators[0].handled) == 2

    play(story)


def test_nth_occurrence_and_budget(play: Any) -> None:
    """From the third heartbeat of one member on, two are answered with an error; others' do not count."""

    async def story(rig: Any) -> None:
        rig.network.inject(
            AnswerError(Match(host="member-2", api=Api.HEARTBEAT, nth=3, times=2), ErrorCode.REBALANCE_IN_PROGRESS)
        )
        one, two = rig.connect("member-1"), rig.connect("member-2")
        for _ in range(6):
            rig.beat(one, "one")
            rig.beat(two, "two")
            await rig.loop.sleep(10_000)
        errors = [outcome.error.name for _, label, outcome in rig.got if label == "two"]
        assert errors == ["NONE", "NONE", "REBALANCE_IN_PROGRESS", "REBALANCE_IN_PROGRESS", "NONE", "NONE"]
        assert all(outcome == HeartbeatResponse() for _, label, outcome in rig.got if label == "one")
        assert len(rig.coordinators[0].handled) == 10

    play(story)


def test_delayed_response_holds_back_what_follows(play: Any) -> None:
    """A delayed answer arrives late, and the answers behind it on that connection do not overtake it."""

    async def story(rig: Any) -> None:
        rig.network.inject(DelayResponse(Match(api=Api.JOIN_GROUP), by_us=500_000))
        connection = rig.connect()
        rig.join(connection, "join")
        rig.beat(connection, "beat")
        await rig.loop.sleep(10_000)
        rig.coordinators[0].parked[0].answer(JoinGroupResponse())
        await rig.loop.sleep(1_000_000)
        assert [(at, label) for at, label, _ in rig.got] == [(510_000, "join"), (510_000, "beat")]

    play(story)


def test_roles_are_resolved_by_the_callback_from_above(play: Any) -> None:
    """A fault at the leader strikes the leader of the instant of a message, not of the injection."""

    class Roles:
        leader: str | None = None

        def role(self, name: str, group: str | None) -> str | None:
            return self.leader if (name, group) == ("leader", "g") else None

        def member(self, index: int, group: str | None) -> str | None:
            return f"member-{index}"

    async def story(rig: Any) -> None:
        roles = rig.network.roles = Roles()
        match = Match(role="leader", group="g", api=Api.HEARTBEAT)
        rig.network.inject(AnswerError(match, ErrorCode.NOT_COORDINATOR))
        one, two = rig.connect("member-1"), rig.connect("member-2")
        rig.beat(one, "no leader")
        await rig.loop.sleep(10_000)
        roles.leader = "member-2"
        rig.beat(one, "follower")
        rig.beat(two, "leader")
        await rig.loop.sleep(10_000)
        errors = {label: outcome.error.name for _, label, outcome in rig.got}
        assert errors == {"no leader": "NONE", "follower": "NONE", "leader": "NOT_COORDINATOR"}

    play(story)


def test_fault_that_finds_nobody_ends_at_once(play: Any) -> None:
    """Isolating a leader that does not exist has no effect, and the trace says so."""

    async def story(rig: Any) -> None:
        handle = rig.network.inject(Isolate(Match(role="leader", group="g"), for_us=1_000_000))
        assert (handle.over, handle.hits) == (True, 0)

    assert [(e.kind.value, e.reason) for e in play(story)][1] == ("fault.ended", "nothing matched")


def test_breaks_are_caused_by_their_fault(play: Any) -> None:
    """The client's event of a broken connection has the fault as its cause, and no other event has."""
    seen: list[int] = []

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection)
        await rig.loop.sleep(10_000)
        before = rig.loop.trace.cause
        connection.send(rig.coordinators[0].parked[0].request, lambda _: seen.append(rig.loop.trace.cause), 1_000_000)
        handle = rig.network.inject(Break(Match(host="member-1")))
        assert rig.loop.trace.cause == before
        await rig.loop.sleep(10_000)
        assert seen == [handle.seq]

    play(story)


def test_impossible_budgets_are_refused() -> None:
    """A fault that never strikes is a mistake, and so is counting from 0."""
    with pytest.raises(ValueError, match="give 1 or more"):
        Match(times=0)
    with pytest.raises(ValueError, match="nth"):
        Match(nth=0)


def test_fault_in_the_trace_is_told_in_words_and_as_data(play: Any) -> None:
    """The event of a fault describes it as a text and as data."""

    async def story(rig: Any) -> None:
        rig.network.inject(AnswerError(Match(api=Api.SYNC_GROUP, group="g"), ErrorCode.NOT_COORDINATOR))

    (begun,) = play(story)
    assert begun.reason == "answer NOT_COORDINATOR to the next SyncGroup of every host of g"
    assert begun.payload == {
        "fault": "AnswerError",
        "match": {"group": "g", "api": "SyncGroup", "nth": 1, "times": 1},
        "error": "NOT_COORDINATOR",
    }
