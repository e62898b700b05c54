"""How long the machine held a live play up: threads of either side that could run and had no core, a loop late to wake.

A pause is the client's own only where nothing else was in its way. What a play has otherwise than its fact is evidence
when the machine was quick enough meanwhile (`LIMIT_US`), and else the play is repeated (`__main__.compared`).
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from groupsim.eventloop.realtime import RealTimeLoop
from tests.twins.tap import Play

LIMIT_US = 60_000
"""Two such delays one after the other still leave a pause in the class next to its own (`writing.CLASSES`)."""
_LOOK_EVERY_US = 50_000


class Waits:
    """How long threads of some processes, and of this one, waited for a core; 0 where the system does not tell."""

    def __init__(self, *pids: int) -> None:
        self._folders = [Path(f"/proc/{pid}/task") for pid in (os.getpid(), *pids)]
        self._before: dict[Path, int] = {}
        self.longest_us()

    def longest_us(self) -> int:
        """The most that one thread has waited since this was asked the last time, as far as it has its core by now."""
        now = {thread: _waited_ns(thread) for folder in self._folders for thread in folder.glob("*")}
        longest = max((waited - self._before.get(thread, 0) for thread, waited in now.items()), default=0)
        self._before = now
        return longest // 1_000


def _waited_ns(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text().split()[1])
    except (OSError, IndexError):  # it has ended, or the system does not count
        return 0


async def watch(loop: RealTimeLoop, waits: Waits, plays: Collection[Play]) -> None:
    """Tell the plays that are going on how long they were held up, until the run ends."""
    while True:
        began_us, going_on = loop.now_us, [play for play in plays if not play.over]
        await loop.sleep(_LOOK_EVERY_US)
        held_up_us = max(loop.now_us - began_us - _LOOK_EVERY_US, waits.longest_us())
        for play in going_on:
            play.held_up_us = max(play.held_up_us, held_up_us)
