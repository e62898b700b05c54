"""One partition of `__consumer_offsets` as its coordinator runs it: one input at a time, effects out.

    handle       a request, with its sender and a fresh member id should a JoinGroup need one
    fire         a timer that is due
    append_done  how an append ended, in the order of the appends
    load         the records of the partition: from then on the shard is active
    unload       the broker has given the partition up
    topic_deleted
    force_rebalance, forget    by an operator's hand

Every input comes with `now_us`, which never goes back, and returns the effects to be carried out, in order (`effects`);
an operator's with a flag before them, whether there was anything to do. The shard does no input or output, knows no
clock and draws nothing at random; ranks of timers come from `draw_ticket`.

Source: `GroupCoordinatorShard`, `CoordinatorRuntime`; classic-protocol reference, 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from groupsim.coordinator import admin
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import CallToken, Effect
from groupsim.coordinator.base.failures import append_error, leave_failure
from groupsim.coordinator.base.records import Loaded, whole_ms
from groupsim.coordinator.base.timers import Timer, TimerKind, Timers
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.group_record import new_group_record
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.purgatory import ANSWERED, Purgatory
from groupsim.coordinator.classic.snapshot import GroupSnapshot, Parked, PendingOffset, held
from groupsim.coordinator.classic.states import IllegalState
from groupsim.coordinator.classic.validation import Arrival
from groupsim.coordinator.offsets import requests, retention, transactions
from groupsim.coordinator.partition.group_kind import Group
from groupsim.coordinator.partition.offset_store import OffsetStore
from groupsim.coordinator.partition.registry import Registry
from groupsim.coordinator.partition.state import Partition
from groupsim.coordinator.replay import replay
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribedGroup,
    DescribeGroupsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListedGroup,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest, WriteTxnMarkersRequest


class Shard:
    """The groups of one partition, from load to unload."""

    def __init__(
        self,
        partition: int,
        config: CoordinatorConfig,
        draw_ticket: Callable[[], int],
        *,
        noting: bool = True,
        every_move: bool = True,
    ) -> None:
        self.turn = Turn(config, Timers(draw_ticket), Purgatory(partition), noting=noting, every_move=every_move)
        self.groups = Registry()
        self.partition = Partition(partition, self.turn, self.groups, OffsetStore())
        self.closed = False

    # --- requests ------------------------------------------------------------------------------------------------

    def handle(self, arrival: Arrival, request: Request, now_us: int) -> list[Effect]:
        """Handle a request, as the table at the end says; DescribeGroups and ListGroups have methods of their own."""
        turn = self.turn
        turn.now_us = now_us
        try:
            _HANDLERS[type(request)](self, arrival, request)
        except IllegalState:
            self._broke_down(arrival.call, request)
        return turn.take()

    def _broke_down(self, call: CallToken, request: Request) -> None:
        """A handler met a state that is none: its sender is told, once. A join of his that is parked stays so."""
        turn = self.turn
        group = self.groups.get(getattr(request, "group_id", ""))
        if group is not None:
            group.answered_otherwise(call)
        if not any(isinstance(effect, tuple) and effect[0] is call for effect in turn.effects):
            turn.reply(call, refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def describe(self, group_id: str, request: DescribeGroupsRequest) -> DescribedGroup:
        """One group of a DescribeGroups."""
        return admin.describe_one(self.partition, group_id, request)

    def list_groups(self, request: ListGroupsRequest) -> list[ListedGroup]:
        """The groups here that pass the request's filters."""
        return admin.list_groups(self.partition, request)

    def snapshot(self, group_id: str) -> GroupSnapshot | None:
        """The group as a value; None when there is none of that id."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        pending = self.partition.offsets.view.pending(group_id)
        return evolve(group.snapshot(self.turn), pending_offsets=tuple(PendingOffset(*one) for one in pending))

    def committed_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        """The group's offsets as of the last committed append."""
        return {place: value.offset for place, value in self.partition.offsets.committed(group_id).items()}

    def held(self) -> tuple[Parked, ...]:
        """Answers of this partition that wait for an append."""
        return held(self.turn)

    def _join(self, arrival: Arrival, request: JoinGroupRequest) -> None:
        group = self.groups.get(request.group_id)
        if group is not None:
            group.join(self.turn, arrival, request)
        elif request.member_id:
            answer = JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member_id=request.member_id)
            self.turn.reply(arrival.call, answer)
        else:
            self._join_new_group(arrival, request)

    def _join_new_group(self, arrival: Arrival, request: JoinGroupRequest) -> None:
        """The first request makes the group, and since 4.0 its first record, even when the join itself is refused."""
        turn = self.turn
        group = ClassicGroup(request.group_id, state_us=whole_ms(turn.now_us))
        self.groups.add(group)
        group.join(turn, arrival, request)
        if turn.differences.new_group_is_written:
            self.partition.append((new_group_record(group),), GroupCreated(group, arrival.call))
            self.groups.created_by(group.group_id, turn.purgatory.last_id)
        retention.arm(self.partition)

    def _sync(self, arrival: Arrival, request: SyncGroupRequest) -> None:
        group = self.groups.get(request.group_id)
        if group is None:
            self.turn.reply(arrival.call, SyncGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
        else:
            group.sync(self.turn, arrival.call, request)

    def _heartbeat(self, arrival: Arrival, request: HeartbeatRequest) -> None:
        group = self.groups.get(request.group_id)
        if group is None:
            self.turn.reply(arrival.call, HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID))
        else:
            group.heartbeat(self.turn, arrival.call, request)

    def _leave(self, arrival: Arrival, request: LeaveGroupRequest) -> None:
        group = self.groups.get(request.group_id)
        if group is None:
            self.turn.reply(arrival.call, leave_failure(request, ErrorCode.UNKNOWN_MEMBER_ID))
        else:
            group.leave(self.turn, arrival.call, request)

    def _commit(self, arrival: Arrival, request: OffsetCommitRequest) -> None:
        requests.commit(self.partition, arrival.call, request)

    def _fetch(self, arrival: Arrival, request: OffsetFetchRequest) -> None:
        requests.fetch(self.partition, arrival.call, request)

    def _delete_offsets(self, arrival: Arrival, request: OffsetDeleteRequest) -> None:
        requests.delete_offsets(self.partition, arrival.call, request)

    def _commit_in_transaction(self, arrival: Arrival, request: TxnOffsetCommitRequest) -> None:
        transactions.commit(self.partition, arrival.call, request)

    def _end_transactions(self, arrival: Arrival, request: WriteTxnMarkersRequest) -> None:
        transactions.end(self.partition, arrival.call, request)

    def _delete_groups(self, arrival: Arrival, request: DeleteGroupsRequest) -> None:
        admin.delete_groups(self.partition, arrival.call, request)

    # --- by an operator's hand -----------------------------------------------------------------------------------

    def force_rebalance(self, group_id: str, words: str, now_us: int) -> tuple[bool, list[Effect]]:
        """Open a round of a group; the flag says whether there was one to open."""
        self.turn.now_us = now_us
        group = self.groups.get(group_id)
        opened = group is not None and group.force_rebalance(self.turn, words)
        return opened, self.turn.take()

    def forget(self, group_id: str, words: str, now_us: int) -> tuple[bool, list[Effect]]:
        """Lose a group, members and offsets, as if its records had been lost with the log; False: there is none.

        What is parked is answered NOT_COORDINATOR; whoever comes with an old id hears UNKNOWN_MEMBER_ID. Tombstones
        are written, so that a fail-over does not bring the group back.
        """
        self.turn.now_us = now_us
        group = self.groups.get(group_id)
        if group is None:
            return False, []
        group.unloaded(self.turn)
        admin.remove_group(self.partition, group, words)
        return True, self.turn.take()

    # --- timers and appends --------------------------------------------------------------------------------------

    @property
    def next_timer(self) -> Timer | None:
        """The timer that is due first."""
        return self.turn.timers.next()

    def fire(self, timer: Timer, now_us: int) -> list[Effect]:
        """The timer is due: it stops, and does what it is for."""
        turn = self.turn
        turn.now_us = now_us
        turn.timers.stop(timer.name)
        if timer.kind is TimerKind.WRITE_TIMEOUT:
            turn.purgatory.expire(turn)
        elif timer.kind is TimerKind.EXPIRY:
            retention.look(self.partition)
        else:
            group = self.groups.get(timer.group_id)
            if group is not None:
                self._group_timer_fired(group, timer)
        return turn.take()

    def _group_timer_fired(self, group: Group, timer: Timer) -> None:
        """A timer whose work fails is over, as in Kafka (`CoordinatorTimerImpl`): nobody is told, nothing is undone."""
        try:
            group.timer_fired(self.turn, timer)
        except IllegalState as error:
            self.turn.mention(Kind.WARNING, group.group_id, reason=f"the timer {timer.name} failed: {error}")

    def append_done(self, append_id: int, error: ErrorCode | None, now_us: int) -> list[Effect]:
        """The oldest append under way is committed (error None), or any has failed: its effect is kept or undone."""
        turn = self.turn
        turn.now_us = now_us
        vanished = self.partition.settle(append_id, error)
        turn.purgatory.finish(turn, append_id, error)
        for group in vanished:
            group.vanished(turn)
        if error is not None:
            retention.arm(self.partition)  # a group whose tombstone failed is there again: it will be looked at again
        return turn.take()

    # --- life ----------------------------------------------------------------------------------------------------

    def load(self, records: Iterable[Loaded], now_us: int) -> list[Effect]:
        """Take the partition over: `records` are all of it, oldest first."""
        turn = self.turn
        turn.now_us = self.partition.loaded_us = now_us
        replay(self.partition, records)
        for loaded in self.groups:
            loaded.loaded(turn)
        retention.arm(self.partition)
        return turn.take()

    def unload(self, now_us: int) -> list[Effect]:
        """Give the partition up: timers stop, what waits is answered NOT_COORDINATOR, the groups are dead."""
        turn = self.turn
        turn.now_us = now_us
        for timer in list(turn.timers):
            turn.stop_timer(timer.name)
        turn.purgatory.fail_all(turn, ErrorCode.NOT_COORDINATOR)
        for group in self.groups:
            group.unloaded(turn)
        for timer in list(turn.timers):
            turn.stop_timer(timer.name)
        self.closed = True
        return turn.take()

    def topic_deleted(self, topic: str, now_us: int) -> list[Effect]:
        """A topic is gone: its committed offsets go too."""
        self.turn.now_us = now_us
        requests.topic_deleted(self.partition, topic)
        return self.turn.take()


@frozen(eq=False)
class GroupCreated:
    """A new group's first record is written, or could not be: then the join that made it is told, if it waits still."""

    group: ClassicGroup
    call: CallToken

    def __call__(self, turn: Turn, error: ErrorCode | None) -> None:
        if error is None:
            return
        for member in self.group.lookup.values():
            if member.join_call is self.call:
                member.join_call = ANSWERED
                turn.reply(self.call, JoinGroupResponse(append_error(error)))


_HANDLERS: Mapping[type[Any], Callable[[Shard, Arrival, Any], None]] = {
    JoinGroupRequest: Shard._join,
    SyncGroupRequest: Shard._sync,
    HeartbeatRequest: Shard._heartbeat,
    LeaveGroupRequest: Shard._leave,
    OffsetCommitRequest: Shard._commit,
    OffsetFetchRequest: Shard._fetch,
    OffsetDeleteRequest: Shard._delete_offsets,
    DeleteGroupsRequest: Shard._delete_groups,
    TxnOffsetCommitRequest: Shard._commit_in_transaction,
    WriteTxnMarkersRequest: Shard._end_transactions,
}
