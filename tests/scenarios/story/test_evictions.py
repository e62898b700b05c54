from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.units import SECOND_US
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Account, Eviction, EvictionCause, tell
from tests.helpers.trace_builders import Tape, formed


def evictions(events: list[TraceEvent]) -> list[Eviction]:
    """The evictions of the only group."""
    return list(tell(events).groups[0].evictions)


def expired(tape: Tape, host: str, at: float) -> list[TraceEvent]:
    """The coordinator expires a session, and the run goes on for a while."""
    return tape.at(at).remove(host, "session-expired").prepare(host, "HEARTBEAT_EXPIRED").at(at + 20).end()


def test_a_crash_is_no_false_eviction_and_its_silence_is_the_time_to_detect_it() -> None:
    """The silence is the time from the death of the process to the removal of its member."""
    (one,) = evictions(expired(formed("c1", "c2", session_s=10).at(20).crash("c2"), "c2", 28))
    assert (one.name.host, one.reason, one.cause, one.alive) == ("c2", "session-expired", EvictionCause.CRASH, False)
    assert (one.removed_us, one.silent_us) == (28 * SECOND_US, 8 * SECOND_US)


def test_the_first_death_counts_when_a_process_died_again_since() -> None:
    """The member belongs to the life in which it joined, not to a later one that also died."""
    tape = formed("c1", "c2", session_s=45).at(20).crash("c2").at(22).start("c2").at(30).crash("c2")
    (one,) = evictions(expired(tape, "c2", 64))
    assert one.silent_us == 44 * SECOND_US


def test_a_death_before_the_member_joined_is_not_its_own() -> None:
    """The process crashed, restarted and joined; a later removal belongs to its present life."""
    tape = formed("c1", "c2", session_s=10).at(20).crash("c2").at(22).start("c2").at(23).join("c2", incarnation=2)
    (one,) = evictions(expired(tape, "c2", 40))
    assert (one.cause, one.alive) == (EvictionCause.UNKNOWN, True)


def test_a_pause_longer_than_the_session_is_a_false_eviction() -> None:
    """The process was paused and alive."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.PROCESS_PAUSED, "c2")
    (one,) = evictions(expired(tape, "c2", 31))
    assert (one.cause, one.alive, one.silent_us) == (EvictionCause.PAUSE, True, 11 * SECOND_US)


def test_a_starved_heartbeat_thread_is_a_false_eviction() -> None:
    """The process ran the whole time."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.HEARTBEATS_BLOCKED, "c2", payload={"blocked_us": 20 * SECOND_US})
    (one,) = evictions(expired(tape, "c2", 31))
    assert (one.cause, one.alive, one.silent_us) == (EvictionCause.STARVED, True, 10 * SECOND_US)


def test_a_process_that_stopped_without_leaving_did_not_crash() -> None:
    """A static member closes without LeaveGroup, and is removed at the end of the session."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.PROCESS_STOPPED, "c2", reason="closed")
    story = tell(expired(tape, "c2", 29))
    (one,) = story.groups[0].evictions
    assert (one.cause, one.alive) == (EvictionCause.STOP, False)
    assert story.lanes[1].crashes == 0
    assert not story.lanes[1].alive


def test_silence_without_a_known_reason_lasted_for_the_session() -> None:
    """Without a cause in the trace the silence is the session timeout."""
    (one,) = evictions(expired(formed("c1", "c2", session_s=10), "c2", 33))
    assert (one.cause, one.alive, one.silent_us) == (EvictionCause.UNKNOWN, True, 10 * SECOND_US)


def test_an_ordinary_leave_is_no_eviction() -> None:
    """A member that leaves is not listed."""
    tape = formed("c1", "c2").at(20).remove("c2", "left").prepare("c2", "LEAVE_GROUP")
    assert not evictions(tape.at(30).end())


def test_a_leave_for_the_poll_limit_is_listed_with_the_time_since_it_should_have_polled() -> None:
    """The member's own timer ran out, so it left although it was alive."""
    tape = formed("c1", "c2").at(20)
    tape.client(Kind.POLL_EXPIRED, "c2", payload={"limit_us": 5 * SECOND_US})
    tape.at(20.5).remove("c2", "left").prepare("c2", "LEAVE_GROUP")
    (one,) = evictions(tape.at(30).end())
    assert (one.reason, one.cause, one.alive) == ("poll-limit", EvictionCause.POLL_LIMIT, True)
    assert one.silent_us == 5_500_000


