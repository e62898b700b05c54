"""One partition of `__consumer_offsets` as a state machine: one input at a time, effects out.

    handle       a request, with its sender and a fresh member id for a JoinGroup without one
    fire         a timer that is due
    append_done  the end of an append, in the order of the appends
    load         the records of the partition: from then on the shard is active
    unload       the broker no longer leads the partition
    topic_deleted
    force_rebalance, forget    actions of an operator

Every input has `now_us`, which never decreases, and returns the effects to be executed in order (`effects`). The inputs
of an operator return a flag before them, whether they changed anything. The shard does no input or output, reads no
clock and draws no random number; `draw_ticket` gives the ranks of timers.

Source: `GroupCoordinatorShard`, `CoordinatorRuntime`; classic-protocol reference, 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from attrs import evolve

from groupsim.coordinator import admin
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import ResolvedRegex
from groupsim.coordinator.base.effects import CallToken, Effect
from groupsim.coordinator.base.failures import IllegalState, append_error, refused_by_group
from groupsim.coordinator.base.group_kind import Group
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.purgatory import ANSWERED, Purgatory
from groupsim.coordinator.base.records import Loaded, whole_ms
from groupsim.coordinator.base.snapshot import GroupSnapshot, Parked, PendingOffset, held
from groupsim.coordinator.base.timers import CONSUMER_KINDS, Timer, TimerKind, Timers
from groupsim.coordinator.base.topics import NO_TOPICS
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.group_record import new_group_record
from groupsim.coordinator.classic.join import join
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.consumer.heartbeat import heartbeat
from groupsim.coordinator.consumer.hosted.join import join as join_consumer_group
from groupsim.coordinator.consumer.refused import Refused, not_found_message
from groupsim.coordinator.consumer.regex import resolved
from groupsim.coordinator.conversion.undone import conversion_failed
from groupsim.coordinator.offsets import requests, retention, transactions
from groupsim.coordinator.partition.admission import Decision, decide
from groupsim.coordinator.partition.offset_store import OffsetStore
from groupsim.coordinator.partition.registry import Registry
from groupsim.coordinator.partition.state import Partition
from groupsim.coordinator.replay import replay
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DescribedGroup,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListedGroup,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    Response,
    SyncGroupRequest,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest, WriteTxnMarkersRequest
from groupsim.protocol.values import frozen


class Shard:
    """The groups of one partition, from load to unload."""

    def __init__(
        self,
        partition: int,
        config: CoordinatorConfig,
        draw_ticket: Callable[[], int],
        *,
        tracing: bool = True,
        every_move: bool = True,
        topics: TopicsImage = NO_TOPICS,
    ) -> None:
        self.op = Operation(
            config,
            Timers(draw_ticket),
            Purgatory(partition),
            tracing=tracing,
            every_move=every_move,
            topics=topics,
        )
        self.groups = Registry()
        self.partition = Partition(partition, self.op, self.groups, OffsetStore())
        self.closed = False

    # --- requests ----------------------------------------------------------------------------------------------------

    def handle(self, arrival: Arrival, request: Request, now_us: int) -> list[Effect]:
        """Handle a request by the table at the end; DescribeGroups and ListGroups have methods of their own."""
        op = self.op
        op.now_us = now_us
        try:
            _HANDLERS[type(request)](self, arrival, request)
        except IllegalState:
            self._fail_request(arrival.call, request)
        return op.take()

    def _fail_request(self, call: CallToken, request: Request) -> None:
        """Answer UNKNOWN_SERVER_ERROR, once, after an invalid state. A parked JoinGroup of the sender stays parked."""
        op = self.op
        group = self.groups.get(getattr(request, "group_id", ""))
        if group is not None:
            group.answered_otherwise(call)
        if not any(isinstance(effect, tuple) and effect[0] is call for effect in op.effects):
            op.reply(call, refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def has_consumer_group(self, group_id: str) -> bool:
        """Whether the group is a consumer group with members: a JoinGroup without a member id gets a plain UUID."""
        group = self.groups.get(group_id)
        return isinstance(group, ConsumerGroup) and not group.is_empty

    def describe(self, group_id: str, request: DescribeGroupsRequest) -> DescribedGroup:
        """Return the answer of DescribeGroups for one group."""
        return admin.describe_one(self.partition, group_id, request)

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        """Return the answer of ConsumerGroupDescribe for one group."""
        return admin.describe_consumer_group(self.partition, group_id)

    def list_groups(self, request: ListGroupsRequest) -> list[ListedGroup]:
        """Return the partition's groups that pass the request's filters."""
        return admin.list_groups(self.partition, request)

    def snapshot(self, group_id: str) -> GroupSnapshot | None:
        """Return the group as a value; None when there is none of that id."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        pending = self.partition.offsets.view.pending(group_id)
        return evolve(group.snapshot(self.op), pending_offsets=tuple(PendingOffset(*one) for one in pending))

    def committed_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        """Return the group's offsets as of the last committed append."""
        return {place: value.offset for place, value in self.partition.offsets.committed(group_id).items()}

    def held(self) -> tuple[Parked, ...]:
        """Return the answers of this partition that wait for an append."""
        return held(self.op)

    def _of_group(self, arrival: Arrival, request: Any) -> None:
        """Let the group handle a request of a member, or do what the table of admissions decides."""
        group = self.groups.get(request.group_id)
        answer = None if group is None else group.answers.get(type(request))
        if answer is not None:
            answer(group, self.op, arrival, request)
            return
        decision = decide(request, group, self.op.differences)
        if decision is Decision.CREATE_CLASSIC:
            self._join_new_group(arrival, request)
        elif decision is Decision.BECOME_CLASSIC and group is not None:
            self._join_in_place_of(group, arrival, request)
        elif decision is Decision.ANSWER and isinstance(group, ConsumerGroup):
            join_consumer_group(group, self.op, arrival, request)
        elif decision is Decision.LOSE_GROUP and group is not None:
            self.partition.lose(group)
            self.op.reply(arrival.call, refused_by_group(request, ErrorCode.UNKNOWN_MEMBER_ID))
        elif decision in (Decision.CREATE_CONSUMER, Decision.BECOME_CONSUMER):
            self._beat_new_group(group, arrival, request)
        elif decision is Decision.UPGRADE and isinstance(group, ClassicGroup):
            self._upgrade(group, arrival, request)
        else:
            assert isinstance(decision, ErrorCode)
            self.op.reply(arrival.call, self._refused(group, request, decision))

    def _refused(self, group: Group | None, request: Any, error: ErrorCode) -> Response:
        """Return the answer to a request that the table refuses; that to a heartbeat has Kafka's message."""
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            return refused_by_group(request, error)
        return ConsumerGroupHeartbeatResponse(error, not_found_message(request, classic=group is not None))

    def _join_new_group(self, arrival: Arrival, request: JoinGroupRequest) -> None:
        """Create the group, and since 4.0 its first record, even when the join itself is refused."""
        op = self.op
        group = ClassicGroup(request.group_id, state_us=whole_ms(op.now_us))
        self.groups.add(group)
        join(group, op, arrival, request)
        if op.differences.new_group_is_written:
            self.partition.append((new_group_record(group),), GroupCreated(group, arrival.call))
            self.groups.created_by(group.group_id, op.purgatory.last_id)
        retention.schedule(self.partition)

    def _join_in_place_of(self, group: Group, arrival: Arrival, request: JoinGroupRequest) -> None:
        """Delete an empty consumer group and create a classic one, with one append, even when the join is refused."""
        op = self.op
        new = ClassicGroup(request.group_id, state_us=whole_ms(op.now_us))
        records = (*group.tombstones(), new_group_record(new))
        self.partition.replace(records, new, GroupCreated(new, arrival.call))
        join(new, op, arrival, request)

    def _beat_new_group(self, classic: Group | None, arrival: Arrival, request: ConsumerGroupHeartbeatRequest) -> None:
        """Let a new consumer group answer. It exists from its first record on, in place of an empty classic group."""
        before = () if classic is None else classic.tombstones()
        heartbeat(self.partition.new_consumer_group(request.group_id, before), self.op, arrival, request)
        retention.schedule(self.partition)

    def _upgrade(self, classic: ClassicGroup, arrival: Arrival, request: ConsumerGroupHeartbeatRequest) -> None:
        """Let the consumer group that a classic group becomes answer. It exists from its first record on."""
        try:
            group = self.partition.upgraded(classic, request.member_id or arrival.fresh_id)
        except Refused as refused:
            self.op.reply(arrival.call, ConsumerGroupHeartbeatResponse(refused.error, refused.message))
            return
        heartbeat(group, self.op, arrival, request)
        retention.schedule(self.partition)

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

    # --- actions of an operator --------------------------------------------------------------------------------------

    def force_rebalance(self, group_id: str, reason: str, now_us: int) -> tuple[bool, list[Effect]]:
        """Open a round of a group; the flag is False when none can be opened."""
        self.op.now_us = now_us
        group = self.groups.get(group_id)
        opened = group is not None and group.force_rebalance(self.op, reason)
        return opened, self.op.take()

    def forget(self, group_id: str, reason: str, now_us: int) -> tuple[bool, list[Effect]]:
        """Delete a group with members and offsets, as if the log had lost its records; the flag is False without one.

        Parked requests are answered NOT_COORDINATOR; a request with an old id is then answered UNKNOWN_MEMBER_ID.
        Tombstones are written, so that a fail-over does not restore the group.
        """
        self.op.now_us = now_us
        group = self.groups.get(group_id)
        if group is None:
            return False, []
        group.unloaded(self.op)
        admin.remove_group(self.partition, group, reason)
        return True, self.op.take()

    # --- timers and appends ------------------------------------------------------------------------------------------

    @property
    def next_timer(self) -> Timer | None:
        """The timer that is due first."""
        return self.op.timers.next()

    def fire(self, timer: Timer, now_us: int) -> list[Effect]:
        """Stop a due timer and run its action."""
        op = self.op
        op.now_us = now_us
        op.timers.stop(timer.name)
        if timer.kind is TimerKind.WRITE_TIMEOUT:
            op.purgatory.expire(op)
        elif timer.kind is TimerKind.EXPIRY:
            retention.cleanup(self.partition)
        else:
            group = self.groups.get(timer.group_id)
            if group is not None:
                self._group_timer_fired(group, timer)
        return op.take()

    def _group_timer_fired(self, group: Group, timer: Timer) -> None:
        """Run the action of a timer. A failure undoes nothing; one of a consumer group is tried again.

        It fails at once where it would make the group classic and a subscription has no version, or with its append.
        """
        op = self.op
        last_append = op.purgatory.last_id
        try:
            group.timer_fired(op, timer)
        except (IllegalState, Refused) as error:
            op.emit_by_id(Kind.WARNING, group.group_id, reason=f"the timer {timer.name} failed: {error}")
            if timer.kind in CONSUMER_KINDS:
                TimerWritten(timer).again(op)
        else:
            if timer.kind in CONSUMER_KINDS and op.purgatory.last_id != last_append:
                op.when_written(TimerWritten(timer))

    def append_done(self, append_id: int, error: ErrorCode | None, now_us: int) -> list[Effect]:
        """Handle the end of an append: the oldest one committed (error None), or any one failed."""
        op = self.op
        op.now_us = now_us
        vanished = self.partition.settle(append_id, error)
        op.purgatory.finish(op, append_id, error)
        for group in vanished:
            group.vanished(op)
            restored = self.groups.get(group.group_id)
            if restored is not None and error is not None:
                conversion_failed(op, group, restored, error)
        if error is not None:
            retention.schedule(self.partition)  # a group whose tombstone failed exists again
        return op.take()

    # --- life --------------------------------------------------------------------------------------------------------

    def load(self, records: Iterable[Loaded], now_us: int) -> list[Effect]:
        """Load the partition: `records` are all of it, oldest first."""
        op = self.op
        op.now_us = self.partition.loaded_us = now_us
        op.loaded_version = op.topics.version
        replay(self.partition, records)
        for loaded in self.groups:
            loaded.loaded(op)
        retention.schedule(self.partition)
        return op.take()

    def unload(self, now_us: int) -> list[Effect]:
        """Unload the partition: timers stop, waiting answers become NOT_COORDINATOR, the groups are Dead."""
        op = self.op
        op.now_us = now_us
        for timer in list(op.timers):
            op.stop_timer(timer.name)
        # Before the groups, as in `CoordinatorRuntime`: the failed append of a leader's SyncGroup answers the parked
        # SyncGroups and opens a round, whose timer is stopped below.
        op.purgatory.fail_all(op, ErrorCode.NOT_COORDINATOR)
        for group in self.groups:
            group.unloaded(op)
        for timer in list(op.timers):
            op.stop_timer(timer.name)
        self.closed = True
        return op.take()

    def resolved(
        self, group_id: str, member_id: str, results: Mapping[str, ResolvedRegex], now_us: int
    ) -> list[Effect]:
        """Handle the result of a `Resolve`: the topics of each regular expression."""
        op = self.op
        op.now_us = now_us
        op.resolving.discard(group_id)
        group = self.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            try:
                resolved(group, op, member_id, results)
            except IllegalState as error:
                op.emit_by_id(Kind.WARNING, group_id, reason=f"regular expressions could not be stored: {error}")
        return op.take()

    def topic_deleted(self, topic: str, now_us: int) -> list[Effect]:
        """Delete the committed offsets of a deleted topic."""
        self.op.now_us = now_us
        requests.topic_deleted(self.partition, topic)
        return self.op.take()

    def metadata_changed(self, names: Collection[str], now_us: int) -> list[Effect]:
        """Report to the groups that topics were created, changed or deleted; `op.topics` has them already."""
        self.op.now_us = now_us
        for group in self.groups:
            group.metadata_changed(self.op, names)
        return self.op.take()


