from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import tell
from groupsim.scenarios.story.rebalances.ownership import union_us
from tests.helpers.trace_builders import Tape, formed

ZERO = TopicPartition("orders", 0)


def handover() -> Tape:
    """c1 releases orders-0 at 0:20, c2 gets it at 0:22."""
    tape = formed("c1", "c2")
    tape.at(20).prepare("c2", "LEADER_REJOIN").release("c1", 0).at(21).complete("c1", "c2").at(21.9).stable()
    return tape.at(22).own("c2", 0)


@pytest.mark.parametrize("last", [19.5, 12.0, None])
def test_a_partition_stands_still_from_its_release_however_few_records_came(last: float | None) -> None:
    """Between the last record and the release the old owner could have processed more: it served the partition."""
    tape = formed("c1", "c2")
    if last is not None:
        tape.at(last).work("c1", 0, 0, 5)
    tape.at(20).prepare("c2", "LEADER_REJOIN").release("c1", 0).at(21).complete("c1", "c2").at(21.9).stable()
    tape.at(22).own("c2", 0).at(22.1).work("c2", 0, 5, 5)
    (stop,) = tell(tape.at(30).end()).groups[0].standstills
    assert (stop.partition, stop.began_us, stop.ended_us, stop.basis) == (ZERO, 20_000_000, 22_000_000, "released")


def test_a_quiet_topic_does_not_lengthen_the_stop_after_a_crash() -> None:
    """Ten records, silence, a crash 15 minutes later and a new owner after 23 s: 23 s stopped, in every figure."""
    tape = formed("c1", "c2").at(10).work("c1", 0, 0, 10).at(910).crash("c1")
    tape.at(930).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED").complete("c2").at(932).stable()
    story = tell(tape.at(933).own("c2", 0).at(940).end())
    (group,) = story.groups
    assert [(stop.length_us, stop.basis) for stop in group.standstills] == [(23_000_000, "crashed")]
    assert (group.stopped_us, group.unserved_us, group.worst) == (23_000_000, 23_000_000, (ZERO, 23_000_000))
    assert ", 23.0 s stopped, " in story.headline


def test_an_owner_busy_in_its_handler_makes_lag_and_no_stop() -> None:
    """A member evicted for a slow handler works on its partition until another one can fetch."""
    tape = formed("c1", "c2").at(10)
    tape.client(Kind.RECORDS_DELIVERED, "c1", topic="orders", partition=0, payload={"base": 0, "count": 5})
    tape.at(310).remove("c1", "left").prepare("c1", "LEAVE").at(311).complete("c2").stable().own("c2", 0)
    tape.at(400).client(Kind.RECORDS_PROCESSED, "c1", topic="orders", partition=0, payload={"base": 0, "count": 5})
    group = tell(tape.release("c1", 0, reason="lost").at(410).end()).groups[0]
    assert (group.standstills, group.stopped_us) == ((), 0)
    assert group.moved == 1


def test_the_stopped_time_of_a_group_is_the_union_over_its_partitions() -> None:
    """Two partitions that stand still for overlapping times: their sum is unserved, their union is stopped."""
    tape = formed("c1", "c2").at(20).prepare("c2", "LEADER_REJOIN").release("c1", 0).at(21).release("c2", 1)
    tape.at(22).complete("c1", "c2").stable().at(23).own("c2", 0).at(26).own("c1", 1)
    group = tell(tape.at(30).end()).groups[0]
    assert (group.stopped_us, group.unserved_us) == (6_000_000, 8_000_000)
    assert group.worst == (TopicPartition("orders", 1), 5_000_000)


def test_the_callback_before_a_release_is_unserved_time() -> None:
    """A member that flushes for a second before it releases a partition processes nothing in that second."""
    tape = formed("c1", "c2").at(18.5).work("c1", 0, 0, 5)
    tape.at(19).client(Kind.CALLBACK_BEGUN, "c1", reason="revoked", span=7)
    tape.at(20).client(Kind.CALLBACK_ENDED, "c1", reason="revoked", span=7)
    tape.release("c1", 0).prepare("c2", "LEADER_REJOIN").at(21).complete("c1", "c2").at(21.9).stable()
    tape.at(22).own("c2", 0)
    (stop,) = tell(tape.at(30).end()).groups[0].standstills
    assert (stop.began_us, stop.length_us) == (19_000_000, 3_000_000)


