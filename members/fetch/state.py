"""One owned partition of a pulling consumer: its position, and what has to happen before it can be fetched.

A position is an offset, the leader epoch of the record before it, and the leader it was found valid with. The states
are Kafka's `SubscriptionState.FetchStates`:

    INITIALIZING ── committed offset ──> FETCHING, or AWAIT_VALIDATION when the offset has an epoch to check
         └──────── there is none ──────> AWAIT_RESET ── the log's end or beginning ──> FETCHING
    FETCHING ───── new leader ─────────> AWAIT_VALIDATION ── nothing was cut ──> FETCHING
         │                                    └── cut: back to where the logs part, or ──> AWAIT_RESET
         └──────── out of range ───────> AWAIT_RESET

Without an epoch on either side there is nothing to check: validation is passed over (KIP-320).
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
    """What a partition waits for."""

    INITIALIZING = auto()
    FETCHING = auto()
    AWAIT_RESET = auto()
    AWAIT_VALIDATION = auto()


class PartitionState:
    """One owned partition, from the assignment to its end."""

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
        self.leader: LeaderIs = NO_LEADER  # with which the position is, or is to be, valid
        self.not_before_us = 0  # the next attempt of whatever it waits for
        self.flight: Flight | None = None  # the fetch that asks for it
        self.buffered = 0  # fetched pieces that no poll has taken yet
        self.preferred = NO_REPLICA  # a replica closer than the leader (KIP-392)
        self.preferred_until_us = 0
        self.refusals = 0  # in a row
        self.returned = NO_OFFSET  # the offset after the last record that poll returned
        self.nothing_so_young = False  # a reset by duration found no record
        self.why = "reset"  # what to tell of the position when it is found

    def seek(self, offset: int, epoch: int, leader: LeaderIs, *, can_validate: bool) -> None:
        """Go on at an offset; with an epoch on both sides it is checked first."""
        self.offset, self.epoch, self.leader = offset, epoch, leader
        self.not_before_us = 0
        check = can_validate and epoch != NO_EPOCH and leader.epoch != NO_EPOCH
        self.state = FetchState.AWAIT_VALIDATION if check else FetchState.FETCHING

    def leader_changed(self, leader: LeaderIs, *, can_validate: bool) -> bool:
        """Metadata names a leader: when it is another, the position has to be looked at again; True then."""
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
        """Nothing was cut before the position."""
        self.state = FetchState.FETCHING
        self.not_before_us = 0

    def reset(self, why: str = "reset") -> None:
        """The position is void: one by the reset policy has to be found."""
        self.state = FetchState.AWAIT_RESET
        self.offset, self.epoch = NO_OFFSET, NO_EPOCH
        self.not_before_us = 0
        self.why = why


class Flight:
    """One Fetch under way."""

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
        self.renew = renew  # None: it comes back by itself
        self.sent_us = sent_us
        self.skipped = 0  # long polls that it would have stood for while the application was away
        self.asked: tuple[FetchPartition, ...] = ()
