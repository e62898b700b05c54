"""The states of a transactional id and their transitions.

A transaction begins when its first partition is added (Ongoing), and ends in two steps. First the decision is written
to `__transaction_state` (PrepareCommit, PrepareAbort); after that it is final. Then markers are sent to all partitions
of the transaction, and when all are written the completion is recorded (CompleteCommit, CompleteAbort). A new
coordinator finds the decision in the log and sends the markers again.

A state changes when its record is committed. Until then the next state is *pending*, and other requests get
CONCURRENT_TRANSACTIONS. PrepareEpochFence is never written: in it the coordinator itself aborts a transaction under a
higher epoch, which fences the producer.

Source: `TransactionState`, `TransactionMetadata`; KIP-98, KIP-360.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class TxnState(IntEnum):
    """The state of a transactional id; the log has the number."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def printed(self) -> str:
        """The name that Kafka's tools print."""
        return "".join(part.capitalize() for part in self.name.split("_"))


_S = TxnState
VALID_BEFORE: Mapping[TxnState, frozenset[TxnState]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset({_S.ONGOING, _S.PREPARE_EPOCH_FENCE}),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}
"""Each state, and the states that it may follow."""

PREPARED = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
AT_REST = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})


class IllegalTransition(Exception):
    """The coordinator attempted a transition that the table does not have."""


def check(before: TxnState, after: TxnState) -> None:
    """Check a transition. Raises IllegalTransition if the table does not have it."""
    if before not in VALID_BEFORE[after]:
        known = ", ".join(sorted(state.printed for state in VALID_BEFORE[after]))
        raise IllegalTransition(f"{after.printed} cannot follow {before.printed}; it can follow: {known}")
