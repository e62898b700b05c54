"""The states of a member under the consumer group protocol, and which state may follow which.

A classic member is in a rebalance or not. A member here has a state of its own, because it converges on its target
alone: it reconciles while its group is stable for all others. Two actors change the state: the application's thread,
which runs the listener's callbacks inside `poll`, and the background thread, which sends heartbeats and handles their
answers. The table says from which states each state may be entered; a change that is not in it is a defect of this
package, and raises RuntimeError, as the Java client throws IllegalStateException.

Source: `MemberState` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class MemberState(StrEnum):
    """The states of `MemberState`, by Kafka's names."""

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    PREPARE_LEAVING = "PREPARE_LEAVING"
    LEAVING = "LEAVING"
    STALE = "STALE"
    FATAL = "FATAL"

    @property
    def meaning(self) -> str:
        """What the member does in this state."""
        return _MEANINGS[self]


_S = MemberState

#: State → the states from which it may be entered, in Kafka's order.
PREDECESSORS: Final[Mapping[MemberState, tuple[MemberState, ...]]] = {
    _S.UNSUBSCRIBED: (_S.PREPARE_LEAVING, _S.LEAVING, _S.FENCED),
    _S.JOINING: (_S.FENCED, _S.UNSUBSCRIBED, _S.STALE),
    _S.RECONCILING: (_S.STABLE, _S.JOINING, _S.ACKNOWLEDGING, _S.RECONCILING),
    _S.ACKNOWLEDGING: (_S.RECONCILING,),
    _S.STABLE: (_S.JOINING, _S.ACKNOWLEDGING, _S.RECONCILING),
    _S.FENCED: (_S.JOINING, _S.STABLE, _S.RECONCILING, _S.ACKNOWLEDGING, _S.PREPARE_LEAVING, _S.LEAVING),
    _S.PREPARE_LEAVING: (_S.JOINING, _S.STABLE, _S.RECONCILING, _S.ACKNOWLEDGING, _S.UNSUBSCRIBED),
    _S.LEAVING: (_S.PREPARE_LEAVING,),
    _S.STALE: (_S.LEAVING,),
    _S.FATAL: (
        _S.JOINING,
        _S.STABLE,
        _S.RECONCILING,
        _S.ACKNOWLEDGING,
        _S.PREPARE_LEAVING,
        _S.LEAVING,
        _S.UNSUBSCRIBED,
    ),
}

_MEANINGS: Final[Mapping[MemberState, str]] = {
    _S.UNSUBSCRIBED: "not in the group; the first state",
    _S.JOINING: "its heartbeat has epoch 0 and all fields",
    _S.RECONCILING: "its target differs from what it has reconciled",
    _S.ACKNOWLEDGING: "it has reconciled, and the next heartbeat reports what it owns",
    _S.STABLE: "nothing to do but heartbeats",
    _S.FENCED: "expelled: it calls back for lost partitions, then joins again; no heartbeats",
    _S.PREPARE_LEAVING: "it calls back before it leaves; heartbeats go on",
    _S.LEAVING: "the heartbeat that leaves is to be sent",
    _S.STALE: "left by max.poll.interval.ms; no heartbeats until the application polls",
    _S.FATAL: "ended by an error that poll throws; no heartbeats",
}

#: No heartbeats are sent in these states (`shouldSkipHeartbeat`); none of them is in the group (`isNotInGroup`).
OUTSIDE: Final = frozenset({_S.UNSUBSCRIBED, _S.FATAL, _S.STALE, _S.FENCED})
#: A heartbeat is sent without a wait for the interval (`shouldHeartbeatNow`).
AT_ONCE: Final = frozenset({_S.ACKNOWLEDGING, _S.LEAVING, _S.JOINING})
#: `isLeavingGroup`.
ON_THE_WAY_OUT: Final = frozenset({_S.PREPARE_LEAVING, _S.LEAVING})
#: A new assignment is taken in the states from which RECONCILING may be entered (`canHandleNewAssignment`).
TAKES_ASSIGNMENT: Final = frozenset(PREDECESSORS[_S.RECONCILING])


def may_follow(before: MemberState, after: MemberState) -> bool:
    """Whether a member in one state may enter another; a state may always follow itself."""
    return before is after or before in PREDECESSORS[after]
