"""The heartbeats of many that go by themselves come in their places among everything else, and end when they must."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from groupsim.cluster.network import Network, Timing
from groupsim.coordinator.timers import Timer, TimerKind
from groupsim.eventloop import DeadlockError, Order, StandstillError, VirtualLoop, run_virtual
from groupsim.eventloop.distributions import Distribution, constant, uniform
from groupsim.eventloop.loop import Loop
from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.members.interfaces import Disconnected
from groupsim.protocol.messages import HeartbeatRequest, HeartbeatResponse

INTERVAL_US = 40
SESSION_US = 1_000
BEGIN_US = 100
FOR_EVER_US = 1 << 40


class _Broker:
    """A broker whose coordinator is ready or not, and prolongs the sessions of the members by whatever way."""

    connects = None
    is_open = True

    def __init__(self, loop: Any) -> None:
        self.loop, self.host = loop, loop.host("broker")
        self.ready, self.session_us = True, SESSION_US
        self.kept: dict[Any, Any] = {}
        self.sessions: dict[str, Timer] = {}

    def steady(self, request: Any) -> Any:
        return (self, self.sessions[request.member_id]) if self.ready else None

    def heartbeat(self, call: Any) -> None:
        session = self.sessions[call.request.member_id]
        session.move(self.loop.now_us + SESSION_US, self.loop.ticket())
        call.answer(HeartbeatResponse())


class _Member:
    """One who sends a heartbeat every interval: alone, where that goes, or each by hand."""

    def __init__(self, hall: _Hall, name: str) -> None:
        self.hall, self.loop, self.host = hall, hall.loop, hall.loop.host(name)
        self.request = HeartbeatRequest("g", 1, name)
        self.connection: Any = hall.network.connect(name, name, 0, "coordinator")
        self.session = hall.broker.sessions[name] = Timer(name, TimerKind.SESSION, "g", name)
        self.session.move(SESSION_US, 0)
        self.count = self.sent_at = self.alive_at = self.unanswered = self.begun = 0
        self.causes: list[int] = []
        again = (self.request, self._done, FOR_EVER_US, INTERVAL_US, self)
        self.rhythm = self.connection.repeat(*again) if hall.alone else None
        self.handle = self.host.call_at(BEGIN_US - INTERVAL_US, self.due)  # by hand, after the handshake

    def due(self, _: object = None) -> None:
        if self.rhythm is not None and not self.unanswered and self.rhythm.begin():
            self.begun += 1
            return
        self.sent_at = self.loop.now_us
        self.handle = self.host.call_at(self.sent_at + INTERVAL_US, self.due)
        self.unanswered += 1
        self.connection.send(self.request, self._done, FOR_EVER_US)

    def resume(self, handle: Any, sent_us: int, alive_us: int, answered: int, in_flight: bool) -> None:
        assert sent_us <= self.loop.now_us
        assert self.hall.last_us <= self.loop.now_us
        self.causes.append(self.loop.trace.cause)
        self.handle, self.sent_at, self.unanswered = handle, sent_us, int(in_flight)
        self.count += answered
        if answered:
            self.alive_at = alive_us

    def _done(self, outcome: object) -> None:
        self.unanswered = 0
        if not isinstance(outcome, Disconnected):
            self.count, self.alive_at = self.count + 1, self.loop.now_us

    def end(self) -> None:
        if self.rhythm is not None:
            self.rhythm.end()

    def stop(self) -> None:
        self.end()
        self.loop.cancel(self.handle)

    @property
    def seen(self) -> tuple[int, ...]:
        rhythm = self.rhythm
        count = self.count + (rhythm.answered if rhythm else 0)
        sent = max(self.sent_at, rhythm.sent_us) if rhythm else self.sent_at
        return self.connection.next_correlation, self.session.due_us, count, sent


class _Hall:
    """Some members who begin at the same instant, and one broker."""

    def __init__(self, loop: Loop, size: int, latency: Distribution, *, alone: bool = True) -> None:
        self.loop, self.alone = loop, alone
        self.broker = _Broker(loop)
        self.network = Network(loop, Timing(latency, constant(0)))
        self.network.attach({0: self.broker})  # type: ignore[dict-item]
        self.members = [_Member(self, f"m{number}") for number in range(size)]

    @property
    def choirs(self) -> list[Any]:
        return list(self.broker.kept.values())

    @property
    def last_us(self) -> int:
        """When the last of all that has happened to any heartbeat happened."""
        return max(max(*choir.sent_us, *choir.judged_us, *choir.alive_us) for choir in self.choirs)


STRIKES = {
    "pause": lambda hall, member: member.host.pause(),
    "resume": lambda hall, member: member.host.resume(),
    "crash": lambda hall, member: member.host.crash(),
    "the broker pauses": lambda hall, member: hall.broker.host.pause(),
    "the broker resumes": lambda hall, member: hall.broker.host.resume(),
    "another era": lambda hall, member: setattr(hall.broker, "ready", not hall.broker.ready),
    "a request": lambda hall, member: member.connection.send(member.request, lambda outcome: None, FOR_EVER_US),
    "a look": lambda hall, member: member.end(),
    "a cut": lambda hall, member: member.connection.cut("pulled"),
    "its session is moved": lambda hall, member: member.session.move(hall.loop.now_us + SESSION_US, hall.loop.ticket()),
    "it beats anew": lambda hall, member: _anew(member),
}
OFTEN = ["resume", "the broker resumes", "a look", "a request", "another era"]


def _anew(member: _Member) -> None:
    member.stop()
    member.handle = member.host.call_at(member.loop.now_us + INTERVAL_US // 2, member.due)


def _play(seed: int, latency: Distribution, *, alone: bool, watched: bool = False) -> list[Any]:
    """Members, strikes and looks at random instants, all of them within a few: what was seen at each look."""
    seen: list[Any] = []

    async def main(loop: VirtualLoop) -> None:
        luck = random.Random(seed)
        hall = _Hall(loop, 4, latency, alone=alone)

        def somewhen(what: Callable[[Any], object], first: int, last: int) -> None:
            loop.call_at(luck.randrange(first, last), what, order=luck.choice((Order.MESSAGE, Order.TIMER)))

        def look(_: object) -> None:
            now = loop.now_us
            seen.append((now, *(member.seen for member in hall.members)))
            if now < BEGIN_US + 12 * INTERVAL_US:  # so that it is set between what the members set
                somewhen(look, now + 1, now + 12)

        def strike(_: object) -> None:
            name, member = luck.choice([*STRIKES, *OFTEN]), luck.choice(hall.members)
            seen.append(name)
            STRIKES[name](hall, member)

        for _ in range(8):
            somewhen(look, BEGIN_US - INTERVAL_US, BEGIN_US + INTERVAL_US)
        for _ in range(luck.randrange(12)):
            somewhen(strike, BEGIN_US, BEGIN_US + 10 * INTERVAL_US)
        if watched:
            await loop.until(lambda: False, 20 * INTERVAL_US)
        else:
            await loop.sleep(20 * INTERVAL_US)
        for member in hall.members:
            member.stop()
            seen.append((member.seen, member.alive_at, member.unanswered))
        if alone:
            assert max(member.begun for member in hall.members) > 0

    run_virtual(main, seed=seed)
    return seen


@pytest.mark.parametrize("latency", [constant(0), constant(3), uniform(0, 6), uniform(5, 25)], ids=str)
def test_whatever_strikes_all_see_what_they_would_see_otherwise(latency: Distribution) -> None:
    """By themselves, one at a time or many at once, or each by hand: who looks, at any instant, sees the same."""
    for seed in range(25):
        by_hand = _play(seed, latency, alone=False)
        assert _play(seed, latency, alone=True) == by_hand, seed
        assert _play(seed, latency, alone=True, watched=True) == by_hand, seed


def test_nobody_is_ahead_when_one_is_late() -> None:
    """When a heartbeat is due and the last one unanswered, nothing has happened to others that comes only later."""
    late = 0

    async def main(loop: VirtualLoop) -> None:
        nonlocal late
        hall = _Hall(loop, 8, uniform(1, 30))
        await loop.sleep(100 * INTERVAL_US)
        late += sum(len(member.causes) for member in hall.members)
        assert min(member.begun for member in hall.members) > 0

    for seed in range(10):
        run_virtual(main, seed=seed)  # `_Member.resume` looks at all
    assert late > 100


@pytest.mark.parametrize("odd", range(4))
def test_sessions_prolonged_at_one_instant_run_out_in_the_order_of_going_out(odd: int) -> None:
    """Whether or not one of them has used up the latencies drawn ahead, and takes its steps one by one."""

    def order(beats: int, *, alone: bool) -> list[str]:
        async def main(loop: VirtualLoop) -> list[str]:
            hall = _Hall(loop, 4, constant(5), alone=alone)
            hall.members[odd].connection._draw()
            await loop.sleep(BEGIN_US + beats * INTERVAL_US + 20)
            for member in hall.members:
                member.end()
            hall.members.sort(key=lambda member: (member.session.due_us, member.session.ticket))
            return [member.host.name for member in hall.members]

        return run_virtual(main)

    assert all(order(beats, alone=True) == order(beats, alone=False) for beats in range(1, 20))


def test_who_waits_until_something_holds_sees_each_step() -> None:
    """A heartbeat that goes out, arrives and is answered does so one after the other before the eyes of who waits."""

    async def main(loop: VirtualLoop) -> None:
        hall, due = _Hall(loop, 1, constant(5)), BEGIN_US + 5 * INTERVAL_US
        member = hall.members[0]
        await loop.sleep(due - 1)
        answered = member.seen[2]
        assert await loop.until(lambda: member.seen[3] == due)
        assert (loop.now_us, member.seen[1:3]) == (due, (due - INTERVAL_US + 5 + SESSION_US, answered))
        assert await loop.until(lambda: member.seen[1] == due + 5 + SESSION_US)
        assert (loop.now_us, member.seen[2]) == (due + 5, answered)
        assert await loop.until(lambda: member.seen[2] > answered)
        assert loop.now_us == due + 10

    run_virtual(main)


def _is_reached(number: Callable[[], int], count: int) -> bool:
    return number() >= count


def test_who_waits_sees_each_of_several_at_one_instant() -> None:
    """Also where something else comes at that instant, after them: he is woken between two that go out in it."""
    due = BEGIN_US + 3 * INTERVAL_US

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 3, constant(5))

        def out() -> int:
            return sum(member.seen[3] == due for member in hall.members)

        await loop.sleep(due - 1)
        loop.call_at(due, lambda _: None)
        for count in (1, 2, 3):
            assert await loop.until(partial(_is_reached, out, count))
            assert (loop.now_us, out()) == (due, count)

    run_virtual(main)


def test_what_falls_between_two_of_one_instant_comes_between_them() -> None:
    """Heartbeats that are due at one instant, and others' timers at it, keep the order in which they were set."""
    seen: list[tuple[str, int]] = []
    due = BEGIN_US + INTERVAL_US

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 1, constant(5))

        def look(name: str) -> None:
            seen.append((name, sum(member.seen[3] == due for member in hall.members)))

        loop.call_at(due, look, "set before them")
        steps = [lambda _: loop.call_at(BEGIN_US, steps[1]), lambda _: loop.call_at(due, look, "set between them")]
        loop.call_at(BEGIN_US - INTERVAL_US, steps[0])
        hall.members += [_Member(hall, "m1"), _Member(hall, "m2")]
        await loop.sleep(BEGIN_US + 1)
        loop.call_at(due, look, "set after them")
        await loop.sleep(2 * INTERVAL_US)
        assert {(member.begun, member.seen[0]) for member in hall.members} == {(1, 5)}

    run_virtual(main)
    assert seen == [("set before them", 0), ("set between them", 1), ("set after them", 3)]


