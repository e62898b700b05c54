"""What becomes of one partition."""

from __future__ import annotations

from attrs import evolve

from groupsim.cluster.controller.elections import Decision, Election, Reassignment, Rules, Wanted, decide
from groupsim.protocol.messages.cluster import PartitionState

FOO = PartitionState((2, 1, 3), (2, 1, 3), leader=1, leader_epoch=100, partition_epoch=200)
OLD = Rules(lambda _: True, 2, elr=False, epoch_for_shrink=True)


def alive(*nodes: int, min_isr: int = 1, elr: bool = False) -> Rules:
    """Rules with these brokers up."""
    return Rules(lambda node: node in nodes, min_isr, elr)


def made(decision: Decision | None) -> tuple[int, tuple[int, ...], int, str]:
    """Leader, in-sync set, leader epoch, reason."""
    assert decision is not None
    return decision.state.leader, decision.state.isr, decision.state.leader_epoch, decision.reason


def test_a_leader_that_may_lead_stays() -> None:
    """Nothing changes while the leader is up and in sync, though it is not the first of the list."""
    assert decide(FOO, Wanted(), alive(1, 2, 3)) is None
    assert decide(FOO, Wanted(election=Election.UNCLEAN), alive(1, 2, 3)) is None


def test_the_first_replica_in_sync_and_up_is_elected() -> None:
    """In the order of the list, not of the in-sync set; a replica that is up but not in sync is passed over."""
    assert made(decide(FOO, Wanted(isr=(3, 2)), alive(2, 3))) == (2, (3, 2), 101, "clean")
    assert made(decide(FOO, Wanted(isr=(3,)), alive(2, 3))) == (3, (3,), 101, "clean")


def test_every_change_has_a_partition_epoch_of_its_own() -> None:
    """The partition epoch goes up by one, whether or not the leader epoch does."""
    decision = decide(FOO, Wanted(isr=(2, 1)), alive(1, 2))
    assert decision is not None
    assert (decision.state.partition_epoch, decision.state.leader_epoch) == (201, 100)


def test_preferred_asks_for_the_first_of_the_list() -> None:
    """A preferred election moves the leadership to the first replica when it may lead, else leaves it."""
    assert made(decide(FOO, Wanted(election=Election.PREFERRED), alive(1, 2, 3))) == (2, (2, 1, 3), 101, "preferred")
    assert decide(FOO, Wanted(election=Election.PREFERRED), alive(1, 3)) is None


def test_without_a_replica_in_sync_and_up_nobody_leads() -> None:
    """The leader is -1, in an epoch of its own, and no other replica is elected."""
    assert made(decide(FOO, Wanted(isr=(3,)), alive(1, 2))) == (-1, (3,), 101, "offline")


def test_the_last_replica_in_sync_stays_in_the_set() -> None:
    """Without eligible replicas the in-sync set is never empty: its last member is the only one to be elected later."""
    alone = evolve(FOO, isr=(1,))
    gone = decide(alone, Wanted(isr=()), alive(2, 3))
    assert made(gone) == (-1, (1,), 101, "offline")
    assert gone is not None
    assert decide(gone.state, Wanted(), alive(2, 3)) is None
    assert made(decide(gone.state, Wanted(), alive(1, 2, 3))) == (1, (1,), 102, "clean")


def test_an_unclean_election_takes_whoever_is_up() -> None:
    """Where it is allowed the first replica that is up leads, alone in sync, and has to recover."""
    decision = decide(FOO, Wanted(isr=(3,), election=Election.UNCLEAN), alive(1, 2))
    assert made(decision) == (2, (2,), 101, "unclean")
    assert decision is not None
    assert decision.state.recovering
    back = decide(decision.state, Wanted(recovering=False), alive(1, 2))
    assert back is not None
    assert not back.state.recovering


def test_a_shrinking_set_has_a_new_leader_epoch_only_before_3_6() -> None:
    """Until 3.6 a shrink bumped the leader epoch (KAFKA-15021); an expansion never did."""
    assert made(decide(FOO, Wanted(isr=(2, 1)), OLD)) == (1, (2, 1), 101, "")
    assert made(decide(FOO, Wanted(isr=(2, 1)), evolve(OLD, epoch_for_shrink=False))) == (1, (2, 1), 100, "")
    assert made(decide(evolve(FOO, isr=(1,)), Wanted(isr=(1, 2)), OLD)) == (1, (1, 2), 100, "")


