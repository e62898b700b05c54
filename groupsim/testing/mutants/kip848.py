"""Historical bugs of the code for KIP-848 that the classic protocol can have too, each restored in a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from groupsim.assignors import JavaFailure
from groupsim.assignors.sticky.general import GeneralAssignment
from groupsim.cluster.replica.leader import Leadership
from groupsim.cluster.replica.partition import HostedPartition
from groupsim.coordinator import shard
from groupsim.coordinator.base import purgatory
from groupsim.coordinator.base.interfaces import LoadFailed
from groupsim.coordinator.base.records import GroupRecord, OffsetRecord
from groupsim.coordinator.classic import commit, heartbeat, join, leave, sync
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.runtime import CoordinatorRuntime
from groupsim.members.classic.leader import Leader
from groupsim.members.classic.membership import ClassicMembership
from groupsim.members.classic.ownership import Ownership
from groupsim.members.classic.poll_clock import PollClock
from groupsim.members.classic.reasons import LEAVING
from groupsim.members.classic.rebalance import MemberRebalance
from groupsim.members.classic.stages import Stage
from groupsim.members.consumer.leave import CLOSED
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.member import Member
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import LeftMember, OffsetFetchRequest
from groupsim.testing.patcher import Patcher

# --- members -----------------------------------------------------------------------------------------------------


def poll_timeout_keeps_partitions(patch: Patcher) -> None:
    """KAFKA-16258: a member that leaves at max.poll.interval.ms keeps its partitions."""
    expired = PollClock._expired

    def mutant(self: PollClock) -> None:
        expired(self)
        self._group.rebalance.needs_prepare = False

    patch.setattr(PollClock, "_expired", mutant)
    patch.setattr(Member, "group_comes_first", False)


def heartbeat_while_fenced(patch: Patcher) -> None:
    """KAFKA-16251: a member that was removed goes on with its heartbeats, in no generation."""
    forget = ClassicMembership.forget

    def mutant(self: ClassicMembership, reason: str, *, member_id_too: bool) -> None:
        forget(self, reason, member_id_too=member_id_too)
        self.heartbeat.enable()

    patch.setattr(ClassicMembership, "forget", mutant)


def orphan_after_close(patch: Patcher) -> None:
    """KAFKA-17116: close during JoinGroup sends no LeaveGroup, for the member id is not known yet."""
    _without_leaving(patch, lambda joining: joining.stage is Stage.JOINING)


def leave_gives_way_to_heartbeat(patch: Patcher) -> None:
    """KAFKA-16639: close while a heartbeat is in flight sends no LeaveGroup, and does not retry."""
    _without_leaving(patch, lambda joining: joining._group.heartbeat._unanswered > 0)


def _without_leaving(patch: Patcher, when: Any) -> None:
    leaves = MemberRebalance.leave

    def mutant(self: MemberRebalance, reason: str, **how: Any) -> bool:
        if reason != CLOSED or not when(self):
            return leaves(self, reason, **how)
        self._abandon()
        self.reset(LEAVING, member_id_too=True)
        return False

    patch.setattr(MemberRebalance, "leave", mutant)


def regex_not_indexed(patch: Patcher) -> None:
    """KAFKA-18916: topics found by a pattern are not watched for their growth."""
    changed = Leader.metadata_changed

    def mutant(self: Leader) -> bool:
        return not self._member.subscription.by_pattern and changed(self)

    patch.setattr(Leader, "metadata_changed", mutant)


def empty_assignment_ignored(patch: Patcher) -> None:
    """franz-go 0af2689c: an empty assignment counts as no change."""
    complete = Ownership.complete

    async def mutant(self: Ownership, data: bytes) -> None:
        if self._decode(data):
            await complete(self, data)

    patch.setattr(Ownership, "complete", mutant)


def offset_fetch_error_swallowed(patch: Patcher) -> None:
    """franz-go 8038d16d: offsets that could not be read are not requested again."""

    def mutant(self: Fetcher, error: ErrorCode) -> None:
        self._given_up = frozenset(self._without_position())

    patch.setattr(Fetcher, "_refused", mutant)


def member_without_topics(patch: Patcher) -> None:
    """KAFKA-16930: the assignor looks up every member among those that can get a partition."""
    run = GeneralAssignment.run

    def mutant(self: GeneralAssignment) -> dict[str, list[Any]]:
        wanted = dict.fromkeys(self._state.topics)
        if not all(any(topic in wanted for topic in claim.member.topics) for claim in self._claims):
            raise JavaFailure("NullPointerException", "a member without topics")
        return run(self)

    patch.setattr(GeneralAssignment, "run", mutant)


# --- coordinators ------------------------------------------------------------------------------------------------


def txn_empty_member_id(patch: Patcher) -> None:
    """KAFKA-18060: every commit in a transaction has to name a member."""

    def mutant(group: Any, op: Any, request: Any) -> ErrorCode | None:
        return None if request.member_id in group.lookup else ErrorCode.UNKNOWN_MEMBER_ID

    patch.setattr(ClassicGroup, "txn_commit_error", mutant)


def admin_remove_by_id(patch: Patcher) -> None:
    """KAFKA-18188: an administrator can remove static members alone."""
    leave_one = leave._leave_one

    def mutant(op: Any, group: Any, entry: Any) -> Any:
        if entry.group_instance_id is None and entry.reason is not None and entry.reason.startswith("Removed by"):
            return LeftMember(entry.member_id, None, ErrorCode.UNKNOWN_MEMBER_ID)
        return leave_one(op, group, entry)

    patch.setattr(leave, "_leave_one", mutant)


def wrong_static_conflict_error(patch: Patcher) -> None:
    """kfake 09e99f07: an instance that another process has taken over is answered UNKNOWN_MEMBER_ID."""
    for room in (commit, heartbeat, join, leave, sync):
        member_error = room.member_error

        def mutant(*args: Any, judge: Any = member_error) -> ErrorCode | None:
            error: ErrorCode | None = judge(*args)
            return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.FENCED_INSTANCE_ID else error

        patch.setattr(room, "member_error", mutant)


def fetch_timeout_code(patch: Patcher) -> None:
    """KAFKA-17267: offsets that could not be read in time are answered REQUEST_TIMED_OUT, which no client handles."""
    operation_error = purgatory.operation_error

    def mutant(request: Any, error: ErrorCode) -> ErrorCode:
        late = isinstance(request, OffsetFetchRequest) and error is ErrorCode.REQUEST_TIMED_OUT
        return error if late else operation_error(request, error)

    patch.setattr(purgatory, "operation_error", mutant)


def replay_order_assumptions(patch: Patcher) -> None:
    """KAFKA-17306, KAFKA-20254: a load requires a group's record before its tombstone and before its offsets."""
    replay = shard.replay

    def mutant(partition: Any, records: Iterable[Any]) -> None:
        every = list(records)
        known: dict[str, None] = {}
        offsets: dict[str, None] = {}
        for one in every:
            if isinstance(one, OffsetRecord):
                offsets[one.group_id] = None
            elif isinstance(one, GroupRecord) and one.group_id not in known:
                if one.value is None or one.group_id in offsets:
                    raise LoadFailed(f"a record of {one.group_id} is not where it was written")
                known[one.group_id] = None
        replay(partition, every)

    patch.setattr(shard, "replay", mutant)


def ack_after_losing_leadership(patch: Patcher) -> None:
    """KAFKA-20634: after a change of leader a pending append completes at any high watermark, a follower's too."""
    end, advance, resign = Leadership.end, HostedPartition.advance, CoordinatorRuntime.resign
    left: dict[int, list[Any]] = {}

    def ending(self: Leadership) -> None:
        left.setdefault(id(self.hosted), []).extend(self._waiters)
        self._waiters = []
        end(self)

    def advancing(self: HostedPartition, offset: int) -> bool:
        for wanted, _, index, waiter in left.get(id(self), ()) if self.lead is None else ():
            if wanted <= offset:
                waiter.reached(index, ErrorCode.NONE)
        return advance(self, offset)

    def resigning(self: CoordinatorRuntime, partition: int, epoch: int) -> None:
        self._host.call_at(self._loop.now_us + 5_000_000, lambda _: resign(self, partition, epoch), None)

    patch.setattr(Leadership, "end", ending)
    patch.setattr(HostedPartition, "advance", advancing)
    patch.setattr(CoordinatorRuntime, "resign", resigning)
