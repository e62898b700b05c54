"""Differences of coordinators of other releases: names with a value per release, as data.

The model is the Java coordinator of Kafka 4.x (`BASELINE`). `broker.version` picks the values below for an older
release, for example for an incident of 2019, which ran on the Scala coordinator. Each difference is a name with a list
of (since version, value). The core reads a difference by name, never a version. `protocol/messages/releases.py` holds
the request versions of each release.

Sources: classic-protocol reference, the rows marked **[old]** and section 5; KIP-134 (initial delay, 0.11), KIP-394
(member id required, 2.2), KIP-345 (static members, 2.3), KIP-389 (group.max.size, 2.2), KIP-211 (retention counts
from when the group became empty, 2.1), KIP-186 (retention of seven days, 2.0), KAFKA-12890 (pending-sync timer,
2.8.1), KAFKA-10134 (heartbeats while the leader assigns, 2.7), KAFKA-7610 (new members time out, 2.1.1), KIP-447
(unstable commits, 2.5). The last block of fields is defects of single releases: `defects.py` names them, and their
releases are those whose tags contain the fixing commit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar

from groupsim.coordinator.base.defects import broker_defect
from groupsim.protocol.messages.releases import BASELINE as BASELINE
from groupsim.protocol.values import frozen

Version: TypeAlias = tuple[int, ...]
T = TypeVar("T")

OLDEST: Version = (0, 9)
_NEWEST: Version = tuple(int(part) for part in BASELINE.split("."))
_VERSION = re.compile(r"\d+(\.\d+){0,3}$")


def parse_version(text: str) -> Version:
    """Parse `"2.8.1"` as (2, 8, 1). Raises ValueError, with the remedy, for a text that is no version since 0.9."""
    if not _VERSION.match(text):
        raise ValueError(f"broker.version {text!r} is not a Kafka version; write for example 0.11, 2.8.1 or {BASELINE}")
    version = tuple(int(part) for part in text.split("."))
    if version[:2] > _NEWEST:
        raise ValueError(f"broker.version {text!r} is newer than any modelled release; write {BASELINE} or older")
    if version < OLDEST:
        raise ValueError(f"broker.version {text!r} has no group coordinator; write 0.9 or newer")
    return version


def since(version: Version, steps: Sequence[tuple[str, T]]) -> T:
    """Return the value of the last step not newer than `version`; steps are sorted, the first always applies."""
    value = steps[0][1]
    for begin, candidate in steps:
        if parse_version(begin) <= version:
            value = candidate
    return value


@frozen
class Differences:
    """The behaviour of one release of the coordinator; the defaults are the baseline's."""

    initial_delay: bool = True
    """The first round of an empty group waits `group.initial.rebalance.delay.ms` (KIP-134)."""

    initial_ends_early: bool = True
    """The expiry of a session can close an initial round before its delay is over; never in the Scala coordinator."""

    member_id_required: bool = True
    """JoinGroup v4+ without a member id is answered with an id and has to be repeated with it (KIP-394)."""

    static_members: bool = True
    """`group.instance.id` is honoured (KIP-345)."""

    group_max_size: bool = True
    """`group.max.size` is enforced (KIP-389)."""

    pending_sync_timer: bool = True
    """Members that never send SyncGroup are removed (KAFKA-12890)."""

    pending_leave_rebalances: bool = True
    """A LeaveGroup of pending ids only starts a rebalance; the Scala coordinator only tried to complete one."""

    new_member_timeout: bool = True
    """A new member's parked JoinGroup expires after five minutes (KAFKA-7610); before, it waited without a limit."""

    answers_wait_for_writes: bool = True
    """Answers to Heartbeat, LeaveGroup and stable OffsetFetch wait for earlier appends of the partition."""

    deletes_after_writes: bool = True
    """DeleteGroups waits for earlier appends before it checks a group, because it searches for share groups first."""

    appends_to_all: bool = False
    """Records are appended with acks=-1: refused with too few in-sync replicas, failed after the commit timeout."""

    append_errors_by_kind: bool = False
    """A failed append of a group record and one of offsets are answered from two different error tables."""

    new_group_is_written: bool = True
    """A first JoinGroup writes a record of the empty group, which readers see once the record is committed."""

    deletions_are_awaited: bool = True
    """Tombstones take effect when they are committed, and can fail; else at once, whatever happens to the append."""

    replacement_reverts_protocols: bool = True
    """A static member whose replacement could not be written has its former protocols again, not the refused ones."""

    heartbeat_while_assigning: bool = True
    """Heartbeats in CompletingRebalance are answered NONE and keep the session; before, REBALANCE_IN_PROGRESS."""

    sync_keeps_session: bool = False
    """SyncGroup in Stable moves the session's deadline."""

    sync_while_loading_rebalances: bool = False
    """SyncGroup during a load is answered REBALANCE_IN_PROGRESS instead of COORDINATOR_LOAD_IN_PROGRESS."""

    unstable_plain_commits: bool = False
    """OffsetFetch with require_stable answers UNSTABLE_OFFSET_COMMIT for commits that are not replicated yet."""

    offset_delete_ends_group: bool = False
    """An OffsetDelete of the last offsets of an Empty group removes the group; else the next cleanup does."""

    redirected_joins_have_ids: bool = False
    """NOT_COORDINATOR and COORDINATOR_LOAD_IN_PROGRESS in a JoinGroup answer repeat the request's member id."""

    completes_after_refusal: bool = False
    """After a full group has refused and removed the last awaited member, the round is completed if it can be."""

    votes_in_scala_order: bool = False
    """A tie between protocols follows the order of Scala 2.13's map: `cooperative-sticky` first, `sticky` last."""

    retention_from_empty: bool = True
    """Retention of a group's offsets counts from when the group became empty (KIP-211); before, from the commit."""

    describe_unknown_is_error: bool = True
    """DescribeGroups v6+ answers GROUP_ID_NOT_FOUND for an unknown group (KIP-1043)."""

    commit_to_unknown_is_error: bool = True
    """OffsetCommit v9+ of a member of an unknown group is answered GROUP_ID_NOT_FOUND, not ILLEGAL_GENERATION."""

    groups_have_configs: bool = True
    """Operations on a group include those on its configs; with an authorizer, in every release."""

    list_trims_states: bool = True
    """ListGroups ignores blanks around a state in its filter."""

    describe_shows_old_assignments: bool = True
    """DescribeGroups shows members' last assignments during a rebalance, too."""

    unsubscribed_offsets_expire: bool = True
    """Offsets of a Stable group expire if no member subscribes to their topic (KIP-496)."""

    # Consumer groups (KIP-848), which have existed since 4.0.

    epoch_0_is_accepted: bool = True
    """A heartbeat with epoch 0 of a known member is a rejoin; before, it was fenced like any other (KAFKA-19233)."""

    revocation_adds_epoch: bool = False
    """A member that has revoked, and has to revoke more, is at the next epoch; else at the same (KAFKA-19974)."""

    target_follows_subscription: bool = True
    """Topics that a member gave up are revoked at once, whatever its target says (KAFKA-19431)."""

    own_pending_is_free: bool = True
    """A partition that the member itself has to revoke can be granted to it again (KAFKA-19449)."""

    empty_regex_bumps: bool = True
    """A member that gives up its regular expression bumps the group epoch (KAFKA-19891)."""

    racks_bump: bool = True
    """Racks of replicas are part of the metadata of a group, so that a change bumps its epoch (KAFKA-17747)."""

    hash_stands_for_topics: bool = True
    """The record of a group epoch has a hash of the topics; 4.0 writes them to a record of their own (KAFKA-17747)."""

    partitions_have_epochs: bool = True
    """The record of a member has the assignment epoch of each partition (KIP-1251)."""

    regexes_are_refreshed: bool = True
    """Regular expressions are resolved again from time to time, for changes of ACLs (KAFKA-18961)."""

    new_group_epoch: int = 1
    """The group epoch and assignment epoch of a new consumer group; before 4.3 creation was a bump (KAFKA-20268)."""

    targets_are_batched: bool = True
    """A new target waits until the assignment interval is over (KIP-1263)."""

    older_epochs_commit: bool = True
    """A commit with an older member epoch counts for partitions assigned since at most that epoch (KIP-1251)."""

    known_instance_passes: bool = True
    """A full group accepts the replacement of a static member (KAFKA-20601)."""

    describe_shows_pending: bool = True
    """ConsumerGroupDescribe shows the partitions that a member has to revoke as its own (KAFKA-20431)."""

    assignor_choice_bumps: bool = True
    """A change of the preferred assignor bumps the group epoch (KAFKA-20434)."""

    changed_downgrade_rebalances: bool = True
    """A classic replacement of the last consumer member opens a round if its subscription is another (KAFKA-19546)."""

    stale_downgrade_rebalances: bool = True
    """It does so for any reason that makes the target older than the group epoch (KAFKA-20273)."""

    instance_change_frees: bool = True
    """A member that takes another instance id gives up its former one; before, both named it (KAFKA-20747)."""

    last_leave_ends_target: bool = True
    """A group that becomes empty has its target at the group epoch, without a time (KAFKA-20442)."""

    rejoins_for_targets: bool = True
    """A classic member of a consumer group joins again for a new target; before, for any bump (KAFKA-20272)."""

    disabled_policy_refuses_joins: bool = True
    """Under the migration policy `disabled` no classic member joins a consumer group with members (KAFKA-20640)."""

    malformed_subscription_is_refused: bool = True
    """A classic member's subscription that cannot be read is INCONSISTENT_GROUP_PROTOCOL (KAFKA-20662)."""

    uniform_returns_extra: bool = True
    """`uniform` gives an extra partition to a member that has one already (KAFKA-18688)."""

    # Defects of single releases. The value that is not the default is the defect.

    replacement_is_stored: bool = True
    """The new member id of a static member that joins a Stable group is written to the log (KAFKA-10284)."""

    static_ids_are_random: bool = True
    """Ids of static members end in a UUID; in 2.3.0 in the time of the group's last change of state (KAFKA-8715)."""

    new_member_session: bool = True
    """A new member's session begins with the answer to its JoinGroup; in 2.4.1 with its next request (KAFKA-9752)."""

    pending_ids_count: bool = True
    """`group.max.size` counts pending member ids, and evicts the members that join last (KAFKA-9885)."""

    expiry_waits_for_stable: bool = True
    """Offsets of a group with members expire in Stable only, where its subscriptions are known (KAFKA-13636)."""

    empty_since_is_loaded: bool = True
    """A load restores when a group became Empty (KAFKA-10401)."""

    refused_offsets_end: bool = True
    """An offset refused for its metadata does not count as a commit under way (KAFKA-16371)."""

    timeouts_are_updated: bool = True
    """A member that joins again may change its session or rebalance timeout (KAFKA-14009)."""

    first_join_needs_protocols: bool = True
    """The first member of a group must offer a protocol (KAFKA-6005)."""

    join_v0_has_timeout: bool = True
    """JoinGroup v0 takes its session timeout as rebalance timeout; in 2.3.0 it had none (KAFKA-8653)."""

    loading_has_its_own_error: bool = True
    """Requests during a load are answered COORDINATOR_LOAD_IN_PROGRESS; before 2.0 NOT_COORDINATOR (8662a022)."""

    max_session_timeout_ms: int = 1_800_000
    """Default of `group.max.session.timeout.ms`."""

    retention_minutes: int = 10_080
    """Default of `offsets.retention.minutes`."""


