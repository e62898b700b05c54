"""Historical bugs of consumers, each as the smallest change that restores it: a row of a profile, or one function."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from groupsim.members.classic import heartbeat, ownership
from groupsim.members.classic import rebalance as joining
from groupsim.members.classic.heartbeat import Heartbeat
from groupsim.members.classic.leader import Leader
from groupsim.members.classic.rebalance import MemberRebalance
from groupsim.members.classic.stages import Stage
from groupsim.members.commit.attempt import CommitResult
from groupsim.members.commit.before_rebalance import CommitBefore
from groupsim.members.commit.committer import Committer
from groupsim.members.consumer import consumer
from groupsim.members.coordinator_client import CoordinatorClient
from groupsim.members.failures import ClientFailure
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.member import Member
from groupsim.members.metadata import MetadataView
from groupsim.members.profiles.reactions import Reaction
from groupsim.members.zookeeper import kinds
from groupsim.protocol.embedded import consumer_protocol
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FetchedOffset, JoinGroupResponse, JoinProtocol
from groupsim.testing.mutants.assignors import drop_older_claims
from groupsim.testing.mutants.profiles import change_profile, change_reaction, release_defect
from groupsim.testing.patcher import Patcher


def _step(patch: Patcher, stage: Stage, mutant: Callable[[MemberRebalance], bool]) -> None:
    """Replace the step of a rebalance at one of its stages."""
    patch.setitem(joining._STEPS, stage, mutant)


# --- what errors do ----------------------------------------------------------------------------------------------


def reset_on_rebalance_in_progress(patch: Patcher) -> None:
    """KAFKA-8487, kafka-python 2614: REBALANCE_IN_PROGRESS on SyncGroup makes the member forget its member id."""
    change_reaction(patch, Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.RESET_MEMBER)


def late_sync_loses_everything(patch: Patcher) -> None:
    """KAFKA-13891: a SyncGroup that comes too late costs the generation, and so all partitions."""
    release_defect(patch, "KAFKA-13891")


def reset_on_retriable(patch: Patcher) -> None:
    """KAFKA-13214: an error that asks for another coordinator costs the membership."""
    change_reaction(patch, Api.HEARTBEAT, ErrorCode.NOT_COORDINATOR, Reaction.RESET_MEMBER)


def join_sees_sync_error(patch: Patcher) -> None:
    """KAFKA-10870: REBALANCE_IN_PROGRESS is fatal in answer to JoinGroup."""
    release_defect(patch, "KAFKA-10870")


def membership_error_on_commit(patch: Patcher) -> None:
    """kafkajs 1466, aiokafka 611: a commit answered UNKNOWN_MEMBER_ID does not make the member rejoin."""
    change_reaction(patch, Api.OFFSET_COMMIT, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.THROW)


def fetch_error_means_no_offset(patch: Patcher) -> None:
    """kafka-python 2629: an error of OffsetFetch counts as an answer without committed offsets."""

    def mutant(self: Fetcher, error: ErrorCode) -> None:
        self._start(tuple(FetchedOffset(partition) for partition in self._without_position()))

    patch.setattr(Fetcher, "_refused", mutant)


# --- heartbeats --------------------------------------------------------------------------------------------------


def heartbeat_stops_before_cleanup(patch: Patcher) -> None:
    """sarama 1608: no heartbeat goes out while the application gives up its partitions."""
    release_defect(patch, "sarama-1608")


def no_assignment_no_heartbeat(patch: Patcher) -> None:
    """kafkajs 1361: heartbeats go out with batches of records, so a member without partitions sends none."""
    release_defect(patch, "kafkajs-1361")


def heartbeat_not_owed(patch: Patcher) -> None:
    """kafka-python 582: a heartbeat that falls due while no coordinator is known is not sent later either."""
    due = Heartbeat.due

    def mutant(self: Heartbeat) -> None:
        due(self)
        self.owed = False

    patch.setattr(Heartbeat, "due", mutant)
    patch.setattr(heartbeat, "_due", mutant)  # the function that the timer calls


def any_error_loses_coordinator(patch: Patcher) -> None:
    """kafka-python 3082: any error in answer to a heartbeat marks the coordinator as dead."""
    change_reaction(patch, Api.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REDISCOVER)


def instance_id_dropped(patch: Patcher) -> None:
    """kafka_ex 561: JoinGroup alone carries group.instance.id; later requests are those of a dynamic member."""
    versions = kinds.CLIENTS["java"].versions
    change_profile(patch, versions={**versions, Api.SYNC_GROUP: 2, Api.HEARTBEAT: 2, Api.OFFSET_COMMIT: 6})


# --- joining -----------------------------------------------------------------------------------------------------


def stable_on_join_response(patch: Patcher) -> None:
    """KAFKA-5154: after a JoinGroup without error the rebalance counts as complete, whatever SyncGroup brings."""
    release_defect(patch, "KAFKA-5154")


def owned_survives_reset(patch: Patcher) -> None:
    """KAFKA-12983: a member that loses its membership in a rebalance rejoins without onPartitionsLost."""
    release_defect(patch, "KAFKA-12983")


def revert_hides_rejoin(patch: Patcher) -> None:
    """KAFKA-9815: a JoinGroup that failed clears the flag that a rejoin is needed."""
    again = MemberRebalance._again

    def mutant(self: MemberRebalance, exception: str, *, at_once: bool) -> None:
        again(self, exception, at_once=at_once)
        self.rejoin_needed = not exception.endswith("DisconnectException")

    patch.setattr(MemberRebalance, "_again", mutant)


def unsorted_metadata(patch: Patcher) -> None:
    """KAFKA-12898, franz-go 38d17db7: the topics of a subscription are encoded in another order each time."""
    turns = itertools.count()

    def mutant(topics: Iterable[str]) -> list[str]:
        return sorted(topics, reverse=next(turns) % 3 == 0)

    patch.setattr(consumer_protocol, "java_sorted", mutant)
    patch.setattr(ownership, "_offer", ownership._offer.__wrapped__)  # not remembered


def change_during_rebalance_lost(patch: Patcher) -> None:
    """Java 0.10.0: at the end of a rebalance the present subscription counts as the one that was joined with."""
    change_profile(patch, subscription={"taken_at_end": True})


def growth_during_sync_lost(patch: Patcher) -> None:
    """KAFKA-3117: a leader compares topics with their state at the end of the rebalance, not at the assignment."""
    release_defect(patch, "KAFKA-3117")


def assignment_beats_subscription(patch: Patcher) -> None:
    """KAFKA-7961: a member takes its assignment though its subscription has changed since the JoinGroup."""
    release_defect(patch, "KAFKA-7961")


def partition_growth_ignored(patch: Patcher) -> None:
    """sarama 1462: the leader never looks at the number of partitions again."""
    release_defect(patch, "sarama-1462")


def returning_static_leader(patch: Patcher) -> None:
    """KAFKA-13435: a static leader whose answer says skipAssignment becomes a follower."""
    assign = Leader.assign

    async def mutant(self: Leader, response: JoinGroupResponse, assignor: Any) -> Any:
        if response.skip_assignment:
            self.resign()
            return ()
        return await assign(self, response, assignor)

    patch.setattr(Leader, "assign", mutant)


def leader_topics_omit_own_change(patch: Patcher) -> None:
    """KAFKA-10056: a leader asks for the topics of the last assignment, and for no others."""
    watch_group, wanted = MetadataView.watch_group, MetadataView.wanted

    def watching(self: MetadataView, topics: Iterable[str]) -> bool:
        if self._group_topics:
            return False  # the watched topics count as all topics
        return watch_group(self, topics)

    patch.setattr(MetadataView, "watch_group", watching)
    patch.setattr(MetadataView, "wanted", property(lambda self: self._group_topics or wanted.fget(self)))


def rack_flap(patch: Patcher) -> None:
    """KAFKA-20778: a replica whose broker is away has no rack, which counts as a change; so does its return."""
    release_defect(patch, "KAFKA-20778", "java-4.x")


def snapshot_not_reset(patch: Patcher) -> None:
    """aiokafka 108: after a rebalance topics are compared with their state before it."""
    assign = Leader.assign

    async def mutant(self: Leader, response: JoinGroupResponse, assignor: Any) -> Any:
        before = self.snapshot
        assignments = await assign(self, response, assignor)
        self.snapshot = self.snapshot if before is None else before
        return assignments

    patch.setattr(Leader, "assign", mutant)


def pattern_staggered_discovery(patch: Patcher) -> None:
    """KAFKA-7126: members do not refresh all topics before they join."""
    release_defect(patch, "KAFKA-7126")


def second_join_in_flight(patch: Patcher) -> None:
    """librdkafka 1.8.0: a subscription that changes while a JoinGroup is in flight sends another one."""

    def mutant(self: MemberRebalance) -> bool:
        if self.stage is Stage.JOINING and self._member.subscription.is_other:
            self._send_join()
        return False

    _step(patch, Stage.JOINING, mutant)


def close_leaves_first(patch: Patcher) -> None:
    """librdkafka 5541: close sends LeaveGroup before the partitions are given up."""
    close_process = consumer.close_process

    async def mutant(member: Member, leave: bool | None) -> None:
        owned = dict(member.ownership.owned)
        member.membership.leave("closing")
        member.ownership.owned = owned
        await close_process(member, leave)

    patch.setattr(consumer, "close_process", mutant)


# --- the coordinator ---------------------------------------------------------------------------------------------


def stale_coordinator_node(patch: Patcher) -> None:
    """KAFKA-17293: after a disconnect the client connects to the same broker again, without FindCoordinator."""
    found, again = CoordinatorClient._found, CoordinatorClient.ensure
    last: dict[int, int] = {}

    def finding(self: CoordinatorClient, node: int) -> None:
        last[id(self)] = node
        found(self, node)

    def mutant(self: CoordinatorClient) -> None:
        if id(self) not in last or self._busy or self.known:
            again(self)
            return
        self._busy = True
        member = self._member
        wait_us = member.backoff("coordinator-backoff").next_us()
        member.host.call_at(member.now_us + wait_us, partial(_to_the_same, self, last[id(self)]))

    def unavailable(self: CoordinatorClient, node: int, wait_us: int) -> None:
        self._member.host.call_at(self._member.now_us + wait_us, partial(_to_the_same, self, node))

    patch.setattr(CoordinatorClient, "_found", finding)
    patch.setattr(CoordinatorClient, "ensure", mutant)
    patch.setattr(CoordinatorClient, "_unavailable", unavailable)


def _to_the_same(client: CoordinatorClient, node: int, _: Any) -> None:
    client._found(node)


def dead_heartbeat_thread(patch: Patcher) -> None:
    """KAFKA-20253: an unknown error ends the heartbeat thread, and nothing else."""
    react = Heartbeat._react

    def mutant(self: Heartbeat, sent: Any, error: ErrorCode) -> None:
        if self._member.profile.reaction(Api.HEARTBEAT, error) is Reaction.BACKOFF:
            self.disable()
        else:
            react(self, sent, error)

    patch.setattr(Heartbeat, "_react", mutant)


# --- cooperative members -----------------------------------------------------------------------------------------


def stale_owned_after_missed_sync(patch: Patcher) -> None:
    """KAFKA-13406, KAFKA-13419: claims have the generation of the last assignment; older ones count for nothing."""
    drop_older_claims(patch)
    offer = ownership._offer.__wrapped__

    def mutant(name: str, version: int, topics: Any, data: Any, owned: Any, generation: int, rack: str) -> JoinProtocol:
        return offer(name, version, topics, data, owned, -1, rack)

    patch.setattr(ownership, "_offer", mutant)


def owned_list_empty_at_join(patch: Patcher) -> None:
    """franz-go dcfcacb5: the list of owned partitions is cleared before JoinGroup is encoded."""
    release_defect(patch, "franz-go-dcfcacb5")


# --- commits -----------------------------------------------------------------------------------------------------


def final_commit_dropped(patch: Patcher) -> None:
    """kafka-go 300, kafkajs 874: close does not commit what was delivered since the last commit."""

    async def mutant(self: Committer, timeout_us: int) -> None:
        return None

    patch.setattr(Committer, "_last_auto_commit", mutant)


def commit_dropped_at_rebalance(patch: Patcher) -> None:
    """kafka-go 715: a rebalance takes partitions away without a commit of what was delivered."""
    patch.setattr(Committer, "before_rebalance", lambda self: None)


def commit_error_kills_coordinator(patch: Patcher) -> None:
    """aiokafka 19494402: an error of the commit before a rebalance ends the consumer's membership for good."""
    committed = CommitBefore._answered

    def mutant(self: CommitBefore, result: CommitResult) -> None:
        if result.error:
            self._member.fail(ClientFailure(str(result.error), "the commit before the rebalance failed"))
        committed(self, result)

    patch.setattr(CommitBefore, "_answered", mutant)


def autocommit_no_discovery(patch: Patcher) -> None:
    """KAFKA-6362: auto-commit of a consumer without a group waits for a coordinator that no request looks for."""
    release_defect(patch, "KAFKA-6362")
