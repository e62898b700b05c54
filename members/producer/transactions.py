"""The producer's side of transactions: `Transaction`, the identity of a transactional id.

The states (`STATES`): InitProducerId requests an id (INITIALIZING), then transactions follow each other, READY →
IN_TRANSACTION → COMMITTING or ABORTING → READY. An error that makes a commit impossible leads to ABORTABLE_ERROR, which
only `abort` ends; fencing leads to FATAL_ERROR and ends the producer.

    begin    sends nothing: the transaction begins at the coordinator with its first partition
    send     the first batch of a partition waits for AddPartitionsToTxn, which names all waiting partitions at once
    offsets  AddOffsetsToTxn names the group; TxnOffsetCommit goes to the group's coordinator with member id and
             generation, so that an expelled member cannot commit (KIP-447)
    commit   flush, then EndTxn; abort fails batches never sent, waits for those sent, then EndTxn

One request at a time is in flight to a coordinator. It is repeated after the backoff while the coordinator loads or
ends the last transaction (CONCURRENT_TRANSACTIONS), and after another FindCoordinator when the coordinator moved or
the connection broke.

This is transaction version 1 (KIP-890 part 1): one epoch from InitProducerId on, and AddPartitionsToTxn by the client.
An EndTxn answer with a new id and epoch (version 2) is applied.

Source: `TransactionManager`; KIP-98, KIP-360, KIP-447, KIP-588.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from groupsim.eventloop.units import MS_US
from groupsim.members.interfaces import Disconnected, GroupMetadata, Outcome
from groupsim.members.producer.identity import Idempotent
from groupsim.members.producer.wires import ANY, COORDINATOR
from groupsim.protocol.batch.batch import NO_PRODUCER, NO_SEQUENCE
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Request,
    TopicPartition,
)
from groupsim.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    OffsetInTxn,
    TxnOffsetCommitRequest,
)
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host
    from groupsim.members.producer.accumulator import PartitionQueue, ProducerBatch
    from groupsim.members.producer.settings import ProducerSettings
    from groupsim.members.producer.wires import Wires
    from groupsim.protocol.messages.data import Produced

Done = Callable[[ErrorCode | None], None]
_ADD_PARTITIONS_AGAIN_US = 20 * MS_US
_TXN_KEY = 1


class TxnState(StrEnum):
    """State of the producer (`TransactionManager.State`)."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING = "COMMITTING_TRANSACTION"
    ABORTING = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


_S = TxnState
STATES: Mapping[TxnState, frozenset[TxnState]] = {
    _S.UNINITIALIZED: frozenset(),
    _S.INITIALIZING: frozenset({_S.UNINITIALIZED, _S.COMMITTING, _S.ABORTING}),
    _S.READY: frozenset({_S.INITIALIZING, _S.COMMITTING, _S.ABORTING}),
    _S.IN_TRANSACTION: frozenset({_S.READY}),
    _S.COMMITTING: frozenset({_S.IN_TRANSACTION}),
    _S.ABORTING: frozenset({_S.IN_TRANSACTION, _S.ABORTABLE_ERROR}),
    _S.ABORTABLE_ERROR: frozenset({_S.IN_TRANSACTION, _S.COMMITTING, _S.ABORTABLE_ERROR, _S.INITIALIZING}),
    _S.FATAL_ERROR: frozenset(TxnState),
}
"""Each state, and the states it may follow."""

