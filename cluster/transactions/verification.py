"""Verification that a TxnOffsetCommit belongs to an open transaction (KIP-890).

The leader of a partition of `__consumer_offsets` asks the transaction coordinator before the first write of a
transaction to the partition, and before it checks the group. A late request, after the end of its transaction or
without the group's partition in it, is refused; otherwise its offsets would stay pending for ever.

Here the coordinator is read directly: verification takes no time and no message is lost. Nothing is verified while the
id has no coordinator, or by brokers before 4.0.

Sources: `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`, `AddPartitionsToTxnManager`,
`TransactionCoordinator.handleVerifyPartitionsInTransaction`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.transactions.coordinator import TransactionCoordinator
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest

_SINCE = (4, 0)
_ABORTABLE_SINCE = 4
_ADDS_ITSELF_SINCE = 5
"""From this version on the broker adds the partition to the transaction (KIP-890)."""


class VerifyingLogs(Protocol):
    """Access to the logs of this broker."""

    def log(self, partition: TopicPartition) -> PartitionLog | None: ...


class Verification:
    """The verification of one broker. `coordinator_of` returns the coordinator of a transactional id, or None."""

    def __init__(self, logs: VerifyingLogs, coordinator_of: Callable[[str], TransactionCoordinator | None]) -> None:
        self._logs = logs
        self._coordinator_of = coordinator_of

    @staticmethod
    def is_done_by(broker_version: tuple[int, ...]) -> bool:
        """Whether a broker of this release verifies transactions."""
        return broker_version >= _SINCE

    def __call__(self, request: TxnOffsetCommitRequest, partition: TopicPartition) -> ErrorCode:
        """Return the error if the offsets do not belong to an open transaction with this partition."""
        if request.version >= _ADDS_ITSELF_SINCE or self._is_open(request, partition):
            return ErrorCode.NONE
        coordinator = self._coordinator_of(request.transactional_id)
        if coordinator is None:
            return ErrorCode.NONE
        producer = request.transactional_id, request.producer_id, request.producer_epoch
        error = coordinator.verify(*producer, partition)
        # TRANSACTION_ABORTABLE is unknown to clients before version 4 (KIP-890).
        if error is ErrorCode.TRANSACTION_ABORTABLE and request.version < _ABORTABLE_SINCE:
            return ErrorCode.INVALID_TXN_STATE
        return error

    def _is_open(self, request: TxnOffsetCommitRequest, partition: TopicPartition) -> bool:
        """Whether the producer has written to the partition in its open transaction."""
        log = self._logs.log(partition)
        entry = None if log is None else log.producers.entries.get(request.producer_id)
        return entry is not None and entry.transaction >= 0 and entry.epoch == request.producer_epoch