def test_the_callback_for_what_was_assigned_hides_no_callback_for_what_was_revoked() -> None:
    """A cooperative member gets its callback for the assignment in the instant of the release: the flush counts."""
    tape = formed("c1", "c2").at(20).prepare("c2", "LEADER_REJOIN").at(21).complete("c1", "c2").stable()
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="revoked", span=7)
    tape.at(22).client(Kind.CALLBACK_ENDED, "c1", reason="revoked", span=7)
    tape.release("c1", 0)
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="assigned", span=8)
    tape.client(Kind.CALLBACK_ENDED, "c1", reason="assigned", span=8)
    (stop,) = tell(tape.at(24).own("c2", 0).at(30).end()).groups[0].standstills
    assert (stop.began_us, stop.length_us) == (21_000_000, 3_000_000)


def test_an_owner_removed_in_its_revocation_callback_serves_nothing_until_another_can_fetch() -> None:
    """Its callback goes on after the next owner has the partition, and the stop still begins with the callback."""
    tape = formed("c1", "c2").at(20).prepare("c2", "LEADER_REJOIN")
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="revoked")
    tape.at(50).remove("c1", "join-timeout").complete("c2").stable().own("c2", 0)
    tape.at(70).client(Kind.CALLBACK_ENDED, "c1", reason="revoked")
    tape.client(Kind.CALLBACK_BEGUN, "c1", reason="lost")
    tape.client(Kind.CALLBACK_ENDED, "c1", reason="lost")
    (stop,) = tell(tape.release("c1", 0, reason="lost").at(80).end()).groups[0].standstills
    assert (stop.partition, stop.began_us, stop.ended_us) == (ZERO, 20_000_000, 50_000_000)


def test_a_record_finished_in_the_callback_before_a_release_was_served() -> None:
    """A callback that waits for workers to finish: the partition stands still from the last record on."""
    tape = formed("c1", "c2").at(18.5).work("c1", 0, 0, 5)
    tape.at(19).client(Kind.CALLBACK_BEGUN, "c1", reason="revoked", span=7)
    tape.at(19.6).work("c1", 0, 5, 5)
    tape.at(20).client(Kind.CALLBACK_ENDED, "c1", reason="revoked", span=7)
    tape.release("c1", 0).prepare("c2", "LEADER_REJOIN").at(21).complete("c1", "c2").at(21.9).stable()
    tape.at(22).own("c2", 0)
    (stop,) = tell(tape.at(30).end()).groups[0].standstills
    assert (stop.began_us, stop.length_us) == (19_600_000, 2_400_000)


def test_an_owned_partition_that_is_assigned_again_keeps_its_span() -> None:
    """An assignment that names a partition twice makes one span of it, which begins with the first."""
    spans = tell(handover().at(23).own("c2", 0).at(30).end()).groups[0].spans
    assert [one.owned_us for one in spans if (one.host, one.partition) == ("c2", ZERO)] == [22_000_000]


def test_records_of_several_partitions_are_in_hand_until_the_last_is_processed() -> None:
    """One poll returns records of two partitions: a member that is late in between was busy in its handler."""
    tape = formed("c1", "c2").at(10)
    for partition, count in ((0, 1), (1, 9)):
        payload = {"base": 0, "count": count}
        tape.client(Kind.RECORDS_DELIVERED, "c1", topic="orders", partition=partition, payload=payload)
    tape.at(11).client(Kind.RECORDS_PROCESSED, "c1", topic="orders", partition=0, payload={"base": 0, "count": 1})
    tape.at(12).prepare("c2", "LEADER_REJOIN")
    tape.at(40).client(Kind.RECORDS_PROCESSED, "c1", topic="orders", partition=1, payload={"base": 0, "count": 9})
    tape.rejoin("c1").complete("c1", "c2").stable()
    late = tell(tape.at(50).end()).groups[0].generations[-1].late
    assert late is not None
    assert late.why == "did not call poll(): its handler ran for 30.0 s"


def test_a_paused_owner_silences_its_partitions_from_the_pause() -> None:
    """The owner never released the partition before the other one had it: the pause is the begin."""
    tape = formed("c1", "c2").at(10)
    tape.client(Kind.PROCESS_PAUSED, "c1", payload={"pause_us": 60_000_000})
    tape.at(55).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED").complete("c2")
    tape.at(55.1).stable().own("c2", 0)
    (stop,) = tell(tape.at(60).end()).groups[0].standstills
    assert (stop.began_us, stop.ended_us, stop.basis) == (10_000_000, 55_100_000, "paused")


def test_a_pause_that_was_over_long_before_the_handover_is_not_held_against_it() -> None:
    """Also without a record: the owner was resumed and could have worked until it released the partition."""
    tape = formed("c1", "c2").at(10)
    tape.client(Kind.PROCESS_PAUSED, "c1", payload={"pause_us": 4_000_000})
    tape.at(14).client(Kind.PROCESS_RESUMED, "c1")
    tape.at(55).release("c1", 0).at(55.1).own("c2", 0)
    (stop,) = tell(tape.at(60).end()).groups[0].standstills
    assert (stop.began_us, stop.ended_us, stop.basis) == (55_000_000, 55_100_000, "released")


