"""The five states of a classic group, and the transitions between them, as data.

A group works in rounds. In each round every member sends its capabilities and metadata (JoinGroup). One member, the
leader, gets the metadata of all members, computes the assignment and sends it (SyncGroup); the coordinator stores it
and answers each member with its part. The state is the group's position in the round:

    Empty               without members; committed offsets may remain
    PreparingRebalance  the round is open: JoinGroups are *parked*, which means left without an answer
    CompletingRebalance every JoinGroup is answered; the coordinator waits for the leader's SyncGroup and parks the
                        SyncGroups of the others. `State.AWAITING_SYNC` here; `PRINTED` holds Kafka's name
    Stable              the leader's assignment is on the log; members work and send heartbeats
    Dead                this broker no longer coordinates the group

The answers to a JoinGroup that passes the checks (`join`, `static_replacement`):

    state                sender                                answer                              effect
    any                  unknown, without a member id          at once: MEMBER_ID_REQUIRED, an id  rounds wait for it
    any                  new: with that id, or static          parked until the round closes       opens one if none is
    PreparingRebalance   a member                              parked until the round closes       counted as joined
    CompletingRebalance  a member, unchanged                   at once: this generation again      none
    CompletingRebalance  a member, with other metadata         parked                              a new round
    CompletingRebalance  a static member without its id        parked, under a new id              a new round
    Stable               the leader, changed or not            parked                              a new round
    Stable               a follower, unchanged                 at once: this generation again      none
    Stable               a follower, with other metadata       parked                              a new round
    Stable               a static member without its id        this generation, its new id logged  none, if unchanged

So a JoinGroup of a member in CompletingRebalance is either a repetition (the answer was lost), which gets the same
answer, or a change. A change starts a new round: the leader's assignment is worthless, every parked SyncGroup is
answered REBALANCE_IN_PROGRESS (its sender will join again), and the sender of the change is the first of the next
round. A static member that rejoins a Stable group is a change only if the vote now goes to another protocol.

The generation does not change when a round opens: it rises by one in exactly one place, when a round closes
(PreparingRebalance → CompletingRebalance or Empty; see `rebalance`). So heartbeats of the old generation stay valid,
and are answered REBALANCE_IN_PROGRESS, until then.

`TRANSITIONS` holds, for each state, the causes that can end it and the state that follows. Only `GroupData.transition`
changes a state, and only along this table. `canRebalance` is a property of the state: a cause in PreparingRebalance
changes no state, because the round is open already; it can only help to close it.

Sources: `ClassicGroupState`, `ClassicGroup.transitionTo`, `GroupMetadataManager`; classic-protocol reference, 1.1 and
2.4; the codes of causes are those of the log-formats reference, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import Self

from groupsim.coordinator.base.failures import IllegalState
from groupsim.protocol.values import value


class State(Enum):
    """The state of a classic group."""

    DEAD = auto()
    EMPTY = auto()
    PREPARING_REBALANCE = auto()
    AWAITING_SYNC = auto()
    STABLE = auto()

    __hash__ = object.__hash__  # members are singletons; every request reads the tables below

    @property
    def printed(self) -> str:
        """The name Kafka's tools print."""
        return PRINTED[self]


# Module-level names as well: access to a member of an enumeration is slow, and every request needs these.
DEAD, EMPTY, PREPARING_REBALANCE, AWAITING_SYNC, STABLE = State


PRINTED: Mapping[State, str] = {
    State.DEAD: "Dead",
    State.EMPTY: "Empty",
    State.PREPARING_REBALANCE: "PreparingRebalance",
    State.AWAITING_SYNC: "CompletingRebalance",
    State.STABLE: "Stable",
}