_OPEN = frozenset({_S.IN_TRANSACTION, _S.COMMITTING, _S.ABORTING, _S.ABORTABLE_ERROR})
_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_ELSEWHERE = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_FENCED = frozenset(
    {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
)
_FATAL = frozenset({*_FENCED, ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TRANSACTION_TIMEOUT})


class WrongState(RuntimeError):
    """A call that the transaction's state does not allow (IllegalStateException)."""


class TxnOwner(Protocol):
    """The process around the transaction."""

    def flush(self, on_done: Callable[[], None]) -> None:
        """Send without lingering; `on_done` is called when all records are settled."""

    def give_up_unsent(self) -> None:
        """Fail batches that were never sent."""

    def _ready(self) -> None:
        """Send what waited."""

    def fenced(self, error: ErrorCode) -> None:
        """End the producer."""


@frozen
class _Asking:
    """One request to a coordinator, made when it is sent; `done` gets its answer."""

    make: Callable[[], Request]
    done: Callable[[Any], None]
    key: str
    key_type: int = _TXN_KEY


class Transaction(Idempotent):
    """The transactions of one producer. Callbacks get None after a success, else the error."""

    transactional = True

    def __init__(self, loop: EventLoop, host: Host, settings: ProducerSettings, wires: Wires, owner: TxnOwner) -> None:
        super().__init__(loop, host, settings, wires, owner._ready)
        assert settings.transactional_id is not None
        self.transactional_id: str = settings.transactional_id
        self.state = _S.UNINITIALIZED
        self.error: ErrorCode | None = None
        self._owner = owner
        self._timeout_ms = settings.transaction_timeout_ms
        self._nodes: dict[tuple[str, int], int] = {}
        self._queue: deque[_Asking] = deque()
        self._busy = False
        self._added: dict[TopicPartition, None] = {}
        self._wanted: dict[TopicPartition, None] = {}
        self._began = False  # the coordinator knows of the transaction
        self._bump_wanted = False
        self._on_ready_once: list[Callable[[], None]] = []

    # --- the application -------------------------------------------------------------------------------------

    @property
    def open(self) -> bool:
        """Whether a transaction is open."""
        return self.state in _OPEN

    def start(self) -> None:
        """`initTransactions`: request id and epoch; an earlier producer with this transactional id is fenced."""
        self._become(_S.INITIALIZING)
        self._initialise()

    def when_ready(self, callback: Callable[[], None]) -> None:
        """Call `callback` once a transaction may begin; at once if it may."""
        if self.state is _S.READY:
            callback()
        else:
            self._on_ready_once.append(callback)

    def begin(self) -> None:
        """`beginTransaction`. Raises WrongState unless READY."""
        self._need("begin", _S.READY)
        self._become(_S.IN_TRANSACTION)

    def commit(self, done: Done) -> None:
        """`commitTransaction`: flush, then commit. Raises WrongState outside a transaction."""
        self._need("commit", _S.IN_TRANSACTION, _S.ABORTABLE_ERROR)
        if self.state is _S.ABORTABLE_ERROR:
            done(self.error)
            return
        self._become(_S.COMMITTING)
        self._owner.flush(lambda: self._flushed(done))

    def abort(self, done: Done) -> None:
        """`abortTransaction`. Raises WrongState outside a transaction."""
        self._need("abort", _S.IN_TRANSACTION, _S.ABORTABLE_ERROR)
        self._become(_S.ABORTING)
        self._wanted.clear()
        self._owner.give_up_unsent()
        self._owner.flush(lambda: self._end(committed=False, done=done))

    def send_offsets(self, offsets: Sequence[OffsetInTxn], group: GroupMetadata, done: Done) -> None:
        """`sendOffsetsToTransaction`. Raises WrongState outside a transaction."""
        self._need("send offsets", _S.IN_TRANSACTION, _S.ABORTABLE_ERROR)
        if self.state is _S.ABORTABLE_ERROR:
            done(self.error)
            return

        def added(answer: Any) -> None:
            if self._good(answer.error, done):
                self._began = True
                self._push(lambda: self._commit_request(tuple(offsets), group), committed, group.group_id, 0)

        def committed(answer: Any) -> None:
            error = next((code for _, code in answer.results if code), ErrorCode.NONE)
            if self._good(error, done):
                done(None)

        self._push(lambda: self._add_offsets(group.group_id), added)

    def _need(self, what: str, *states: TxnState) -> None:
        if self.state not in states:
            wanted = " or ".join(states)
            raise WrongState(f"producer {self.transactional_id}: cannot {what} in state {self.state}; needs {wanted}")

    def _become(self, state: TxnState) -> None:
        if self.state not in STATES[state]:
            raise WrongState(f"producer {self.transactional_id}: no way from {self.state} to {state}")
        self.state = state

    # --- calls by the sender ---------------------------------------------------------------------------------

    def admits(self, queue: PartitionQueue) -> bool:
        if self.state is _S.ABORTABLE_ERROR:  # only retries, so that the sequences have no gap
            return bool(queue.batches) and queue.batches[0].sequence != NO_SEQUENCE
        if self.producer_id == NO_PRODUCER or self.state not in (_S.IN_TRANSACTION, _S.COMMITTING, _S.ABORTING):
            return False
        if queue.partition in self._added:
            return True
        if self.state is not _S.ABORTING and queue.partition not in self._wanted:
            self._wanted[queue.partition] = None
            if len(self._wanted) == 1:  # partitions of the same instant share the request
                self._host.call_at(self._loop.now_us, self._add_wanted)
        return False

    def may_retry(self, queue: PartitionQueue, batch: ProducerBatch, result: Produced) -> bool:
        error = result.error
        if error is ErrorCode.UNKNOWN_PRODUCER_ID and result.log_start_offset == -1:
            return True
        return error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.sequence != queue.acked_sequence + 1

    def failed(self, queue: PartitionQueue, batch: ProducerBatch, error: ErrorCode | None) -> None:
        if batch.sequence != NO_SEQUENCE:
            self._bump_wanted = True

    def batch_settled(self, error: ErrorCode | None) -> None:
        """Handle the end of a batch: a failed one makes the transaction abortable."""
        if error is not None and self.state in (_S.IN_TRANSACTION, _S.COMMITTING):
            self._make_abortable(error)

    def _make_abortable(self, error: ErrorCode) -> None:
        """Make the transaction abortable, and fail unsent batches, for which a commit would wait (`Sender.runOnce`)."""
        self.error = error
        self._become(_S.ABORTABLE_ERROR)
        self._host.call_at(self._loop.now_us, self._give_up_unsent)

    def _give_up_unsent(self, _: Any) -> None:
        if self.state is _S.ABORTABLE_ERROR:
            self._owner.give_up_unsent()

    # --- requests --------------------------------------------------------------------------------------------

    def _initialise(self) -> None:
        self._push(self._init_request, self._initialised)

    def _init_request(self) -> Request:
        return InitProducerIdRequest(self.transactional_id, self._timeout_ms, self.producer_id, self.epoch)

    def _initialised(self, answer: Any) -> None:
        if not self._good(answer.error, None):
            return
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self._ready()

    def _ready(self) -> None:
        self._become(_S.READY)
        self._began, self.error, self._bump_wanted = False, None, False
        self._added.clear()
        self._wanted.clear()
        waiting, self._on_ready_once = self._on_ready_once, []
        for callback in waiting:
            callback()

    def _add_wanted(self, _: Any) -> None:
        partitions = tuple(self._wanted)
        if partitions and self.state in (_S.IN_TRANSACTION, _S.COMMITTING):
            self._push(
                lambda: AddPartitionsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, partitions),
                lambda answer: self._partitions_added(partitions, answer),
            )

    def _partitions_added(self, partitions: tuple[TopicPartition, ...], answer: Any) -> None:
        error = next((code for _, code in answer.results if code), ErrorCode.NONE)
        for partition in partitions:
            self._wanted.pop(partition, None)
        if self._good(error, None):
            self._began = True
            self._added |= dict.fromkeys(partitions)
            if self._wanted:  # added since the request was made
                self._add_wanted(None)
            self._on_ready()

    def _add_offsets(self, group_id: str) -> Request:
        return AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group_id)

    def _commit_request(self, offsets: tuple[OffsetInTxn, ...], group: GroupMetadata) -> Request:
        return TxnOffsetCommitRequest(
            self.transactional_id,
            group.group_id,
            self.producer_id,
            self.epoch,
            offsets,
            group.generation_id,
            group.member_id,
            group.group_instance_id,
        )

    def _flushed(self, done: Done) -> None:
        if self.state is _S.COMMITTING:
            self._end(committed=True, done=done)
        else:
            done(self.error)

    def _end(self, *, committed: bool, done: Done) -> None:
        """Send EndTxn, unless the coordinator does not know the transaction."""
        if not self._began:
            self._ended(done)
            return

        def ended(answer: Any) -> None:
            if self._good(answer.error, done):
                if answer.producer_id >= 0:
                    self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
                self._ended(done)

        self._push(lambda: EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, committed), ended)

    def _ended(self, done: Done) -> None:
        """End the transaction; after a batch of unknown fate request a new epoch first (KIP-360)."""
        if self._bump_wanted:
            self._become(_S.INITIALIZING)
            self._on_ready_once.append(lambda: done(None))
            self._initialise()
            return
        self._ready()
        done(None)

    def _good(self, error: ErrorCode, done: Done | None) -> bool:
        """Classify the error of an answer: a fatal one ends the producer, another makes the transaction abortable."""
        if not error:
            return True
        if error in _FATAL:
            self.error = ErrorCode.PRODUCER_FENCED if error in _FENCED else error
            self.state = _S.FATAL_ERROR
            self._owner.fenced(self.error)
        elif self.state in (_S.IN_TRANSACTION, _S.COMMITTING):
            self._make_abortable(error)
        if done is not None:
            done(self.error or error)
        return False

    # --- the coordinators ------------------------------------------------------------------------------------

    def _push(
        self, make: Callable[[], Request], done: Callable[[Any], None], key: str | None = None, key_type: int = _TXN_KEY
    ) -> None:
        self._queue.append(_Asking(make, done, self.transactional_id if key is None else key, key_type))
        self._next(None)

    def _next(self, _: Any) -> None:
        if self._busy or not self._queue or self.state is _S.FATAL_ERROR:
            return
        self._busy = True
        self._try(None)

    def _try(self, _: Any) -> None:
        asking = self._queue[0]
        node = self._nodes.get((asking.key, asking.key_type))
        if node is None:
            self._find(asking)
        elif wait_us := self._wires.wait_us(node, COORDINATOR):
            self._try_in(wait_us)
        else:
            self._wires.ask(node, COORDINATOR, asking.make(), self._take_answer)

    def _find(self, asking: _Asking) -> None:
        node = self._wires.any_node()
        if node < 0:
            self._try_in(self._waits.next_us())
            return
        request = FindCoordinatorRequest(asking.key, key_type=asking.key_type)
        self._wires.ask(node, ANY, request, self._found)

    def _found(self, outcome: Outcome) -> None:
        asking = self._queue[0]
        if isinstance(outcome, FindCoordinatorResponse) and not outcome.error:
            self._nodes[asking.key, asking.key_type] = outcome.node
            self._try(None)
        else:
            self._try_in(self._waits.next_us())

    def _try_in(self, wait_us: int) -> None:
        self._host.call_at(self._loop.now_us + wait_us, self._try)

    def _take_answer(self, outcome: Outcome) -> None:
        asking = self._queue[0]
        error = ErrorCode.NOT_COORDINATOR if isinstance(outcome, Disconnected) else _error_of(outcome)
        if error in _ELSEWHERE:
            self._nodes.pop((asking.key, asking.key_type), None)
            self._try_in(self._waits.next_us())
            return
        if error in _AGAIN:
            # Without a partition yet, `AddPartitionsToTxnHandler` retries after 20 ms: the last transaction is about
            # to end (KAFKA-5482).
            first = error is ErrorCode.CONCURRENT_TRANSACTIONS and not self._began and self.open
            self._try_in(_ADD_PARTITIONS_AGAIN_US if first else self._waits.next_us())
            return
        self._waits.reset()
        self._queue.popleft()
        self._busy = False
        asking.done(outcome)
        self._next(None)


def _error_of(answer: Any) -> ErrorCode:
    """Return the error of an answer; the first one, if it has one per partition."""
    results = getattr(answer, "results", None)
    if results is not None:
        return next((code for _, code in results if code), ErrorCode.NONE)
    error: ErrorCode = answer.error
    return error
