"""One step of a member towards its target: the two tables at the head of `reconciliation`, row by row."""

from __future__ import annotations

import pytest
from attrs import evolve, frozen

from groupsim.coordinator.base.versions import differences
from groupsim.coordinator.consumer.assignment.partition_order import without_topics
from groupsim.coordinator.consumer.assignment.reconciliation import NO_OWNER, Goal, Owned, reconcile
from groupsim.coordinator.consumer.member import ConsumerMember, MemberState
from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import TopicPartitions

STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState
EPOCH, TARGET_EPOCH = 5, 7
"""The member's epoch and that of its target, unless a row says otherwise."""
NEWEST = differences()
A = "AAAAAAAAAAAAAAAAAAAAAQ"


def parts(*numbers: int, since: int = 3) -> dict[str, dict[int, int]]:
    """Partitions of topic A with the epoch at which they were assigned."""
    return {A: dict.fromkeys(numbers, since)} if numbers else {}


def owned(*numbers: int) -> Owned:
    """Return a report of these partitions of topic A."""
    return (TopicPartitions(A, numbers),) if numbers else ()


def member(
    state: MemberState = STABLE, *assigned: int, pending: tuple[int, ...] = (), epoch: int = EPOCH
) -> ConsumerMember:
    """Return a member that subscribes to topic A."""
    return ConsumerMember(
        "m",
        names=("a",),
        member_epoch=epoch,
        previous_epoch=epoch - 1,
        state=state,
        assigned=parts(*assigned),
        pending=parts(*pending),
    )


@frozen
class Row:
    """A member, its target, partitions that have an owner, its report; then what it becomes."""

    name: str
    before: ConsumerMember
    target: tuple[int, ...]
    report: Owned
    state: MemberState
    epoch: int
    assigned: tuple[int, ...]
    pending: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    subscribed: tuple[str, ...] = (A,)
    changed: bool = False


ROWS = [
    # STABLE at another epoch: the second table
    Row("revokes without a report", member(STABLE, 0, 1, 2), (0, 1), None, UNREVOKED, 5, (0, 1), (2,)),
    Row("revokes what it still reports", member(STABLE, 0, 1, 2), (0, 1), owned(2), UNREVOKED, 5, (0, 1), (2,)),
    Row("grants nothing while it revokes", member(STABLE, 0, 1), (0, 3), None, UNREVOKED, 5, (0,), (1,)),
    Row("passes a revocation it reports as done", member(STABLE, 0, 1, 2), (0, 1), owned(0, 1), STABLE, 7, (0, 1)),
    Row("gets what is free", member(STABLE, 0), (0, 1), None, STABLE, 7, (0, 1)),
    Row("gets what is free, waits for the rest", member(STABLE, 0), (0, 1, 2), None, UNRELEASED, 7, (0, 1), taken=(2,)),
    Row("waits for what others have", member(STABLE, 0), (0, 1), None, UNRELEASED, 7, (0,), taken=(1,)),
    Row("has its target already", member(STABLE, 0, 1), (0, 1), None, STABLE, 7, (0, 1)),
    Row("has no target", member(STABLE), (), None, STABLE, 7, ()),
    Row("joins a group without free partitions", member(STABLE, epoch=0), (4,), (), UNRELEASED, 7, (), taken=(4,)),
    # UNREVOKED
    Row("keeps a new target away", member(UNREVOKED, 0, pending=(1,)), (0, 2), None, UNREVOKED, 5, (0,), (1,)),
    Row("still has a pending one", member(UNREVOKED, 0, pending=(1,)), (0,), owned(0, 1), UNREVOKED, 5, (0,), (1,)),
    Row("confirms", member(UNREVOKED, 0, pending=(1,)), (0,), owned(0), STABLE, 7, (0,)),
    Row("confirms with an empty report", member(UNREVOKED, 0, pending=(1,)), (0,), (), STABLE, 7, (0,)),
    Row(
        "confirms, and has to revoke more",
        member(UNREVOKED, 0, 2, pending=(1,)), (0,), owned(0, 2), UNREVOKED, 5, (0,), (2,),
    ),
    Row(
        "gets its own pending one back",
        member(UNREVOKED, 0, pending=(1,)), (0, 1), owned(0), STABLE, 7, (0, 1), taken=(1,),
    ),
    # UNRELEASED
    Row("still waits", member(UNRELEASED, 0, epoch=7), (0, 1), None, UNRELEASED, 7, (0,), taken=(1,)),
    Row("gets what was released", member(UNRELEASED, 0, epoch=7), (0, 1), None, STABLE, 7, (0, 1)),
    Row("revokes by a newer target", member(UNRELEASED, 0), (1,), None, UNREVOKED, 5, (), (0,), taken=(1,)),
    # UNKNOWN
    Row("starts again from a newer release", member(UNKNOWN), (0,), (), STABLE, 7, (0,)),
    # subscriptions
    Row("its target has a topic it gave up", member(STABLE, 0), (0, 1), None, UNREVOKED, 5, (), (0,), subscribed=()),
    Row("gives a topic up", member(STABLE, 0, epoch=7), (0,), None, UNREVOKED, 7, (), (0,), (), (), True),
    Row("gave it up already", member(STABLE, 0, epoch=7), (0,), (), STABLE, 7, (), subscribed=(), changed=True),
    Row("keeps what it subscribes to", member(STABLE, 0, epoch=7), (0,), None, STABLE, 7, (0,), changed=True),
    Row(
        "gives a topic up while it revokes",
        member(UNREVOKED, 0, pending=(1,)), (0,), None, UNREVOKED, 5, (), (1, 0), subscribed=(), changed=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.name.replace(" ", "-") for row in ROWS])
