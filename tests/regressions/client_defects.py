"""Historical bugs of consumers, each as the smallest change that puts it back: a row of a profile, or one function."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from attrs import evolve

from groupsim.members import heartbeat, ownership
from groupsim.members.ancestors import kinds
from groupsim.members.committing import CommitResult, Committer
from groupsim.members.failures import ClientFailure
from groupsim.members.fetching import Fetcher
from groupsim.members.heartbeat import Heartbeat
from groupsim.members.joining import Joining, Stage
from groupsim.members.leader import Leader
from groupsim.members.member import ClientState
from groupsim.members.ownership import Ownership
from groupsim.members.profiles import HeartbeatPlacement
from groupsim.members.reactions import Reaction
from groupsim.members.subscription import SubscriptionState
from groupsim.protocol import consumer_protocol
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import Api, FetchedOffset


def _profile(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    """The client that tests use when they name none, changed."""
    patch.setitem(kinds.CLIENTS, "java", evolve(kinds.CLIENTS["java"], **changes))  # type: ignore[attr-defined]


def _reaction(patch: pytest.MonkeyPatch, api: Api, error: ErrorCode, reaction: Reaction) -> None:
    _profile(patch, reactions={api: {error: reaction}})


# --- what errors do ----------------------------------------------------------------------------------------------


def reset_on_rebalance_in_progress(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-8487, kafka-python 2614: REBALANCE_IN_PROGRESS on SyncGroup is taken for the loss of the membership."""
    _reaction(patch, Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.RESET_MEMBER)


