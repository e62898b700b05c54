from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Cause, Outcome, tell
from tests.helpers.trace_builders import Tape, formed


def crash_and_return() -> Tape:
    """c1 is killed at 0:31 and restarts at once; its former member holds generation 2 open until its session ends."""
    tape = formed("c1", "c2")
    tape.at(30.9).work("c1", 0, 0, 10).work("c2", 1, 0, 10)
    tape.at(31).crash("c1")
    tape.at(32).start("c1").join("c1", incarnation=2).prepare("c1", "ADD_MEMBER")
    tape.at(33).release("c2", 1).rejoin("c2")
    tape.members["c1"] = "c1-1"
    tape.at(76).remove("c1", "session-expired")
    tape.members["c1"] = "c1-2"
    tape.complete("c2", "c1").at(76.2).stable().own("c2", 0).own("c1", 1)
    return tape.at(90)


def test_a_first_start_is_not_counted_as_a_rebalance() -> None:
    """The generation that forms the group has its own cause and does not count."""
    group = tell(formed("c1", "c2").at(10).end()).groups[0]
    assert [g.cause for g in group.generations] == [Cause.FIRST_START]
    assert group.rebalances == ()
    assert group.formed_us == 3_100_000


def test_the_one_who_never_came_holds_the_generation_open() -> None:
    """A crashed incarnation that is removed on its session's end is named with the time of its crash."""
    generation = tell(crash_and_return().end()).groups[0].rebalances[0]
    held = generation.held_by
    assert held is not None
    assert (held.name.host, held.after_us, held.came, held.removal) == ("c1", 44_000_000, False, "session-expired")
    assert held.cause is Cause.SESSION_CRASH
    assert held.why == "crashed at 0:31.000"


def test_the_headline_says_how_many_how_long_and_who() -> None:
    """The headline counts rebalances, seconds and moves and names the member that held the worst generation open."""
    story = tell(crash_and_return().end())
    assert story.headline == (
        "1 rebalance of g1, 45.2 s stopped, 2 partitions moved: "
        "c1 (crashed at 0:31.000) held generation 2 open until its session ended"
    )


def test_times_of_a_generation_are_those_of_its_states() -> None:
    """Begin, completion and stability are taken from the group's transitions, with size, leader and protocol."""
    generation = tell(crash_and_return().end()).groups[0].generations[1]
    assert (generation.began_us, generation.completing_us, generation.stable_us) == (32_000_000, 76_000_000, 76_200_000)
    assert (generation.number, generation.size, generation.protocol) == (2, 2, "range")
    assert generation.leader is not None
    assert generation.leader.host == "c2"
    assert generation.outcome is Outcome.STABLE


def test_the_last_to_join_is_late_when_everybody_came() -> None:
    """Without a removal the member whose join came last is the one the group waited for."""
    tape = formed("c1", "c2")
    tape.at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER")
    tape.client(Kind.CALLBACK_BEGUN, "c2", reason="revoked", span=1)
    tape.at(21).rejoin("c1").at(51)
    tape.client(Kind.CALLBACK_ENDED, "c2", span=1)
    tape.rejoin("c2").complete("c1", "c2", "c3").at(51.1).stable()
    late = tell(tape.at(60).end()).groups[0].rebalances[0].late
    assert late is not None
    assert (late.name.host, late.after_us, late.cause) == ("c2", 31_000_000, Cause.CALLBACK)
    assert late.why == "was in its revoked callback for 31.0 s"


@pytest.mark.parametrize(("named", "host"), [(["c2"], "c2"), (["c*"], None)])
def test_who_is_kept_from_polling_is_late_for_that(named: list[str], host: str | None) -> None:
    """A member whose poll the scenario blocks is late because of it, whether one is named or several by a pattern."""
    tape = formed("c1", "c2")
    payload = {"do": "block-poll", "for": "30.000 s", "member": named}
    tape.at(18).add(Kind.ACTION, host=host, reason="block-poll: for 30.000 s", payload=payload)
    tape.at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").rejoin("c1")
    tape.at(48.1).rejoin("c2").complete("c1", "c2", "c3").stable()
    late = tell(tape.at(60).end()).groups[0].rebalances[0].late
    assert late is not None
    assert (late.name.host, late.cause) == ("c2", Cause.POLL_LIMIT)
    assert late.why == "did not call poll() for 30.0 s: block-poll: for 30.000 s"


