"""Every invariant: its code in the reference, its name in a scenario, its sentence, and the class that checks it.

Source: consumer-protocol reference, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

ALL = "all"
"""The name of all invariants together."""


@frozen
class Invariant:
    """One invariant.

    code      its code in the reference
    name      its name in a scenario and in a test
    sentence  what holds
    unless    when it is not checked, or what is legal although it looks like a violation; "" without any
    checker   module and class below `scenarios/invariants`
    """

    code: str
    name: str
    sentence: str
    unless: str
    checker: str

    @property
    def section(self) -> str:
        """What it is about: a key of `SECTIONS`."""
        return self.code[0]


SECTIONS = {
    "N": "The coordinator of a consumer group",
    "C": "Clients",
    "D": "What members get and commit",
    "O": "A group that changes its protocol",
    "L": "What happens in the end",
}
"""The heading of each letter of the codes."""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "N1",
        "group-epoch-rises-by-one",
        "The group epoch never falls, and one operation raises it by at most one.",
        "A group that is made from a classic group begins at its generation.",
        "epochs:GroupEpochRises",
    ),
    Invariant(
        "N2",
        "assignment-epoch-follows",
        "The assignment epoch is at most the group epoch, and never falls.",
        "",
        "epochs:AssignmentEpochFollows",
    ),
    Invariant(
        "N3",
        "member-epoch-within-assignment-epoch",
        "The epoch of a member is at most the assignment epoch.",
        "-2 is the epoch of a static member that is away, 0 that of one that joins.",
        "epochs:MemberEpochWithin",
    ),
    Invariant(
        "N4",
        "member-epoch-never-falls",
        "The epoch of a member never falls while it is in the group.",
        "A static member goes to -2 when it leaves for now, and begins at 0 when it is replaced.",
        "epochs:MemberEpochNeverFalls",
    ),
    Invariant(
        "N5",
        "one-owner-per-partition",
        "A partition is assigned to, or to be revoked by, at most one member.",
        "A process that was removed may go on with its partitions until it hears so: it is no member.",
        "ownership:OneOwner",
    ),
    Invariant(
        "N6",
        "assigned-and-pending-disjoint",
        "No partition is assigned to a member that has to revoke it, and only a member in the state UNREVOKED has to.",
        "",
        "ownership:AssignedAndPendingDisjoint",
    ),
    Invariant(
        "N7",
        "one-owner-per-epoch",
        "No two members are answered with the same partition at the same epoch.",
        "A static member that is replaced keeps its identity. Epochs begin again with another group of the same id.",
        "ownership:OneOwnerPerEpoch",
    ),
    Invariant(
        "N8",
        "partition-epochs-agree",
        "The map of partition epochs has the epoch of each partition's member, and nothing else.",
        "",
        "ownership:PartitionEpochsAgree",
    ),
    Invariant(
        "N9",
        "target-covers-every-partition",
        "A new target has each partition of each subscribed topic exactly once, at a member that subscribes to it.",
        "Assignors of a user are left out; between a bump and its target nothing is compared; a topic that is deleted "
        "later stays until the next target; an unresolved regular expression has no topics.",
        "targets:TargetCovers",
    ),
    Invariant(
        "N10",
        "target-is-balanced",
        "The numbers of partitions in a new target differ by at most one: with `uniform` over members with equal "
        "subscriptions, with `range` over the subscribers of each topic, whose partitions are contiguous.",
        "Assignors of a user are left out, and `uniform` with subscriptions that differ.",
        "targets:TargetBalanced",
    ),
    Invariant(
        "N11",
        "target-is-sticky",
        "With `uniform` and equal subscriptions no member at or below its share loses a partition in a new target.",
        "`range` is left out, and Kafka 4.0.0.",
        "targets:TargetSticky",
    ),
    Invariant(
        "N12",
        "state-follows-from-epochs",
        "The state of a group is Empty without members, else Assigning below its group epoch, else Reconciling until "
        "every member is at the assignment epoch, else Stable.",
        "",
        "epochs:StateFollows",
    ),
    Invariant(
        "N13",
        "stable-means-reconciled",
        "In a Stable group every member is at the group epoch, has its target and has nothing to revoke.",
        "A member has no partition of a topic that it has given up, or that its regular expression does not match yet.",
        "epochs:StableMeansReconciled",
    ),
    Invariant(
        "N14",
        "revoking-member-waits",
        "A member that has to revoke keeps its epoch and gets nothing until it reports that it has.",
        "It may have to revoke more when it gives up topics (4.2), be removed, or leave for now.",
        "revocation:RevokingMemberWaits",
    ),
    Invariant(
        "N15",
        "pending-ends-with-acknowledgement",
        "A member no longer has to revoke a partition when it reports partitions without it, is removed or replaced, "
        "or leaves for now.",
        "",
        "revocation:PendingEnds",
    ),
    Invariant(
        "N16",
        "grants-only-free-partitions",
        "A partition that is assigned to a member is in its target, and no other member had it before.",
        "A static member has the partitions of the one that it replaces.",
        "revocation:GrantsFreePartitions",
    ),
    Invariant(
        "N17",
        "answers-show-assignment",
        "The answer to a heartbeat has the epoch of its member, and its assignment when it was asked for or changed.",
        "A member learns of a revocation from partitions that are missing: the answer never has them.",
        "answers:AnswersShowAssignment",
    ),
    Invariant(
        "N18",
        "refusals-change-nothing",
        "A heartbeat is refused exactly by the rules of size, membership and epoch, and a refusal writes nothing and "
        "moves no timer.",
        "Errors of subscriptions, assignors and privileges are left out; so is the heartbeat that is to convert a "
        "classic group.",
        "answers:RefusalsChangeNothing",
    ),
    Invariant(
        "N19",
        "commits-accepted-by-epoch",
        "A commit is accepted exactly when its member is known and at its epoch, or, since 4.3, when the member has "
        "had the partition since that epoch.",
        "Commits without a member to a group without members, and in transactions, are accepted.",
        "commits:AcceptedByEpoch",
    ),
    Invariant(
        "N20",
        "removed-members-cannot-commit",
        "No commit of a removed member is accepted with the epoch that it had.",
        "Since 4.3 a member may come back at that very epoch while a target waits.",
        "commits:RemovedCannotCommit",
    ),
    Invariant(
        "N21",
        "commits-need-no-ownership",
        "A commit at the epoch of its member is accepted for any partition.",
        "That only owners commit is a rule for clients.",
        "commits:NeedsNoOwnership",
    ),
    Invariant(
        "N22",
        "hand-over-refuses-older-commits",
        "Once a partition is assigned to another member, a commit for it at an older epoch of its former member is "
        "refused.",
        "Since 4.2 the epoch stays during several revocations, and a commit at the present epoch passes.",
        "commits:HandedOverRefuses",
    ),
    Invariant(
        "N23",
        "sessions-end-on-time",
        "A member is removed for its silence only when its whole session has passed since its last accepted heartbeat, "
        "and each accepted heartbeat begins the session again.",
        "A new coordinator begins all sessions again; a leave for now does not.",
        "timers:SessionEndsOnTime",
    ),
    Invariant(
        "N24",
        "revocations-end-on-time",
        "A member is removed for not revoking only when it had to, at one epoch, for its whole rebalance timeout.",
        "A new coordinator begins the time again.",
        "timers:RevocationEndsOnTime",
    ),
    Invariant(
        "N25",
        "static-bounce-changes-nothing",
        "An instance id has one member, and a static member that comes back as it was changes neither the group epoch "
        "nor the target of another member.",
        "It has another subscription or assignor, the topics have changed, or a target is due anyway.",
        "epochs:StaticBounceChangesNothing",
    ),
    Invariant(
        "N26",
        "group-within-max-size",
        "A join leaves a group with at most `group.consumer.max.size` members.",
        "A limit that is lowered later removes no member.",
        "epochs:WithinMaxSize",
    ),
    Invariant(
        "N27",
        "failover-keeps-state",
        "A new coordinator has the group as of the last committed record; a load changes no epoch.",
        "An unclean election, or a log that is truncated, loses records.",
        "failover:FailoverKeepsState",
    ),
    Invariant(
        "N28",
        "answers-wait-for-commits",
        "A heartbeat is answered only when its records are committed.",
        "",
        "answers:AnswersWaitForCommits",
    ),
    Invariant(
        "N29",
        "fetched-offsets-are-current",
        "A member fetches offsets only at its epoch, and gets at least what was acknowledged before.",
        "A member may commit a smaller offset; offsets expire and are deleted; those of transactions are left out.",
        "offsets:FetchedOffsetsCurrent",
    ),
    Invariant(
        "N30",
        "removals-bump-the-epoch",
        "The removal of members raises the group epoch, and the leave for now of a static member does not.",
        "",
        "epochs:RemovalsBump",
    ),
    Invariant(
        "N31",
        "describe-shows-one-owner",
        "A Stable group is described with each partition at exactly one member.",
        "A description is as of the last committed record.",
        "ownership:DescribeShowsOneOwner",
    ),
    Invariant(
        "C1",
        "client-states-follow",
        "A client of the consumer protocol goes only from a state to those that may follow it.",
        "Clients of the classic protocol have other states.",
        "clients:ClientStates",
    ),
    Invariant(
        "C2",
        "client-epoch-never-falls",
        "The epoch of a client's heartbeats never falls, except to 0 when it joins again and below 0 when it leaves.",
        "",
        "clients:ClientEpochs",
    ),
    Invariant(
        "C4",
        "callbacks-alternate",
        "For each partition a client is called that it is assigned, and then that it is revoked or lost, in turns.",
        "A callback that raises is called again. A process that is killed calls none. A client that is fenced, or "
        "leaves at its poll limit, while it gives up partitions is called that it has lost those too.",
        "clients:CallbacksAlternate",
    ),
    Invariant(
        "C6",
        "delivers-only-owned",
        "`poll` returns records only of partitions that the client owns.",
        "",
        "clients:DeliversOwned",
    ),
    Invariant(
        "C7",
        "one-client-per-partition",
        "No two clients of a group own a partition at the same time while both are members.",
        "A client that was removed may go on until it hears so. After a load the members of before are left out: the "
        "trace does not name those that were loaded.",
        "clients:OneClientOwner",
    ),
    Invariant(
        "D2",
        "delivered-in-order",
        "While a client owns a partition it gets offsets in rising order from the position with which it began.",
        "A position may be set again: a seek, a reset, a truncated log.",
        "consumption:DeliveredInOrder",
    ),
    Invariant(
        "D3",
        "commits-only-delivered",
        "No member commits an offset beyond the positions that members of the group have had.",
        "Administrators may commit any offset; partitions with transactions are left out.",
        "consumption:CommitsDelivered",
    ),
    Invariant(
        "O8",
        "conversion-keeps-one-owner",
        "A group that changes its protocol keeps its members, its epoch, and one member for each partition.",
        "A group without members begins again. A member that takes a static one's place is a new one.",
        "conversion:ConversionKeepsMembers",
    ),
    Invariant(
        "L6",
        "revocations-end",
        "A member that has to revoke has done so, or is removed, when its rebalance timeout has passed.",
        "A new coordinator begins the time again; a member of the classic protocol has the time of its next JoinGroup.",
        "timers:RevocationsEnd",
    ),
)

NAMES = tuple(one.name for one in INVARIANTS)
"""Their names, in the order of the table."""

_BY_NAME = {key: one for one in INVARIANTS for key in (one.name, one.code.lower())}


def find(name: str) -> Invariant:
    """Return an invariant by its name or code. Raises ValueError."""
    found = _BY_NAME.get(name.lower())
    if found is None:
        raise ValueError(f"`{name}` is no invariant")
    return found


def chosen(names: Iterable[str]) -> tuple[Invariant, ...]:
    """Return the invariants of these names, each once, in the order of the table. Raises ValueError."""
    names = tuple(names)
    if ALL in names:
        return INVARIANTS
    wanted = {find(name).name for name in names}
    return tuple(one for one in INVARIANTS if one.name in wanted)
