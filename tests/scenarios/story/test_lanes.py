from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.story import Lane, Phase, tell
from groupsim.scenarios.story.words import processes
from tests.helpers.trace_builders import formed


def shape(lane: Lane) -> list[tuple[Phase, float]]:
    """Return the phases with the seconds at which they begin."""
    return [(span.phase, span.began_us / 1_000_000) for span in lane.phases]


def test_a_lane_follows_the_clients_states() -> None:
    """The phases outside, joining, syncing and working follow the client's own states."""
    tape = formed("c1").at(20).state_of("c1", "PREPARING_REBALANCE").at(21).state_of("c1", "COMPLETING_REBALANCE")
    tape.at(22).state_of("c1", "STABLE")
    (lane,) = tell(tape.at(30).end()).lanes
    assert shape(lane) == [
        (Phase.JOINING, 0),
        (Phase.WORKING, 3.1),
        (Phase.JOINING, 20),
        (Phase.SYNCING, 21),
        (Phase.WORKING, 22),
    ]


def test_a_crash_ends_a_lane_until_the_next_start() -> None:
    """Between crash and restart the process is dead."""
    tape = formed("c1").at(10).crash("c1").at(15).start("c1").at(16).state_of("c1", "STABLE")
    (lane,) = tell(tape.at(20).end()).lanes
    assert shape(lane)[1:] == [(Phase.WORKING, 3.1), (Phase.DEAD, 10), (Phase.OUTSIDE, 15), (Phase.WORKING, 16)]


def test_pauses_and_callbacks_cover_the_state() -> None:
    """A pause hides everything, a callback hides the client's state."""
    tape = formed("c1").at(10)
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="revoked", span=1)
    tape.at(11)
    tape.client(Kind.PROCESS_PAUSED, "c1")
    tape.at(12)
    tape.client(Kind.PROCESS_RESUMED, "c1")
    tape.at(13)
    tape.client(Kind.CALLBACK_ENDED, "c1", span=1)
    (lane,) = tell(tape.at(20).end()).lanes
    assert shape(lane)[2:] == [(Phase.CALLBACK, 10), (Phase.PAUSED, 11), (Phase.CALLBACK, 12), (Phase.WORKING, 13)]


def test_a_producer_works_from_its_start_to_its_end() -> None:
    """A producer has no states of a group; one that works all the time is not eventful, and none is a member."""
    tape = formed("c1")
    for host in ("steady", "late"):
        tape.at(0 if host == "steady" else 5).add(Kind.PROCESS_STARTED, host=host, payload={"profile": "java-producer"})
    tape.at(10).crash("late")
    member, steady, late = tell(tape.at(20).end()).lanes
    assert shape(steady) == [(Phase.WORKING, 0)]
    assert shape(late) == [(Phase.OUTSIDE, 0), (Phase.WORKING, 5), (Phase.DEAD, 10)]
    assert [one.eventful for one in (member, steady, late)] == [True, False, True]
    assert processes(one.profile for one in (member, steady, late)) == "1 member process, 2 producers"


def test_a_member_that_does_not_know_of_its_eviction_is_shown_so() -> None:
    """From the removal to the client's next state change the member is evicted."""
    tape = formed("c1", "c2").at(10).remove("c1", "session-expired").at(14).state_of("c1", "UNJOINED")
    lane = tell(tape.at(20).end()).lanes[0]
    assert shape(lane)[2:] == [(Phase.EVICTED, 10), (Phase.OUTSIDE, 14)]


def test_heartbeats_and_failed_commits_are_counted_per_member() -> None:
    """Quiet heartbeats come from the run's end, failed commits from their events."""
    tape = formed("c1").at(10)
    tape.client(Kind.COMMIT_FAILED, "c1", error="ILLEGAL_GENERATION")
    tape.client(Kind.COMMIT_FAILED, "c1", error="ILLEGAL_GENERATION")
    story = tell(tape.at(20).end(c1=6))
    assert story.lanes[0].heartbeats == 6
    assert story.lanes[0].commits_failed == (("ILLEGAL_GENERATION", 2),)
    assert story.groups[0].commits_failed == (("ILLEGAL_GENERATION", 2),)


def test_a_trace_without_groups_is_a_story_too() -> None:
    """The headline of a group without an event is that it formed."""
    assert tell([]).headline == "no group formed"
