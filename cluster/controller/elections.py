"""The next state of a partition: leader, in-sync set, eligible replicas and epochs.

The function `decide` has no side effects. From the partition's state, the wanted change and the rules in force it
returns the next state, or None when nothing changes. Every change of a partition goes through it: a fenced broker, a
returned broker, AlterPartition, a preferred or unclean election, a reassignment.

The rules, in order:

1. A reassignment whose added replicas are all in sync is completed: the removed replicas leave. If it removes more
   replicas than it adds, all remaining replicas must be in sync.
2. *Eligible leader replicas* (KIP-966): a replica that leaves an in-sync set smaller than `min.insync.replicas` has all
   acknowledged records, so it enters `elr` and may be elected when no replica is in sync. It leaves `elr` when the set
   is large enough again, or after an unclean stop of its broker.
3. The leader stays if it may lead. Else the first replica of the list that is in sync and active (or eligible, when no
   replica is in sync) leads. Else, with eligible replicas in force, the last known leader, once it is active. Else, if
   the topic allows it, any active replica: *unclean*, records may be lost, the in-sync set is that replica alone and
   `recovering` is set. Else none: -1. *Preferred* tries the first replica of the list before the current leader.
4. The in-sync set becomes the wanted one; it becomes empty only where eligible replicas are in force. Without them
   its last member stays, since only a member may be elected.
5. The leader epoch goes up when the leader changes, when a replica leaves the list, and, before 3.6, when one leaves
   the in-sync set. The partition epoch goes up with every change.

Sources: `PartitionChangeBuilder`, `PartitionReassignmentReplicas`, `PartitionRegistration.merge` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from groupsim.protocol.messages.cluster import NO_LEADER, PartitionState
from groupsim.protocol.values import frozen

Nodes = tuple[int, ...]


class Election(Enum):
    """The kind of an election."""

    ONLINE = "online"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@frozen
class Rules:
    """The rules of a partition, from its topic's settings and the release; `may_lead` is true for active brokers."""

    may_lead: Callable[[int], bool]
    min_isr: int = 1
    elr: bool = True
    epoch_for_shrink: bool = False


@frozen
class Reassignment:
    """A change of replicas in progress: the removed ones leave when all added ones are in sync."""

    adding: Nodes = ()
    removing: Nodes = ()


@frozen
class Wanted:
    """A wanted change; None keeps a field. `unclean_stop` is a broker that may have lost unflushed records."""

    isr: Nodes | None = None
    election: Election = Election.ONLINE
    replicas: Nodes | None = None
    reassignment: Reassignment | None = None
    unclean_stop: int | None = None
    recovering: bool | None = None


@frozen
class Decision:
    """The next state of the partition, its remaining reassignment, and the kind of the election.

    `reason`: clean, preferred, eligible, unclean, offline; empty when the leader is the same.
    """

    state: PartitionState
    reassignment: Reassignment | None
    reason: str = ""


@frozen
class _Target:
    """The intermediate state between two rules."""

    replicas: Nodes
    isr: Nodes
    elr: Nodes
    reassignment: Reassignment | None


def decide(
    state: PartitionState, wanted: Wanted, rules: Rules, in_progress: Reassignment | None = None
) -> Decision | None:
    """Return the next state; None when nothing changes. `in_progress` is the partition's reassignment, if any."""
    target = _complete(
        _Target(
            replicas=state.replicas if wanted.replicas is None else wanted.replicas,
            isr=state.isr if wanted.isr is None else wanted.isr,
            elr=state.elr,
            reassignment=in_progress if wanted.reassignment is None else wanted.reassignment,
        )
    )
    target = _eligible(state, target, wanted, rules)
    leader, reason = _elect(state, target, wanted.election, rules)
    if leader == state.leader:
        reason = ""
    isr, elr = _in_sync(state, target, leader, reason, rules)
    bumped = (
        leader != state.leader
        or not _contains(target.replicas, state.replicas)
        or (rules.epoch_for_shrink and not _contains(isr, state.isr))
    )
    after = PartitionState(
        replicas=target.replicas,
        isr=isr,
        leader=leader,
        leader_epoch=state.leader_epoch + bumped,
        partition_epoch=state.partition_epoch + 1,
        elr=elr,
        last_known_elr=_last_known(state, leader, bumped, rules),
        recovering=_recovering(state, wanted, reason),
    )
    if not bumped and target.reassignment == in_progress and _same(state, after):
        return None
    return Decision(after, target.reassignment, reason)


