"""Every invariant: its code in the reference, its name in a scenario, its sentence, and the class that checks it.

Source: consumer-protocol reference, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.protocol.values import frozen

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
        "client.states:ClientStates",
    ),
    Invariant(
        "C2",
        "client-epoch-never-falls",
        "The epoch of a client's heartbeats never falls, except to 0 when it joins again and below 0 when it leaves.",
        "",
        "client.states:ClientEpochs",
    ),
    Invariant(
        "C3",
        "one-heartbeat-in-flight",
        "A client has one heartbeat in flight at a time.",
        "A heartbeat that leaves may overtake another one; one that failed, or whose coordinator was lost, is not "
        "in flight any more.",
        "client.heartbeats:OneHeartbeatInFlight",
    ),
    Invariant(
        "C4",
        "callbacks-alternate",
        "For each partition a client is called that it is assigned, and then that it is revoked or lost, in turns.",
        "A callback that raises is called again. A process that is killed calls none. A client that is fenced, or "
        "leaves at its poll limit, while it gives up partitions is called that it has lost those too.",
        "client.states:CallbacksAlternate",
    ),
    Invariant(
        "C5",
        "acknowledges-after-callback",
        "A client reports that it no longer has a partition only after its callback for it has returned.",
        "A process that is killed calls none. The heartbeat with which a client leaves at its poll limit reports "
        "nothing, and goes before its callback.",
        "client.heartbeats:AcknowledgesAfterCallback",
    ),
    Invariant(
        "C6",
        "delivers-only-owned",
        "`poll` returns records only of partitions that the client owns.",
        "",
        "client.states:DeliversOwned",
    ),
    Invariant(
        "C7",
        "one-client-per-partition",
        "No two clients of a group own a partition at the same time while both are members.",
        "A client that was removed may go on until it hears so. After a load the members of before are left out: the "
        "trace does not name those that were loaded.",
        "client.states:OneClientOwner",
    ),
    Invariant(
        "C8",
        "client-within-coordinator",
        "A client owns only partitions that the coordinator has given its member, and not yet taken back.",
        "A client that was removed, is replaced or has left is no member. A topic that is deleted and made again "
        "has the same name.",
        "client.views:ClientWithinCoordinator",
    ),
    Invariant(
        "C9",
        "connected-client-stays",
        "A client is neither fenced nor removed while its heartbeats are answered and it keeps its time limits.",
        "Until its next accepted heartbeat a client counts as cut off after a lost request or coordinator, a "
        "failed commit, a pause, its poll limit, or a load of the group; during a fault all do. One that is in a "
        "callback when its rebalance timeout ends has not kept it. A member whose client is not in the trace is left "
        "out.",
        "client.heartbeats:ConnectedClientStays",
    ),
    Invariant(
        "D1",
        "committed-means-processed",
        "Every record from the first position of a group up to the offset that is committed at the end has been "
        "processed.",
        "Offsets that a reset skips; partitions with transactions, and those whose log was truncated, compacted "
        "or shortened.",
        "client.processing:EveryRecordProcessed",
    ),
    Invariant(
        "D2",
        "delivered-in-order",
        "While a client owns a partition it gets offsets in rising order from the position with which it began.",
        "A position may be set again: a seek, a reset, a truncated log.",
        "client.consumption:DeliveredInOrder",
    ),
    Invariant(
        "D3",
        "commits-only-delivered",
        "No member commits an offset beyond the positions that members of the group have had.",
        "Administrators may commit any offset; partitions with transactions are left out.",
        "client.consumption:CommitsDelivered",
    ),
    Invariant(
        "D4",
        "hand-over-keeps-position",
        "Who takes over a partition whose position was committed as it was revoked begins at that position.",
        "The log or the committed offsets have been changed from outside, or lost in an unclean election, meanwhile. "
        "After a failed commit, a crash or a fencing nothing is compared.",
        "client.hand_over:HandOverKeepsPosition",
    ),
    Invariant(
        "D5",
        "repeats-only-uncommitted",
        "After a crash the next owner gets no more records again than the process had read and not committed.",
        "The log or the committed offsets have been changed from outside, or lost in an unclean election, meanwhile.",
        "client.hand_over:RepeatsOnlyUncommitted",
    ),
    Invariant(
        "D6",
        "refused-commit-is-seen",
        "A commit that is refused is reported to its application, or sent again.",
        "A process that ends hears no answer. A commit that is a step of a scenario has no application.",
        "client.processing:RefusedCommitIsSeen",
    ),
    Invariant(
        "D7",
        "close-commits-positions",
        "A process that closes, and commits automatically, has committed all that it has processed.",
        "Its last commit failed. The other forms of Kafka's system tests are D3 (nothing is committed beyond what "
        "was read) and L4 (each partition has one owner).",
        "client.hand_over:CloseCommitsPositions",
    ),
    Invariant(
        "O8",
        "conversion-keeps-one-owner",
        "A group that changes its protocol keeps its members, its epoch, and one member for each partition.",
        "A group without members begins again. A member that takes a static one's place is a new one.",
        "conversion:ConversionKeepsMembers",
    ),
    Invariant(
        "L1",
        "group-comes-to-rest",
        "A group of the consumer protocol is Stable when nothing has happened for a session, three heartbeats and "
        "an assignment interval.",
        "A fault goes on, or an application is in a callback or works on records.",
        "progress:GroupComesToRest",
    ),
    Invariant(
        "L2",
        "waits-are-short",
        "A member that lacks partitions of its target waits for members that have them, and these wait for no other.",
        "A target is due. A member of the classic protocol gives up with its next JoinGroup; a static member that "
        "is away, when its session ends.",
        "progress:WaitsAreShort",
    ),
    Invariant(
        "L3",
        "barriers-end",
        "A group of the classic protocol is in PreparingRebalance or CompletingRebalance no longer than the "
        "longest time limit of its members.",
        "A new coordinator begins the time again. Before 2.8.1 nothing ends CompletingRebalance.",
        "barriers:BarriersEnd",
    ),
    Invariant(
        "L4",
        "every-partition-has-an-owner",
        "When a group of the consumer protocol ends Stable and its clients have been STABLE for 15 s, each "
        "partition of its target has exactly one owner.",
        "A fault goes on, or a topic is deleted. Of groups of the classic protocol the trace does not show the "
        "assignment: `every-partition-owned` asks for them.",
        "client.views:EachHasOneOwner",
    ),
    Invariant(
        "L5",
        "bumps-have-causes",
        "The group epoch is bumped only by a change of members, subscriptions, assignors or topics.",
        "Rebalances of the classic protocol have causes of clients too: `rebalances` counts them.",
        "progress:BumpsHaveCauses",
    ),
    Invariant(
        "L6",
        "revocations-end",
        "A member that has to revoke has done so, or is removed, when its rebalance timeout has passed.",
        "A new coordinator begins the time again; a member of the classic protocol has the time of its next JoinGroup.",
        "timers:RevocationsEnd",
    ),
    Invariant(
        "L7",
        "requests-are-answered",
        "Each request of a member but JoinGroup and SyncGroup is answered within `offsets.commit.timeout.ms`.",
        "The coordinator has crashed or moved. L3 has the time of JoinGroup and SyncGroup.",
        "progress:RequestsAreAnswered",
    ),
    Invariant(
        "L9",
        "loads-remove-no-member",
        "A new coordinator removes no member for its silence before a session has passed since the load.",
        "The session timeout of the group is altered meanwhile.",
        "barriers:LoadsRemoveNoMember",
    ),
    Invariant(
        "L10",
        "revokes-in-rebalances",
        "A client revokes partitions only after its group was rebalanced; the return of a static member within "
        "its session is no rebalance.",
        "A client that leaves, closes or joins again gives up what it has.",
        "client.views:RevokesInRebalances",
    ),
    Invariant(
        "L11",
        "duplicate-instance-ends",
        "Of two processes with one instance id one ends: of the consumer protocol the new one "
        "(UNRELEASED_INSTANCE_ID), of the classic protocol the old one (FENCED_INSTANCE_ID).",
        "Clients of other libraries than Java go on to ask.",
        "barriers:DuplicateEnds",
    ),
    Invariant(
        "L12",
        "classic-members-welcome",
        "A consumer group refuses no classic member that supports a protocol of all its classic members.",
        "The policy is `disabled`, or the subscription cannot be read. That the group becomes one of the consumer "
        "protocol at the first heartbeat, and ends Stable, is O8 and L1.",
        "barriers:ClassicMembersWelcome",
    ),
)

UNOBSERVED: tuple[tuple[str, str, str], ...] = (
    (
        "L8",
        "A partition whose owner polls makes progress, and pauses at a move for no longer than the move takes.",
        "A `poll` that returns no records is no event, so a trace does not tell an application that polls from one "
        "that works. `gap` and `lag` ask for the pauses of a scenario.",
    ),
    (
        "L3, the number of rebalances",
        "A change brings a classic group at most one rebalance, or two with cooperative members.",
        "Members of the classic protocol ask for rebalances of their own, and some that do so for ever are scenes of "
        "the library. `rebalances` and `converges` ask for the number and the end in a scenario.",
    ),
    (
        "D1, up to the end of the log",
        "Each record up to the end of the log is processed in the end.",
        "A run ends while records are written. `records: never-delivered:` and `lag` ask for it.",
    ),
)
"""What the reference lists and a run does not show: code, sentence, and the reason."""

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
