"""The timers of classic members of a consumer group."""

from __future__ import annotations

from groupsim.coordinator.base.timers import TimerKind, Timers
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol
from tests.coordinator.consumer.hosted.test_hosted_requests import AGAIN, mixed
from tests.helpers.heartbeat_bench import A
from tests.helpers.hosted_bench import HostedBench, offer


def removed(bench: HostedBench) -> tuple[str | None, str | None]:
    """Return the member that was removed last, and why."""
    event = bench.of_kind(Kind.MEMBER_REMOVED)[-1]
    return event.member_id, event.reason


def test_a_join_starts_the_session_and_the_wait_for_a_sync() -> None:
    """Both once it is answered: its own session timeout, and its rebalance timeout."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m", session_ms=7_000, rebalance_ms=9_000)
    assert bench.timers_of("m") == {"session-timeout-g-m": 7_000, "sync-g-m": 9_000}
    bench.advance_ms(1_000)
    bench.synchronize("m")
    assert bench.timers_of("m") == {"session-timeout-g-m": 7_000}


def test_a_heartbeat_prolongs_the_session_of_the_member() -> None:
    """By the member's own timeout, also when it is asked to join again."""
    bench = mixed()
    bench.enroll("o")
    bench.advance_ms(5_000)
    assert bench.pulse("m") is AGAIN
    assert bench.timers_of("m") == {"session-timeout-g-m": 30_000, "join-g-m": 60_000}
    bench.advance_ms(5_000)
    assert bench.pulse("m", 9) is ErrorCode.ILLEGAL_GENERATION
    assert bench.timers_of("m") == {"session-timeout-g-m": 25_000, "join-g-m": 55_000}


def test_a_silent_classic_member_is_removed() -> None:
    """After its own session timeout; the group bumps, and the others get its partitions."""
    bench = mixed()
    bench.advance_ms(29_000)
    bench.beat("n", 3)
    assert "m" in bench.group().data.members
    bench.advance_ms(1_000)
    assert removed(bench) == ("m", "session-expired")
    assert bench.epochs() == ("Assigning", 4, 3)
    assert bench.timers_of("m") == {}


def test_a_member_that_does_not_join_again_is_removed() -> None:
    """Heartbeats keep its session, but a second one does not give it more time to join."""
    bench = mixed()
    bench.enroll("o")
    for _ in range(4):
        assert bench.pulse("m") is AGAIN
        bench.beat("n", bench.member("n").member_epoch)
        bench.beat("o", bench.member("o").member_epoch)
        bench.advance_ms(15_000)
    assert removed(bench) == ("m", "join-timeout")
    assert bench.of_kind(Kind.EPOCH_BUMPED)[-1].payload["triggers"] == ["join-timeout"]


def test_a_join_ends_the_time_to_join() -> None:
    """Once it is answered; from then on a SyncGroup is awaited."""
    bench = mixed()
    bench.enroll("o")
    bench.pulse("m")
    bench.enter("m", owned={A: [3, 4, 5]})
    assert bench.timers_of("m") == {"session-timeout-g-m": 30_000, "sync-g-m": 60_000}


