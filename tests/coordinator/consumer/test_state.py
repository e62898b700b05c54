"""The state of a consumer group: what each record changes, and the way back of a failed append."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.consumer_records import (
    ClassicMetadata,
    ConsumerRecord,
    CurrentRecord,
    CurrentValue,
    EpochRecord,
    EpochValue,
    MemberRecord,
    MemberState,
    MemberValue,
    RegexRecord,
    ResolvedRegex,
    TargetEpochRecord,
    TargetEpochValue,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.state import ConsumerGroupState, GroupState
from groupsim.protocol.messages.group import JoinProtocol

T = "AAAAAAAAAAAAAAAAAAAAAQ"
U = "AAAAAAAAAAAAAAAAAAAAAg"


def member(member_id: str, **sent: object) -> MemberRecord:
    """The metadata of a member."""
    return MemberRecord("g", member_id, MemberValue(**sent))  # type: ignore[arg-type]


def current(member_id: str, epoch: int, *owned: int, pending: tuple[int, ...] = (), **more: object) -> CurrentRecord:
    """The current assignment of a member: partitions of the topic T."""
    assigned = {T: dict.fromkeys(owned, epoch)} if owned else {}
    revoked = {T: dict.fromkeys(pending, epoch)} if pending else {}
    value = CurrentValue(epoch, assigned=assigned, pending=revoked, **more)  # type: ignore[arg-type]
    return CurrentRecord("g", member_id, value)


def group_of(*records: ConsumerRecord) -> GroupState:
    """A group that was loaded from these records."""
    group = GroupState("g")
    for record in records:
        group.apply(record)
    return group


def test_new_group_is_empty_at_epoch_one() -> None:
    """KAFKA-20268: since 4.3 a new group has group epoch 1 and assignment epoch 1."""
    group = GroupState("g")
    assert (group.group_epoch, group.assignment_epoch, group.target_us) == (1, 1, None)
    assert group.state is ConsumerGroupState.EMPTY
    assert group.target("m") == {}
    assert group.partition_epoch(T, 0) == -1


def test_state_follows_from_members_and_epochs() -> None:
    """1.2: Empty, Assigning, Reconciling and Stable are tested in this order."""
    group = group_of(member("a"))
    assert group.state is ConsumerGroupState.RECONCILING  # at epoch 0
    group.apply(current("a", 1))
    assert group.state is ConsumerGroupState.STABLE
    group.apply(EpochRecord("g", EpochValue(2, 77)))
    assert (group.group_epoch, group.metadata_hash, group.state) == (2, 77, ConsumerGroupState.ASSIGNING)
    group.apply(TargetEpochRecord("g", TargetEpochValue(2, 5_000)))
    assert (group.assignment_epoch, group.target_us, group.state) == (2, 5_000, ConsumerGroupState.RECONCILING)
    group.apply(current("a", 2, state=MemberState.UNRELEASED_PARTITIONS))
    assert group.state is ConsumerGroupState.RECONCILING
    group.apply(current("a", 2))
    assert group.state is ConsumerGroupState.STABLE
    group.apply(current("a", -2))
    assert group.state is ConsumerGroupState.RECONCILING  # a static member that left and may come back


def test_assignment_may_come_before_metadata() -> None:
    """In a compacted log the current assignment of a member may come before its metadata."""
    sent = member("a", client_id="c", names=("t",), regex="t.*", assignor="uniform", rebalance_timeout_ms=9)
    one, other = group_of(sent, current("a", 3, 0, 1)), group_of(current("a", 3, 0, 1), sent)
    assert one.members == other.members
    assert one.members["a"] == ConsumerMember(
        "a",
        rebalance_timeout_ms=9,
        client_id="c",
        names=("t",),
        regex="t.*",
        assignor="uniform",
        member_epoch=3,
        assigned={T: {0: 3, 1: 3}},
    )
    assert other.partition_epoch(T, 1) == 3


def test_subscriptions_are_counted() -> None:
    """Names, regular expressions, assignors and classic protocols are counted by their members; 0 is not there."""
    classic = ClassicMetadata(10_000, (JoinProtocol("range", b""), JoinProtocol("sticky", b"")))
    group = group_of(
        member("a", names=("t", "u"), assignor="uniform", classic=classic),
        member("b", names=("t",), regex="x.*", instance_id="i"),
        RegexRecord("g", "x.*", ResolvedRegex(("t", "xy"), 4, 9_000)),
    )
    assert group.names == {"t": 2, "u": 1}
    assert group.regexes == {"x.*": 1}
    assert group.assignors == {"uniform": 1}
    assert (group.classic_members, group.classic_protocols) == (1, {"range": 1, "sticky": 1})
    assert group.resolved_topics == {"t": 1, "xy": 1}
    assert group.subscribed_topics() == {"t", "u", "xy"}
    assert group.static_member("i") == "b"
    assert not group.is_subscribed("z")
    group.apply(member("a", names=("t",)))
    group.apply(member("b", names=("t",), instance_id="j"))
    group.apply(RegexRecord("g", "x.*", None))
    assert group.names == {"t": 2}
    assert group.regexes == group.assignors == group.classic_protocols == group.resolved_topics == {}
    assert group.classic_members == 0
    assert (group.static_member("i"), group.static_member("j")) == (None, "b")


def test_two_owners_at_one_epoch_are_an_error() -> None:
    """1.12: a partition cannot get a second owner at the same epoch, or at a lower one; at a higher one it can."""
    group = group_of(member("a"), current("a", 3, 0, pending=(1,)), member("b"))
    for epoch, partition in ((3, 0), (2, 1)):
        with pytest.raises(IllegalState, match=f"Cannot set the epoch of {T}-{partition} to {epoch} because .* 3"):
            group.apply(current("b", epoch, partition), 1)
        group.settle(1, committed=False)
    group.apply(current("b", 4, 0))
    assert group.partition_epoch(T, 0) == 4
    group.apply(current("a", 5))  # what it released meanwhile is another member's by now
    assert group.partition_epoch(T, 0) == 4
    assert group.partition_epoch(T, 1) == -1


def test_tombstones_have_an_order() -> None:
    """1.21: 8, 7, 6, 5, 3; a member or a group that is removed before its parts is an error."""
    group = group_of(member("a"), current("a", 1, 0), TargetRecord("g", "a", {T: (0,)}))
    last, member_gone = EpochRecord("g", None), MemberRecord("g", "a", None)
    with pytest.raises(IllegalState, match="delete group g but the group still has 1 members"):
        group.apply(last)
    with pytest.raises(IllegalState, match="member a but did not receive ConsumerGroupCurrentMemberAssignmentValue"):
        group.apply(member_gone)
    group.apply(CurrentRecord("g", "a", None))
    assert group.partition_epoch(T, 0) == -1
    with pytest.raises(IllegalState, match="member a but did not receive ConsumerGroupTargetAssignmentMetadataValue"):
        group.apply(member_gone)
    with pytest.raises(IllegalState, match="delete target assignment of g but the assignment still has 1 members"):
        group.apply(TargetEpochRecord("g", None))
    group.apply(TargetRecord("g", "a", None))
    group.apply(member_gone)
    with pytest.raises(IllegalState, match="delete group g but did not receive ConsumerGroupTargetAssignmentMetadata"):
        group.apply(last)
    group.apply(TargetEpochRecord("g", None))
    group.apply(last)
    assert group.state is ConsumerGroupState.EMPTY


def test_tombstones_of_what_is_not_there_change_nothing() -> None:
    """The tombstone of an unknown member, target, regular expression or list of topics is ignored."""
    group = group_of(member("a", names=("t",)), current("a", 1, 0))
    before = dict(group.members)
    for record in (
        CurrentRecord("g", "b", None),
        MemberRecord("g", "b", None),
        TargetRecord("g", "b", None),
        RegexRecord("g", "x", None),
        TopicsRecord("g", None),
    ):
        group.apply(record)
    assert group.members == before
    assert group.targets == group.resolved == {}


def test_failed_append_takes_later_ones_back_too() -> None:
    """With a failed append all later ones go back; the committed view shows neither of them before."""
    group = group_of(member("a", names=("t",)), current("a", 1, 0), TargetRecord("g", "a", {T: (0,)}))
    group.apply(EpochRecord("g", EpochValue(2)), 1)
    group.apply(member("b", names=("t",)), 1)
    group.apply(current("a", 2), 2)
    group.apply(current("b", 2, 0), 3)
    group.settle(1, committed=True)
    assert (group.committed().group_epoch, group.committed().names) == (2, {"t": 2})
    assert group.committed().partition_epoch(T, 0) == 1
    assert group.partition_epoch(T, 0) == 2
    group.settle(2, committed=False)
    group.settle(3, committed=False)
    assert group.committed() is group
    assert (group.partition_epoch(T, 0), group.members["a"].member_epoch) == (1, 1)
    assert group.members["b"].assigned == {}


def test_the_order_of_members_remembers_how_many_there_were() -> None:
    """The table of Kafka's map never shrinks: seven members leave it at sixteen slots; expected is Kafka's order."""
    three = ["m5", "member", "dzCWxMd9_Sazep3A_-_lQA"]
    few = group_of(*(member(one) for one in three), *(current(one, 1) for one in three))
    assert few.member_order() == ["member", "m5", "dzCWxMd9_Sazep3A_-_lQA"]
    many = group_of(*(member(one) for one in [*three, "m1", "m2", "m3", "m4"]))
    for one in ("m1", "m2", "m3", "m4"):
        many.apply(current(one, 1))
        many.apply(CurrentRecord("g", one, None))
        many.apply(MemberRecord("g", one, None))
    assert many.member_order() == ["m5", "member", "dzCWxMd9_Sazep3A_-_lQA"]
    assert many.committed().member_order() == many.member_order()
    many.put_once()
    assert many.member_order() == group_of(*(member(one) for one in three)).member_order()


def test_a_member_whose_change_was_taken_back_is_the_newest_of_its_slot() -> None:
    """Kafka removes it and puts it again (`executeRevert`). The members `m0` and `m2` share a slot of four."""
    group = group_of(member("m0"), current("m0", 1), member("m2"), current("m2", 1))
    orders = [group.member_order()]
    for append_id, changed in enumerate(("m0", "m2"), 1):
        group.apply(member(changed, names=("t",)), append_id)
        group.settle(append_id, committed=False)
        orders.append(group.member_order())
    assert orders == [["m2", "m0"], ["m0", "m2"], ["m2", "m0"]]