_RETRY_US = 500_000


@frozen(eq=False)
class TimerWritten:
    """The end of the append of a timer of a consumer group; after a failure it fires again (`CoordinatorTimerImpl`)."""

    timer: Timer

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is not None and error is not ErrorCode.NOT_COORDINATOR:
            self.again(op)

    def again(self, op: Operation) -> None:
        """Set the timer again, to 500 ms."""
        timer = self.timer
        op.set_timer(timer.name, timer.kind, _RETRY_US, timer.group_id, timer.member_id, timer.args)


@frozen(eq=False)
class GroupCreated:
    """The end of the append of a new group's first record; a failure answers the JoinGroup that created it."""

    group: ClassicGroup
    call: CallToken

    def __call__(self, op: Operation, error: ErrorCode | None) -> None:
        if error is None:
            return
        for member in self.group.lookup.values():
            if member.join_call is self.call:
                member.join_call = ANSWERED
                op.reply(self.call, JoinGroupResponse(append_error(error)))


_HANDLERS: Mapping[type[Any], Callable[[Shard, Arrival, Any], None]] = {
    JoinGroupRequest: Shard._of_group,
    SyncGroupRequest: Shard._of_group,
    HeartbeatRequest: Shard._of_group,
    LeaveGroupRequest: Shard._of_group,
    ConsumerGroupHeartbeatRequest: Shard._of_group,
    OffsetCommitRequest: Shard._commit,
    OffsetFetchRequest: Shard._fetch,
    OffsetDeleteRequest: Shard._delete_offsets,
    DeleteGroupsRequest: Shard._delete_groups,
    TxnOffsetCommitRequest: Shard._commit_in_transaction,
    WriteTxnMarkersRequest: Shard._end_transactions,
}