# --- eligible leader replicas --------------------------------------------------------------------------------------


def test_who_leaves_a_set_below_the_minimum_stays_eligible() -> None:
    """Above `min.insync.replicas` a replica that leaves is forgotten; below, it is remembered."""
    rules = alive(1, 2, 3, min_isr=2, elr=True)
    above = decide(FOO, Wanted(isr=(2, 1)), rules)
    assert above is not None
    assert above.state.elr == ()
    below = decide(above.state, Wanted(isr=(1,)), rules)
    assert below is not None
    assert below.state.elr == (2,)


def test_an_eligible_replica_is_elected_when_nobody_is_in_sync() -> None:
    """The set may be empty then; the eligible replica that comes back leads alone, without loss."""
    rules = alive(2, min_isr=2, elr=True)
    state = evolve(FOO, isr=(1,), elr=(2,))
    decision = decide(state, Wanted(isr=()), rules)
    assert made(decision) == (2, (2,), 101, "eligible")
    assert decision is not None
    assert (decision.state.elr, decision.state.recovering) == ((1,), False)


def test_with_nobody_up_the_set_is_empty_and_the_last_leader_is_known() -> None:
    """All replicas that were in sync are eligible, none is in sync, and the last leader is recorded."""
    decision = decide(evolve(FOO, isr=(1,)), Wanted(isr=()), alive(elr=True))
    assert made(decision) == (-1, (), 101, "offline")
    assert decision is not None
    assert (decision.state.elr, decision.state.last_known_elr) == ((1,), (1,))


def test_an_unclean_stop_ends_eligibility() -> None:
    """A broker that may have lost records is eligible nowhere; only as the last known leader it may come back."""
    down = evolve(FOO, isr=(), elr=(1,), last_known_elr=(1,), leader=-1)
    struck = decide(down, Wanted(unclean_stop=1), alive(elr=True))
    assert struck is not None
    assert (struck.state.elr, struck.state.last_known_elr, struck.state.leader_epoch) == ((), (1,), 100)
    assert decide(struck.state, Wanted(), alive(2, 3, elr=True)) is None
    back = decide(struck.state, Wanted(), alive(1, elr=True))
    assert made(back) == (1, (1,), 101, "unclean")
    assert back is not None
    assert (back.state.last_known_elr, back.state.recovering) == ((), True)


def test_a_set_that_is_large_enough_forgets_the_eligible() -> None:
    """At `min.insync.replicas` again, no replica outside the set has all records acknowledged since."""
    state = evolve(FOO, isr=(1,), elr=(2, 3))
    decision = decide(state, Wanted(isr=(1, 3)), alive(1, 2, 3, min_isr=2, elr=True))
    assert decision is not None
    assert (decision.state.isr, decision.state.elr) == ((1, 3), ())


# --- reassignments -------------------------------------------------------------------------------------------------


def test_a_reassignment_waits_until_all_who_come_are_in_sync() -> None:
    """Added replicas join the list; when they are in sync the removed ones leave, the leader among them."""
    moving = Reassignment(adding=(4,), removing=(1,))
    rules = alive(1, 2, 3, 4)
    first = decide(FOO, Wanted(replicas=(4, 2, 3, 1), reassignment=moving), rules)
    assert made(first) == (1, (2, 1, 3), 100, "")
    assert first is not None
    assert first.reassignment == moving
    last = decide(first.state, Wanted(isr=(2, 1, 3, 4)), rules, moving)
    assert made(last) == (4, (2, 3, 4), 101, "clean")
    assert last is not None
    assert (last.state.replicas, last.reassignment) == ((4, 2, 3), None)


def test_a_replica_that_leaves_the_list_costs_a_leader_epoch() -> None:
    """Even when the leader stays, so that the replica which is gone can no longer follow in the old epoch."""
    gone = Reassignment(removing=(3,))
    assert made(decide(FOO, Wanted(replicas=(2, 1, 3), reassignment=gone), alive(1, 2, 3))) == (1, (2, 1), 101, "")


def test_another_order_of_the_same_replicas_is_in_force_at_once() -> None:
    """The leader epoch stays the same when no replica joins or leaves."""
    decision = decide(FOO, Wanted(replicas=(1, 2, 3)), alive(1, 2, 3))
    assert made(decision) == (1, (2, 1, 3), 100, "")
    assert decision is not None
    assert decision.state.replicas == (1, 2, 3)