HISTORY: Mapping[str, Sequence[tuple[str, bool | int]]] = {
    "initial_delay": (("0.9", False), ("0.11", True)),
    "initial_ends_early": (("0.9", False), ("4.0", True)),
    "member_id_required": (("0.9", False), ("2.2", True)),
    "static_members": (("0.9", False), ("2.3", True)),
    "group_max_size": (("0.9", False), ("2.2", True)),
    "pending_sync_timer": (("0.9", False), ("2.8.1", True)),
    "pending_leave_rebalances": (("0.9", False), ("4.0", True)),
    "new_member_timeout": (("0.9", False), ("2.1.1", True)),
    "answers_wait_for_writes": (("0.9", False), ("4.0", True)),
    "deletes_after_writes": (("0.9", False), ("4.1", True)),
    "appends_to_all": (("0.9", True), ("4.0", False)),
    "append_errors_by_kind": (("0.9", True), ("4.0", False)),
    "new_group_is_written": (("0.9", False), ("4.0", True)),
    "deletions_are_awaited": (("0.9", False), ("4.0", True)),
    "replacement_reverts_protocols": (("0.9", False), ("4.0", True)),
    "heartbeat_while_assigning": (("0.9", False), ("2.7", True)),
    "sync_keeps_session": (("0.9", True), ("4.0", False)),
    "sync_while_loading_rebalances": (("0.9", False), ("2.0", True), ("4.0", False)),
    "unstable_plain_commits": (("0.9", False), ("2.5", True), ("4.0", False)),
    "offset_delete_ends_group": (("0.9", True), ("4.0", False)),
    "redirected_joins_have_ids": (("0.9", True), ("4.0", False)),
    "completes_after_refusal": (("0.9", True), ("4.0", False)),
    "votes_in_scala_order": (("0.9", True), ("4.0", False)),
    "retention_from_empty": (("0.9", False), ("2.1", True)),
    "describe_unknown_is_error": (("0.9", False), ("4.0", True)),
    "commit_to_unknown_is_error": (("0.9", False), ("4.0", True)),
    "groups_have_configs": (("0.9", False), ("4.0", True)),
    "list_trims_states": (("0.9", False), ("4.0", True)),
    "describe_shows_old_assignments": (("0.9", False), ("4.0", True)),
    "unsubscribed_offsets_expire": (("0.9", False), ("2.4", True)),
    "epoch_0_is_accepted": (("0.9", False), ("4.2", True)),
    "revocation_adds_epoch": (("0.9", True), ("4.2", False)),
    "target_follows_subscription": (("0.9", False), ("4.2", True)),
    "own_pending_is_free": (("0.9", False), ("4.2", True)),
    "empty_regex_bumps": (("0.9", False), ("4.2", True)),
    "racks_bump": (("0.9", False), ("4.1", True)),
    "hash_stands_for_topics": (("0.9", False), ("4.1", True)),
    "partitions_have_epochs": (("0.9", False), ("4.3", True)),
    "regexes_are_refreshed": (("0.9", False), ("4.1", True)),
    "new_group_epoch": (("0.9", 0), ("4.3", 1)),
    "targets_are_batched": (("0.9", False), ("4.3", True)),
    "older_epochs_commit": (("0.9", False), ("4.3", True)),
    "known_instance_passes": (("0.9", False), ("4.4", True)),
    "describe_shows_pending": (("0.9", False), ("4.3", True)),
    "rejoins_for_targets": (("0.9", False), ("4.3", True)),
    "disabled_policy_refuses_joins": (("0.9", False), ("4.3", True)),
    "malformed_subscription_is_refused": (("0.9", False), ("4.4", True)),
    "assignor_choice_bumps": (("0.9", False), ("4.4", True)),
    "changed_downgrade_rebalances": (("0.9", False), ("4.0.2", True), ("4.1", False), ("4.1.1", True)),
    "stale_downgrade_rebalances": (("0.9", False), ("4.3", True)),
    "instance_change_frees": (("0.9", False), ("4.4", True)),
    "last_leave_ends_target": (("0.9", False), ("4.4", True)),
    "uniform_returns_extra": (("0.9", False), ("4.0.1", True)),
    "replacement_is_stored": (("0.9", True), ("2.3", False), ("2.6.1", True)),
    "static_ids_are_random": (("0.9", True), ("2.3", False), ("2.3.1", True)),
    "new_member_session": (("0.9", True), ("2.4.1", False), ("2.5", True)),
    "pending_ids_count": (("0.9", True), ("2.2", False), ("2.6", True)),
    "expiry_waits_for_stable": (
        *(("0.9", True), ("2.4", False), ("2.8.2", True)),
        *(("3.0", False), ("3.0.1", True), ("3.1", False), ("3.1.1", True)),
    ),
    "empty_since_is_loaded": (("0.9", True), ("2.3", False), ("2.6.1", True)),
    "refused_offsets_end": (("0.9", True), ("2.5", False), ("3.7.1", True)),
    "timeouts_are_updated": (("0.9", False), ("3.3.2", True)),
    "first_join_needs_protocols": (("0.9", False), ("1.0", True)),
    "join_v0_has_timeout": (("0.9", True), ("2.3", False), ("2.3.1", True)),
    "loading_has_its_own_error": (("0.9", False), ("2.0", True)),
    "max_session_timeout_ms": (("0.9", 30_000), ("0.10.1", 300_000), ("2.3", 1_800_000)),
    "retention_minutes": (("0.9", 1_440), ("2.0", 10_080)),
}


@lru_cache
def differences(broker_version: str = BASELINE, defects: tuple[str, ...] = ()) -> Differences:
    """Return the differences of that release, with additional defects by name.

    Raises ValueError for an unknown version or defect.
    """
    version = parse_version(broker_version)
    values = {name: since(version, steps) for name, steps in HISTORY.items()}
    for name in defects:
        values.update(broker_defect(name).changes)
    return Differences(**values)  # type: ignore[arg-type]
