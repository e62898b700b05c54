"""Hindrances of a group, apart from the members that began a rebalance or held it open."""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import SECOND_US
from groupsim.scenarios.story import Cause, Generation, tell
from tests.helpers.trace_builders import Tape, formed


def generations(tape: Tape) -> tuple[Generation, ...]:
    """The generations of the only group."""
    return tell(tape.events).groups[0].generations


def words(tape: Tape) -> list[str]:
    """Return the hindrances that cost something, in order."""
    return [one.words for generation in generations(tape) for one in generation.hindrances if not one.minor]


def grown() -> Tape:
    """Return the trace of c1 and c2, which c3 joins at 0:20."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER")
    return tape


def test_timed_out_joins_are_listed_with_the_rebalance_they_waited_for() -> None:
    """The hindrance has the name of the violated inequality and how long the clients waited."""
    tape = grown()
    for second, host in ((30, "c3"), (30.1, "c2"), (40, "c3")):
        payload = {"took_us": 10 * SECOND_US}
        tape.at(second).client(Kind.REQUEST_FAILED, host, api="JoinGroup", error="TIMED_OUT", payload=payload)
    tape.at(80).complete("c1", "c2", "c3").stable().at(90).end()
    one, _ = generations(tape)[1].hindrances
    assert one.words == "c2, c3 gave up waiting for JoinGroup 3 times, after 10.0 s (timeout inversion)"
    assert (one.began_us, one.ended_us, one.cause) == (30 * SECOND_US, 40 * SECOND_US, Cause.TIMEOUT_INVERSION)
    assert tell(tape.events).headline.endswith(f"; {one.words}")


def test_other_requests_and_lost_connections_are_no_join_given_up() -> None:
    """A heartbeat that times out was not held by the coordinator."""
    tape = grown()
    tape.client(Kind.REQUEST_FAILED, "c2", api="Heartbeat", error="TIMED_OUT")
    tape.client(Kind.REQUEST_FAILED, "c2", api="JoinGroup", error="DISCONNECTED")
    assert words(tape.complete("c1", "c2", "c3").stable().at(90)) == []


def test_offsets_that_a_transaction_holds_are_a_hindrance() -> None:
    """The rebalance is over, and the new owner still waits for its offsets."""
    tape = grown().complete("c1", "c2", "c3").stable()
    for second in (21, 25, 40):
        tape.at(second).client(Kind.RESPONSE_RECEIVED, "c3", api="OffsetFetch", error="UNSTABLE_OFFSET_COMMIT")
    assert words(tape) == [
        "an open transaction held back the offsets of c3 for 19.0 s (UNSTABLE_OFFSET_COMMIT)",
    ]


def test_one_or_two_refusals_are_no_hindrance() -> None:
    """Every transaction is open for a moment."""
    tape = grown().complete("c1", "c2", "c3").stable()
    for second in (21, 25):
        tape.at(second).client(Kind.RESPONSE_RECEIVED, "c3", api="OffsetFetch", error="UNSTABLE_OFFSET_COMMIT")
    assert words(tape) == []


def let_go(reason: str = "revoked") -> Tape:
    """c2 releases its partition at 0:21, when the group is stable."""
    return grown().complete("c1", "c2", "c3").stable().at(21).release("c2", 1, reason=reason)


def test_a_partition_without_an_owner_in_a_stable_group_is_a_hindrance() -> None:
    """The group is stable, and a partition waits for the next rebalance."""
    tape = let_go().at(60)
    tape.own("c3", 1).at(90).end()
    assert words(tape) == ["orders-1 had no owner for 39.0 s while the group was stable"]


def test_a_partition_between_two_rounds_is_not_ownerless() -> None:
    """The next owner has the partition within seconds, as in every cooperative rebalance."""
    tape = let_go().at(25)
    tape.own("c3", 1).at(90).end()
    assert words(tape) == []


def test_the_end_of_a_process_is_no_further_hindrance() -> None:
    """A static member that stops stays a member: the group waits for it, which has a clause of its own."""
    tape = let_go()
    tape.client(Kind.PROCESS_STOPPED, "c2", reason="closed")
    tape.at(90).end()
    assert words(tape) == []


def test_a_deleted_topic_needs_no_owner() -> None:
    """A deleted topic needs no owner."""
    tape = let_go()
    tape.add(Kind.METADATA_CHANGED, topic="orders", payload={"before": 2, "partitions": 0})
    tape.at(90).end()
    assert words(tape) == []


def test_deleted_offsets_come_first_in_the_headline() -> None:
    """Deleted offsets, after which records are read again or never, go before a wait."""
    tape = let_go().at(60)
    for partition in (0, 1):
        tape.coordinator(Kind.OFFSET_EXPIRED, topic="orders", partition=partition)
    tape.at(90).end()
    gone = "the committed offsets of orders-0, orders-1 were deleted (offset expiry)"
    assert words(tape) == [gone, "orders-1 had no owner for 69.0 s while the group was stable"]
    assert tell(tape.events).headline.endswith(f"; {gone}")


def test_a_sync_that_is_given_up_is_the_leader_s_debt() -> None:
    """A SyncGroup that times out is no timeout inversion: the assignment does not arrive."""
    tape = grown().complete("c1", "c2", "c3").at(50)
    tape.client(Kind.REQUEST_FAILED, "c2", api="SyncGroup", error="TIMED_OUT", payload={"took_us": 30 * SECOND_US})
    tape.at(60).stable().at(61).end()
    assert words(tape) == [
        "c2 gave up waiting for SyncGroup 1 time, after 30.0 s: the leader's assignment did not arrive"
    ]


def test_members_without_a_partition_are_listed_once_and_not_in_the_headline() -> None:
    """More members than partitions: the added member does not help, and costs nothing."""
    tape = grown().complete("c1", "c2", "c3").stable().at(60).start("c4").join("c4").prepare("c4", "ADD_MEMBER")
    tape.complete("c1", "c2", "c3", "c4").stable().at(80).prepare("c4", "REJOIN")
    tape.complete("c1", "c2", "c3", "c4").stable().at(95).end()
    story = tell(tape.events)
    words = [[one.words for one in generation.hindrances] for generation in story.groups[0].generations]
    assert words == [[], ["c3 of 3 members had no partition"], ["c3, c4 of 4 members had no partition"], []]
    assert "had no partition" not in story.headline
