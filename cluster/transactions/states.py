"""The states of a transactional id, as data.

A transactional id lives through transactions one after the other. Each begins when the first partition is named
(Ongoing), and ends in two steps: the decision is written to `__transaction_state` (PrepareCommit, PrepareAbort), from
when on it stands, whatever dies; then markers go to all partitions that took part, and when every one is written the
end is recorded (CompleteCommit, CompleteAbort). A coordinator that takes over finds the decision in the log and sends
the markers again.

Nothing changes state before its record is committed: until then the next state is *pending*, and whoever asks for
something else is told CONCURRENT_TRANSACTIONS. PrepareEpochFence is never written: it is the moment in which the
coordinator itself ends a transaction, under an epoch one higher, so that the producer that had it is fenced.

Source: `TransactionState`, `TransactionMetadata`; KIP-98, KIP-360.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class TxnState(IntEnum):
    """Where a transactional id is; the number stands in the log."""

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
        """The name Kafka's tools print."""
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
"""Each state, and the states it may follow."""

PREPARED = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
AT_REST = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})


class IllegalTransition(Exception):
    """The coordinator was about to do what it holds impossible."""


def check(before: TxnState, after: TxnState) -> None:
    """Raises IllegalTransition when the table has no such way."""
    if before not in VALID_BEFORE[after]:
        known = ", ".join(sorted(state.printed for state in VALID_BEFORE[after]))
        raise IllegalTransition(f"{after.printed} cannot follow {before.printed}; it can follow: {known}")
