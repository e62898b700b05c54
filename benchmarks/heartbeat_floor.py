"""What a heartbeat costs before there is a simulator: its three events, bare, and through the event loop alone.

Nothing here depends on the number of members but memory. All members beat in step, so between two touches of what
belongs to one member comes what belongs to all the others: with ten thousand of them it has left the processor's caches
by then, and every object of it is waited for. `bare heap` is the least of that in Python: a heap, one tuple per event,
one object per member. What grows there grows for everybody; what the layers above add is the rest.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from benchmarks.common import INTERVAL_US, LATENCY_US, tracing
from groupsim.eventloop.interface import Order
from groupsim.eventloop.virtual import VirtualLoop, run_virtual

_WAITING = 1_000
_LOW, _WIDTH = LATENCY_US[0], LATENCY_US[1] - LATENCY_US[0]


class _Member:
    """Whose heartbeat it is: where a shared latency puts it, and how many were answered."""

    __slots__ = ("beats", "deadline_us")

    def __init__(self) -> None:
        self.beats = 0
        self.deadline_us = 0


def bare_heap(members: int, horizon_us: int) -> int:
    """Due, arrived, answered: three entries of one `heapq`, no layer around it."""
    luck = random.Random(0).random
    heap: list[tuple[int, int, Any, _Member]] = []
    ticket = 0

    def due(now: int, member: _Member) -> None:
        nonlocal ticket
        ticket += 2
        heappush(heap, (now + INTERVAL_US, ticket - 1, due, member))
        heappush(heap, (now + _LOW + int(luck() * _WIDTH), ticket, arrived, member))

    def arrived(now: int, member: _Member) -> None:
        nonlocal ticket
        ticket += 1
        member.deadline_us = now + 15 * INTERVAL_US
        heappush(heap, (now + _LOW + int(luck() * _WIDTH), ticket, answered, member))

    def answered(_now: int, member: _Member) -> None:
        member.beats += 1

    everybody = [_Member() for _ in range(members)]
    for member in everybody:
        ticket += 1
        heappush(heap, (_LOW + int(luck() * _WIDTH), ticket, due, member))
    while True:
        now, _ticket, callback, member = heappop(heap)
        if now > horizon_us:
            return sum(member.beats for member in everybody)
        callback(now, member)


def event_loop(members: int, horizon_us: int) -> int:
    """The same three events as callbacks of the event loop: its order, its agenda, its causes."""
    everybody = [_Member() for _ in range(members)]

    async def main(loop: VirtualLoop) -> None:
        luck = random.Random(0).random
        call_at, message = loop.call_at, Order.MESSAGE

        def due(member: _Member) -> None:
            now = loop.now_us
            call_at(now + INTERVAL_US, due, member)
            call_at(now + _LOW + int(luck() * _WIDTH), arrived, member, order=message)

        def arrived(member: _Member) -> None:
            now = loop.now_us
            member.deadline_us = now + 15 * INTERVAL_US
            call_at(now + _LOW + int(luck() * _WIDTH), answered, member, order=message)

        def answered(member: _Member) -> None:
            member.beats += 1

        for member in everybody:
            call_at(_LOW + int(luck() * _WIDTH), due, member)
        await loop.sleep(horizon_us)

    run_virtual(main, trace=tracing("off"))
    return sum(member.beats for member in everybody)


def bare_heapq(events: int) -> None:
    """So many events that do nothing but schedule the next, a thousand of them waiting at a time, in a bare heap."""
    heap: list[tuple[int, int, Callable[[int], None]]] = []
    number = 0

    def schedule(now: int) -> None:
        nonlocal number
        number += 1
        heappush(heap, (now + INTERVAL_US, number, schedule))

    for at in range(_WAITING):
        schedule(at)
    for _ in range(events):
        now, _number, callback = heappop(heap)
        callback(now)


FLOORS = {"bare heap": bare_heap, "event loop": event_loop}
