"""A heartbeat that is prepared once and sent again and again is a request like any other, only cheaper."""

from __future__ import annotations

from typing import Any

from groupsim.eventloop.distributions import uniform
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse

REQUEST = HeartbeatRequest("g", 1, "m")


class _Place:
    """What a coordinator would keep for a member: it says yes until it is told to say no."""

    def __init__(self) -> None:
        self.beats: list[int] = []
        self.holds = True

    def heartbeat(self, now_us: int) -> bool:
        if self.holds:
            self.beats.append(now_us)
        return self.holds


def _prepared(rig: Any, connection: Any, timeout_us: int = 30_000_000) -> Any:
    def answered(outcome: Any) -> None:
        rig.got.append((rig.loop.now_us, "again", outcome))

    return connection.prepare(REQUEST, answered, timeout_us)


def test_it_takes_the_time_it_would_take_otherwise(play: Any) -> None:
    """Sent again or sent anew, taken by the kept place or looked at: the same latencies, at the same times."""
    found: list[list[int]] = []
    for again, place in ((False, None), (True, None), (True, _Place())):

        async def story(rig: Any, again: bool = again, place: Any = place) -> None:
            connection = rig.connect()
            rig.brokers[0].steady = lambda request: place
            prepared = _prepared(rig, connection)
            for _ in range(40):
                if again:
                    connection.again(prepared)
                else:
                    rig.beat(connection)
                await rig.loop.sleep(50_000)
            found.append([at for at, _, _ in rig.got])
            assert connection.next_correlation == 41

        play(story, latency=uniform(1, 20_000))
    assert len(found[0]) == 40
    assert found[0] == found[1] == found[2]


def test_what_the_place_does_not_take_is_looked_at(play: Any) -> None:
    """Once the place says no, the broker gets the request itself, with its correlation id, and may answer an error."""

    async def story(rig: Any) -> None:
        place = _Place()
        connection = rig.connect()
        rig.brokers[0].steady = lambda request: place
        prepared = _prepared(rig, connection)
        for number in range(4):
            place.holds = number != 2
            connection.again(prepared)
            await rig.loop.sleep(50_000)
        handled = rig.coordinators[0].handled
        assert len(place.beats) == 2
        assert [request for _, request in handled] == [REQUEST, REQUEST]
        assert connection.correlation == 3
        rig.brokers[0].heartbeat = lambda call: call.answer(HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))
        place.holds = False
        connection.again(prepared)
        await rig.loop.sleep(50_000)
        assert [outcome.error for _, _, outcome in rig.got] == [ErrorCode.NONE] * 4 + [ErrorCode.REBALANCE_IN_PROGRESS]

    play(story)


def test_another_heartbeat_asks_for_another_place(play: Any) -> None:
    """A place belongs to the request it was asked for: what is prepared anew is looked at first."""

    async def story(rig: Any) -> None:
        asked: list[HeartbeatRequest] = []
        connection = rig.connect()
        place = _Place()
        rig.brokers[0].steady = lambda request: asked.append(request) or place
        for generation in (1, 2):
            request = HeartbeatRequest("g", generation, "m")
            prepared = connection.prepare(request, lambda outcome: None, 30_000_000)
            for _ in range(3):
                connection.again(prepared)
                await rig.loop.sleep(50_000)
        assert [request.generation_id for request in asked] == [1, 2]
        assert len(place.beats) == 4

    play(story)


def test_it_keeps_its_place_behind_other_requests(play: Any) -> None:
    """Sent while another request is in flight, it waits for it as every request does."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        rig.join(connection)
        connection.again(_prepared(rig, connection))
        await rig.loop.sleep(50_000)
        assert not rig.got
        rig.coordinators[0].parked[0].answer(HeartbeatResponse())
        await rig.loop.sleep(50_000)
        assert rig.labels() == ["join", "again"]

    play(story)


def test_other_requests_stay_behind_it(play: Any) -> None:
    """What is sent after it does not overtake it, there or back."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        prepared = _prepared(rig, connection)
        for _ in range(30):
            connection.again(prepared)
            rig.beat(connection)
            await rig.loop.sleep(100_000)
        assert rig.labels() == ["again", "beat"] * 30

    play(story, latency=uniform(1, 20_000))


def test_unanswered_it_times_out(play: Any) -> None:
    """Each time it is sent its timeout counts from then."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        prepared = _prepared(rig, connection, 1_000_000)
        connection.again(prepared)
        await rig.loop.sleep(400_000)
        rig.brokers[0].heartbeat = lambda call: None
        rig.brokers[0].steady = lambda request: None
        sent = rig.loop.now_us
        connection.again(prepared)
        await rig.loop.sleep(2_000_000)
        (_, _, first), (at, _, second) = rig.got
        assert first == HeartbeatResponse()
        assert (at, second) == (sent + 1_000_000, Disconnected("a request timed out", timed_out=True))
        assert not connection.open

    play(story)


def test_given_up_it_is_still_carried_out(play: Any) -> None:
    """The client closes while it is on the wire: the broker gets it, and the answer reaches nobody."""

    async def story(rig: Any) -> None:
        connection = rig.connect()
        prepared = _prepared(rig, connection)
        connection.again(prepared)
        await rig.loop.sleep(50_000)
        connection.again(prepared)
        connection.close()
        await rig.loop.sleep(50_000)
        assert [request for _, request in rig.coordinators[0].handled] == [REQUEST, REQUEST]
        assert len(rig.got) == 1

    play(story)