def test_what_is_put_back_comes_before_what_was_cut_off_behind_it() -> None:
    """Of three heartbeats that arrive together in an era that is over, who looks before the third sees two."""
    seen: list[list[int]] = []
    arrival = BEGIN_US + INTERVAL_US + 5

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 2, constant(5))

        def look(_: object) -> None:
            seen.append([member.session.due_us - SESSION_US for member in hall.members])

        steps = [
            lambda _: loop.call_at(BEGIN_US, steps[1]),
            lambda _: loop.call_at(BEGIN_US + INTERVAL_US, steps[2]),
            lambda _: loop.call_at(arrival, look, order=Order.MESSAGE),
        ]
        loop.call_at(BEGIN_US - INTERVAL_US, steps[0])
        hall.members.append(_Member(hall, "m2"))
        await loop.sleep(arrival - 3)
        hall.broker.ready = False
        await loop.sleep(4)

    run_virtual(main)
    assert seen == [[arrival, arrival, arrival - INTERVAL_US]]


def test_members_share_a_choir_and_rows_are_used_again() -> None:
    """Who has all in common sings together; rows that were given up serve others once their instants are over."""

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 5, constant(5))
        await loop.sleep(BEGIN_US + 3)
        (choir,) = hall.choirs
        assert (choir.rows, len(choir.rhythms)) == (5, 5)
        for _ in range(20):
            for member in hall.members[1:]:
                member.end()
            assert choir.rows == 1
            await loop.sleep(INTERVAL_US)
        assert (choir.rows, hall.choirs) == (5, [choir])
        assert len(choir.rhythms) <= 10

    run_virtual(main)


