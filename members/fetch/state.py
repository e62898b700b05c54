"""One owned partition of a pulling consumer: its position, and its fetch state.

A position is an offset, the leader epoch of the record before it, and the leader that validated it. The states
are Kafka's `SubscriptionState.FetchStates`:

    INITIALIZING ── committed offset ──> FETCHING, or AWAIT_VALIDATION when the offset has an epoch to check
         └──────── none ───────────────> AWAIT_RESET ── offset by the reset policy ──> FETCHING
    FETCHING ───── new leader ─────────> AWAIT_VALIDATION ── not truncated ──> FETCHING
         │                                    └── truncated: to where the logs diverge, or ──> AWAIT_RESET
         └──────── out of range ───────> AWAIT_RESET

Validation is skipped without an epoch on either side (KIP-320).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from groupsim.members.leaders import NO_LEADER
from groupsim.protocol.messages.group import NO_EPOCH, NO_OFFSET, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupsim.members.interfaces import Connection
    from groupsim.protocol.messages.data import FetchPartition, LeaderIs

NO_REPLICA: Final = -1


class FetchState(Enum):
    """State of a partition (`SubscriptionState.FetchStates`)."""

    INITIALIZING = auto()
    FETCHING = auto()
    AWAIT_RESET = auto()
    AWAIT_VALIDATION = auto()


class PartitionState:
    """One owned partition, while it is assigned."""

    __slots__ = (
        "buffered",
        "epoch",
        "flight",
        "leader",
        "not_before_us",
        "nothing_so_young",
        "offset",
        "partition",
        "preferred",
        "preferred_until_us",
        "refusals",
        "returned",
        "state",
        "why",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.state = FetchState.INITIALIZING
        self.offset = NO_OFFSET
        self.epoch = NO_EPOCH  # of the last record before `offset`
        self.leader: LeaderIs = NO_LEADER  # the leader that validates the position
        self.not_before_us = 0  # time of the next attempt at what the state waits for
        self.flight: Flight | None = None  # the fetch in flight that includes it
        self.buffered = 0  # fetched pieces in the buffer
        self.preferred = NO_REPLICA  # a replica closer than the leader (KIP-392)
        self.preferred_until_us = 0
        self.refusals = 0  # in a row
        self.returned = NO_OFFSET  # the offset after the last record that poll returned
        self.nothing_so_young = False  # by_duration found no record
        self.why = "reset"  # reason in the event of the next position

    def seek(self, offset: int, epoch: int, leader: LeaderIs, *, can_validate: bool) -> None:
        """Continue at an offset; with an epoch on both sides it is validated first."""
        self.offset, self.epoch, self.leader = offset, epoch, leader
        self.not_before_us = 0
        check = can_validate and epoch != NO_EPOCH and leader.epoch != NO_EPOCH
        self.state = FetchState.AWAIT_VALIDATION if check else FetchState.FETCHING

    def leader_changed(self, leader: LeaderIs, *, can_validate: bool) -> bool:
        """Apply the leader that metadata name; True if it is new, and the position may need validation."""
        if (
            self.state in (FetchState.INITIALIZING, FetchState.AWAIT_RESET)
            or leader.leader < 0
            or leader == self.leader
        ):
            return False
        self.seek(self.offset, self.epoch, leader, can_validate=can_validate)
        self.preferred = NO_REPLICA
        self.refusals = 0
        return True

    def validated(self) -> None:
        """Resume fetching: the log was not truncated before the position."""
        self.state = FetchState.FETCHING
        self.not_before_us = 0

    def reset(self, why: str = "reset") -> None:
        """Drop the position; the reset policy has to find one."""
        self.state = FetchState.AWAIT_RESET
        self.offset, self.epoch = NO_OFFSET, NO_EPOCH
        self.not_before_us = 0
        self.why = why


class Flight:
    """One Fetch in flight."""

    __slots__ = ("asked", "link", "node", "renew", "sent_us", "skipped", "states")

    def __init__(
        self,
        node: int,
        link: Connection,
        states: list[PartitionState],
        renew: Callable[[], None] | None,
        sent_us: int,
    ) -> None:
        self.node = node
        self.link = link
        self.states = states
        self.renew = renew  # None: an ordinary long poll
        self.sent_us = sent_us
        self.skipped = 0  # long polls that were not sent while the application was away
        self.asked: tuple[FetchPartition, ...] = ()
