"""A test bench for one partition's core: explicit requests, explicit time, a log that commits on command.

    bench = Bench()
    first = bench.join("a")                      # parked
    bench.advance_ms(3_000)                      # the initial rebalance delay
    assert first.response.generation_id == 1

`Bench` is the only layer between a test and the sans-IO core. It fires due timers in the right order when time
advances, stores the committed records, and collects answers and trace events. Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from attrs import evolve, field

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import Append, CancelTimer, Drop, Effect, Emit, Park, Resolve, SetTimer
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.operation import Arrival
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.records import Loaded
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.coordinator.base.topics import NO_TOPICS
from groupsim.coordinator.consumer.assignment.resolution import resolve
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
    Request,
    Response,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupsim.protocol.messages.transactions import (
    OffsetInTxn,
    TxnMarker,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from groupsim.protocol.values import define

GROUP = "g"
RANGE = (JoinProtocol("range", b""),)
HANDSHAKE_FREE = 3
"""The newest JoinGroup version without the member id handshake."""


@define(eq=False)
class Sent:
    """One request on the bench and its outcome. `responses` holds every answer: more than one is a bug."""

    request: Request
    client_id: str = "client"
    client_host: str = "/127.0.0.1"
    correlation: int = 0
    responses: list[Response] = field(factory=list)
    parked: str | None = None
    dropped: str | None = None

    @property
    def response(self) -> Response:
        """The answer. Raises AssertionError when there is none yet, or more than one."""
        assert len(self.responses) == 1, f"{len(self.responses)} answers to {self.request}"
        return self.responses[0]

    @property
    def answered(self) -> bool:
        return bool(self.responses)

    @property
    def error(self) -> ErrorCode:
        """The answer's top-level error."""
        error = self.response.error  # type: ignore[union-attr]
        assert isinstance(error, ErrorCode)
        return error

    @property
    def joined(self) -> JoinGroupResponse:
        """The answer as a JoinGroupResponse."""
        assert isinstance(self.response, JoinGroupResponse)
        return self.response

    @property
    def synced(self) -> SyncGroupResponse:
        """The answer as a SyncGroupResponse."""
        assert isinstance(self.response, SyncGroupResponse)
        return self.response


