"""A fault that waited for a message and met none: the test holds as well without it, and may be a test of nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from groupsim.cluster.network.faults import AnswerError, Break, DelayResponse, HoldResponse, LoseResponse
from groupsim.cluster.network.injection import FaultHandle


class FaultStruckNothing(UserWarning):
    """An injected fault had nothing to strike. Those of links are left out: they may do their work by lasting."""


def warn_of_unstruck(faults: Iterable[FaultHandle]) -> None:
    """Warn of each of these faults that had nothing to strike."""
    for handle in faults:
        fault = handle.fault
        if handle.hits or not isinstance(fault, LoseResponse | DelayResponse | HoldResponse | AnswerError | Break):
            continue
        met = f"of {handle.seen} that matched" if handle.seen else "nothing matched"
        warnings.warn(f"a fault struck nothing: {fault} ({met})", FaultStruckNothing, stacklevel=2)