class TransitionCause(StrEnum):
    """A cause that ends a state, with its meaning; up to `DOWNGRADED` logged as `Preparing to rebalance group`."""

    _value_: str
    meaning: str

    def __new__(cls, code: str, meaning: str) -> Self:
        """A cause by its code, which is its value."""
        cause = str.__new__(cls, code)
        cause._value_, cause.meaning = code, meaning
        return cause

    ADD_MEMBER = "ADD_MEMBER", "a new member was added"
    LEADER_REJOIN = "LEADER_REJOIN", "the leader sent JoinGroup, whatever it says"
    UPDATE_META = "UPDATE_META", "a member's JoinGroup offers other protocols or metadata"
    STATIC_META = "STATIC_META", "a static member came back while the leader was assigning"
    STATIC_PROTOCOL = "STATIC_PROTOCOL", "a static member came back and the vote goes to another protocol"
    LEAVE_GROUP = "LEAVE_GROUP", "LeaveGroup removed a member or a pending id"
    HEARTBEAT_EXPIRED = "HEARTBEAT_EXPIRED", "a member's session ran out"
    SYNC_EXPIRED = "SYNC_EXPIRED", "members never sent SyncGroup after their JoinGroup was answered"
    STORE_ERROR = "STORE_ERROR", "the leader's assignment could not be written"
    OVER_CAPACITY = "OVER_CAPACITY", "the group was loaded with more members than group.max.size"
    DOWNGRADED = "DOWNGRADED", "the group was a consumer group, and only classic members are left"
    ALL_JOINED = "ALL_JOINED", "the round closed with members"
    ALL_GONE = "ALL_GONE", "the round closed without members"
    ASSIGNMENT_STORED = "ASSIGNMENT_STORED", "the leader's assignment is on the log"
    UNLOADED = "UNLOADED", "the broker gave the partition up"


_ROUND_OPENS = State.PREPARING_REBALANCE

TRANSITIONS: Mapping[State, Mapping[TransitionCause, State]] = {
    State.EMPTY: {
        TransitionCause.ADD_MEMBER: _ROUND_OPENS,
        TransitionCause.UNLOADED: State.DEAD,
    },
    State.PREPARING_REBALANCE: {
        TransitionCause.ALL_JOINED: State.AWAITING_SYNC,
        TransitionCause.ALL_GONE: State.EMPTY,
        TransitionCause.UNLOADED: State.DEAD,
    },
    State.AWAITING_SYNC: {
        TransitionCause.ASSIGNMENT_STORED: State.STABLE,
        TransitionCause.ADD_MEMBER: _ROUND_OPENS,
        TransitionCause.UPDATE_META: _ROUND_OPENS,
        TransitionCause.STATIC_META: _ROUND_OPENS,
        TransitionCause.LEAVE_GROUP: _ROUND_OPENS,
        TransitionCause.HEARTBEAT_EXPIRED: _ROUND_OPENS,
        TransitionCause.SYNC_EXPIRED: _ROUND_OPENS,
        TransitionCause.STORE_ERROR: _ROUND_OPENS,
        TransitionCause.UNLOADED: State.DEAD,
    },
    State.STABLE: {
        TransitionCause.ADD_MEMBER: _ROUND_OPENS,
        TransitionCause.LEADER_REJOIN: _ROUND_OPENS,
        TransitionCause.UPDATE_META: _ROUND_OPENS,
        TransitionCause.STATIC_PROTOCOL: _ROUND_OPENS,
        TransitionCause.LEAVE_GROUP: _ROUND_OPENS,
        TransitionCause.HEARTBEAT_EXPIRED: _ROUND_OPENS,
        TransitionCause.SYNC_EXPIRED: _ROUND_OPENS,
        TransitionCause.OVER_CAPACITY: _ROUND_OPENS,
        TransitionCause.DOWNGRADED: _ROUND_OPENS,
        TransitionCause.UNLOADED: State.DEAD,
    },
    State.DEAD: {
        TransitionCause.UNLOADED: State.DEAD,
    },
}

CAN_REBALANCE: frozenset[State] = frozenset(
    state for state, ways in TRANSITIONS.items() if _ROUND_OPENS in ways.values()
)


NO_REASON = "not provided"
"""Replaces the reason of a client that gives none for its join or leave (KIP-800)."""


@value
class Reason:
    """The reason for a change of state: the cause, Kafka's text, the member that caused it, and its client's reason."""

    cause: TransitionCause
    text: str
    member_id: str | None = None
    client_reason: str | None = None


def can_rebalance(state: State) -> bool:
    """Whether a new round can be opened from here (`ClassicGroup.canRebalance`)."""
    return state in CAN_REBALANCE


def next_state(state: State, cause: TransitionCause) -> State:
    """Return the state that follows `state` after `cause`.

    Raises IllegalState when the table has no such transition, as `ClassicGroup.transitionTo` does.
    """
    following = TRANSITIONS[state].get(cause)
    if following is None:
        known = ", ".join(TRANSITIONS[state])
        raise IllegalState(f"{cause} cannot end the state {state.printed}; causes that can: {known}")
    return following