class Bench:
    """A loaded partition. `auto_commit=False` keeps appends in flight until `commit` or `fail_append`."""

    def __init__(
        self,
        config: CoordinatorConfig | None = None,
        *,
        auto_commit: bool = True,
        records: Iterable[Loaded] = (),
        now_us: int = 0,
        partition: int = 0,
        topics: TopicsImage = NO_TOPICS,
    ) -> None:
        self.config = config or CoordinatorConfig()
        self.auto_commit = auto_commit
        self.now_us = now_us
        self.log: list[Loaded] = list(records)
        self.sent: list[Sent] = []
        self.emitted: list[Emit] = []
        self.timer_events: list[SetTimer | CancelTimer] = []
        self.in_flight: list[Append] = []
        self.resolutions: list[Resolve] = []
        self._ids = count(1)
        self.shard = Shard(partition, self.config, count(1).__next__, topics=topics)
        self.carry_out(self.shard.load(self.log, now_us))

    # --- requests ----------------------------------------------------------------------------------------------------

    def send(
        self, request: Request, *, client_id: str = "client", host: str = "/127.0.0.1", fresh_id: str | None = None
    ) -> Sent:
        """Send any group request. Without `fresh_id` ids are `<client or instance id>-1`, `-2` …"""
        sent = Sent(request, client_id, host, len(self.sent) + 1)
        self.sent.append(sent)
        if fresh_id is None and isinstance(request, JoinGroupRequest) and not request.member_id:
            fresh_id = f"{request.group_instance_id or client_id}-{next(self._ids)}"
        arrival = Arrival(sent, client_id, host, fresh_id or "")
        self.carry_out(self.shard.handle(arrival, request, self.now_us))
        return sent

    def join(
        self,
        client_id: str = "client",
        *,
        member_id: str = "",
        instance: str | None = None,
        protocols: tuple[JoinProtocol, ...] = RANGE,
        session_ms: int = 45_000,
        rebalance_ms: int = 300_000,
        version: int = HANDSHAKE_FREE,
        protocol_type: str = "consumer",
        reason: str | None = None,
        group: str = GROUP,
        fresh_id: str | None = None,
    ) -> Sent:
        """Send a JoinGroup, by default one that needs no handshake (static members get version 5 at least)."""
        if instance is not None:
            version = max(version, 5)
        request = JoinGroupRequest(
            group, session_ms, rebalance_ms, member_id, instance, protocol_type, protocols, reason, version
        )
        return self.send(request, client_id=client_id, fresh_id=fresh_id)

    def rejoin(self, earlier: Sent, **changes: Any) -> Sent:
        """Send an earlier JoinGroup again with the member id its answer gave."""
        request = earlier.request
        assert isinstance(request, JoinGroupRequest)
        return self.send(
            evolve(request, **{"member_id": earlier.joined.member_id, **changes}), client_id=earlier.client_id
        )

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        group: str = GROUP,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Sent:
        """Send a SyncGroup; with `assignments` as the leader does."""
        given = tuple(SyncAssignment(member, data) for member, data in (assignments or {}).items())
        return self.send(SyncGroupRequest(group, generation, member_id, instance, protocol_type, protocol_name, given))

    def heartbeat(self, member_id: str, generation: int, *, instance: str | None = None, group: str = GROUP) -> Sent:
        """Send a Heartbeat."""
        return self.send(HeartbeatRequest(group, generation, member_id, instance))

    def leave(self, *member_ids: str, group: str = GROUP, reason: str | None = None) -> Sent:
        """Send one LeaveGroup for these members."""
        return self.send(LeaveGroupRequest(group, tuple(LeavingMember(m, reason=reason) for m in member_ids)))

    def remove_instances(self, *instances: str, group: str = GROUP) -> Sent:
        """Send one LeaveGroup that removes static members by instance id, like an administrator."""
        return self.send(LeaveGroupRequest(group, tuple(LeavingMember("", instance) for instance in instances)))

    def commit_offset(
        self,
        offset: int,
        *,
        member_id: str = "",
        generation: int = -1,
        topic: str = "t",
        partition: int = 0,
        group: str = GROUP,
        metadata: str = "",
        version: int = 9,
        retention_ms: int = -1,
        instance: str | None = None,
    ) -> Sent:
        """Send an OffsetCommit of one partition; by default from outside the group."""
        entry = OffsetToCommit(TopicPartition(topic, partition), offset, metadata=metadata)
        return self.send(OffsetCommitRequest(group, (entry,), generation, member_id, instance, retention_ms, version))

    def commit_in_transaction(
        self,
        offset: int,
        *,
        producer_id: int = 7,
        producer_epoch: int = 0,
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        topic: str = "t",
        partition: int = 0,
        group: str = GROUP,
        metadata: str = "",
        version: int = 5,
    ) -> Sent:
        """Send a TxnOffsetCommit of one partition; by default of a producer that is not a member."""
        entry = OffsetInTxn(TopicPartition(topic, partition), offset, metadata=metadata)
        request = TxnOffsetCommitRequest(
            f"txn-{producer_id}", group, producer_id, producer_epoch, (entry,), generation, member_id, instance, version
        )
        return self.send(request)

    def end_transaction(self, committed: bool, *, producer_id: int = 7) -> Sent:
        """End a producer's transaction in this partition."""
        here = TopicPartition(OFFSETS_TOPIC, self.shard.partition.number)
        marker = TxnMarker(producer_id, 0, committed, (here,))
        return self.send(WriteTxnMarkersRequest((marker,)))

    def fetch_offsets(self, *partitions: TopicPartition, stable: bool = True, group: str = GROUP) -> Sent:
        """Send an OffsetFetch for these partitions, or for all."""
        return self.send(OffsetFetchRequest(group, partitions or None, stable))

    def change_topics(self, topics: TopicsImage, *names: str) -> None:
        """Give the broker another view of the topics, in which these were created, changed or deleted."""
        self.shard.op.topics = topics
        self.carry_out(self.shard.metadata_changed(names, self.now_us))

    # --- time and log ------------------------------------------------------------------------------------------------

    def advance_ms(self, duration_ms: int) -> None:
        """Advance the time; timers that come due fire in order."""
        self.advance_to(self.now_us + 1_000 * duration_ms)

    def advance_to(self, until_us: int) -> None:
        """Advance the time to this instant, included."""
        while (timer := self.shard.next_timer) is not None and timer.due_us <= until_us:
            self.now_us = max(self.now_us, timer.due_us)
            self.carry_out(self.shard.fire(timer, self.now_us))
        self.now_us = until_us

    def commit(self, appends: int | None = None) -> None:
        """Commit the oldest appends under way, all of them by default."""
        for _ in range(len(self.in_flight) if appends is None else appends):
            self._finish(None)

    def fail_append(self, error: ErrorCode = ErrorCode.NOT_ENOUGH_REPLICAS) -> None:
        """Fail the oldest append under way."""
        self._finish(error)

    def refuse_append(self, error: ErrorCode = ErrorCode.INVALID_PRODUCER_EPOCH) -> None:
        """Fail the newest append under way: the log refused it while earlier appends are still uncommitted."""
        self._finish(error, -1)

    def _finish(self, error: ErrorCode | None, which: int = 0) -> None:
        append = self.in_flight.pop(which)
        if error is None:
            self.log += append.records
        self.carry_out(self.shard.append_done(append.append_id, error, self.now_us))

    def fail_over(self, *, committed_only: bool = True) -> Bench:
        """Resign, and return a bench that has loaded the log (`committed_only=False`: and the appends under way)."""
        records = [*self.log]
        if not committed_only:
            records += [record for append in self.in_flight for record in append.records]
        self.carry_out(self.shard.unload(self.now_us))
        topics = self.shard.op.topics
        return Bench(self.config, auto_commit=self.auto_commit, records=records, now_us=self.now_us, topics=topics)

    def resolve(self) -> None:
        """Finish the resolutions of regular expressions that are under way."""
        for effect in self.resolutions[:]:
            self.resolutions.remove(effect)
            results = resolve(effect.regexes, self.shard.op.topics, self.now_us)
            self.carry_out(self.shard.resolved(effect.group_id, effect.member_id, results, self.now_us))

    def carry_out(self, effects: list[Effect]) -> None:
        """Execute the effects; with `auto_commit` an append is committed once all of them are executed."""
        for effect in effects:
            if isinstance(effect, tuple):
                call, response = effect
                _sent(call).responses.append(response)
            elif isinstance(effect, Park):
                _sent(effect.call).parked = effect.condition
            elif isinstance(effect, Drop):
                _sent(effect.call).dropped = effect.why
            elif isinstance(effect, Append) and not effect.append_id:  # no caller waits for its end
                self.log += effect.records
            elif isinstance(effect, Append):
                self.in_flight.append(effect)
            elif isinstance(effect, Resolve):
                self.resolutions.append(effect)
            elif isinstance(effect, Emit):
                self.emitted.append(effect)
            else:
                self.timer_events.append(effect)
        if self.auto_commit and self.in_flight:
            self._finish(None)

    # --- inspection --------------------------------------------------------------------------------------------------

    def snapshot(self, group: str = GROUP) -> GroupSnapshot:
        """Return the group as a value. Raises AssertionError when there is none."""
        found = self.shard.snapshot(group)
        assert found is not None, f"no group {group}"
        return found

    @property
    def state(self) -> str:
        """The state of the group `g`, as Kafka prints it."""
        return self.snapshot().state

    def timers(self) -> dict[str, int]:
        """Every running timer and its deadline in milliseconds from now."""
        return {timer.name: (timer.due_us - self.now_us) // 1_000 for timer in self.shard.op.timers}

    def states(self, group: str = GROUP) -> list[tuple[str | None, str | None, str | None]]:
        """Return every change of state so far: from, to, cause code."""
        changes = [event for event in self.emitted if event.kind is Kind.GROUP_STATE and event.group_id == group]
        return [(event.from_, event.to, (event.payload or {}).get("cause_code")) for event in changes]

    # --- shortcuts ---------------------------------------------------------------------------------------------------

    def stable(self, *client_ids: str, **join: Any) -> list[str]:
        """Form a stable group of these clients (no handshake); returns their member ids, leader first."""
        sent = [self.join(client_id, **join) for client_id in client_ids]
        self.finish_round()
        assert all(one.error is ErrorCode.NONE for one in sent), [one.response for one in sent]
        self.assign()
        members = [one.joined.member_id for one in sent]
        leader = self.snapshot().leader
        return sorted(members, key=lambda member: member != leader)

    def finish_round(self) -> None:
        """Advance the time until the open round closes. Raises AssertionError after 20 timers in vain."""
        for _ in range(20):
            if self.state != "PreparingRebalance":
                return
            timer = self.shard.op.timers.get(f"join-{GROUP}")
            assert timer is not None, "an open round has its timer"
            self.advance_to(timer.due_us)
        raise AssertionError("the round does not close")

    def assign(self) -> list[Sent]:
        """Send SyncGroup for every member, the leader last, with each member's id as its assignment."""
        group = self.snapshot()
        plan = {member.member_id: member.member_id.encode() for member in group.members}
        order = sorted(plan, key=lambda member_id: member_id == group.leader)
        return [self.sync(m, group.generation, plan if m == group.leader else None) for m in order]


def offsets_of(sent: Sent) -> dict[TopicPartition, int]:
    """Return partitions and offsets of the answer to an OffsetFetch."""
    assert isinstance(sent.response, OffsetFetchResponse)
    return {fetched.partition: fetched.offset for fetched in sent.response.offsets}


def left(sent: Sent) -> list[ErrorCode]:
    """Return the errors, member by member, of the answer to a LeaveGroup."""
    assert isinstance(sent.response, LeaveGroupResponse)
    return [member.error for member in sent.response.members]


def committed(sent: Sent) -> list[ErrorCode]:
    """Return the errors, partition by partition, of the answer to an OffsetCommit."""
    assert isinstance(sent.response, OffsetCommitResponse)
    return [error for _, error in sent.response.partitions]


def committed_in_transaction(sent: Sent) -> list[ErrorCode]:
    """Return the errors, partition by partition, of the answer to a TxnOffsetCommit, or to a transaction's end."""
    if isinstance(sent.response, WriteTxnMarkersResponse):
        return [error for _, results in sent.response.markers for _, error in results]
    assert isinstance(sent.response, TxnOffsetCommitResponse)
    return [error for _, error in sent.response.results]


def unstable(sent: Sent) -> list[TopicPartition]:
    """Return the partitions that an OffsetFetch answers with UNSTABLE_OFFSET_COMMIT."""
    assert isinstance(sent.response, OffsetFetchResponse)
    return [one.partition for one in sent.response.offsets if one.error is ErrorCode.UNSTABLE_OFFSET_COMMIT]


def _sent(call: object) -> Sent:
    assert isinstance(call, Sent)
    return call
