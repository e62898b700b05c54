"""Consumer groups in a partition: created, deleted and replaced by their records, live and from the log."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    CurrentValue,
    EpochRecord,
    EpochValue,
    MemberRecord,
    MemberValue,
    RegexRecord,
    ResolvedRegex,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.group_kind import GroupKind
from groupsim.coordinator.base.records import GroupRecord, GroupValue, Loaded, OffsetRecord, OffsetValue, Record
from groupsim.coordinator.classic.entry_points import simple_group
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.testing import Bench
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.group import ListGroupsRequest

T = "AAAAAAAAAAAAAAAAAAAAAQ"
MEMBER = MemberRecord("g", "a", MemberValue(names=("t",)))
EPOCH = EpochRecord("g", EpochValue(2, 5))
TARGET = (TargetRecord("g", "a", {T: (0, 1)}), TargetEpochRecord("g", TargetEpochValue(2, 1_000)))
OWNED = CurrentRecord("g", "a", CurrentValue(2, assigned={T: {0: 2, 1: 2}}))
JOINED = (MEMBER, EPOCH, *TARGET, OWNED)
CLASSIC = GroupRecord("g", GroupValue("consumer", 3, None, None, 0))
CLASSIC_GONE = GroupRecord("g", None)
OFFSET = OffsetRecord("g", TopicPartition("t", 0), OffsetValue(7, -1, "", 0))


def bench(*records: Loaded) -> Bench:
    """A partition that was loaded from these records; its appends wait for `commit` or `fail_append`."""
    return Bench(auto_commit=False, records=records)


def append(made: Bench, *records: Record) -> None:
    """Append records as a group does."""
    made.shard.partition.append(records)
    made.carry_out(made.shard.op.take())


def group(made: Bench) -> ConsumerGroup:
    """The consumer group of the partition."""
    found = made.shard.groups.get("g")
    assert isinstance(found, ConsumerGroup)
    return found


def kinds(made: Bench) -> tuple[GroupKind | None, GroupKind | None]:
    """The kind of the group in the present view and in the committed view."""
    present, committed = made.shard.groups.get("g"), made.shard.groups.get_committed("g")
    return None if present is None else present.kind, None if committed is None else committed.kind


def listed(made: Bench) -> list[tuple[str, str]]:
    """The types and states that ListGroups shows."""
    return [(line.group_type, line.state) for line in made.shard.list_groups(ListGroupsRequest())]


def test_group_exists_with_its_first_record() -> None:
    """The first record creates the group, its failure removes it; until the commit administrators do not see it."""
    made = bench()
    append(made, *JOINED)
    assert kinds(made) == (GroupKind.CONSUMER, None)
    assert listed(made) == []
    made.fail_append()
    assert kinds(made) == (None, None)
    append(made, *JOINED)
    made.commit()
    assert kinds(made) == (GroupKind.CONSUMER, GroupKind.CONSUMER)
    assert listed(made) == [("consumer", "Stable")]
    append(made, EpochRecord("g", EpochValue(3)))
    assert group(made).data.state.value == "Assigning"
    assert listed(made) == [("consumer", "Stable")]


def test_tombstones_delete_the_parts_first() -> None:
    """1.21: 8, 7, 6, 5, 16, 4, 3; and a group whose deletion failed is there again, with all its parts."""
    regex = RegexRecord("g", "x.*", ResolvedRegex(("x",), 1, 0))
    made = bench(*JOINED, MemberRecord("g", "b", MemberValue()), regex, OFFSET)
    before = dict(group(made).data.members)
    records = made.shard.partition.tombstones(group(made))
    assert records == (
        OffsetRecord("g", TopicPartition("t", 0), None),
        CurrentRecord("g", "b", None),
        CurrentRecord("g", "a", None),
        TargetRecord("g", "b", None),
        TargetRecord("g", "a", None),
        TargetEpochRecord("g", None),
        MemberRecord("g", "b", None),
        MemberRecord("g", "a", None),
        RegexRecord("g", "x.*", None),
        TopicsRecord("g", None),
        EpochRecord("g", None),
    )
    append(made, *records)
    assert kinds(made) == (None, GroupKind.CONSUMER)
    assert listed(made) == [("consumer", "Reconciling")]
    made.fail_append()
    assert group(made).data.members == before
    assert group(made).data.resolved == {"x.*": regex.value}
    append(made, *records)
    made.commit()
    assert kinds(made) == (None, None)


def test_one_append_replaces_a_classic_group() -> None:
    """A tombstone and the records of a consumer group in one append replace the group; its failure restores it."""
    made = bench(CLASSIC, OFFSET)
    former = made.shard.groups.get("g")
    append(made, CLASSIC_GONE, *JOINED)
    assert kinds(made) == (GroupKind.CONSUMER, GroupKind.CLASSIC)
    assert listed(made) == [("classic", "Empty")]
    made.fail_append()
    assert made.shard.groups.get("g") is former
    append(made, CLASSIC_GONE, *JOINED)
    made.commit()
    assert kinds(made) == (GroupKind.CONSUMER, GroupKind.CONSUMER)
    assert made.shard.committed_offsets("g") == {TopicPartition("t", 0): 7}


def test_one_append_replaces_a_consumer_group() -> None:
    """The reverse: tombstones, then the record of a classic group that its caller adds."""
    made = bench(*JOINED)
    former = group(made)
    for fails in (True, False):
        records = (*former.tombstones(), GroupRecord("g", GroupValue("", 0, None, None, 0)))
        append(made, *records)
        made.shard.groups.add(simple_group("g", 0))
        made.shard.groups.created_by("g", made.shard.op.purgatory.last_id)
        assert kinds(made) == (GroupKind.CLASSIC, GroupKind.CONSUMER)
        if fails:
            made.fail_append()
            assert made.shard.groups.get("g") is former
            assert former.data.target("a") == {T: (0, 1)}
        else:
            made.commit()
            assert kinds(made) == (GroupKind.CLASSIC, GroupKind.CLASSIC)


def test_record_that_is_refused_changes_nothing() -> None:
    """IllegalState: the records before it are undone, a replaced group is restored, nothing is appended."""
    made = bench(CLASSIC)
    wrong = (CLASSIC_GONE, *JOINED, MemberRecord("g", "b", MemberValue()), MemberRecord("g", "a", None))
    with pytest.raises(IllegalState, match="delete member a but did not receive"):
        append(made, *wrong)
    assert kinds(made) == (GroupKind.CLASSIC, GroupKind.CLASSIC)
    with pytest.raises(IllegalState, match="Group g is not a consumer group"):
        append(made, *JOINED)
    assert made.in_flight == []
    append(made, CLASSIC_GONE, *JOINED)
    with pytest.raises(IllegalState, match="still owned at epoch 2"):
        append(made, EpochRecord("g", EpochValue(9)), CurrentRecord("g", "b", CurrentValue(2, assigned={T: {0: 2}})))
    assert (group(made).data.group_epoch, list(group(made).data.members)) == (2, ["a"])
    made.commit()
    assert len(made.log) == 1 + 1 + len(JOINED)


def test_appends_after_a_failed_one_count() -> None:
    """An append that was made before the failure of an earlier one is in the log, so its records count."""
    made = bench()
    append(made, *JOINED)
    append(made, MemberRecord("g", "b", MemberValue(names=("u",))))
    append(made, EpochRecord("g", EpochValue(3)))
    made.fail_append()
    assert kinds(made) == (GroupKind.CONSUMER, None)
    assert (list(group(made).data.members), group(made).data.group_epoch) == (["b"], 3)
    made.fail_append()
    assert (list(group(made).data.members), group(made).data.group_epoch) == ([], 3)
    made.commit()
    assert kinds(made) == (GroupKind.CONSUMER, GroupKind.CONSUMER)
    assert group(made).data.committed() is group(made).data


def test_later_append_that_makes_no_sense_any_more_is_reported() -> None:
    """Records that only the failed append made legal are left out, with a warning."""
    made = bench(*JOINED)
    append(made, CurrentRecord("g", "a", CurrentValue(3)))
    append(made, CurrentRecord("g", "b", CurrentValue(2, assigned={T: {0: 2}})))
    made.fail_append()
    assert group(made).data.partition_epoch(T, 0) == 2
    (warning,) = [one for one in made.emitted if one.kind is Kind.WARNING]
    assert warning.reason is not None
    assert "append 2: Cannot set the epoch" in warning.reason


def test_load_takes_both_kinds_in_the_order_of_the_log() -> None:
    """The tombstone of either kind removes the group; the record of the other kind then makes it."""
    gone = bench(*JOINED).shard.groups.get("g")
    assert gone is not None
    left = gone.tombstones()
    assert kinds(bench(CLASSIC, CLASSIC_GONE, *JOINED)) == (GroupKind.CONSUMER,) * 2
    assert kinds(bench(*JOINED, *left, CLASSIC)) == (GroupKind.CLASSIC,) * 2
    assert kinds(bench(*JOINED, *left, CLASSIC, CLASSIC_GONE)) == (None, None)
    assert kinds(bench(CLASSIC, CLASSIC_GONE, *JOINED, *left)) == (None, None)
    assert kinds(bench(*JOINED, CLASSIC_GONE)) == (None, None)
    assert kinds(bench(*JOINED, CLASSIC)) == (GroupKind.CLASSIC,) * 2
    assert kinds(bench(*left)) == (None, None)


def test_load_replaces_simple_groups_only() -> None:
    """A group of offsets only becomes a consumer group, and so does one of a record without a type; no other does."""
    new = GroupRecord("g", GroupValue("", 0, None, None, 0))
    for before in (OFFSET, new):
        made = bench(before, *JOINED)
        assert kinds(made) == (GroupKind.CONSUMER,) * 2
        assert group(made).data.group_epoch == 2
    assert kinds(bench(*JOINED, OFFSET)) == (GroupKind.CONSUMER,) * 2
    assert kinds(bench(OFFSET, *JOINED, *group(bench(*JOINED)).tombstones())) == (None, None)
    with pytest.raises(IllegalState, match="Group g is not a consumer group"):
        bench(CLASSIC, *JOINED)
