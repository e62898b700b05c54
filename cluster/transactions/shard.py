"""The core: the transactional ids of one partition of `__transaction_state`, without input, output or clock.

Inputs are requests, results of appends, written markers, and the two periodic checks (timed-out transactions, ids
unused for a week), each with `now_ms`. Outputs are effects. An id has a committed `Txn` and at most one *pending* one,
whose record is being appended; requests that would change a pending id get CONCURRENT_TRANSACTIONS.

    InitProducerId   new id: epoch 0. At rest: epoch + 1 (a request with an epoch needs the current one, or repeats the
                     last bump). Ongoing: the transaction is aborted under epoch + 1, and the client has to retry.
                     No epoch left: a new producer id at epoch 0.
    AddPartitions    → Ongoing, with these partitions added; nothing is written if all were added before
    EndTxn           → Prepare…; when that is committed, the request is answered and the markers are sent
    markers written  → Complete…

This is transaction version 1: the epoch is the same in consecutive transactions (see docs/fidelity.md).

Source: `TransactionCoordinator`, `TransactionMetadata`, `TransactionStateManager.appendTransactionToLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from groupsim.cluster.transactions.effects import Append, CallToken, Changed, Effect, Reply, SendMarkers
from groupsim.cluster.transactions.records import Txn
from groupsim.cluster.transactions.states import AT_REST, PREPARED, TxnState, check
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import EndTxnRequest, InitProducerIdRequest, InitProducerIdResponse
from groupsim.protocol.values import define

LARGEST_EPOCH = 2**15 - 1
_S = TxnState

APPEND_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
}
"""The client's error for a failed append; for all others UNKNOWN_SERVER_ERROR (`appendTransactionToLog`)."""


@define
class Entry:
    """One transactional id. Before its first record is written, `committed` has epoch -1."""

    committed: Txn
    pending: Txn | None = None
    failed_fence: bool = False

    @property
    def exhausted(self) -> bool:
        """Whether the producer id has no epoch left; the last one is for fencing (`isProducerEpochExhausted`)."""
        return self.committed.producer_epoch >= LARGEST_EPOCH - 1


@define
class _PendingAppend:
    """An append in progress; `done` is called with its result."""

    transactional_id: str
    txn: Txn | None
    reason: str
    done: Callable[[ErrorCode], None]