def test_a_static_member_over_its_poll_limit_is_expelled_for_it_at_the_end_of_its_session() -> None:
    """It does not leave; its heartbeats stop, and its session expires."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.POLL_EXPIRED, "c2", payload={"limit_us": 5 * SECOND_US})
    (one,) = evictions(expired(tape, "c2", 30))
    assert (one.reason, one.cause, one.alive) == ("session-expired", EvictionCause.POLL_LIMIT, True)
    assert one.silent_us == 15 * SECOND_US


def test_a_poll_limit_of_old_does_not_explain_a_later_silence() -> None:
    """The member was stable again in between."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.POLL_EXPIRED, "c2", payload={"limit_us": 5 * SECOND_US})
    tape.at(21).state_of("c2", "STABLE")
    (one,) = evictions(expired(tape, "c2", 60))
    assert one.cause is EvictionCause.UNKNOWN


def test_a_member_id_left_behind_is_not_a_false_eviction() -> None:
    """The process joined again without its id; the removed id is one that no process uses."""
    tape = formed("c1", "c2", session_s=10).at(20)
    left_behind = tape.members["c2"]
    tape.join("c2", incarnation=2).at(28)
    tape.coordinator(Kind.MEMBER_REMOVED, member=left_behind, reason="session-expired")
    (one,) = evictions(tape.at(30).end())
    assert (one.cause, one.alive) == (EvictionCause.ABANDONED, False)


def test_a_missed_join_is_silence_since_the_rebalance_began() -> None:
    """A member that does not join in time because of its callback is alive and busy."""
    tape = formed("c1", "c2").at(20).prepare("c1", "REJOIN_MID").at(20.1)
    tape.client(Kind.CALLBACK_BEGUN, "c2", reason="revoked", span=1)
    tape.at(50).remove("c2", "join-timeout").complete("c1")
    (one,) = evictions(tape.at(60).end())
    assert (one.reason, one.cause, one.alive) == ("join-timeout", EvictionCause.BUSY, True)
    assert one.silent_us == 30 * SECOND_US


def test_a_stranger_without_a_process_was_not_alive() -> None:
    """A member without a known process has its id for a name."""
    tape = formed("c1").at(5)
    tape.coordinator(Kind.MEMBER_ADDED, member="by-hand-1", payload={"session_timeout_ms": 6000})
    tape.at(11)
    tape.coordinator(Kind.MEMBER_REMOVED, member="by-hand-1", reason="session-expired")
    (one,) = evictions(tape.at(12).end())
    assert (one.name.host, one.alive, one.silent_us) == ("by-hand-1", False, 6 * SECOND_US)


def test_a_death_that_the_coordinator_has_not_noticed_is_listed() -> None:
    """At the end of the trace the coordinator still has a dead member; one that stopped in order does not count."""
    tape = formed("c1", "c2", "c3").at(20).crash("c2")
    tape.client(Kind.PROCESS_STOPPED, "c3", reason="closed")
    group = tell(tape.at(30).end()).groups[0]
    assert [one.host for one in group.undetected] == ["c2"]
    assert [one.host for one in group.present] == ["c1", "c2", "c3"]


def test_records_passed_over_are_lost_and_those_given_twice_are_duplicates() -> None:
    """The account of a partition counts offsets, for any member that received them."""
    tape = formed("c1", "c2").at(10).work("c1", 0, 0, 10).work("c1", 0, 15, 5).work("c2", 0, 8, 4)
    story = tell(tape.at(20).end())
    first, other = story.accounts
    assert first == Account("g1", TopicPartition("orders", 0), delivered=19, duplicates=2, lost=3, first_lost=(12, 15))
    assert (other.partition, other.delivered) == (TopicPartition("orders", 1), 0)
    assert [lane.delivered for lane in story.lanes] == [15, 4]
    assert [lane.duplicates for lane in story.lanes] == [0, 2]


def test_a_member_that_was_not_allowed_to_speak_was_refused() -> None:
    """Its heartbeats arrived and were refused until its session ended: the cause is no pause."""
    tape = formed("c1", "c2", session_s=10).at(20)
    tape.client(Kind.RESPONSE_RECEIVED, "c2", api="Heartbeat", error="GROUP_AUTHORIZATION_FAILED")
    (one,) = evictions(expired(tape, "c2", 28))
    assert (one.cause, one.alive) == (EvictionCause.REFUSED, True)


@pytest.mark.parametrize("reason", ["admin", "fenced", "over-capacity"])
def test_nothing_had_happened_to_a_process_that_was_sent_away(reason: str) -> None:
    """The coordinator's reason is the only cause."""
    tape = formed("c1", "c2").at(20).remove("c2", reason).prepare("c2", "LEAVE_GROUP")
    (one,) = evictions(tape.at(30).end())
    assert (one.reason, one.cause) == (reason, EvictionCause.SENT_AWAY)
