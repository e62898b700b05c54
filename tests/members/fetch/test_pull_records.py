"""Records of a fetch: from batches to ranges; and the leaders that a client believes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupsim.members.fetch.completed import Run, contents, records_in
from groupsim.members.leaders import NO_LEADER, Leaders
from groupsim.protocol.batch.batch import TRANSACTIONAL, LogRecord
from groupsim.protocol.messages.data import PartitionData
from groupsim.protocol.messages.group import MetadataResponse, PartitionInfo, TopicInfo, TopicPartition
from tests.helpers.members_log_fakes import LeaderIs, counted, marker, with_records

T0 = TopicPartition("t", 0)
BROKERS = ((0, "b0"), (1, "b1"))


def placed(*batches, epoch=0):
    """Return consecutive batches, as in a log."""
    found, at = [], 0
    for batch in batches:
        found.append(batch.placed(at, epoch))
        at = found[-1].next_offset
    return tuple(found)


def test_batches_of_one_epoch_make_one_run():
    """Consecutive records are one range, over any number of batches."""
    found = records_in(PartitionData(T0, batches=placed(counted(3), counted(4))), 0)
    assert found == ([Run(0, 7, 0)], 7, 0)


def test_another_leader_epoch_begins_another_run():
    """A range ends at a new leader epoch, so the position always has the epoch of its last record."""
    first, second = counted(3).placed(0, 1), counted(4).placed(3, 2)
    assert records_in(PartitionData(T0, batches=(first, second)), 0) == ([Run(0, 3, 1), Run(3, 7, 2)], 7, 2)


def test_a_fetch_that_found_nothing_moves_nothing():
    """Without batches there are no records, and the position stays."""
    assert records_in(PartitionData(T0), 5) == ([], 5, -1)


def test_only_an_aborted_producers_records_are_skipped():
    """Two transactions in one fetch, one aborted and one committed, end at their own markers."""
    one, two = {"producer_id": 1, "attributes": TRANSACTIONAL}, {"producer_id": 2, "attributes": TRANSACTIONAL}
    batches = placed(
        counted(1, **one), counted(1, **two), marker(1, commit=False), counted(1, **one), counted(1, **two)
    )
    found = records_in(PartitionData(T0, batches=batches, aborted=((1, 0),)), 0, committed_only=True)
    assert [(run.base, run.end) for run in found.runs] == [(1, 2), (3, 5)]


@st.composite
def logs(draw):
    """Generate batches, counted or with gaps, and the remaining offsets."""
    batches, left, at = [], [], 0
    for count in draw(st.lists(st.integers(1, 6), max_size=6)):
        here = sorted(draw(st.sets(st.integers(0, count - 1))))
        if draw(st.booleans()):
            batch, here = counted(count), range(count)
        else:
            batch = with_records(*(LogRecord(step, b"k", b"v") for step in here), count=count)
        batches.append(batch.placed(at, draw(st.integers(0, 2))))
        left += [at + step for step in here]
        at += count
    return tuple(batches), left, at


@given(logs(), st.integers(0, 40))
def test_runs_hold_exactly_the_records_from_the_position_on(log, position):
    """Every existing record from the position on is in exactly one range, in order, and nothing else is."""
    batches, left, end = log
    found = records_in(PartitionData(T0, batches=batches), position)
    offsets = [offset for run in found.runs for offset in range(run.base, run.end)]
    assert offsets == [offset for offset in left if offset >= position]
    assert found.next_offset == max(end if batches else position, position)


@given(logs(), st.integers(0, 40), st.integers(0, 40))
def test_contents_are_those_of_the_range(log, base, end):
    """The contents of a range are its records with content, at their own offsets."""
    batches, left, _ = log
    shown = [offset for offset, _, _ in contents(batches, base, end)]
    counts = {b.base_offset + step for b in batches if b.records is None for step in range(b.count)}
    assert shown == [offset for offset in left if base <= offset < end and offset not in counts]


# --- leaders ------------------------------------------------------------------------------------------------------


def metadata(leader, epoch, brokers=BROKERS):
    """Return a response that names the leader of t-0."""
    return MetadataResponse(brokers, (TopicInfo("t", partitions=(PartitionInfo(0, leader, leader_epoch=epoch),)),))


def test_an_older_epoch_is_not_believed():
    """Metadata of a broker that lags behind change nothing."""
    leaders = Leaders()
    leaders.learn(metadata(0, 5))
    leaders.learn(metadata(1, 4))
    assert leaders.of(T0) == LeaderIs(0, 5)


def test_a_hint_counts_when_it_is_newer_and_its_broker_known():
    """A leader named by a refusing broker is applied if its epoch is newer (KIP-951)."""
    leaders = Leaders()
    leaders.learn(metadata(0, 5))
    assert not leaders.hint(T0, LeaderIs(1, 5))
    assert not leaders.hint(T0, LeaderIs(7, 6))
    assert leaders.hint(T0, LeaderIs(1, 6))
    leaders.learn(metadata(0, 5))
    assert leaders.of(T0) == LeaderIs(1, 6)


def test_an_epoch_met_elsewhere_makes_what_is_known_old():
    """A committed offset with a newer epoch leaves the partition without a leader until metadata are as new."""
    leaders = Leaders()
    leaders.learn(metadata(0, 5))
    assert not leaders.is_outdated(T0, 5)
    assert leaders.is_outdated(T0, 6)
    leaders.learn(metadata(0, 5))
    assert leaders.of(T0).leader == -1
    leaders.learn(metadata(1, 6))
    assert leaders.of(T0) == LeaderIs(1, 6)


def test_a_recreated_topic_begins_with_epoch_0():
    """A topic that metadata lacked for a while starts without known epochs."""
    leaders = Leaders()
    leaders.learn(metadata(0, 5))
    leaders.learn(MetadataResponse(BROKERS, ()))
    assert leaders.of(T0) == NO_LEADER
    leaders.learn(metadata(1, 0))
    assert leaders.of(T0) == LeaderIs(1, 0)


def test_a_leader_that_is_down_is_no_leader():
    """A partition whose leader is no live broker counts as without a leader."""
    leaders = Leaders()
    assert not leaders.learn(metadata(1, 0, brokers=BROKERS[:1]))
    assert leaders.of(T0).leader == -1