def test_a_paused_owner_that_woke_up_to_find_its_partition_lost_never_came_back() -> None:
    """A member removed during its pause could not have worked between its end and the loss of the partition."""
    tape = formed("c1", "c2").at(10)
    tape.client(Kind.PROCESS_PAUSED, "c1", payload={"pause_us": 46_000_000})
    tape.at(55).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED")
    tape.at(56).client(Kind.PROCESS_RESUMED, "c1")
    tape.release("c1", 0, reason="lost")
    tape.at(58).complete("c2").stable().own("c2", 0)
    (stop,) = tell(tape.at(60).end()).groups[0].standstills
    assert (stop.began_us, stop.ended_us, stop.basis) == (10_000_000, 58_000_000, "paused")


def test_a_partition_without_a_new_owner_stands_still_to_the_end() -> None:
    """The only owner crashed: the standstill is open and ends with the trace."""
    tape = formed("c1").at(10).work("c1", 0, 0, 3).at(11).crash("c1")
    (stop,) = tell(tape.at(20).end()).groups[0].standstills
    assert (stop.began_us, stop.ended_us, stop.open, stop.target) == (11_000_000, 20_000_000, True, None)


def test_an_owner_that_comes_back_to_its_own_partition_counts_as_a_standstill_but_not_as_a_move() -> None:
    """Eager rebalances stop partitions that stay where they are, too."""
    tape = formed("c1", "c2")
    tape.at(20).prepare("c2", "LEADER_REJOIN").release("c1", 0).at(21).complete("c1", "c2").stable()
    tape.at(21.5).own("c1", 0)
    group = tell(tape.at(30).end()).groups[0]
    assert [stop.length_us for stop in group.standstills] == [1_500_000]
    assert group.moved == 0


def test_a_zombie_that_goes_on_processing_is_an_overlap() -> None:
    """Records processed by the old owner after the new one could fetch are two owners at once, not a standstill."""
    tape = handover_to_new_owner_while_old_works()
    group = tell(tape.at(30).end()).groups[0]
    assert [(o.zombie, o.owner, o.began_us, o.ended_us) for o in group.overlaps] == [
        ("c1", "c2", 22_000_000, 24_000_000)
    ]
    assert group.standstills == ()


def handover_to_new_owner_while_old_works() -> Tape:
    """c1 is evicted at 0:20 and works on until 0:24, c2 has its partition from 0:22."""
    tape = formed("c1", "c2").at(20).remove("c1", "session-expired").prepare("c1", "HEARTBEAT_EXPIRED")
    tape.at(21.5).work("c1", 0, 0, 1).complete("c2").stable().at(22).own("c2", 0).work("c2", 0, 1, 1)
    return tape.at(24).work("c1", 0, 1, 1).at(25).release("c1", 0, reason="lost")


def test_duplicates_are_records_delivered_a_second_time() -> None:
    """An offset range delivered again is counted for the group and for the process that received it."""
    tape = formed("c1", "c2").at(10).work("c1", 0, 0, 10).at(12).release("c1", 0).own("c2", 0).work("c2", 0, 4, 10)
    story = tell(tape.at(20).end())
    assert (story.groups[0].delivered, story.groups[0].duplicates) == (20, 6)
    assert [lane.duplicates for lane in story.lanes] == [0, 6]


@pytest.mark.parametrize(
    ("stretches", "expected"),
    [([], 0), ([(0, 5), (3, 8)], 8), ([(0, 2), (4, 6)], 4), ([(0, 10), (2, 3)], 10), ([(5, 6), (0, 6)], 6)],
)
def test_stopped_time_is_a_union(stretches: list[tuple[int, int]], expected: int) -> None:
    """Seconds in which several partitions stand still count once."""
    assert union_us(stretches) == expected


def test_a_standstill_over_two_rebalances_is_cut_where_the_second_begins() -> None:
    """Each generation has the unserved time between its begin and the begin of the next."""
    tape = formed("c1", "c2").at(20).prepare("c2", "LEADER_REJOIN").release("c1", 0).at(21).complete("c1", "c2")
    tape.at(25).prepare("c2", "UPDATE_META").at(26).complete("c1", "c2").at(26.5).stable().at(27).own("c2", 0)
    group = tell(tape.at(30).end()).groups[0]
    assert [g.stopped_us for g in group.rebalances] == [5_000_000, 2_000_000]
    assert group.stopped_us == 7_000_000