def late_sync_loses_everything(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-13891: a SyncGroup that comes too late costs the generation, and so all partitions."""
    _reaction(patch, Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.RESET_GENERATION)


def reset_on_retriable(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-13214: an error that asks for another coordinator costs the membership."""
    _reaction(patch, Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR, Reaction.RESET_MEMBER)


def join_sees_sync_error(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-10870: REBALANCE_IN_PROGRESS is known from other requests only; from JoinGroup it is fatal."""
    _reaction(patch, Api.JOIN_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.THROW)


def membership_error_on_commit(patch: pytest.MonkeyPatch) -> None:
    """kafkajs 1466, aiokafka 611: a commit that hears of a lost membership does nothing about it."""
    _reaction(patch, Api.OFFSET_COMMIT, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.THROW)


def fetch_error_means_no_offset(patch: pytest.MonkeyPatch) -> None:
    """kafka-python 2629: committed offsets that could not be read are taken for offsets that are not there."""

    def mutant(self: Fetcher, error: ErrorCode) -> None:
        self._start(tuple(FetchedOffset(partition) for partition in self._without_position()))

    patch.setattr(Fetcher, "_refused", mutant)


# --- heartbeats --------------------------------------------------------------------------------------------------


def heartbeat_stops_before_cleanup(patch: pytest.MonkeyPatch) -> None:
    """sarama 1608: while the application gives up its partitions nobody heartbeats."""
    _profile(patch, heartbeats=HeartbeatPlacement.IN_POLL)


def no_assignment_no_heartbeat(patch: pytest.MonkeyPatch) -> None:
    """kafkajs 1361: heartbeats go with batches, and who has no partition has no batches."""
    due = Heartbeat._due

    def mutant(self: Heartbeat) -> None:
        if self._member.ownership.owned:
            due(self)
        else:
            self._again(self._interval_us)

    patch.setattr(heartbeat, "_due", mutant)


# --- joining -----------------------------------------------------------------------------------------------------


def stable_on_join_response(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-5154: after a JoinGroup that went well the rebalance is over, whatever becomes of the SyncGroup."""

    async def mutant(self: Joining) -> bool:
        self._outcome = None
        self.stage = Stage.IDLE
        self.rejoin_needed = False
        self._member.become(ClientState.STABLE)
        self._member.heartbeat.enable()
        return True

    patch.setattr(Joining, "_take_failed_sync", mutant)


def owned_survives_reset(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-12983: a membership lost in the middle of a rebalance is followed by a JoinGroup without any clean-up."""
    reset = Joining.reset

    def mutant(self: Joining, reason: str, *, member_id_too: bool) -> None:
        before = self.needs_prepare
        reset(self, reason, member_id_too=member_id_too)
        self.needs_prepare = before

    patch.setattr(Joining, "reset", mutant)


def revert_hides_rejoin(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-9815: that a rebalance is due is not remembered; after a JoinGroup that failed nothing tells of it."""
    again = Joining._again

    def mutant(self: Joining, exception: str, *, at_once: bool) -> None:
        again(self, exception, at_once=at_once)
        self.rejoin_needed = exception != "DisconnectException"

    patch.setattr(Joining, "_again", mutant)


def unsorted_metadata(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-12898, franz-go 38d17db7: the topics of a subscription are written in another order each time."""
    turns = itertools.count()

    def mutant(topics: Iterable[str]) -> list[str]:
        return sorted(topics, reverse=next(turns) % 3 == 0)

    patch.setattr(consumer_protocol, "java_sorted", mutant)
    patch.setattr(ownership, "encode_subscription", consumer_protocol.encode_subscription.__wrapped__)  # not remembered


def change_during_rebalance_lost(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-3117: at the end of a rebalance the present subscription is taken for the one that was joined with."""
    complete = Joining._complete

    async def mutant(self: Joining) -> bool:
        done = await complete(self)
        self._joined_topics = self._member.subscription.topics
        return done

    patch.setattr(Joining, "_complete", mutant)


def assignment_beats_subscription(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-7961: an assignment is taken as it comes, though the subscription has changed since the JoinGroup."""
    patch.setattr(SubscriptionState, "covers", lambda self, topic: True)


def partition_growth_ignored(patch: pytest.MonkeyPatch) -> None:
    """sarama 1462: the leader does not look at the number of partitions again."""
    patch.setattr(Leader, "metadata_changed", lambda self: False)


def owned_list_empty_at_join(patch: pytest.MonkeyPatch) -> None:
    """franz-go dcfcacb5: what a member owns is cleared before it is written into its JoinGroup."""
    subscriptions = Ownership.subscriptions

    def mutant(self: Ownership) -> Iterator[tuple[str, bytes]]:
        held, self.owned = self.owned, {}
        try:
            return iter(list(subscriptions(self)))
        finally:
            self.owned = held

    patch.setattr(Ownership, "subscriptions", mutant)


# --- commits -----------------------------------------------------------------------------------------------------


def final_commit_dropped(patch: pytest.MonkeyPatch) -> None:
    """kafka-go 300, kafkajs 874: what was delivered since the last commit is not committed on close."""

    async def mutant(self: Committer, timeout_us: int) -> None:
        return None

    patch.setattr(Committer, "_last_auto_commit", mutant)


def commit_dropped_at_rebalance(patch: pytest.MonkeyPatch) -> None:
    """kafka-go 715: a rebalance takes partitions away, and what was delivered of them is not committed."""
    patch.setattr(Committer, "before_rebalance", lambda self: None)


def commit_error_kills_coordinator(patch: pytest.MonkeyPatch) -> None:
    """aiokafka 19494402: what goes wrong with the commit before a rebalance ends the rebalance, and all of them."""
    committed = Committer._committed_before_rebalance

    def mutant(self: Committer, number: int, result: CommitResult) -> None:
        if result.error:
            self._member.fail(ClientFailure(str(result.error), "the commit before the rebalance failed"))
        committed(self, number, result)

    patch.setattr(Committer, "_committed_before_rebalance", mutant)


def autocommit_no_discovery(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-6362: auto-commit waits for a coordinator, and nothing makes a consumer without a group look for one."""
    auto_commit = Committer._auto_commit

    def mutant(self: Committer) -> None:
        if self._member.coordinator.known:
            auto_commit(self)
        else:
            self._arm(self._interval_us)

    patch.setattr(Committer, "_auto_commit", mutant)
