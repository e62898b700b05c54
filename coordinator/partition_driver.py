"""The driver of one partition of `__consumer_offsets` that the broker leads: it executes the effects of the core.

Answers go to their calls, records to the log, timers to the loop, events to the trace. The driver decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial
from itertools import chain
from typing import Any

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_records import (
    ConsumerRecord,
    CurrentRecord,
    EpochRecord,
    MemberRecord,
    RegexRecord,
    TargetEpochRecord,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.consumer_serde import key_end
from groupsim.coordinator.base.effects import Append, CancelTimer, Drop, Effect, Emit, Park, Resolve, SetTimer
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.group_configs import GroupConfigs
from groupsim.coordinator.base.interfaces import (
    NO_SETTINGS,
    AppendRefused,
    GroupSettings,
    LoadFailed,
    Log,
    OutOfSync,
    TopicsImage,
)
from groupsim.coordinator.base.operation import Arrival
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.records import GroupRecord, OffsetRecord, Record, TransactionEnd
from groupsim.coordinator.base.timers import Timer, TimerKind
from groupsim.coordinator.base.topics import NO_TOPICS
from groupsim.coordinator.consumer.assignment.resolution import Resolution
from groupsim.coordinator.loop_timers import LoopTimers
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.interface import EventLoop, Handle, Host
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request

_OUR_KINDS = (
    Kind.GROUP_STATE,
    Kind.MEMBER_PENDING,
    Kind.MEMBER_ADDED,
    Kind.MEMBER_UPDATED,
    Kind.MEMBER_REPLACED,
    Kind.MEMBER_REMOVED,
    Kind.MEMBER_FENCED,
    Kind.LEADER_ELECTED,
    Kind.GROUP_LOADED,
    Kind.GROUP_UNLOADED,
    Kind.GROUP_DELETED,
    Kind.GROUP_CONVERTED,
    Kind.EPOCH_BUMPED,
    Kind.TARGET_COMPUTED,
    Kind.MEMBER_EPOCH,
    Kind.REGEX_RESOLVED,
    Kind.OFFSET_EXPIRED,
    Kind.WARNING,
    Kind.REQUEST_PARKED,
    Kind.REQUEST_DROPPED,
)
_RESOLUTION_US = 1_000
"""The time in which regular expressions are resolved; in Kafka it grows with the number of topics."""
_SILENT_TIMERS = (TimerKind.WRITE_TIMEOUT, TimerKind.EXPIRY)
LOAD, UNLOAD = "load", "unload"
"""What an inspector is given for a partition that is loaded or unloaded; for other inputs, their arguments."""

# Looked up once: access to a member of an enumeration is slow, and every request needs these.
_TIMER_SET, _PARKED = Kind.TIMER_SET, Kind.REQUEST_PARKED
_APPENDED, _APPEND_DONE = Kind.RECORD_APPENDED, Kind.APPEND_DONE


class PartitionDriver:
    """One partition led in one epoch; `active` once it is loaded."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        log: Log,
        config: CoordinatorConfig,
        partition: int,
        epoch: int,
        *,
        topics: TopicsImage = NO_TOPICS,
        settings: GroupSettings = NO_SETTINGS,
        out_of_sync: Callable[[PartitionDriver, str], None] | None = None,
    ) -> None:
        self.partition = partition
        self.epoch = epoch
        self.active = False
        self.load_handle: Handle | None = None
        self.load_us = 0
        self._out_of_sync = out_of_sync or _raise_out_of_sync
        self._loop = loop
        self._host = host
        self._log = log
        self._config = config
        self._topics = topics
        self._settings = settings
        self._trace = loop.trace
        self._empty_since_us: int | None = None

    @cached_property
    def shard(self) -> Shard:
        """The core. An empty partition creates it with the first request: most partitions have no group."""
        will_want = self._trace.will_want
        tracing = any(will_want(kind) for kind in _OUR_KINDS)
        shard = Shard(
            self.partition,
            self._config,
            self._loop.ticket,
            tracing=tracing,
            every_move=will_want(Kind.TIMER_SET),
            topics=self._topics,
        )
        shard.op.group_configs = GroupConfigs(self._config, self._settings)
        if self._empty_since_us is not None:
            shard.load((), self._empty_since_us)
        return shard

    @cached_property
    def _loop_timers(self) -> LoopTimers:
        return LoopTimers(self._loop, self._host, self._fire)

    @property
    def _is_untouched(self) -> bool:
        """Whether the partition is empty and had no request: there is nothing to unload or delete."""
        return "shard" not in self.__dict__

    # --- inputs ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Load the partition's groups. Raises LoadFailed, and loads none."""
        records = iter(self._log.read(self.partition))
        first = next(records, None)
        if first is None:
            self._empty_since_us = self._loop.now_us
            self.active = True
            return
        try:
            effects = self.shard.load(chain((first,), records), self._loop.now_us)
        except IllegalState as error:
            raise LoadFailed(f"{OFFSETS_TOPIC}-{self.partition} holds a group in an invalid state: {error}") from error
        self.active = True
        self._carry_out(effects, LOAD)

    def warn(self, reason: str) -> None:
        """Emit a warning about the partition as a whole."""
        if self._trace.wants(Kind.WARNING):
            self._trace.emit(
                Kind.WARNING, host=self._host.name, topic=OFFSETS_TOPIC, partition=self.partition, reason=reason
            )

    def unload(self) -> None:
        """Unload the groups."""
        if self.load_handle is not None:
            self._host.cancel(self.load_handle)
        self.active = False
        if not self._is_untouched:
            self._carry_out(self.shard.unload(self._loop.now_us), UNLOAD)

    def has_consumer_group(self, group_id: str) -> bool:
        """Whether the partition has a consumer group of that id with members."""
        return self.active and not self._is_untouched and self.shard.has_consumer_group(group_id)

    def handle(self, arrival: Arrival, request: Request) -> None:
        """Handle a request in the core."""
        self._carry_out(self.shard.handle(arrival, request, self._loop.now_us), arrival, request)

    def force_rebalance(self, group_id: str, reason: str) -> bool:
        """Open a round of a group; return False when none can be opened."""
        opened, effects = self.shard.force_rebalance(group_id, reason, self._loop.now_us)
        self._carry_out(effects)
        return opened

    def forget(self, group_id: str, reason: str) -> bool:
        """Lose a group; return False when there is none."""
        gone, effects = self.shard.forget(group_id, reason, self._loop.now_us)
        self._carry_out(effects)
        return gone

    def topic_deleted(self, topic: str) -> None:
        """Delete the offsets of a deleted topic."""
        if not self._is_untouched:
            self._carry_out(self.shard.topic_deleted(topic, self._loop.now_us))

    def metadata_changed(self, names: Collection[str]) -> None:
        """Report changed topics to the groups."""
        if not self._is_untouched:
            self._carry_out(self.shard.metadata_changed(names, self._loop.now_us))

    def _fire(self, timer: Timer) -> None:
        if self._trace.wants(Kind.TIMER_FIRED) and timer.kind not in _SILENT_TIMERS:
            seq = self._emit_timer(Kind.TIMER_FIRED, timer, cause=timer.cause)
            self._trace.begin(seq)
        self._carry_out(self.shard.fire(timer, self._loop.now_us), timer)

    def _appended(self, effect: Append, error: ErrorCode | None) -> None:
        if self.shard.closed:
            return
        if self._trace.wants(_APPEND_DONE):
            # fmt: off
            self._trace.cause = self._trace.emit(
                _APPEND_DONE, self._host.name, None, None, None, OFFSETS_TOPIC, self.partition,
                None, None, None if error is None else error.name,
                None, None, None, None, None, {"append": effect.append_id},
            )
            # fmt: on
        self._carry_out(self.shard.append_done(effect.append_id, error, self._loop.now_us), effect.append_id, error)

    # --- effects -----------------------------------------------------------------------------------------------------

    def _carry_out(self, effects: list[Effect], *given: Any) -> None:
        """Execute the effects of an input; an inspector of the run sees them before, with what was given."""
        inspector = self._trace.inspector
        if inspector is not None:
            inspector(self._host.name, self.shard, given, effects)
        for effect in effects:
            if isinstance(effect, tuple):  # a reply, as most are
                effect[0].answer(effect[1])  # type: ignore[attr-defined]
            else:
                _CARRIERS[type(effect)](self, effect)

    def _park(self, effect: Park) -> None:
        if self._trace.wants(_PARKED):
            self._emit_request(_PARKED, effect, effect.condition)

    def _drop(self, effect: Drop) -> None:
        if self._trace.wants(Kind.REQUEST_DROPPED):
            self._emit_request(Kind.REQUEST_DROPPED, effect, effect.why)

    def _emit_request(self, kind: Kind, effect: Park | Drop, reason: str) -> None:
        self._trace.emit(
            kind,
            host=self._host.name,
            group=effect.group_id,
            member=effect.member_id,
            api=effect.api.title,
            correlation=getattr(effect.call, "correlation", None),
            reason=reason,
        )

    def _set_timer(self, effect: SetTimer) -> None:
        timer = effect.timer
        if self._trace.wants(_TIMER_SET) and timer.kind not in _SILENT_TIMERS:
            timer.cause = self._emit_timer(_TIMER_SET, timer, due_us=effect.due_us)
        if timer.running:
            self._loop_timers.set(timer)

    def _cancel_timer(self, effect: CancelTimer) -> None:
        timer = effect.timer
        if self._trace.wants(Kind.TIMER_CANCELLED) and timer.kind not in _SILENT_TIMERS:
            self._emit_timer(Kind.TIMER_CANCELLED, timer)
        if not timer.running:
            self._loop_timers.stop(timer)

    def _emit_timer(self, kind: Kind, timer: Timer, *, cause: int | None = None, due_us: int | None = None) -> int:
        return self._trace.emit(
            kind,
            host=self._host.name,
            group=timer.group_id or None,
            member=timer.member_id or None,
            reason=timer.name,
            cause=cause,
            payload=None if due_us is None else {"due_us": due_us},
        )

    def _append(self, effect: Append) -> None:
        if self._trace.wants(_APPENDED):
            where, host = (OFFSETS_TOPIC, self.partition), self._host.name
            for record in effect.records:
                payload = {"append": effect.append_id, **summary(record)}
                group = None if isinstance(record, TransactionEnd) else record.group_id
                self._trace.emit_of_partition(_APPENDED, host, group, None, None, where, payload)
        else:
            self._trace.pass_over(_APPENDED, len(effect.records))
        done = partial(self._appended, effect) if effect.append_id else _ignore_end
        try:
            self._log.append(self.partition, effect.records, done, effect.within_ms)
        except OutOfSync as error:
            self._out_of_sync(self, str(error))
        except AppendRefused as refused:
            cause = self._trace.cause
            self._appended(effect, refused.error)
            self._trace.cause = cause

    def _resolve(self, effect: Resolve) -> None:
        self._host.call_at(self._loop.now_us + _RESOLUTION_US, self._resolved, (effect, None))

    def _resolved(self, work: tuple[Resolve, Resolution | None]) -> None:
        """Begin or continue a resolution; between its steps other events have their turn."""
        if self.shard.closed:
            return
        effect, under_way = work
        resolution = under_way or Resolution(effect.regexes, self._topics)
        if not resolution.step():
            self._host.call_at(self._loop.now_us, self._resolved, (effect, resolution))
            return
        describable = getattr(effect.call, "describable", None)  # see `DescribesTopics`
        results = resolution.result(self._loop.now_us, describable)
        effects = self.shard.resolved(effect.group_id, effect.member_id, results, self._loop.now_us)
        self._carry_out(effects)

    def _emit(self, effect: Emit) -> None:
        topic, partition, payload = effect.topic, effect.partition, effect.payload
        if effect.kind is Kind.GROUP_LOADED:  # with the epoch of the election that caused the load
            topic, partition, payload = OFFSETS_TOPIC, self.partition, {**(payload or {}), "epoch": self.epoch}
        self._trace.emit(
            effect.kind,
            host=self._host.name,
            group=effect.group_id,
            member=effect.member_id,
            generation=effect.generation,
            from_=effect.from_,
            to=effect.to,
            reason=effect.reason,
            topic=topic,
            partition=partition,
            payload=payload,
        )


