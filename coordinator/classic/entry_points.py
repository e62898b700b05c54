"""The classic group as one kind of group: the entry points through which a partition drives it.

An entry point with a module of its own is a function there that takes the group first, so that it is a method here.

Every kind (the KIP-848 consumer group will be another) is a class with these methods, listed in `kinds.Group`. Nothing
outside asks which kind a group is.
"""

from __future__ import annotations

from attrs import define

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.timers import Timer, TimerKind
from groupsim.coordinator.classic.commit import commit_error, keep_session, txn_commit_error
from groupsim.coordinator.classic.describe import describe, listed
from groupsim.coordinator.classic.expiry import expiry_rule
from groupsim.coordinator.classic.group import GroupData
from groupsim.coordinator.classic.heartbeat import heartbeat, session_expired
from groupsim.coordinator.classic.join import join
from groupsim.coordinator.classic.leave import leave
from groupsim.coordinator.classic.load import loaded, unloaded, vanished
from groupsim.coordinator.classic.operation import Turn
from groupsim.coordinator.classic.purgatory import ANSWERED
from groupsim.coordinator.classic.rebalance import close_no_round, complete_join, initial_timer_fired, prepare
from groupsim.coordinator.classic.snapshot import snapshot
from groupsim.coordinator.classic.states import AWAITING_SYNC, DEAD, EMPTY, PREPARING_REBALANCE, STABLE, Cause, Reason
from groupsim.coordinator.classic.sync import sync, sync_timer_fired


@define(eq=False)
class ClassicGroup(GroupData):
    """A group of the classic protocol."""

    join = join
    sync = sync
    heartbeat = heartbeat
    leave = leave
    #: Why the sender may not commit offsets now (outside a transaction, in one); None when it may.
    commit_error = commit_error
    txn_commit_error = txn_commit_error
    #: A commit was accepted: it keeps the member's session where Kafka lets it.
    keep_session = keep_session
    #: From when the group's offsets count their retention; None when none of them may expire now.
    expiry_rule = expiry_rule
    describe = describe
    listed = listed
    snapshot = snapshot
    #: The life of the partition: it was loaded, it is given up, the append that made the group failed.
    loaded = loaded
    unloaded = unloaded
    vanished = vanished

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

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def is_dead(self) -> bool:
        return self.state is DEAD

    def force_rebalance(self, turn: Turn, words: str) -> bool:
        """Open a round as if a member's metadata had changed; False where there is none to open.

        Kafka has no such request: an operator makes an application rejoin (`enforceRebalance`), with this effect.
        """
        if self.state not in (STABLE, AWAITING_SYNC):
            return False
        prepare(turn, self, Reason(Cause.UPDATE_META, words))
        return True