def _same(before: PartitionState, after: PartitionState) -> bool:
    return (before.replicas, before.isr, before.elr, before.last_known_elr, before.recovering) == (
        after.replicas,
        after.isr,
        after.elr,
        after.last_known_elr,
        after.recovering,
    )


def _contains(many: Nodes, few: Nodes) -> bool:
    return all(node in many for node in few)


def _without(nodes: Nodes, gone: Nodes) -> Nodes:
    return tuple(node for node in nodes if node not in gone)


def _complete(target: _Target) -> _Target:
    """Apply rule 1 (`PartitionReassignmentReplicas`)."""
    moving = target.reassignment
    if moving is None:
        return target
    isr, replicas = _without(target.isr, moving.removing), _without(target.replicas, moving.removing)
    fewer = len(moving.adding) < len(moving.removing)
    if not isr or not replicas or not _contains(isr, replicas if fewer else moving.adding):
        return target
    return _Target(replicas, isr, target.elr, None)


def _eligible(state: PartitionState, target: _Target, wanted: Wanted, rules: Rules) -> _Target:
    """Apply rule 2 (KIP-966)."""
    elr: Nodes = ()
    if rules.elr and len(target.isr) < rules.min_isr:
        known = sorted({*target.elr, *state.isr})
        elr = tuple(node for node in known if node not in target.isr and node != wanted.unclean_stop)
    return _Target(target.replicas, target.isr, elr, target.reassignment)


def _elect(state: PartitionState, target: _Target, election: Election, rules: Rules) -> tuple[int, str]:
    """Apply rule 3; return the leader and the kind of its election."""

    def valid(node: int) -> bool:
        able = node in target.isr or (not target.isr and node in target.elr)
        return able and rules.may_lead(node)

    first = target.replicas[0]
    if election is Election.PREFERRED and valid(first):
        return first, "preferred"
    if valid(state.leader):
        return state.leader, ""
    for node in target.replicas:
        if valid(node):
            return node, "clean" if node in target.isr else "eligible"
    # Only a single last known leader (`PartitionChangeBuilder.canElectLastKnownLeader`).
    if rules.elr and not target.isr and not target.elr and len(state.last_known_elr) == 1:
        last = state.last_known_elr[0]
        if rules.may_lead(last):
            return last, "unclean"
    if election is Election.UNCLEAN:
        for node in target.replicas:
            if rules.may_lead(node):
                return node, "unclean"
    return NO_LEADER, "offline"


def _in_sync(state: PartitionState, target: _Target, leader: int, reason: str, rules: Rules) -> tuple[Nodes, Nodes]:
    """Apply rule 4; return the in-sync set and the eligible replicas."""
    if reason == "unclean":
        return (leader,), ()
    if reason and leader in target.elr:
        return (leader,), _without(target.elr, (leader,))
    if target.isr or rules.elr:
        return target.isr, target.elr
    return state.isr, target.elr


def _last_known(state: PartitionState, leader: int, bumped: bool, rules: Rules) -> Nodes:
    """Return the last leader of a partition without a leader (KIP-966)."""
    known = state.last_known_elr
    if not rules.elr or not bumped:
        return known
    if leader != NO_LEADER:
        return ()
    return known or (state.leader,)


def _recovering(state: PartitionState, wanted: Wanted, reason: str) -> bool:
    if wanted.recovering is not None:
        return wanted.recovering
    return True if reason == "unclean" else state.recovering