def test_who_was_kept_from_polling_before_is_not_late_for_that() -> None:
    """A block that ended before the rebalance, or hits another process, explains nothing."""
    tape = formed("c1", "c2")
    for at, named in ((10, "c2"), (19, "c1")):
        payload = {"do": "block-poll", "for": "5.000 s", "member": [named]}
        tape.at(at).add(Kind.ACTION, host=named, reason="block-poll", payload=payload)
    tape.at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").rejoin("c1")
    tape.at(23).rejoin("c2").complete("c1", "c2", "c3").stable()
    late = tell(tape.at(60).end()).groups[0].rebalances[0].late
    assert late is not None
    assert (late.name.host, late.why) == ("c2", "learned of the rebalance at its next heartbeat")


def test_a_rebalance_cut_short_by_the_next_one_is_abandoned() -> None:
    """A generation that is rebalanced again before it is stable ends as abandoned, at that moment."""
    tape = formed("c1", "c2")
    tape.at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").at(21).complete("c1", "c2", "c3")
    tape.at(22).start("c4").join("c4").prepare("c4", "ADD_MEMBER")
    first, second = tell(tape.at(30).end()).groups[0].rebalances
    assert (first.outcome, first.ended_us) == (Outcome.ABANDONED, 22_000_000)
    assert (second.outcome, second.ended_us, second.number) == (Outcome.OPEN, 30_000_000, 3)


def test_moves_are_counted_by_process_and_hung_on_their_generation() -> None:
    """A partition that returns to the process it came from is a move, marked as one back."""
    tape = formed("c1", "c2")
    tape.at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").release("c1", 0).at(21).complete("c1", "c2", "c3")
    tape.at(21.1).stable().own("c3", 0)
    tape.at(40).prepare("c3", "LEAVE_GROUP").release("c3", 0, reason="closed").complete("c1", "c2")
    tape.at(40.1).stable().own("c1", 0)
    first, second = tell(tape.at(50).end()).groups[0].rebalances
    assert [(m.partition, m.origin, m.target, m.back) for m in first.moves] == [
        (TopicPartition("orders", 0), "c1", "c3", False)
    ]
    assert [(m.target, m.back) for m in second.moves] == [("c1", True)]


def test_the_second_round_of_a_cooperative_rebalance_follows_up_the_first() -> None:
    """A member that joins again because it revoked something inherits cause and culprit."""
    tape = formed("c1", "c2")
    tape.at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").at(21).complete("c1", "c2", "c3").at(21.1).stable()
    tape.at(21.2).prepare("c1", "LEADER_REJOIN", "need to revoke partitions [orders-0] and re-join")
    tape.at(21.4).complete("c1", "c2", "c3").at(21.5).stable()
    first, second = tell(tape.at(30).end()).groups[0].rebalances
    assert (second.cause, second.culprit) == (first.cause, first.culprit)
    assert (first.follow_up, second.follow_up) == (False, True)


def test_a_group_that_never_formed_says_whose_failure_it_was() -> None:
    """Every process failed before the coordinator took it: the headline names the first and its error."""
    tape = Tape()
    tape.start("c1", "c2")
    for host in ("c1", "c2"):
        tape.client(Kind.PROCESS_FAILED, host, error="InvalidSessionTimeoutException")
    assert tell(tape.end()).headline == (
        "no group formed: c1 failed with InvalidSessionTimeoutException, as did 1 other"
    )


def test_a_process_that_failed_and_closed_its_consumer_did_not_just_leave() -> None:
    """The error that ended it is the reason of the rebalance, not the LeaveGroup that followed."""
    tape = formed("c1", "c2").at(20)
    failed = tape.client(Kind.PROCESS_FAILED, "c1", error="KafkaException", reason="assignor 'mine' raised")
    tape.remove("c1", "left").prepare("c1", "LEAVE_GROUP", "the consumer is being closed", cause=failed)
    tape.complete("c2").stable()
    assert "c1 failed and left (KafkaException: assignor 'mine' raised)" in tell(tape.at(30).end()).headline


def test_a_partition_given_to_two_is_no_handover() -> None:
    """Both own it from the first generation on: the headline says that, and blames no static members."""
    tape = formed("c1", "c2").own("c2", 0)
    headline = tell(tape.at(30).end()).headline
    assert headline == "no rebalance of g1, nothing stopped, 1 partition moved: c1 and c2 own the same partitions"


def test_hours_are_printed_as_hours() -> None:
    """A stop of a weekend is printed in hours."""
    tape = formed("c1").at(10).work("c1", 0, 0, 3).at(20).release("c1", 0).remove("c1", "left")
    tape.prepare("c1", "LEAVE_GROUP")
    assert ", 2 h stopped, " in tell(tape.at(7220).end()).headline
