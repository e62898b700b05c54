"""The entries of the heap, and the lives of hosts they belong to.

An entry is a plain tuple (when_us, rank, serial, callback, argument, cause, life), so that the heap compares entries
in C: when, rank, serial decide, and no two entries have all three in common. The rank is the class within the instant
in its high bits and the ticket below; the serial is 0 unless a ticket was given and may be used again. The entry is
its own handle: an object with names would double the cost of `call_at`. An entry never changes, because hardly any is
taken back; the agenda lists those that are, by their unique number (`number_of`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from groupsim.eventloop.interface import Handle, Order

Callback = Callable[[Any], None]

WHEN: Final = 0
RANK: Final = 1
SERIAL: Final = 2
LIFE: Final = 6

# The rank of ticket 0 in each class; looked up, because arithmetic on an IntEnum is slow.
RANKS = tuple(order << 48 for order in Order)
MESSAGE_RANK: Final = RANKS[Order.MESSAGE]
TIMER_RANK: Final = RANKS[Order.TIMER]


class HostLife:
    """One incarnation of a host, as the heap uses it: whether its entries may run.

    `held` is the one check on the hot path. Held and `dead`: the entries are dropped. Held and not dead (paused):
    they wait in `backlog`, in the order they came due.
    """

    __slots__ = ("backlog", "dead", "held", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.held = False
        self.dead = False
        self.backlog: list[Entry] = []

    def stop(self, *, dead: bool = False) -> None:
        """Stop running the entries of this life: for a while, or for good."""
        self.held = True
        self.dead = dead
        if dead:
            self.backlog.clear()

    def hold(self, entry: Entry) -> None:
        """Store a due entry for later, or drop it."""
        if not self.dead:
            self.backlog.append(entry)


Entry = tuple[int, int, int, Callback, Any, int, HostLife]

FREE = HostLife("")  # of entries without a host; never held


def number_of(entry: Entry) -> int:
    """Return a number that no other entry of a run has: each ticket is drawn once, and is in a rank or is a serial."""
    return entry[SERIAL] or entry[RANK]


def due_us(handle: Handle) -> int:
    """Return the time at which the entry with this handle is due."""
    return cast(Entry, handle)[WHEN]


def release(sleeper: Any) -> None:
    """Let one task run: the callback of every entry that wakes, starts or cancels a task.

    The drivers recognise it by identity, because after it control has to return to trio.
    """
    sleeper.go()