def test_a_member_that_does_not_sync_is_removed() -> None:
    """Heartbeats are no SyncGroup."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m", rebalance_ms=20_000)
    bench.advance_ms(10_000)
    bench.pulse("m")
    bench.advance_ms(10_000)
    assert removed(bench) == ("m", "sync-timeout")
    assert bench.of_kind(Kind.GROUP_STATE)[-1].reason == (
        "Member m fenced from the group because the member failed to sync within timeout."
    )


def test_a_classic_member_has_no_timer_of_its_revocation() -> None:
    """The times to join and to sync have that part."""
    bench = mixed()
    bench.enroll("o")
    bench.enter("m", owned={A: [3, 4, 5]})
    assert "rebalance-timeout-g-m" not in bench.timers()


def test_a_load_gives_classic_members_the_session_of_the_group() -> None:
    """The other timers are forgotten; the next request of the member sets its own session again."""
    bench = mixed()
    bench.enroll("o")
    bench.pulse("m")
    loaded = HostedBench(bench.config, records=bench.log, now_us=bench.now_us)
    assert loaded.timers_of("m") == {"session-timeout-g-m": 45_000}
    loaded.pulse("m")
    assert loaded.timers_of("m") == {"session-timeout-g-m": 30_000, "join-g-m": 60_000}


def test_a_member_that_goes_over_keeps_the_wait_for_a_sync() -> None:
    """As in Kafka: the timer removes it, whatever protocol it has by then."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m", rebalance_ms=20_000)
    bench.beat("m", 3, owned={})
    bench.advance_ms(20_000)
    assert removed(bench) == ("m", "sync-timeout")


def test_the_wait_for_a_sync_goes_on_through_two_conversions() -> None:
    """The group becomes classic and is upgraded again; the timer removes the member, which has not synced since."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m", rebalance_ms=20_000)
    bench.leave_group("n")
    assert "sync-g-m" in bench.timers()
    bench.enroll("n")
    bench.advance_ms(20_000)
    assert removed(bench) == ("m", "sync-timeout")


def test_the_wait_for_a_sync_does_nothing_to_a_classic_group() -> None:
    """As in Kafka: the group of that id is no consumer group when the timer fires."""
    bench = HostedBench()
    bench.enroll("n")
    bench.enter("m", rebalance_ms=20_000)
    bench.leave_group("n")
    bench.enter("m", rebalance_ms=60_000)
    bench.advance_ms(20_000)
    assert "sync-g-m" not in bench.timers()
    assert [one.member_id for one in bench.snapshot().members] == ["m"]


def test_a_removal_that_fails_is_tried_again() -> None:
    """The group would become classic, and the protocol that is voted has no version: every 500 ms, as in Kafka."""
    bench = HostedBench()
    bench.enroll("n")
    bench.join(member_id="c", protocols=(offer(protocol="first"), JoinProtocol("second", b"")), version=9)
    bench.join(member_id="d", protocols=(offer(protocol="second"),), version=9)
    bench.synchronize("c")
    bench.synchronize("d")
    bench.advance_ms(30_000)
    for _ in range(2):
        bench.pulse("c")
        bench.pulse("d")
        bench.advance_ms(10_000)
    assert "n" in bench.group().data.members
    assert "the timer session-timeout-g-n failed" in (bench.of_kind(Kind.WARNING)[-1].reason or "")
    assert bench.timers()["session-timeout-g-n"] <= 500
    bench.beat("n", 2)
    assert bench.timers()["session-timeout-g-n"] == 45_000


def test_a_removal_that_is_not_written_is_tried_again() -> None:
    """The failed append restores the member, which has no session then: the timer fires once more."""
    bench = mixed()
    bench.advance_ms(29_000)
    bench.beat("n", 3)
    bench.auto_commit = False
    bench.advance_ms(1_000)
    bench.fail_append()
    bench.auto_commit = True
    assert bench.timers_of("m") == {"session-timeout-g-m": 500}
    bench.advance_ms(500)
    assert list(bench.group().data.members) == ["n"]
    assert bench.timers_of("m") == {}


def test_a_name_of_two_timers_belongs_to_the_last_one() -> None:
    """`join-a-b` is the round of group `a-b` or a member `b` of group `a`: the later one takes the name."""
    timers = Timers(iter(range(9)).__next__)
    timers.set("join-a-b", TimerKind.JOIN, 10, "a-b")
    timer = timers.set("join-a-b", TimerKind.MEMBER_JOIN, 20, "a", "b")
    assert (timer.kind, timer.group_id, timer.member_id) == (TimerKind.MEMBER_JOIN, "a", "b")
    assert (len(timers), timers.of_group("a-b")) == (1, [])
