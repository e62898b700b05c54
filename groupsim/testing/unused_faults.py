"""The warning for a fault that affected no message: the test passes without it too, and may test nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from groupsim.cluster.network.faults import AnswerError, Break, DelayResponse, HoldResponse, LoseResponse
from groupsim.cluster.network.injection import FaultHandle


class FaultStruckNothing(UserWarning):
    """An injected fault affected no message. Faults of links are not reported: they may matter by their duration."""


def warn_of_unstruck(faults: Iterable[FaultHandle]) -> None:
    """Warn of each message fault without a hit."""
    for handle in faults:
        fault = handle.fault
        if handle.hits or not isinstance(fault, LoseResponse | DelayResponse | HoldResponse | AnswerError | Break):
            continue
        met = f"of {handle.seen} that matched" if handle.seen else "nothing matched"
        warnings.warn(f"a fault had no hit: {fault} ({met})", FaultStruckNothing, stacklevel=2)