def test_when_all_have_ended_nothing_is_waited_for() -> None:
    """The loop has no event of a choir in which nobody is left: a run with nothing else to do ends as a deadlock."""

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 3, constant(5))
        await loop.sleep(BEGIN_US + 3 * INTERVAL_US + 20)
        hall.members[0].rhythm.watch()
        for member in hall.members:
            member.stop()
            member.connection.close()
        await loop.event().wait()

    loop = VirtualLoop()
    with pytest.raises(DeadlockError):
        loop.run(main)
    assert loop.now_us == BEGIN_US + 3 * INTERVAL_US + 20


def test_ctrl_c_comes_through() -> None:
    """Heartbeats for ever and nothing else: SIGINT reaches the main story between two turns."""

    async def main(loop: VirtualLoop) -> None:
        _Hall(loop, 100, constant(5))
        loop.call_at(BEGIN_US + 50 * INTERVAL_US, lambda _: signal.raise_signal(signal.SIGINT))
        try:
            await loop.sleep(FOR_EVER_US)
        finally:
            assert loop.now_us < BEGIN_US + 100_000 * INTERVAL_US

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main)


def test_time_that_stands_still_is_noticed_beside_them() -> None:
    """A loop of events at one instant is named, though heartbeats are due at the same one."""

    async def main(loop: VirtualLoop) -> None:
        _Hall(loop, 50, constant(0))

        def again(_: object) -> None:
            loop.call_at(loop.now_us, again, order=Order.TIMER)

        loop.call_at(BEGIN_US + 2 * INTERVAL_US, again)
        await loop.sleep(FOR_EVER_US)

    with pytest.raises(StandstillError, match="again"):
        run_virtual(main, standstill_events=500)


