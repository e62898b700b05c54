"""The classic group as one kind of group: the entry points through which a partition drives it.

Every kind (the KIP-848 consumer group will be another) is a class with these methods, listed in `kinds.Group`. Nothing
outside asks which kind a group is.
"""

from __future__ import annotations

from attrs import define

from groupsim.coordinator.commit import commit_error, keep_session, txn_commit_error
from groupsim.coordinator.describing import describe, listed
from groupsim.coordinator.effects import CallToken
from groupsim.coordinator.expiry import ExpiryRule, expiry_rule
from groupsim.coordinator.group import GroupData
from groupsim.coordinator.heartbeat import heartbeat, session_expired
from groupsim.coordinator.join import join
from groupsim.coordinator.leave import leave
from groupsim.coordinator.loading import loaded, unloaded, vanished
from groupsim.coordinator.purgatory import ANSWERED
from groupsim.coordinator.rebalance import close_no_round, complete_join, initial_timer_fired, prepare
from groupsim.coordinator.snapshot import GroupSnapshot, snapshot
from groupsim.coordinator.states import AWAITING_SYNC, DEAD, EMPTY, PREPARING_REBALANCE, STABLE, Cause, Reason
from groupsim.coordinator.sync import sync, sync_timer_fired
from groupsim.coordinator.timers import Timer, TimerKind
from groupsim.coordinator.turn import Turn
from groupsim.coordinator.validation import Arrival
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    DescribedGroup,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListedGroup,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from groupsim.protocol.txn_messages import TxnOffsetCommitRequest


@define(eq=False)
class ClassicGroup(GroupData):
    """A group of the classic protocol."""

    def join(self, turn: Turn, arrival: Arrival, request: JoinGroupRequest) -> None:
        join(turn, self, arrival, request)

    def sync(self, turn: Turn, call: CallToken, request: SyncGroupRequest) -> None:
        sync(turn, self, call, request)

    def heartbeat(self, turn: Turn, call: CallToken, request: HeartbeatRequest) -> None:
        heartbeat(turn, self, call, request)

    def leave(self, turn: Turn, call: CallToken, request: LeaveGroupRequest) -> None:
        leave(turn, self, call, request)

    def answered_otherwise(self, call: CallToken) -> None:
        """The sender of what is parked has been told of an error; it counts as parked still."""
        for member in self.lookup.values():
            if member.join_call is call:
                member.join_call = ANSWERED
            if member.sync_call is call:
                member.sync_call = ANSWERED

    def timer_fired(self, turn: Turn, timer: Timer) -> None:
        """One of the group's own timers fired."""
        if timer.kind is TimerKind.SESSION:
            session_expired(turn, self, timer.member_id)
        elif timer.kind is TimerKind.SYNC:
            sync_timer_fired(turn, self, timer.args[0])
        elif self.state is not PREPARING_REBALANCE:
            close_no_round(self)
        elif timer.kind is TimerKind.INITIAL_JOIN:
            initial_timer_fired(turn, self, *timer.args)
        else:
            complete_join(turn, self)

    # --- offsets -------------------------------------------------------------------------------------------------

    def commit_error(self, turn: Turn, request: OffsetCommitRequest) -> ErrorCode | None:
        """Why the sender may not commit offsets now; None when it may."""
        return commit_error(turn, self, request)

    def txn_commit_error(self, turn: Turn, request: TxnOffsetCommitRequest) -> ErrorCode | None:
        """Why the sender may not commit offsets in its transaction now; None when it may."""
        return txn_commit_error(turn, self, request)

    def keep_session(self, turn: Turn, member_id: str) -> None:
        """A commit was accepted: it keeps the member's session where Kafka lets it."""
        keep_session(turn, self, member_id)

    def expiry_rule(self, turn: Turn) -> ExpiryRule | None:
        """From when the group's offsets count their retention; None when none of them may expire now."""
        return expiry_rule(turn, self)

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def is_dead(self) -> bool:
        return self.state is DEAD

    # --- administration ------------------------------------------------------------------------------------------

    def describe(self) -> DescribedGroup:
        return describe(self)

    def listed(self) -> ListedGroup:
        return listed(self)

    def snapshot(self, turn: Turn) -> GroupSnapshot:
        """Everything there is to know of the group, as a value."""
        return snapshot(self, turn)

    def force_rebalance(self, turn: Turn, words: str) -> bool:
        """Open a round as if a member's metadata had changed; False where there is none to open.

        Kafka has no such request: an operator makes an application rejoin (`enforceRebalance`), with this effect.
        """
        if self.state not in (STABLE, AWAITING_SYNC):
            return False
        prepare(turn, self, Reason(Cause.UPDATE_META, words))
        return True

    # --- life of the partition -----------------------------------------------------------------------------------

    def loaded(self, turn: Turn) -> None:
        """The partition was loaded: sessions begin anew."""
        loaded(turn, self)

    def unloaded(self, turn: Turn) -> None:
        """The partition is given up: whatever is parked is answered NOT_COORDINATOR."""
        unloaded(turn, self)

    def vanished(self, turn: Turn) -> None:
        """The append that made the group failed: it is no more, and nobody will answer what is parked."""
        vanished(turn, self)
