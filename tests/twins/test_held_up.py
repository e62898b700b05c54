"""A play that the machine held up is no evidence against a client, and what holds plays up is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from attrs import evolve

from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.members.profiles import PROFILES
from tests.twins.__main__ import PLAYS, TRIES, TooBusy, compared
from tests.twins.clients import JAVA, Client
from tests.twins.held_up import LIMIT_US, Waits, watch
from tests.twins.simulated import play_simulated
from tests.twins.stories import ALL
from tests.twins.story import Story
from tests.twins.tap import Play
from tests.twins.writing import Told

STORY = next(story for story in ALL if not story.differs)
RIGHT = play_simulated(STORY, PROFILES[JAVA.profile])
WRONG = evolve(RIGHT, requests=RIGHT.requests[:-1], pauses=RIGHT.pauses[:-1])
HELD_UP = evolve(WRONG, held_up_us=LIMIT_US + 1)


class Plays:
    """Plays of the story, one after the other, and the last again and again; counted."""

    def __init__(self, *told: Told) -> None:
        self._told = told
        self.count = 0

    def __call__(self, _: Client, stories: Sequence[Story]) -> Mapping[str, Told]:
        assert stories == [STORY]
        told = self._told[min(self.count, len(self._told) - 1)]
        self.count += 1
        return {STORY.name: told}


def test_as_many_plays_as_are_tried_that_nothing_held_up_are_a_difference() -> None:
    """A play that the machine held up is not counted among them."""
    plays = Plays(HELD_UP, WRONG, HELD_UP, *[WRONG] * (TRIES - 1))
    assert set(compared(JAVA, [STORY], plays, TRIES)) == {STORY.name}
    assert plays.count == TRIES + 2


def test_a_play_that_is_right_settles_it() -> None:
    """However often the machine was too busy before, and whether or not it was just then."""
    plays = Plays(WRONG, *[HELD_UP] * 6, evolve(RIGHT, held_up_us=LIMIT_US * 9))
    assert compared(JAVA, [STORY], plays, TRIES) == {}
    assert plays.count == 8


def test_a_story_that_was_always_held_up_is_not_judged() -> None:
    """It is named, after a bounded number of plays."""
    plays = Plays(HELD_UP)
    with pytest.raises(TooBusy, match=STORY.name):
        compared(JAVA, [STORY], plays, TRIES)
    assert plays.count == PLAYS


def test_in_virtual_time_one_play_decides() -> None:
    """With one try a difference is one at once, and a pause may not be late."""
    plays = Plays(WRONG)
    assert set(compared(JAVA, [STORY], plays, 1)) == {STORY.name}
    assert plays.count == 1


def test_a_loop_that_wakes_late_holds_up_the_plays_that_go_on() -> None:
    """A play is told the longest delay while it went on, and nothing of what came after its end."""

    async def main(loop: RealTimeLoop) -> tuple[Play, Play]:
        going_on, over = (Play(loop, STORY, lambda *_: None) for _ in range(2))
        over.over = True
        loop.start_soon(watch, loop, Waits(), [going_on, over], name="watch")
        await loop.sleep(1_000)
        time.sleep(0.4)
        await loop.sleep(100_000)
        return going_on, over

    going_on, over = RealTimeLoop().run(main)
    assert going_on.held_up_us > 300_000
    assert over.held_up_us == 0


def test_threads_that_share_a_core_wait_for_it() -> None:
    """Of three processes that compute on one core each waits while the others have it."""
    if not (hasattr(os, "sched_setaffinity") and Path("/proc/self/schedstat").exists()):
        pytest.skip("the system does not tell how long a thread waited, or does not bind it to a core")
    computes = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\nwhile True: pass"
    begun = [subprocess.Popen([sys.executable, "-c", computes]) for _ in range(3)]
    try:
        waits, end = Waits(begun[0].pid), time.monotonic() + 60
        while waits.longest_us() < 1_000:
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        for process in begun:
            process.kill()
            process.wait()