class Shard:
    """One partition. Every input returns its effects in order."""

    def __init__(self, fresh_producer_id: Callable[[], int], max_timeout_ms: int) -> None:
        self.entries: dict[str, Entry] = {}
        self._fresh_producer_id = fresh_producer_id
        self._max_timeout_ms = max_timeout_ms
        self._appends: dict[int, _PendingAppend] = {}
        self._last_append = 0
        self._effects: list[Effect] = []

    def _take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    # --- loading ---------------------------------------------------------------------------------------------

    def load(self, transactional_id: str, txn: Txn | None) -> None:
        """Replay one record; the last record of an id counts."""
        if txn is None:
            self.entries.pop(transactional_id, None)
        else:
            self.entries[transactional_id] = Entry(txn)

    def loaded(self, now_ms: int) -> list[Effect]:
        """Finish the replay: send the markers of decided transactions again, as the end may not be complete."""
        for entry in self.entries.values():
            if entry.committed.state in PREPARED:
                self._complete(entry, now_ms)
        return self._take_effects()

    # --- requests --------------------------------------------------------------------------------------------

    def init_producer_id(self, call: CallToken, request: InitProducerIdRequest, now_ms: int) -> list[Effect]:
        """Handle InitProducerId with a transactional id."""
        name = request.transactional_id or ""
        entry = self.entries.get(name)
        if not 0 < request.transaction_timeout_ms <= self._max_timeout_ms:
            self._refuse_init(call, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        elif entry is None:
            txn = Txn(name, self._fresh_producer_id(), -1, request.transaction_timeout_ms, update_ms=now_ms)
            entry = self.entries[name] = Entry(txn)
            self._bump(call, entry, request, now_ms)
        elif entry.pending is not None or entry.committed.state in PREPARED:
            self._refuse_init(call, ErrorCode.CONCURRENT_TRANSACTIONS)
        elif request.producer_id >= 0 and not _is_known_producer(entry.committed, request):
            self._refuse_init(call, ErrorCode.PRODUCER_FENCED)
        elif entry.committed.state is _S.ONGOING:
            self._fence(entry, now_ms, "another producer was initialised", lambda error: self._fenced(call, error))
        else:
            self._bump(call, entry, request, now_ms)
        return self._take_effects()

    def _refuse_init(self, call: CallToken, error: ErrorCode) -> None:
        self._effects.append(Reply(call, InitProducerIdResponse(error)))

    def _fenced(self, call: CallToken, error: ErrorCode) -> None:
        """Answer after an abort was decided: the client has to retry until the abort is complete."""
        self._refuse_init(call, error or ErrorCode.CONCURRENT_TRANSACTIONS)

    def _bump(self, call: CallToken, entry: Entry, request: InitProducerIdRequest, now_ms: int) -> None:
        txn = entry.committed
        named = request.producer_epoch if request.producer_id >= 0 else None
        if entry.exhausted and named in (None, txn.producer_epoch):
            following = evolve(
                txn,
                producer_id=self._fresh_producer_id(),
                previous_producer_id=txn.producer_id,
                producer_epoch=0,
                last_epoch=-1 if named is None else txn.producer_epoch,
            )
        elif named is None or txn.producer_epoch == -1 or named == txn.producer_epoch:
            last = -1 if named is None else txn.producer_epoch
            following = evolve(txn, producer_epoch=txn.producer_epoch + 1, last_epoch=last)
        elif named == txn.last_epoch:
            following = txn  # a retry: the response to the last bump was lost (KIP-360)
        else:
            self._refuse_init(call, ErrorCode.PRODUCER_FENCED)
            return
        following = evolve(
            following,
            state=_S.EMPTY,
            partitions=(),
            start_ms=-1,
            update_ms=now_ms,
            timeout_ms=request.transaction_timeout_ms,
        )

        def done(error: ErrorCode) -> None:
            good = InitProducerIdResponse(ErrorCode.NONE, following.producer_id, following.producer_epoch)
            self._effects.append(Reply(call, InitProducerIdResponse(error) if error else good))

        self._write(entry, following, "initialised", done)

    def add_partitions(
        self,
        name: str,
        producer_id: int,
        epoch: int,
        partitions: tuple[TopicPartition, ...],
        now_ms: int,
        done: Callable[[ErrorCode], None],
    ) -> list[Effect]:
        """Handle AddPartitionsToTxn and AddOffsetsToTxn; `done` is called with the error, perhaps at once."""
        entry = self.entries.get(name)
        error = self._stale(entry, producer_id, epoch)
        if error or entry is None:
            done(error)
        elif entry.pending is not None or entry.committed.state in PREPARED:
            done(ErrorCode.CONCURRENT_TRANSACTIONS)
        elif entry.committed.state is _S.ONGOING and set(partitions) <= set(entry.committed.partitions):
            done(ErrorCode.NONE)
        else:
            txn = entry.committed
            more = tuple(sorted({*txn.partitions, *partitions}))
            start_ms = now_ms if txn.state in AT_REST else txn.start_ms
            following = evolve(txn, state=_S.ONGOING, partitions=more, start_ms=start_ms, update_ms=now_ms)
            self._write(entry, following, "partitions added", done)
        return self._take_effects()

    def verify(self, name: str, producer_id: int, epoch: int, partition: TopicPartition) -> ErrorCode:
        """Return the error for a partition that is not in the open transaction, as for a leader (KIP-890)."""
        entry = self.entries.get(name)
        error = self._stale(entry, producer_id, epoch)
        # Producers expect this error for a stale epoch in a Produce (`AddPartitionsToTxnManager`).
        if error is ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if error or entry is None:
            return error
        if entry.pending is not None or entry.committed.state in PREPARED:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        there = entry.committed.state is _S.ONGOING and partition in entry.committed.partitions
        return ErrorCode.NONE if there else ErrorCode.TRANSACTION_ABORTABLE

    def _stale(self, entry: Entry | None, producer_id: int, epoch: int) -> ErrorCode:
        if entry is None or entry.committed.producer_id != producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return ErrorCode.NONE if entry.committed.producer_epoch == epoch else ErrorCode.PRODUCER_FENCED

    def end(self, request: EndTxnRequest, now_ms: int, done: Callable[[ErrorCode], None]) -> list[Effect]:
        """Handle EndTxn; `done` is called with the error, perhaps at once."""
        entry = self.entries.get(request.transactional_id)
        error = self._stale(entry, request.producer_id, request.producer_epoch)
        if error or entry is None:
            done(error)
        elif entry.pending is not None:
            done(ErrorCode.CONCURRENT_TRANSACTIONS)
        elif entry.committed.state is _S.ONGOING:
            self._decide(entry, request.committed, now_ms, "asked for by the producer", done)
        else:
            done(_repeated(entry.committed.state, request.committed))
        return self._take_effects()

    # --- ending a transaction --------------------------------------------------------------------------------

    def _decide(
        self, entry: Entry, committed: bool, now_ms: int, reason: str, done: Callable[[ErrorCode], None]
    ) -> None:
        state = _S.PREPARE_COMMIT if committed else _S.PREPARE_ABORT
        following = evolve(entry.committed, state=state, update_ms=now_ms)

        def decided(error: ErrorCode) -> None:
            done(error)
            if not error:
                self._complete(entry, now_ms)

        self._write(entry, following, reason, decided)

    def _fence(self, entry: Entry, now_ms: int, reason: str, done: Callable[[ErrorCode], None]) -> None:
        """Abort under a higher epoch, which fences the current producer.

        If the record cannot be written, the higher epoch stays and is not raised by the next attempt
        (`TransactionMetadata.hasFailedEpochFence`).
        """
        txn = entry.committed
        check(txn.state, _S.PREPARE_EPOCH_FENCE)
        epoch = txn.producer_epoch if entry.failed_fence else txn.producer_epoch + 1
        entry.committed = evolve(txn, producer_epoch=epoch, last_epoch=-1)

        def fenced(error: ErrorCode) -> None:
            if error:
                entry.failed_fence = True
            done(error)

        self._decide(entry, False, now_ms, reason, fenced)

    def _complete(self, entry: Entry, now_ms: int) -> None:
        """Send the markers; the completion is pending until they are written."""
        txn = entry.committed
        committed = txn.state is _S.PREPARE_COMMIT
        state = _S.COMPLETE_COMMIT if committed else _S.COMPLETE_ABORT
        entry.failed_fence = False
        entry.pending = evolve(txn, state=state, partitions=(), update_ms=now_ms)
        self._effects.append(
            SendMarkers(txn.transactional_id, txn.producer_id, txn.producer_epoch, committed, txn.partitions)
        )

    def markers_written(self, transactional_id: str, now_ms: int) -> list[Effect]:
        """Write the completion after all markers; retried while too few replicas are in sync."""
        entry = self.entries[transactional_id]
        assert entry.pending is not None
        following = evolve(entry.pending, update_ms=now_ms)
        entry.pending = None

        def done(error: ErrorCode) -> None:
            if error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self._write(entry, following, "markers written", done, again=True)

        self._write(entry, following, "markers written", done)
        return self._take_effects()

    # --- time ------------------------------------------------------------------------------------------------

    def abort_timed_out(self, now_ms: int) -> list[Effect]:
        """Abort timed-out transactions, and fence their producers."""
        for entry in self.entries.values():
            if entry.pending is None and _runs_out_ms(entry.committed) < now_ms:
                self._fence(entry, now_ms, "transaction.timeout.ms ran out", lambda error: None)
        return self._take_effects()

    def next_timeout_ms(self) -> int | None:
        """Return when the first open transaction times out; None without one."""
        due = [_runs_out_ms(entry.committed) for entry in self.entries.values() if entry.pending is None]
        soonest = min(due, default=_NEVER)
        return None if soonest >= _NEVER else soonest

    def expire_ids(self, now_ms: int, expiration_ms: int) -> list[Effect]:
        """Expire ids at rest that were unused for `expiration_ms`, with a tombstone each."""
        for name, entry in list(self.entries.items()):
            txn = entry.committed
            if entry.pending is None and txn.state in AT_REST and txn.update_ms + expiration_ms <= now_ms:
                entry.pending = evolve(txn, state=_S.DEAD)
                self._append(_PendingAppend(name, None, "expired", self._nothing))
        return self._take_effects()

    def next_expiry_ms(self, expiration_ms: int) -> int | None:
        """Return when the first id at rest may expire; None without one."""
        due = [
            entry.committed.update_ms + expiration_ms
            for entry in self.entries.values()
            if entry.pending is None and entry.committed.state in AT_REST
        ]
        return min(due, default=None)

    def _nothing(self, error: ErrorCode) -> None:
        """Ignore the result of an append that no request waits for."""

    # --- the log ---------------------------------------------------------------------------------------------

    def _write(
        self, entry: Entry, following: Txn, reason: str, done: Callable[[ErrorCode], None], *, again: bool = False
    ) -> None:
        check(entry.committed.state, following.state)
        entry.pending = following
        self._append(_PendingAppend(following.transactional_id, following, reason, done), again=again)

    def _append(self, writing: _PendingAppend, *, again: bool = False) -> None:
        self._last_append += 1
        self._appends[self._last_append] = writing
        self._effects.append(Append(self._last_append, writing.transactional_id, writing.txn, again))

    def appended(self, append_id: int, error: ErrorCode | None) -> list[Effect]:
        """Handle the result of an append: committed (`error` None) or failed."""
        writing = self._appends.pop(append_id)
        entry = self.entries[writing.transactional_id]
        entry.pending = None
        if error is not None:
            writing.done(APPEND_ERRORS.get(error, ErrorCode.UNKNOWN_SERVER_ERROR))
            return self._take_effects()
        before, after = entry.committed, writing.txn
        if after is None:
            del self.entries[writing.transactional_id]
        else:
            entry.committed = after
        self._effects.append(
            Changed(
                writing.transactional_id,
                before.state.printed,
                _S.DEAD.printed if after is None else after.state.printed,
                (after or before).producer_id,
                (after or before).producer_epoch,
                writing.reason,
            )
        )
        writing.done(ErrorCode.NONE)
        return self._take_effects()


_NEVER = 1 << 62


def _runs_out_ms(txn: Txn) -> int:
    return txn.start_ms + txn.timeout_ms if txn.state is _S.ONGOING else _NEVER


def _is_known_producer(txn: Txn, request: InitProducerIdRequest) -> bool:
    """Whether the request's producer id is, or was, the one of this transactional id."""
    if txn.producer_epoch == -1 or request.producer_id == txn.producer_id:
        return True
    return request.producer_id == txn.previous_producer_id and request.producer_epoch >= LARGEST_EPOCH - 1


def _repeated(state: TxnState, committed: bool) -> ErrorCode:
    """Return the result of an EndTxn without an open transaction: no error for a retry with the same outcome."""
    same = {True: (_S.PREPARE_COMMIT, _S.COMPLETE_COMMIT), False: (_S.PREPARE_ABORT, _S.COMPLETE_ABORT)}[committed]
    if state not in same:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.CONCURRENT_TRANSACTIONS if state in PREPARED else ErrorCode.NONE