def _ignore_end(error: ErrorCode | None) -> None:
    """Ignore the end of an append without a callback."""


def _raise_out_of_sync(driver: PartitionDriver, why: str) -> None:
    raise OutOfSync(why)


def summary(record: Record) -> dict[str, Any]:
    """Return a short form of a record: type, key, and the significant part of its value (None: a tombstone)."""
    if isinstance(record, GroupRecord):
        value = record.value
        brief = None if value is None else {"generation": value.generation, "members": len(value.members)}
        return {"type": "group", "key": record.group_id, "value": brief}
    if isinstance(record, TransactionEnd):
        end = "committed" if record.committed else "aborted"
        return {"type": "transaction-end", "key": record.producer.producer_id, "value": end}
    if not isinstance(record, OffsetRecord):
        return _consumer_summary(record)
    offset = None if record.value is None else record.value.offset
    brief_offset = {"type": "offset", "key": f"{record.group_id}/{record.partition}", "value": offset}
    return brief_offset if record.producer is None else {**brief_offset, "producer_id": record.producer.producer_id}


def _consumer_summary(record: ConsumerRecord) -> dict[str, Any]:
    """Return the short form of a record of a consumer group."""
    name, brief = _BRIEF[type(record)]
    last = key_end(record)
    key = f"{record.group_id}/{last}" if last else record.group_id
    return {"type": name, "key": key, "value": None if record.value is None else brief(record.value)}


_BRIEF: Mapping[type[Any], tuple[str, Callable[[Any], Any]]] = {
    EpochRecord: ("group-epoch", lambda value: value.epoch),
    TopicsRecord: ("group-topics", lambda value: [topic.name for topic in value]),
    MemberRecord: ("member", lambda value: list(value.names)),
    TargetEpochRecord: ("target-epoch", lambda value: value.epoch),
    TargetRecord: ("target", lambda value: sum(map(len, value.values()))),
    CurrentRecord: ("current", lambda value: value.member_epoch),
    RegexRecord: ("regex", lambda value: list(value.topics)),
}
"""The type of each record of a consumer group, and the significant part of its value."""

_CARRIERS: Mapping[type[Any], Callable[[PartitionDriver, Any], None]] = {
    Park: PartitionDriver._park,
    Drop: PartitionDriver._drop,
    SetTimer: PartitionDriver._set_timer,
    Resolve: PartitionDriver._resolve,
    CancelTimer: PartitionDriver._cancel_timer,
    Append: PartitionDriver._append,
    Emit: PartitionDriver._emit,
}
