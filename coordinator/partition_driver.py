"""A broker's leadership of one partition of `__consumer_offsets`: a core, and its effects carried out.

Everything the core says becomes something here: answers go to their calls, records to the log, timers to the loop,
notes to the trace. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.effects import Append, CancelTimer, Drop, Effect, Note, Park, SetTimer
from groupsim.coordinator.base.interfaces import AppendRefused, LoadFailed, Log, OutOfSync
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.records import GroupRecord, Record, TransactionEnd
from groupsim.coordinator.base.timers import Timer, TimerKind
from groupsim.coordinator.classic.states import IllegalState
from groupsim.coordinator.classic.validation import Arrival
from groupsim.coordinator.loop_timers import Alarms
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
    Kind.OFFSET_EXPIRED,
    Kind.WARNING,
    Kind.REQUEST_PARKED,
    Kind.REQUEST_DROPPED,
)
_SILENT_TIMERS = (TimerKind.WRITE_TIMEOUT, TimerKind.EXPIRY)
# Looked up once: members of an enumeration are found slowly, and these are for every request.
_TIMER_SET, _PARKED = Kind.TIMER_SET, Kind.REQUEST_PARKED
_APPENDED, _APPEND_DONE = Kind.RECORD_APPENDED, Kind.APPEND_DONE


class Leadership:
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
        out_of_sync: Callable[[Leadership, str], None] | None = None,
    ) -> None:
        self.partition = partition
        self.epoch = epoch
        self.active = False
        self.load_handle: Handle | None = None
        self.load_us = 0
        self._out_of_sync = out_of_sync or _nobody_reloads
        self._loop = loop
        self._host = host
        self._log = log
        self._config = config
        self._trace = loop.trace
        self._empty_since_us: int | None = None

    @cached_property
    def shard(self) -> Shard:
        """The core. Of an empty partition it is made when something is asked of it: most partitions have no group."""
        will_want = self._trace.will_want
        noting = any(will_want(kind) for kind in _OUR_KINDS)
        shard = Shard(
            self.partition, self._config, self._loop.ticket, noting=noting, every_move=will_want(Kind.TIMER_SET)
        )
        if self._empty_since_us is not None:
            shard.load((), self._empty_since_us)
        return shard

    @cached_property
    def _alarms(self) -> Alarms:
        return Alarms(self._loop, self._host, self._fire)

    @property
    def _is_untouched(self) -> bool:
        """Whether the partition is empty, and nothing has been asked of it: it has nothing to give up or delete."""
        return "shard" not in self.__dict__

    # --- inputs --------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the partition and take its groups over. Raises LoadFailed, with nothing taken over."""
        records = self._log.read(self.partition)
        if not records:
            self._empty_since_us = self._loop.now_us
            self.active = True
            return
        try:
            effects = self.shard.load(records, self._loop.now_us)
        except IllegalState as error:
            raise LoadFailed(f"{OFFSETS_TOPIC}-{self.partition} holds a group that cannot be: {error}") from error
        self.active = True
        self._carry_out(effects)

    def say(self, reason: str) -> None:
        """Something about the partition as a whole, for the trace."""
        if self._trace.wants(Kind.WARNING):
            self._trace.emit(
                Kind.WARNING, host=self._host.name, topic=OFFSETS_TOPIC, partition=self.partition, reason=reason
            )

    def unload(self) -> None:
        """Give the groups up."""
        if self.load_handle is not None:
            self._host.cancel(self.load_handle)
        self.active = False
        if not self._is_untouched:
            self._carry_out(self.shard.unload(self._loop.now_us))

    def handle(self, arrival: Arrival, request: Request) -> None:
        """Handle a request in the core."""
        self._carry_out(self.shard.handle(arrival, request, self._loop.now_us))

    def force_rebalance(self, group_id: str, words: str) -> bool:
        """Open a round of a group; False when none can be opened."""
        opened, effects = self.shard.force_rebalance(group_id, words, self._loop.now_us)
        self._carry_out(effects)
        return opened

    def forget(self, group_id: str, words: str) -> bool:
        """Lose a group; False when there is none."""
        gone, effects = self.shard.forget(group_id, words, self._loop.now_us)
        self._carry_out(effects)
        return gone

    def topic_deleted(self, topic: str) -> None:
        """A topic is gone."""
        if not self._is_untouched:
            self._carry_out(self.shard.topic_deleted(topic, self._loop.now_us))

    def _fire(self, timer: Timer) -> None:
        if self._trace.wants(Kind.TIMER_FIRED) and timer.kind not in _SILENT_TIMERS:
            seq = self._emit_timer(Kind.TIMER_FIRED, timer, cause=timer.cause)
            self._trace.begin(seq)
        self._carry_out(self.shard.fire(timer, self._loop.now_us))

    def _appended(self, effect: Append, error: ErrorCode | None) -> None:
        if self.shard.closed:
            return
        if self._trace.wants(_APPEND_DONE):
            seq = self._trace.emit(
                _APPEND_DONE,
                self._host.name,
                topic=OFFSETS_TOPIC,
                partition=self.partition,
                error=None if error is None else error.name,
                payload={"append": effect.append_id},
            )
            self._trace.begin(seq)
        self._carry_out(self.shard.append_done(effect.append_id, error, self._loop.now_us))

    # --- effects -------------------------------------------------------------------------------------------------

    def _carry_out(self, effects: list[Effect]) -> None:
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
            self._alarms.set(timer)

    def _cancel_timer(self, effect: CancelTimer) -> None:
        timer = effect.timer
        if self._trace.wants(Kind.TIMER_CANCELLED) and timer.kind not in _SILENT_TIMERS:
            self._emit_timer(Kind.TIMER_CANCELLED, timer)
        if not timer.running:
            self._alarms.stop(timer)

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
        done = partial(self._appended, effect) if effect.append_id else _nothing_waits
        try:
            self._log.append(self.partition, effect.records, done, effect.within_ms)
        except OutOfSync as error:
            self._out_of_sync(self, str(error))
        except AppendRefused as refused:
            cause = self._trace.cause
            self._appended(effect, refused.error)
            self._trace.cause = cause

    def _note(self, effect: Note) -> None:
        topic, partition, payload = effect.topic, effect.partition, effect.payload
        if effect.kind is Kind.GROUP_LOADED:  # which election the load followed
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


def _nothing_waits(error: ErrorCode | None) -> None:
    """An append has ended that nothing waits for."""


def _nobody_reloads(led: Leadership, why: str) -> None:
    raise OutOfSync(why)


def summary(record: Record) -> dict[str, Any]:
    """A record in a few words: type, key, and what of its value one wants to see (None: a tombstone)."""
    if isinstance(record, GroupRecord):
        value = record.value
        brief = None if value is None else {"generation": value.generation, "members": len(value.members)}
        return {"type": "group", "key": record.group_id, "value": brief}
    if isinstance(record, TransactionEnd):
        end = "committed" if record.committed else "aborted"
        return {"type": "transaction-end", "key": record.producer.producer_id, "value": end}
    offset = None if record.value is None else record.value.offset
    brief_offset = {"type": "offset", "key": f"{record.group_id}/{record.partition}", "value": offset}
    return brief_offset if record.producer is None else {**brief_offset, "producer_id": record.producer.producer_id}


_CARRIERS: Mapping[type[Any], Callable[[Leadership, Any], None]] = {
    Park: Leadership._park,
    Drop: Leadership._drop,
    SetTimer: Leadership._set_timer,
    CancelTimer: Leadership._cancel_timer,
    Append: Leadership._append,
    Note: Leadership._note,
}