def test_a_member_moves_by_the_tables(row: Row) -> None:
    """State, epoch, assigned and pending partitions after one step are those of the row."""
    after = reconcile(row.before, goal_of(row), row.report, NEWEST)
    assert (after.state, after.member_epoch) == (row.state, row.epoch)
    assert sorted(after.assigned.get(A, ())) == sorted(row.assigned)
    assert sorted(after.pending.get(A, ())) == sorted(row.pending)


@pytest.mark.parametrize("row", ROWS, ids=[row.name.replace(" ", "-") for row in ROWS])
def test_a_member_that_changes_keeps_its_former_epoch(row: Row) -> None:
    """The former epoch is the previous one after every step that changes something, also when both are equal."""
    after = reconcile(row.before, goal_of(row), row.report, NEWEST)
    assert after is row.before or after.previous_epoch == row.before.member_epoch


def goal_of(row: Row) -> Goal:
    """Return the target of a row."""
    target = {A: row.target} if row.target else {}
    return Goal(
        TARGET_EPOCH, target, frozenset(row.subscribed), lambda _, one: 6 if one in row.taken else NO_OWNER, row.changed
    )


def free(epoch: int, *target: int, changed: bool = False, subscribed: tuple[str, ...] = (A,)) -> Goal:
    """A target whose partitions have no owner."""
    return Goal(epoch, {A: target}, frozenset(subscribed), lambda *_: NO_OWNER, changed)


def test_a_member_without_partitions_that_gives_all_topics_up_gets_its_epoch_as_the_previous_one() -> None:
    """It has nothing to revoke; with a topic that does not exist, or with one that is pending, it stays as it is."""
    settled = member(STABLE, epoch=7)
    goal = free(7, changed=True, subscribed=())
    after = reconcile(settled, evolve(goal, names_topics=False), None, NEWEST)
    assert after == evolve(settled, previous_epoch=7)
    assert reconcile(settled, goal, None, NEWEST) is settled
    revoking = member(UNREVOKED, epoch=7, pending=(1,))
    assert reconcile(revoking, evolve(goal, names_topics=False), None, NEWEST) is revoking


def test_a_trimmed_member_has_its_topics_in_the_order_of_copied_maps() -> None:
    """A map of four topics is copied into eight buckets; expected is a record of Kafka's classes."""
    dropped, *others = (
        "C69IhyCgK0pQoRVtrqAmQw", "3r7Juvqs4eIF7bBsiF2FQQ", "FwP0k0LPOr-JQdsrOk_iPw", "FJMilvQXgWLkqMuqLY7b8Q",
    )  # fmt: skip
    assigned = {topic: {0: 3, 1: 3} for topic in (*others, dropped)}
    kept, pending = without_topics(assigned, {}, [dropped])
    assert list(kept) == [others[1], others[2], others[0]]
    assert pending == {dropped: {0: 3, 1: 3}}
    _, merged = without_topics(assigned, {dropped: {9: 2}}, [dropped])
    assert list(merged[dropped].items()) == [(0, 3), (9, 2), (1, 3)]


def test_a_member_at_its_target_stays_the_same_object() -> None:
    """A quiet heartbeat changes nothing, so it writes nothing."""
    settled = member(STABLE, 0, epoch=7)
    assert reconcile(settled, free(7, 0), None, NEWEST) is settled


def test_a_granted_partition_has_the_epoch_of_the_target() -> None:
    """A kept partition keeps the epoch at which it was assigned; a granted one has that of the target (KIP-1251)."""
    after = reconcile(member(STABLE, 0), free(7, 0, 1), None, NEWEST)
    assert after.assigned == {A: {0: 3, 1: 7}}


def test_a_member_in_the_state_of_a_newer_release_has_to_give_all_up() -> None:
    """FENCED_MEMBER_EPOCH unless the member reports that it has nothing."""
    for report in (None, owned(0)):
        with pytest.raises(Refused) as caught:
            reconcile(member(UNKNOWN, 0), free(7, 0), report, NEWEST)
        assert caught.value.error is ErrorCode.FENCED_MEMBER_EPOCH


def test_before_4_2_each_confirmation_adds_an_epoch() -> None:
    """A member that confirms and has to revoke more is at the next epoch (KAFKA-19974)."""
    before = member(UNREVOKED, 0, 2, pending=(1,))
    epochs = {
        release: reconcile(before, free(7, 0), owned(0, 2), differences(release)).member_epoch
        for release in ("4.1", "4.2")
    }
    assert epochs == {"4.1": 6, "4.2": 5}


def test_before_4_2_a_member_waits_for_itself() -> None:
    """A partition that the member itself had to revoke counts as owned (KAFKA-19449)."""
    before = member(UNREVOKED, 0, pending=(1,))
    taken = evolve(free(7, 0, 1), partition_epoch=lambda _, one: 5 if one == 1 else NO_OWNER)
    states = {release: reconcile(before, taken, owned(0), differences(release)).state for release in ("4.1", "4.2")}
    assert states == {"4.1": UNRELEASED, "4.2": STABLE}


def test_before_4_2_the_target_counts_although_the_member_gave_the_topic_up() -> None:
    """A topic in an older target is handed out, or kept, whatever the subscription says (KAFKA-19431)."""
    gone = free(7, 0, 1, changed=True, subscribed=())
    granted = {
        release: reconcile(member(STABLE, 0), gone, None, differences(release)).assigned for release in ("4.1", "4.2")
    }
    assert granted == {"4.1": {A: {0: 3, 1: 7}}, "4.2": {}}
    settled = member(STABLE, 0, epoch=7)
    assert reconcile(settled, gone, None, differences("4.1")) is settled
