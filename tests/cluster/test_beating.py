"""Heartbeats that go by themselves arrive and are answered as if each had been sent, and stop when anything happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupsim.coordinator.timers import Timer, TimerKind
from groupsim.eventloop.distributions import constant, uniform
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse

REQUEST = HeartbeatRequest("g", 1, "m")
INTERVAL_US = 50_000
START_US = 100_000


class _Steady:
    """What a coordinator would give: it is ready until it is told not to be. `beats` are those that arrived."""

    session_us = 45_000_000

    def __init__(self) -> None:
        self.beats: list[int] = []
        self.ready = True
        self.kept: dict[Any, Any] = {}
        self.session = Timer("session", TimerKind.SESSION, "g", "m")
        self.session.move(self.session_us, 0)

    def look(self) -> bool:
        """After every event: see whether the session was prolonged."""
        arrived = self.session.due_us - self.session_us
        if arrived > max(START_US, *self.beats[-1:], 0):
            self.beats.append(arrived)
        return False


class _Owner:
    """Sends a heartbeat every interval, by itself where that goes; counts as a member does."""

    def __init__(self, rig: Any, connection: Any, timeout_us: int = 30_000_000, *, alone: bool = True) -> None:
        self.rig, self.connection, self.timeout_us = rig, connection, timeout_us
        self.host = rig.loop.host("member-1")
        self.answered = self.unanswered = self.begun = 0
        self.told: list[tuple[int, int, bool]] = []
        self.rhythm = connection.repeat(REQUEST, self._done, timeout_us, INTERVAL_US, self) if alone else None
        self.due()

    def due(self, _: object = None) -> None:
        if self.rhythm is not None and not self.unanswered and self.rhythm.begin():
            self.begun += 1
            return
        self.handle = self.host.call_at(self.rig.loop.now_us + INTERVAL_US, self.due)
        self.unanswered += 1
        self.connection.send(REQUEST, self._done, self.timeout_us)

    def resume(self, handle: Any, sent_us: int, alive_us: int, answered: int, in_flight: bool) -> None:
        self.handle = handle
        self.told.append((sent_us, alive_us if answered else 0, in_flight))
        self.answered += answered
        self.unanswered = int(in_flight)

    def stop(self) -> None:
        if self.rhythm is not None:
            self.rhythm.end()
        self.rig.loop.cancel(self.handle)

    def _done(self, outcome: Any) -> None:
        self.unanswered = 0
        if outcome == HeartbeatResponse():
            self.answered += 1
        self.rig.got.append((self.rig.loop.now_us, "again", outcome))


async def _beating(rig: Any, **more: Any) -> tuple[Any, _Owner, _Steady]:
    """An owner who begins at `START_US`, on a connection whose handshake is over."""
    connection, steady = rig.connect(), _Steady()
    rig.brokers[0].steady = lambda request: (steady, steady.session)
    rig.loop.host("judge").start_soon(rig.loop.until, steady.look, name="look at sessions")
    connection.send(REQUEST, lambda outcome: None, START_US)
    await rig.loop.sleep(START_US)
    rig.coordinators[0].handled.clear()
    return connection, _Owner(rig, connection, **more), steady


def test_they_take_the_time_they_would_take_otherwise(play: Any) -> None:
    """Going by themselves or sent one by one: same times, same ids, also of what else is sent."""
    arrived: list[list[int]] = []
    answers: list[list[int]] = []
    for alone in (False, True):

        async def story(rig: Any, alone: bool = alone) -> None:
            connection, owner, steady = await _beating(rig, alone=alone)
            for number in range(40):
                await rig.loop.sleep(INTERVAL_US)
                if number % 7 == 6:
                    rig.beat(connection)
            owner.stop()
            await rig.loop.sleep(INTERVAL_US)
            looked_at = [at for at, _ in rig.coordinators[0].handled]
            arrived.append(sorted(looked_at + steady.beats))
            answers.append([at for at, label, _ in rig.got if label == "beat"])
            assert (owner.answered, connection.next_correlation) == (41, 48)
            assert len(steady.beats) == (35 if alone else 0)

        play(story, latency=uniform(1, 20_000))
    assert arrived[0] == arrived[1]
    assert answers[0] == answers[1]


def test_what_is_not_answered_alive_at_once_is_looked_at(play: Any) -> None:
    """When the short way ends, the broker gets the request itself, with its id, and may answer an error."""

    async def story(rig: Any) -> None:
        connection, owner, steady = await _beating(rig)
        await rig.loop.sleep(4 * INTERVAL_US + 10_000)
        assert not rig.got
        rig.brokers[0].heartbeat = lambda call: call.answer(HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))
        steady.ready = False
        sent = rig.loop.now_us - 10_000 + INTERVAL_US
        await rig.loop.sleep(INTERVAL_US)
        assert connection.correlation == 7
        assert rig.got == [(sent + 2_000, "again", HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))]
        assert owner.told == [(sent, sent - INTERVAL_US + 2_000, True)]
        assert (owner.answered, len(steady.beats)) == (5, 5)

    play(story, latency=constant(1_000))


@pytest.mark.parametrize(("after_us", "in_flight"), [(500, True), (1_500, True), (10_000, False)])
def test_another_request_stays_behind_it(play: Any, after_us: int, in_flight: bool) -> None:
    """Whatever is sent while one is on its way, there or back, does not overtake it; the next one begins anew."""

    async def story(rig: Any) -> None:
        connection, owner, _ = await _beating(rig)
        await rig.loop.sleep(2 * INTERVAL_US + after_us)
        assert connection.rhythm is owner.rhythm
        rig.beat(connection)
        assert connection.rhythm is None
        sent = START_US + 2 * INTERVAL_US
        assert owner.told == [(sent, sent - in_flight * INTERVAL_US + 2_000, in_flight)]
        await rig.loop.sleep(10_000)
        assert rig.labels() == ["again", "beat"][0 if in_flight else 1 :]
        await rig.loop.sleep(INTERVAL_US)
        assert (owner.begun, owner.answered + owner.rhythm.answered) == (2, 4)

    play(story, latency=constant(1_000))


def test_nothing_overtakes_whatever_the_latencies(play: Any) -> None:
    """Requests that follow at any distance are answered after it."""

    async def story(rig: Any) -> None:
        connection, owner, _ = await _beating(rig)
        for number in range(60):
            await rig.loop.sleep(INTERVAL_US - 1_000)
            before = owner.answered
            await rig.loop.sleep(1_000 + 500 * number)
            rig.beat(connection)
            in_flight = owner.told[-1][2]
            await rig.loop.sleep(60_000 - 500 * number)
            assert rig.labels()[-2:] == ["again", "beat"] if in_flight else rig.labels()[-1] == "beat"
            assert owner.answered >= before
            await rig.loop.sleep(2 * INTERVAL_US - 110_000 + INTERVAL_US)

    play(story, latency=uniform(1, 15_000))


def test_unanswered_when_the_next_is_due_it_times_out(play: Any) -> None:
    """A broker that stands still: the owner sends the next himself, and the timeout counts from when it was sent."""

    async def story(rig: Any) -> None:
        connection, owner, _ = await _beating(rig, timeout_us=1_000_000)
        await rig.loop.sleep(2 * INTERVAL_US + 10_000)
        rig.loop.host("broker-0").pause()
        sent = START_US + 3 * INTERVAL_US
        await rig.loop.sleep(2 * INTERVAL_US)
        assert owner.told == [(sent, sent - INTERVAL_US + 2_000, True)]
        assert owner.unanswered == 2
        await rig.loop.sleep(2_000_000)
        timed_out = Disconnected("a request timed out", timed_out=True)
        assert rig.got[0] == (sent + 1_000_000, "again", timed_out)
        assert not connection.open

    play(story, latency=constant(1_000))


def test_given_up_it_is_still_carried_out(play: Any) -> None:
    """The client closes while one is on the wire: the broker gets it, and the answer reaches nobody."""

    async def story(rig: Any) -> None:
        connection, owner, steady = await _beating(rig)
        await rig.loop.sleep(2 * INTERVAL_US + 500)
        connection.close()
        await rig.loop.sleep(INTERVAL_US - 1_000)
        owner.stop()
        assert len(steady.beats) == 2
        assert [request for _, request in rig.coordinators[0].handled] == [REQUEST]
        assert not rig.got
        assert owner.answered == 2

    play(story, latency=constant(1_000))


def test_a_cut_loses_what_is_on_the_wire(play: Any) -> None:
    """The connection breaks: the heartbeat under way never arrives, and ends as everything in flight does."""

    async def story(rig: Any) -> None:
        connection, owner, steady = await _beating(rig)
        await rig.loop.sleep(2 * INTERVAL_US + 500)
        connection.cut("pulled")
        await rig.loop.sleep(INTERVAL_US - 1_000)
        owner.stop()
        assert len(steady.beats) == 2
        assert not rig.coordinators[0].handled
        assert [outcome for _, _, outcome in rig.got] == [Disconnected("pulled")]

    play(story, latency=constant(1_000))


def test_a_client_that_dies_is_looked_at_once_more(play: Any) -> None:
    """What its process had sent still arrives; nothing follows."""

    async def story(rig: Any) -> None:
        _, owner, steady = await _beating(rig)
        await rig.loop.sleep(2 * INTERVAL_US + 500)
        owner.host.crash()
        await rig.loop.sleep(3 * INTERVAL_US)
        assert len(steady.beats) == 2
        assert [request for _, request in rig.coordinators[0].handled] == [REQUEST]

    play(story, latency=constant(1_000))


def test_a_paused_client_goes_on_from_when_it_resumes(play: Any) -> None:
    """What came due in a pause goes out at its end, and the next one an interval after that."""

    async def story(rig: Any) -> None:
        _, owner, steady = await _beating(rig)
        await rig.loop.sleep(INTERVAL_US + 10_000)
        owner.host.pause()
        await rig.loop.sleep(3 * INTERVAL_US + 7_000)
        owner.host.resume()
        resumed = rig.loop.now_us
        await rig.loop.sleep(2 * INTERVAL_US - 1)
        assert steady.beats[2:] == [resumed + 1_000, resumed + INTERVAL_US + 1_000]
        assert (owner.begun, owner.rhythm.sent_us) == (2, resumed + INTERVAL_US)

    play(story, latency=constant(1_000))


FAULTS: dict[str, Callable[[Any], object]] = {
    "a fault of requests is near": lambda connection: connection.settle(True),
    "a fault of links begins": lambda connection: connection.impose([]),
    "a fault of links ends": lambda connection: connection.release_from(None),
    "nothing comes back any more": lambda connection: connection.hush(),
    "an answer is delayed": lambda connection: connection.delay(HeartbeatResponse(), 20_000),
}


@pytest.mark.parametrize("strike", FAULTS.values(), ids=FAULTS)
def test_a_fault_ends_it_first(play: Any, strike: Callable[[Any], object]) -> None:
    """Whatever a fault does to the connection, the heartbeat under way is one like others by then."""

    async def story(rig: Any) -> None:
        connection, owner, _ = await _beating(rig)
        await rig.loop.sleep(2 * INTERVAL_US + 500)
        strike(connection)
        assert connection.rhythm is None
        assert owner.told == [(START_US + 2 * INTERVAL_US, START_US + INTERVAL_US + 2_000, True)]
        owner.stop()

    play(story, latency=constant(1_000))


REFUSALS: dict[str, Callable[[Any, Any], object]] = {
    "a request is in flight": lambda rig, connection: rig.join(connection),
    "an answer may be on its way": lambda rig, connection: connection.delay(HeartbeatResponse(), 20_000),
    "it is closed": lambda rig, connection: connection.close(),
    "the broker has no short way": lambda rig, connection: setattr(rig.brokers[0], "steady", lambda request: None),
}


@pytest.mark.parametrize("refuse", REFUSALS.values(), ids=REFUSALS)
def test_only_what_is_well_begins(play: Any, refuse: Callable[[Any, Any], object]) -> None:
    """Out of the ordinary, each heartbeat has to be sent by itself: nothing is done, and its owner is told so."""

    async def story(rig: Any) -> None:
        connection, steady = rig.connect(), _Steady()
        rig.brokers[0].steady = lambda request: (steady, steady.session)
        await rig.loop.sleep(10_000)
        rig.beat(connection)
        await rig.loop.sleep(10_000)
        refuse(rig, connection)
        rhythm = connection.repeat(REQUEST, lambda outcome: None, 30_000_000, INTERVAL_US, None)
        before = connection.next_correlation
        assert not rhythm.begin()
        assert (connection.rhythm, connection.next_correlation) == (None, before)

    play(story, latency=constant(1_000))


@pytest.mark.parametrize(("interval_us", "begins"), [(0, False), (1, True), (1_000, True), (1_001, False)])
def test_an_interval_of_nothing_or_beyond_the_timeout_is_none(play: Any, interval_us: int, begins: bool) -> None:
    """A rhythm has an interval of a microsecond at least, and one that its timeout reaches to."""

    async def story(rig: Any) -> None:
        connection, steady = rig.connect(), _Steady()
        rig.brokers[0].steady = lambda request: (steady, steady.session)
        rig.beat(connection)
        await rig.loop.sleep(10_000)
        rhythm = connection.repeat(REQUEST, lambda outcome: None, 1_000, interval_us, None)
        assert rhythm.begin() is begins

    play(story, latency=constant(1_000))


@pytest.mark.parametrize(("due_us", "begins"), [(-1, False), (45_000_000, True), (45_000_001, False)])
def test_a_session_that_runs_too_long_or_not_at_all_is_not_kept(play: Any, due_us: int, begins: bool) -> None:
    """One that was stopped has no deadline; one that was given more than its timeout comes nearer, which is told."""

    async def story(rig: Any) -> None:
        connection, steady = rig.connect(), _Steady()
        rig.brokers[0].steady = lambda request: (steady, steady.session)
        rig.beat(connection)
        await rig.loop.sleep(10_000)
        steady.session.move(due_us if due_us < 0 else rig.loop.now_us + due_us, 0)
        rhythm = connection.repeat(REQUEST, lambda outcome: None, 30_000_000, INTERVAL_US, None)
        assert rhythm.begin() is begins

    play(story, latency=constant(1_000))


def test_who_gives_up_before_the_next_is_due_sends_each_by_itself(play: Any) -> None:
    """A timeout below the interval would have run out unnoticed."""

    async def story(rig: Any) -> None:
        _, owner, steady = await _beating(rig, timeout_us=INTERVAL_US - 1)
        await rig.loop.sleep(3 * INTERVAL_US)
        assert (owner.begun, steady.beats) == (0, [])
        assert len(rig.coordinators[0].handled) == 3

    play(story, latency=constant(1_000))