def test_a_session_that_runs_out_meanwhile_is_given_back() -> None:
    """Who keeps a session's deadline gives it back when it has come, before the session's own timer is due."""
    seen: list[Any] = []

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 2, constant(5))
        late, other = hall.members
        await loop.sleep(BEGIN_US + 30 * INTERVAL_US + 6)
        due = late.session.due_us
        late.session.on_return = lambda timer: seen.append((loop.now_us, timer.due_us))
        (choir,) = hall.choirs
        choir.judged_us[late.rhythm._row] -= SESSION_US - INTERVAL_US // 2  # as if it had not been heard of for so long
        due -= SESSION_US - INTERVAL_US // 2
        late.rhythm.watch()
        other.rhythm.watch()
        await loop.sleep(INTERVAL_US - 10)
        assert seen == [(due, due)]
        assert (late.rhythm.answered, late.count, other.rhythm.answered) == (0, 32, 31)

    run_virtual(main)


def test_sessions_that_run_out_one_after_the_other_are_each_given_back() -> None:
    """When the first deadline has come the next one is waited for."""
    seen: list[tuple[str, int]] = []

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 3, constant(5))
        await loop.sleep(BEGIN_US + 30 * INTERVAL_US + 6)
        (choir,) = hall.choirs
        for member, left in zip(hall.members, (30, 10, 20), strict=True):
            choir.judged_us[member.rhythm._row] = loop.now_us - SESSION_US + left
            member.session.on_return = lambda timer: seen.append((timer.member_id, timer.due_us - loop.now_us))
            member.rhythm.watch()
        await loop.sleep(INTERVAL_US - 10)
        assert choir.rows == 0

    run_virtual(main)
    assert seen == [("m1", 0), ("m2", 0), ("m0", 0)]


def test_in_real_time_nothing_happens_before_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the wall clock a choir sings in time: whenever somebody looks, all that has happened is in the past."""
    monkeypatch.setattr(f"{__name__}.INTERVAL_US", 2_000)
    monkeypatch.setattr(f"{__name__}.SESSION_US", 10_000_000)
    looks = 0

    async def main(loop: RealTimeLoop) -> None:
        hall = _Hall(loop, 4, uniform(100, 900))

        def look(_: object) -> None:
            nonlocal looks
            looks += bool(hall.choirs)
            assert not hall.choirs or hall.last_us <= loop.now_us
            loop.call_at(loop.now_us + 150, look)

        loop.call_at(3_000, look)
        while min(member.seen[2] for member in hall.members) < 10:
            await loop.sleep(2_000)

    run_realtime(main)
    assert looks > 0


def test_what_ends_by_itself_has_its_own_cause() -> None:
    """The heartbeats of an era that is over end one by one in one run, each with the cause that it began with."""

    async def main(loop: VirtualLoop) -> None:
        hall = _Hall(loop, 0, uniform(1, 9))
        for number in range(4):
            loop.trace.cause = number + 7
            hall.members.append(_Member(hall, f"m{number}"))
        await loop.sleep(BEGIN_US + 2 * INTERVAL_US + 7)
        hall.broker.ready = False
        await loop.sleep(INTERVAL_US)
        assert [member.causes for member in hall.members] == [[7], [8], [9], [10]]

    run_virtual(main)
