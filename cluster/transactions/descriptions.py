"""ListTransactions and DescribeTransactions on a transaction coordinator (KIP-664).

Source: `TransactionCoordinator` (handleListTransactions, handleDescribeTransactions),
`TransactionStateManager.listTransactionStates`; KIP-664, KIP-994, KIP-1152.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupsim.cluster.transactions.records import Txn
from groupsim.cluster.transactions.states import TxnState
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.operator import (
    DescribedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from groupsim.protocol.patterns import InvalidPattern, compile_pattern

_STATES = {state.printed: state for state in TxnState}


def list_transactions(request: ListTransactionsRequest, known: Iterable[Txn], now_ms: int) -> ListTransactionsResponse:
    """Return the transactional ids that match the filters, in the order given."""
    matches = _matcher(request.pattern)
    if matches is None:
        return ListTransactionsResponse(ErrorCode.INVALID_REGULAR_EXPRESSION)
    unknown = tuple(name for name in request.states if name not in _STATES)
    states = [_STATES[name] for name in request.states if name in _STATES]
    if request.states and not states:
        return ListTransactionsResponse(unknown_states=unknown)

    def is_wanted(txn: Txn) -> bool:
        if txn.state is TxnState.DEAD or (states and txn.state not in states):
            return False
        if request.producer_ids and txn.producer_id not in request.producer_ids:
            return False
        if request.longer_than_ms >= 0 and now_ms - txn.start_ms <= request.longer_than_ms:
            return False
        return matches(txn.transactional_id)

    found = tuple((txn.transactional_id, txn.producer_id, txn.state.printed) for txn in known if is_wanted(txn))
    return ListTransactionsResponse(ErrorCode.NONE, unknown, found)


def _matcher(pattern: str | None) -> Callable[[str], bool] | None:
    """Return the test whether a whole id matches the pattern; None for an invalid pattern."""
    if not pattern:
        return lambda name: True
    try:
        return compile_pattern(pattern)
    except InvalidPattern:
        return None


def describe_transaction(txn: Txn) -> DescribedTransaction:
    """Describe one transactional id."""
    return DescribedTransaction(
        txn.transactional_id,
        ErrorCode.NONE,
        txn.state.printed,
        txn.timeout_ms,
        txn.start_ms,
        txn.producer_id,
        txn.producer_epoch,
        tuple(sorted(txn.partitions)),
    )
