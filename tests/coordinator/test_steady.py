"""The short way of a member's heartbeats, kept by whoever brings them: it says no more than the coordinator would.

A *place* is what is kept: the way, and the member's session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.coordinator.steady import Steady
from groupsim.coordinator.testing import GROUP, Bench
from groupsim.coordinator.timers import Timer
from groupsim.protocol.messages import HeartbeatRequest

Place = tuple[Steady, Timer]


def _place(bench: Bench, member_id: str, generation: int, instance: str | None = None) -> Place | None:
    return bench.shard.steady(HeartbeatRequest(GROUP, generation, member_id, instance))


class _Kept:
    """Who brings a member's heartbeats by the short way, and keeps its session's deadline meanwhile."""

    def __init__(self, bench: Bench, place: Place) -> None:
        self.bench = bench
        self.way, self.session = place
        self.deadline = (self.session.due_us, self.session.ticket)
        self.over = False
        self.session.lend(self)

    def __call__(self) -> bool:
        """A heartbeat arrives."""
        if self.over or not self.way.ready:
            return False
        self.deadline = (self.bench.now_us + self.way.session_us, self.bench.shard.turn.timers.draw_ticket())
        return True

    def watch(self) -> None:
        raise AssertionError("nobody asked for that")

    def end(self) -> None:
        self.session.give_back()
        self.over = True


def _kept(bench: Bench, member_id: str, **more: Any) -> _Kept:
    place = _place(bench, member_id, 1, **more)
    assert place is not None
    return _Kept(bench, place)


def test_it_prolongs_the_session_as_a_heartbeat_does() -> None:
    """A heartbeat by the kept place moves the deadline to where the long way would have moved it."""
    bench = Bench()
    member, other = bench.stable("a", "b", session_ms=10_000)
    place = _kept(bench, member)
    bench.advance_ms(4_000)
    assert place()
    sessions = {name: left for name, left in bench.timers().items() if name.startswith("heartbeat-")}
    assert sessions == {f"heartbeat-g-{member}": 10_000, f"heartbeat-g-{other}": 6_000}
    assert not bench.shard.turn.effects


def test_only_what_goes_the_short_way_has_a_place() -> None:
    """A stranger, another generation, the wrong instance, or a group that is not Stable: no place to keep."""
    bench = Bench()
    (member,) = bench.stable("a")
    assert _place(bench, member, 1) is not None
    assert _place(bench, "stranger", 1) is None
    assert _place(bench, member, 2) is None
    assert _place(bench, member, 1, "i") is None
    bench.join("b")
    assert _place(bench, member, 1) is None


def test_members_share_it_while_it_is_the_same_for_all() -> None:
    """One for the members with the same session timeout, another for one with his own; and a new one in every era."""
    bench = Bench()
    sent = [bench.join(name, session_ms=timeout) for name, timeout in (("a", 10_000), ("b", 10_000), ("c", 30_000))]
    bench.finish_round()
    bench.assign()
    members = [one.joined.member_id for one in sent]
    a, b, c = [_kept(bench, member) for member in members]
    assert a.way is b.way
    assert a.way is not c.way
    assert len({id(one.session) for one in (a, b, c)}) == 3
    bench.advance_ms(1_000)
    assert c()
    assert (a.session.due_us, c.session.due_us) == (bench.now_us + 9_000_000, bench.now_us + 30_000_000)
    bench.shard.force_rebalance(GROUP, "by hand", bench.now_us)
    assert not a.way.holds


def test_who_else_moves_the_session_gets_it_back_first() -> None:
    """A heartbeat that comes the long way, or a timer that is stopped, ends the keeping; what was kept is not lost."""
    bench = Bench()
    member, _ = bench.stable("a", "b", session_ms=10_000)
    kept = _kept(bench, member)
    bench.advance_ms(4_000)
    kept()
    kept.end()
    assert kept.session.due_us == bench.now_us + 10_000_000
    kept = _kept(bench, member)
    bench.advance_ms(1_000)
    bench.heartbeat(member, 1)
    assert kept.over
    assert not kept()
    assert kept.session.due_us == bench.now_us + 10_000_000


ENDS: dict[str, Callable[[Bench, str], object]] = {
    "a newcomer opens a round": lambda bench, _: bench.join("c"),
    "it leaves": lambda bench, member: bench.leave(member),
    "its session ends": lambda bench, _: bench.advance_ms(45_000),
    "the partition is given up": lambda bench, _: bench.shard.unload(bench.now_us),
    "a round is opened by hand": lambda bench, _: bench.shard.force_rebalance(GROUP, "by hand", bench.now_us),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_it_is_over_with_what_it_was_found_in(end: Callable[[Bench, str], object]) -> None:
    """After anything that a heartbeat is judged by has changed, the place says nothing any more."""
    bench = Bench()
    member, *_ = bench.stable("a", "b")
    place = _kept(bench, member)
    end(bench, member)
    assert not place()


def test_a_replaced_static_member_has_lost_its_place() -> None:
    """The timer of the old id goes on, as in Kafka, but heartbeats with that id do not prolong it."""
    bench = Bench()
    first = bench.join(instance="i")
    bench.finish_round()
    bench.assign()
    place = _kept(bench, first.joined.member_id, instance="i")
    bench.join(instance="i")
    assert bench.state == "Stable"
    assert not place()


def test_an_answer_that_waits_for_a_write_has_no_short_way() -> None:
    """While an append is under way the place is of no use; once it is committed, it is again."""
    bench = Bench(auto_commit=False)
    sent = bench.join("a")
    bench.finish_round()
    bench.assign()
    bench.commit()
    member = sent.joined.member_id
    place = _kept(bench, member)
    bench.commit_offset(5, member_id=member, generation=1)
    assert place.way.holds
    assert not place.way.ready
    bench.commit()
    assert place.way.ready


steps = st.lists(
    st.tuples(st.sampled_from(("beat", "beat", "wait", "join", "leave", "swap", "force")), st.integers(0, 3))
)


@given(steps)
def test_a_kept_place_never_says_yes_where_the_long_way_says_no(walk: list[tuple[str, int]]) -> None:
    """Whatever happens in between, a heartbeat by a kept place and one by the long way end alike."""
    bench = Bench()
    joins = [bench.join(instance=f"i{n}" if n % 2 else None, session_ms=9_000) for n in range(4)]
    bench.finish_round()
    bench.assign()
    places: dict[HeartbeatRequest, _Kept | None] = {}
    for step, which in walk:
        join = joins[which]
        member_id, instance = join.joined.member_id, f"i{which}" if which % 2 else None
        if step == "beat":
            request = HeartbeatRequest(GROUP, join.joined.generation_id, member_id, instance)
            place = places.get(request)
            quick = place is not None and place()
            assert bench.shard.heartbeat(request, bench.now_us) or not quick
            found = bench.shard.steady(request)
            places[request] = None if found is None else _Kept(bench, found)
        elif step == "wait":
            bench.advance_ms(2_000)
        elif step == "join" and bench.state == "Stable":
            bench.rejoin(join, protocols=())
        elif step == "leave":
            bench.leave(member_id)
        elif step == "swap" and instance is not None:
            again = bench.join(instance=instance, session_ms=9_000)
            joins[which] = again if again.answered else join
        elif step == "force":
            bench.shard.force_rebalance(GROUP, "by hand", bench.now_us)
