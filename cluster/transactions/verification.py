"""Whether offsets that are committed in a transaction belong to one that is under way (KIP-890).

The leader of a partition of `__consumer_offsets` asks the coordinator of the transaction before it writes to the
partition for the first time in it; a group is not looked at before that. So what comes late, when the transaction has
been ended, or was never told of the group, is refused instead of pending for ever.

Here the coordinator is looked at rather than asked: no time passes, and no message is lost. While nobody coordinates
the id, or a broker older than 4.0 is modelled, nothing is verified.

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
"""From this version on the broker adds the partition to the transaction itself."""


class VerifyingLogs(Protocol):
    """This broker's logs."""

    def log(self, partition: TopicPartition) -> PartitionLog | None: ...


class Verification:
    """What one broker verifies. `coordinator_of` finds the coordinator of a transactional id, None: nobody is."""

    def __init__(self, logs: VerifyingLogs, coordinator_of: Callable[[str], TransactionCoordinator | None]) -> None:
        self._logs = logs
        self._coordinator_of = coordinator_of

    @staticmethod
    def is_done_by(broker_version: tuple[int, ...]) -> bool:
        """Whether a broker of this release verifies."""
        return broker_version >= _SINCE

    def __call__(self, request: TxnOffsetCommitRequest, partition: TopicPartition) -> ErrorCode:
        """Why offsets may not be written to this partition in their transaction; NONE when they may."""
        if request.version >= _ADDS_ITSELF_SINCE or self._is_under_way(request, partition):
            return ErrorCode.NONE
        coordinator = self._coordinator_of(request.transactional_id)
        if coordinator is None:
            return ErrorCode.NONE
        who = request.transactional_id, request.producer_id, request.producer_epoch
        error = coordinator.verify(*who, partition)
        if error is ErrorCode.TRANSACTION_ABORTABLE and request.version < _ABORTABLE_SINCE:
            return ErrorCode.INVALID_TXN_STATE
        return error

    def _is_under_way(self, request: TxnOffsetCommitRequest, partition: TopicPartition) -> bool:
        """Whether the producer has written to the partition in its open transaction."""
        log = self._logs.log(partition)
        entry = None if log is None else log.producers.entries.get(request.producer_id)
        return entry is not None and entry.transaction >= 0 and entry.epoch == request.producer_epoch
