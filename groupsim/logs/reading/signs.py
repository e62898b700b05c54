"""The messages of brokers and clients that decide what an incident was: a table, the most decisive first.

A sign has the words of every program that logs it; what it says, as the headline; what usually brings it; what helps.
The order is the judgement: a sign further up is nearer to the cause, one further down is what follows from it. A log
with a poll limit and a hundred answers "rebalance in progress" is judged by the poll limit.

Sources: the log-formats reference, and the messages and error names of Kafka and of the client libraries.
"""

from __future__ import annotations

import re

from groupsim.protocol.values import frozen


@frozen
class Sign:
    """A message that decides: `{who}` is a member or a process, other names in braces are settings of the library."""

    name: str
    says: str
    why: str
    do: str
    scenes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Regular expressions; a sign without words is judged from the order of others (`incident.py`)."""


FULL = Sign(
    "group-full",
    "the group is full: the coordinator refuses members, {who} among them",
    "the group has as many members as group.max.size allows, or has more since the setting was lowered",
    "raise group.max.size on the brokers, or start fewer members; a static restart needs a free place",
    ("group-is-full", "full-group-refuses-a-static-restart", "consumer-expelled-from-a-full-group"),
    (
        r"GROUP_MAX_SIZE_REACHED|GroupMaxSizeReached|reached its max(?:imum)?(?: group)? size",
        r"is over capacity",
        r"maximum number of members|Consumer group has reached|reached its maximum capacity",
    ),
)
FORBIDDEN = Sign(
    "not-authorized",
    "the brokers do not let {who} use the group: group authorization failed",
    "no ACL allows this principal READ on the group: the group id is new, or an ACL was withdrawn",
    "allow READ on the group (kafka-acls --operation READ --group); a prefixed ACL covers later ids",
    ("new-group-id-without-acl", "acl-withdrawn", "consumer-acl-withdrawn"),
    (r"GROUP_AUTHORIZATION_FAILED|GroupAuthorization|[Gg]roup authorization failed|Not authorized to access group",),
)
NO_COMMON_PROTOCOL = Sign(
    "no-common-protocol",
    "{who} is refused, because it has no assignor in common with the members of the group",
    "old and new members offer different values of {assignor}, or different libraries share the group",
    "change {assignor} in two steps, the first with the old and the new value; or stop all members first",
    ("assignor-migration-in-one-bounce",),
    (
        r"INCONSISTENT_GROUP_PROTOCOL|InconsistentGroupProtocol|[Ii]nconsistent [Gg]roup [Pp]rotocol",
        r"supported protocols are incompatible|group protocol type is incompatible",
    ),
)
FENCED = Sign(
    "fenced-instance",
    "{who} was fenced: another process has the same {instance}",
    "two processes run with one instance id: replicas that share a configuration, or the old and the new pod of a "
    "rollout at the same time",
    "give each process its own {instance}, such as the name of a StatefulSet's pod; replace a pod only after it ended",
    ("two-pods-one-instance-id",),
    (
        r"FENCED_INSTANCE_ID|FencedInstanceId|fenced_instance_id",
        r"[Ss]tatic consumer fenced|fenced by newer instance|instance id \S+ has been fenced",
        r"fenced group\.instance\.id",
        r"(?:is|was) fenced by (?:(?:current|existing) )?member|known static member .* not matching the expected",
        r"another consumer with the same group\.instance\.id",
        r"due to fenced id error",
    ),
)
UNRELEASED = Sign(
    "unreleased-instance",
    "{who} cannot join: its {instance} still belongs to a member that did not leave",
    "its predecessor was killed and is a member until its session ends; the consumer protocol refuses the successor",
    "let pods stop in good order (a longer grace period), or let the application join again until the session is over",
    ("consumer-static-killed-unreleased", "consumer-static-ready-and-idle", "consumer-mixed-static-killed"),
    (r"UNRELEASED_INSTANCE_ID|UnreleasedInstanceId|instance id is (?:is )?owned by",),
)
BAD_SESSION = Sign(
    "bad-session-timeout",
    "{who} is refused: the brokers do not allow its {session}",
    "{session} is below group.min.session.timeout.ms or above group.max.session.timeout.ms of the brokers",
    "set {session} within the brokers' range; hosted services have ranges of their own",
    (),
    (r"INVALID_SESSION_TIMEOUT|InvalidSessionTimeout|[Ii]nvalid [Ss]ession [Tt]imeout|session timeout is not within",),
)
UPGRADE_REFUSED = Sign(
    "upgrade-refused",
    "{who} cannot join with the consumer protocol: the classic group is not converted",
    "group.consumer.migration.policy does not allow the conversion, or an assignor writes user data",
    "set group.consumer.migration.policy to bidirectional or upgrade, or stop the classic members first",
    ("consumer-upgrade-refused", "consumer-upgrade-refused-user-data"),
    (
        r"Cannot upgrade (?:the )?classic group|GROUP_ID_NOT_FOUND.*[Hh]eartbeat|[Hh]eartbeat.*GROUP_ID_NOT_FOUND",
        r"Cannot join the consumer group .* with the classic protocol",
    ),
)
FORCED_BY_CONNECT = Sign(
    "connect-forces-rebalances",
    "the Connect worker {who} forces rebalances: its config topic does not reach the offset of the assignment",
    "workers with one group.id have different config.storage.topic, or one cannot read that topic to its end",
    "give the workers of a group.id the same config.storage.topic, and each Connect cluster a group.id of its own",
    ("connect-workers-force-rebalances",),
    (r"does not match group assignment \d+\. Forcing rebalance|is behind group assignment \d+, reading to end",),
)
NOT_STORED = Sign(
    "group-not-stored",
    "the coordinator cannot store the group: appends to its partition of __consumer_offsets fail",
    "the partition has fewer replicas in sync than min.insync.replicas, or the assignment is too large for a record",
    "look at the in-sync replicas of that partition; for a large assignment raise max.message.bytes of "
    "__consumer_offsets, or let the members subscribe to fewer topics",
    ("offsets-topic-one-replica-left", "offsets-topic-one-replica-min-isr-1"),
    (
        r"when storing group assignment|Failed to (?:persist|write) .{0,20}metadata for group",
        r"Appending metadata message for group|append operation on partition __consumer_offsets",
        r"nsync replicas for partition \[?__consumer_offsets|Shrinking ISR .*__consumer_offsets",
        r"__consumer_offsets.{0,80}(?:Shrinking ISR|below required minimum)",
        r"SyncGroup\w*:? ?(?:response|failed)?:? Unknown broker error",
    ),
)
NO_COORDINATOR = Sign(
    "no-coordinator",
    "the group has no coordinator: its partition of __consumer_offsets has no leader, or does not exist yet",
    "the brokers with its replicas are down, or the cluster has fewer brokers than offsets.topic.replication.factor",
    "look at kafka-topics --describe --topic __consumer_offsets, and start the brokers; a test cluster needs a lower "
    "factor",
    ("coordinator-crashes-stable", "offsets-topic-one-replica-left"),
    (
        r"(?i:coordinator (?:is )?not available)|COORDINATOR_NOT_AVAILABLE|CoordinatorNotAvailable",
        r"replication factor .{0,12} for the offsets topic|(?i:offset'?s topic has not yet been created)",
    ),
)
UNREACHED = Sign(
    "coordinator-not-reached",
    "{who} does not reach the group's coordinator: it neither joins nor commits",
    "that broker is down or restarts, it advertises an address that the client cannot reach, or no broker is the "
    "coordinator yet",
    "look at that broker and its advertised.listeners; if it serves other clients, restart this one, and update its "
    "library",
    ("coordinator-crashes-stable", "coordinator-moves"),
    (
        r"Waiting for coordinator|no coordinator available|Coordinator unknown during heartbeat",
        r"GroupCoordinator(?:/\d+)?: (?:\S+: )?Connect to \S+ failed",
        r"Connection to node 21474\d{5}\b.{0,120}? could not be established",
    ),
)
EVICTED = Sign(
    "members-evict-each-other",
    "each join completed at once, and dropped the members that were there: {who} and others evict each other",
    "the client asks for no rebalance timeout (an old JoinGroup version, or a timeout of zero), so the coordinator "
    "does not wait for the members it has",
    "use a client release that sends {rebalance}, or set it above the time that members take to join again",
    ("old-clients-evict-each-other",),
)
POLL_LIMIT = Sign(
    "poll-limit",
    "{who} did not poll for longer than {poll}, and left the group",
    "between two polls its application handled records, waited for another system, or was in a callback of a rebalance "
    "for longer than {poll}",
    "give calls to other systems a timeout; raise {poll} above the slowest batch, or {batch}",
    ("poll-loop-blocked-leaves", "slow-record-livelock", "consumer-poll-limit-zombie"),
    (
        r"poll timeout has expired|maximum poll interval \(\S+\) exceeded|max\.poll\.interval\.ms\)? exceeded",
        r"MAX_?POLL_?EXCEEDED|MaxPollExceeded|Heartbeat poll expired",
        r"poll(?:\(\)| interval).{0,120}?exceeded (?:approximately )?by \d+ ?ms",
    ),
)
TOGETHER = Sign(
    "lost-together",
    "{count} members lost their sessions within seconds, {who} among them",
    "so many do not stall at the same instant by themselves: a broker, the network, or the host or process that they "
    "share did",
    "look at the broker and the host at that instant (pauses, disk, CPU, network); a longer {session} bridges it",
    ("broker-stall-evicts-three-groups", "coordinator-silent-short-sessions", "zombie-consumers-go-on"),
)
MOVED_TOO_SLOWLY = Sign(
    "lost-after-the-coordinator-moved",
    "{who} was removed after the group's coordinator moved: its session ended before it had found the next one",
    "a broker failed, restarted or lost its controller, and members did not reach the next coordinator in {session}",
    "look why the broker lost the partition; raise {session} above the time that a change of coordinator takes",
    ("coordinator-silent-short-sessions", "zombie-consumers-go-on", "coordinator-moves"),
)
HELD_OPEN = Sign(
    "dead-member-holds-the-rebalance",
    "a rebalance waited {held}for {who}, which did not answer, until its session ended",
    "a process that ends without LeaveGroup (killed, out of memory, no close) stays a member for {session}; a member "
    "that joins meanwhile waits for it, and no member works",
    "let the process close its consumer when it is stopped; lower {session}{static}",
    ("bounced-member-holds-rebalance-open", "deploy-jvm-S-killed"),
)
LATE = Sign(
    "joined-too-late",
    "{who} heard of the rebalance and did not join it in time, so the group went on without it",
    "a member joins when its application polls: it was busy with its records or in its callback for partitions that "
    "it gives up",
    "poll more often than {rebalance}, and keep the callback short; {batch}",
    ("already-rebalancing-for-ever", "revocation-blocks-join", "leader-never-syncs"),
    (
        r"last error was Broker: Group rebalance in progress",
        r"haven't (?:joined|sent their sync request)|pending sync request expiration",
        r"failed to join before (?:the )?rebalance timeout|no members? (?:re)?joined",
        r"fenced from the group because the (?:classic )?member failed to",
        r"while waiting for user revoke to finish",
        r"missed a rebalance|dropped out of the consumer group",
    ),
)
REVOKED_TOO_LATE = Sign(
    "revoked-too-late",
    "{who} did not give up its partitions within its rebalance timeout, and the group went on without it",
    "a member gives partitions up when its application polls, and after its callback: it was busy with its records, or "
    "in that callback",
    "poll more often than {rebalance}, and keep the callback short; {batch}",
    ("consumer-rebalance-timeout-fences", "consumer-stuck-revocation"),
    (r"fenced from the group because it failed to transition from epoch",),
)
JOIN_GIVEN_UP = Sign(
    "join-given-up",
    "{who} gave up its JoinGroup request before the coordinator answered it",
    "the answer comes when the rebalance is complete; {request}, or an idle limit on the way, is shorter than that",
    "set {request} above the rebalance timeout; look which member holds the rebalance open",
    ("socket-timeout-below-the-hold", "joins-given-up-leave-ghosts"),
    (
        r"JoinGroup\w*[^|]{0,80}?(?:timed out|Timed out|TimedOut)|(?:timed out|Timed out)[^|]{0,40}JoinGroup",
        r"\[join_group\] Timed out",
    ),
)
STALLED = Sign(
    "process-stood-still",
    "{who} stood still, or was cut off, for a whole session: its coordinator was alive and had removed it",
    "a pause, a limit of its CPU, a lock, or native code kept its heartbeat thread from running; or the network "
    "between the two failed",
    "look at pauses and CPU throttling of the process; {session} above the longest pause bridges it",
    ("starved-heartbeats-expel-a-worker", "heartbeat-gap-resets-generation"),
)
REMOVED = Sign(
    "session-ended",
    "{who} was removed: the coordinator had no heartbeat of it for {session}",
    "its process had died without leaving, had stood still, or was cut off; the broker cannot tell which",
    "look at that process at this instant minus {session}: killed, paused, in a debugger, or without network",
    (
        "silent-joiner-removed-at-session-end",
        "heartbeat-gap-resets-generation",
        "only-member-times-out",
        "seeking-starves-the-heartbeat",
        "consumer-four-scenes",
    ),
    (
        r"has failed, removing it from the group|on heartbeat expiration",
        r"fenced from the group because (?:its|the member) session expired",
    ),
)
NO_ANSWER = Sign(
    "no-heartbeat-answer",
    "{who} had no answer to its heartbeats for {session}, and gave its partitions up",
    "the coordinator was overloaded or unreachable, or the process itself stood still for so long",
    "look at the broker's load and the network at that instant; one client alone points to its own host",
    ("coordinator-silent-short-sessions", "heartbeat-gap-resets-generation", "starved-heartbeats-expel-a-worker"),
    (
        r"SESSTMOUT|[Gg]roup session timed out|session timed out without receiving",
        r"[Hh]eartbeat session expired|session timed out without heartbeat",
        r"[Hh]eartbeat failed.{0,80}?RequestTimedOut|Heartbeat\(key: 12\b.{0,60}?timed out",
    ),
)
ABANDONED = Sign(
    "member-id-abandoned",
    "{who} had its member id and never joined with it; a rebalance waits for it until the id's session ends",
    "the process ended between its two JoinGroup requests, or gave the first one up",
    "look why the process ended while it joined",
    ("abandoned-member-id-stalls-the-group",),
    (r"Pending member .* (?:session timeout expiration|has been removed)",),
)
NOT_COORDINATOR = Sign(
    "coordinator-moved",
    "the group's coordinator moved, and {who} had to find the next one",
    "a broker stopped, failed or gave a partition of __consumer_offsets to another",
    "nothing, if the members found it: a rolled broker does this; else look at the leader of that partition",
    ("coordinator-moves", "brokers-roll-no-rebalance", "coordinator-crashes-stable"),
    (
        r"not coordinated by this broker|COORDINATOR_LOAD_IN_PROGRESS|CoordinatorLoadInProgress|is loading the group",
        r"NOT_COORDINATOR|NotCoordinator|[Nn]ot (?:the correct )?[Cc]oordinator\b|not the correct coordinator",
        r"no longer coordinator|Resigned as the group coordinator|[Uu]nload(?:ing|ed) group metadata",
        r"coordinator unavailable|[Mm]arking the coordinator .*dead",
        r"[Gg]roup coordinator .* is unavailable or invalid|[Uu]nloading (?:of )?(?:offsets|metadata|group|__c)",
    ),
)
COMMIT_TIMED_OUT = Sign(
    "commit-timed-out",
    "commits of {who} time out: the coordinator does not get them to its replicas in time",
    "the replicas of its partition of __consumer_offsets do not follow within offsets.commit.timeout.ms: a slow "
    "disk or network of a broker, or one that fails",
    "look at the in-sync replicas of that partition and the disks of their brokers; retry the commit, not the records",
    ("coordinator-crashes-commit-in-flight", "offsets-topic-one-replica-left"),
    (
        r"[Oo]ffset ?[Cc]ommit.{0,300}?(?:[Rr]equest timed out|REQUEST_TIMED_OUT|RequestTimedOut)",
        r"(?:REQUEST_TIMED_OUT|RequestTimedOut).{0,120}?[Oo]ffset ?[Cc]ommit",
    ),
)
STALE_EPOCH = Sign(
    "old-epoch",
    "{who} used an epoch that the group had left",
    "the group had fenced it, or a commit crossed the heartbeat that has the new epoch",
    "join again (clients do); treat a refused commit as retriable; brokers from 4.3 accept more of them",
    ("consumer-stale-epochs-4.0", "consumer-stale-commit-ends-the-process", "consumer-fenced-before-its-first-commit"),
    (
        r"STALE_MEMBER_EPOCH|FENCED_MEMBER_EPOCH|StaleMemberEpoch|FencedMemberEpoch|stale member epoch|"
        r"has a (?:smaller|greater) member epoch",
    ),
)
COMMIT_REFUSED = Sign(
    "commit-refused",
    "a commit of {who} was refused: it is not a member of the group",
    "it was removed or left while it handled its records, which others read again; or it never was one: a tool, or an "
    "application with assign(), commits for a group that is in use",
    "raise {poll} above the slowest batch, or {batch}; change offsets from outside only while the group is empty",
    ("zombie-without-transactions", "slow-record-livelock", "manual-commit-beside-subscribers"),
    (
        r"committing offsets: Kafka::(?:UnknownMemberId|IllegalGeneration)",
        r"[Cc]ommit cannot be completed|CommitFailed|[Cc]ommit request since the consumer is not part of",
        r"(?:Offset ?[Cc]ommit failed|unable to commit offset).{0,400}?(?:not aware|UNKNOWN_MEMBER|nknown member|"
        r"generation id|ILLEGAL_GENERATION|rebalanc|error_code: 2[25]\b)",
    ),
)
UNKNOWN_MEMBER = Sign(
    "unknown-member",
    "{who} learned that it is no member any more",
    "the group went on without it: it was silent for {session}, or did not join a rebalance in time",
    "look what it did before that line for longer than {session}; {batch}",
    ("only-member-times-out", "heartbeat-gap-resets-generation", "old-clients-evict-each-other"),
    (
        r"UNKNOWN_MEMBER_ID|UnknownMemberId|unknown_member_id|Broker: Unknown member\b",
        r"not aware of this member|member id \S+ is not valid|member_id was not recognized",
        r"member is not known in the current generation|member id is not in the current generation",
    ),
)
OLD_GENERATION = Sign(
    "old-generation",
    "{who} used a generation that the group had left",
    "a rebalance completed without it, and it went on in the generation before",
    "look what kept it from joining; {batch}",
    ("four-scenes", "zombie-fenced-by-generation"),
    (r"ILLEGAL_GENERATION|IllegalGeneration|generation id is not (?:valid|current)|[Gg]eneration \d+ is not current",),
)
LEFT = Sign(
    "left",
    "{who} left the group",
    "its process was stopped (a deployment, fewer replicas), or the application closed its consumer after an error",
    "nothing in a deployment{cheaper}; else read its lines before this one",
    ("deploy-jvm-S-eager", "deploy-jvm-S-cooperative", "killed-for-memory-and-back"),
    (
        r"explicit .?LeaveGroup|has left, removing it|consumer is being closed|pro-actively leaving",
        r"on LeaveGroup|left the consumer group|[Ll]eaving consumer group|leaving group;",
    ),
)
METADATA = Sign(
    "topics-changed",
    "the topics or partitions that {who} subscribes to changed, and the group rebalanced",
    "a topic appeared, partitions were added, a pattern matched another topic, or the application subscribed again",
    "create topics before consumers start; subscribe once, not with every batch",
    ("every-way-a-rebalance-starts", "new-partitions-noticed-late"),
    (
        r"cached metadata has changed|subscription has changed",
        r"with [1-9]\d* assigned partition\(s\): Metadata for subscribed topic\(s\) has changed",
        r"Computed new (?:subscription metadata|metadata hash)",
    ),
)
REJOINED = Sign(
    "joined-again",
    "{who} joined again though the group was stable",
    "a leader or member asked for a rebalance: it subscribed again, found other metadata, gave partitions up in "
    "cooperative mode, or its application enforced it",
    "subscribe once; look for what the client log gives as the reason of its join",
    ("leader-rejoins-for-ever", "connect-workers-force-rebalances", "every-way-a-rebalance-starts"),
    (r"[Ll]eader \S.* re-joining group during|Updating metadata for (?:static )?member .* during",),
)
JOINED = Sign(
    "joined",
    "{who} joined, and the group rebalanced",
    "a process started: a deployment, more replicas, or a restart",
    "nothing for a start; group.initial.rebalance.delay.ms joins the starts of an empty group in one rebalance",
    ("four-scenes", "staggered-start-one-rebalance", "cooperative-members-join-one-by-one"),
    (
        r"Adding new (?:static )?member|with unknown member id (?:re)?joins|joins the consumer group",
        r"(?:with 0 assigned partition\(s\)|without an assignment): Metadata for subscribed topic\(s\) has changed",
    ),
)
REBALANCING = Sign(
    "rebalancing",
    "the group rebalanced, and {who} had to join again",
    "the answer REBALANCE_IN_PROGRESS is no error: another member joined, left or was removed. Each start and stop of "
    "a process does this; these lines do not name the member that began it",
    "expected in a deployment, so no alarm should depend on it; if it does not end, read the coordinator's log",
    ("every-way-a-rebalance-starts", "deploy-jvm-S-eager", "four-scenes"),
    (
        r"REBALANCE_IN_PROGRESS|RebalanceInProgress|rebalance_in_progress|(?i:rebalance in progress)",
        r"group is (?:already )?rebalancing|because it is rebalancing|undergoing a rebalance|began another rebalance",
    ),
)
SIGNS = (
    FULL,
    FORBIDDEN,
    NO_COMMON_PROTOCOL,
    FENCED,
    UNRELEASED,
    BAD_SESSION,
    UPGRADE_REFUSED,
    FORCED_BY_CONNECT,
    NOT_STORED,
    POLL_LIMIT,
    MOVED_TOO_SLOWLY,
    TOGETHER,
    HELD_OPEN,
    LATE,
    REVOKED_TOO_LATE,
    JOIN_GIVEN_UP,
    STALLED,
    REMOVED,
    NO_ANSWER,
    ABANDONED,
    EVICTED,
    NO_COORDINATOR,
    UNREACHED,
    NOT_COORDINATOR,
    COMMIT_TIMED_OUT,
    STALE_EPOCH,
    COMMIT_REFUSED,
    UNKNOWN_MEMBER,
    OLD_GENERATION,
    LEFT,
    METADATA,
    REJOINED,
    JOINED,
    REBALANCING,
)
_WORDS = tuple((sign, re.compile("|".join(sign.words))) for sign in SIGNS if sign.words)
_ANY = re.compile("|".join(word for sign in SIGNS for word in sign.words))


def signs_in(text: str) -> list[Sign]:
    """Return the signs of a line, the most decisive first."""
    return [sign for sign, words in _WORDS if words.search(text)] if _ANY.search(text) else []


def place_of(sign: Sign, text: str) -> int:
    """Return where the words of a sign begin in a line; 0 where the line has none."""
    found = re.search("|".join(sign.words), text) if sign.words else None
    return found.start() if found else 0
