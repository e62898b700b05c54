"""What becomes of one partition: who leads it, who is in sync, who may be elected, and which epochs go up.

One function, `decide`, without input or output: the partition as it is, what is wanted, and the rules in force go in;
the partition as it will be comes out, or None when nothing changes. Everything that touches a partition goes through
it: a fenced broker, a broker that is back, AlterPartition, a preferred or unclean election, a reassignment.

The rules, in the order they are applied:

1. A reassignment whose new replicas are all in sync is completed: the replicas that leave go. If more go than come,
   everybody who stays must be in sync too.
2. *Eligible leader replicas* (KIP-966): a replica that leaves the in-sync set while that is smaller than
   `min.insync.replicas` has all that was acknowledged, so it is remembered in `elr` and may be elected when nobody is
   in sync. It is forgotten when the set is large enough again, or when its broker stopped uncleanly.
3. The leader stays if it may. Else the first replica, in the order of the list, that is in sync and up (or eligible,
   when nobody is in sync). Else, with eligible replicas in force, the last known leader, once it is back. Else, if the
   topic allows, any replica that is up: *unclean*, records may be lost, the in-sync set is that replica alone and
   `recovering` is set. Else nobody: -1. *Preferred* asks for the first of the list before the present leader.
4. The in-sync set becomes what was wanted; it becomes empty only where eligible replicas are in force. Without them
   its last member stays, since only a member of it may be elected.
5. The leader epoch goes up when the leader changes, when a replica leaves the list, and, before 3.6, when one leaves
   the in-sync set. The partition epoch goes up with every change.

Sources: `PartitionChangeBuilder`, `PartitionReassignmentReplicas`, `PartitionRegistration.merge` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from attrs import frozen

from groupsim.protocol.messages.cluster import NO_LEADER, PartitionState

Nodes = tuple[int, ...]


class Election(Enum):
    """How hard to look for a leader."""

    ONLINE = "online"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@frozen
class Rules:
    """What holds for a partition: its topic's settings and the release's ways; `may_lead` says who is up."""

    may_lead: Callable[[int], bool]
    min_isr: int = 1
    elr: bool = True
    epoch_for_shrink: bool = False


@frozen
class Reassignment:
    """A change of replicas that is under way: who comes, who goes when all who come are in sync."""

    adding: Nodes = ()
    removing: Nodes = ()


@frozen
class Wanted:
    """What is to change; None leaves it as it is. `unclean_stop`: this broker may have lost what it had not flushed."""

    isr: Nodes | None = None
    election: Election = Election.ONLINE
    replicas: Nodes | None = None
    reassignment: Reassignment | None = None
    unclean_stop: int | None = None
    recovering: bool | None = None


@frozen
class Decision:
    """The partition as it is from now on, the reassignment that is left, and how its leader came by it.

    `reason`: clean, preferred, eligible, unclean, offline; empty when the leader is the same.
    """

    state: PartitionState
    reassignment: Reassignment | None
    reason: str = ""


@frozen
class _Target:
    """What is aimed at while the rules are gone through."""

    replicas: Nodes
    isr: Nodes
    elr: Nodes
    reassignment: Reassignment | None


def decide(
    state: PartitionState, wanted: Wanted, rules: Rules, under_way: Reassignment | None = None
) -> Decision | None:
    """What becomes of `state`; None when nothing changes. `under_way` is the partition's reassignment, if any."""
    target = _complete(
        _Target(
            replicas=state.replicas if wanted.replicas is None else wanted.replicas,
            isr=state.isr if wanted.isr is None else wanted.isr,
            elr=state.elr,
            reassignment=under_way if wanted.reassignment is None else wanted.reassignment,
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
    if not bumped and target.reassignment == under_way and _same(state, after):
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
    """Rule 1."""
    moving = target.reassignment
    if moving is None:
        return target
    isr, replicas = _without(target.isr, moving.removing), _without(target.replicas, moving.removing)
    fewer = len(moving.adding) < len(moving.removing)
    if not isr or not replicas or not _contains(isr, replicas if fewer else moving.adding):
        return target
    return _Target(replicas, isr, target.elr, None)


def _eligible(state: PartitionState, target: _Target, wanted: Wanted, rules: Rules) -> _Target:
    """Rule 2."""
    elr: Nodes = ()
    if rules.elr and len(target.isr) < rules.min_isr:
        known = sorted({*target.elr, *state.isr})
        elr = tuple(node for node in known if node not in target.isr and node != wanted.unclean_stop)
    return _Target(target.replicas, target.isr, elr, target.reassignment)


def _elect(state: PartitionState, target: _Target, election: Election, rules: Rules) -> tuple[int, str]:
    """Rule 3: the leader, and how it was found."""

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
    """Rule 4: the in-sync set and the eligible replicas."""
    if reason == "unclean":
        return (leader,), ()
    if reason and leader in target.elr:
        return (leader,), _without(target.elr, (leader,))
    if target.isr or rules.elr:
        return target.isr, target.elr
    return state.isr, target.elr


def _last_known(state: PartitionState, leader: int, bumped: bool, rules: Rules) -> Nodes:
    """Who led last, from the moment that nobody does until somebody does."""
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
