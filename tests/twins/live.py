"""A real client plays stories, in real time: many consumers in one process, a cluster behind a port of this process.

Stories begin one after the other, a little apart, and go on side by side; each has a group and topics of its own. One
goes first whose lines nobody keeps: a JVM that has just started is slow.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import IO, Any

from attrs import evolve

from groupsim.cluster.tcp import TcpListeners
from groupsim.eventloop.realtime import RealTimeLoop
from tests.twins.clients import Client
from tests.twins.held_up import Waits, watch
from tests.twins.simulated import ERROR_PAUSE_MS
from tests.twins.story import Deed, Story
from tests.twins.tap import Play
from tests.twins.world import World
from tests.twins.writing import Told, written

_LONGEST_US = 60_000_000
_WARM_UP_MS = 2_500


class Program:
    """The running process: told what to do in lines of JSON; `said` has what its applications said, by story."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said: dict[str, list[str]] = {}
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def _read(self, stdout: IO[str]) -> None:
        for line in stdout:
            told = json.loads(line)
            self.said.setdefault(told["name"], []).append(told["said"])

    def tell(self, story: Story, what: str, **given: Any) -> None:
        """Let the application of a story do something."""
        assert self._process.stdin is not None
        print(json.dumps({"do": what, "name": story.slug, **given}), file=self._process.stdin, flush=True)

    def end(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join(5)


def play_live(client: Client, stories: Sequence[Story]) -> Mapping[str, Told]:
    """What the real client did in each story that it has the means for, by the story's name.

    Raises `kafka_jars.Unavailable`.
    """
    command = client.command()

    async def main(loop: RealTimeLoop) -> Mapping[str, Told]:
        world = World(loop)
        listeners = TcpListeners(world.cluster)
        await listeners.open()
        program = Program(command)
        loop.start_soon(watch, loop, Waits(program.pid), world.tap.plays.values(), name="watch")
        try:
            warm_up = evolve(stories[0], name="warm up", ends_ms=_WARM_UP_MS, rules=())
            await _played(world, program, client, listeners.bootstrap, [warm_up])
            return await _played(world, program, client, listeners.bootstrap, stories)
        finally:
            program.end()
            await listeners.close()

    return RealTimeLoop().run(main)


async def _played(
    world: World, program: Program, client: Client, bootstrap: str, stories: Sequence[Story]
) -> Mapping[str, Told]:
    plays: dict[str, Play] = {}
    said: dict[str, list[str]] = {}
    await world.make(stories)
    for story in stories:
        await world.begin(story)
        play = Play(world.loop, story, partial(_carry_out, world, program), client.unseen)
        plays[story.name] = world.tap.plays[story.slug] = play
        play.at_the_end = partial(_keep, program, said, story)
        _start(program, client, bootstrap, story)
        await world.loop.sleep(client.apart_ms * 1_000)
    await world.loop.until(lambda: all(play.over or _refused(program, play) for play in plays.values()), _LONGEST_US)
    return {name: written(play, said[name]) for name, play in plays.items() if play.over}


def _refused(program: Program, play: Play) -> bool:
    """Whether the client does not have what the story asks for: it never began."""
    return any(line.startswith("error ") for line in program.said.get(play.story.slug, ()))


def _keep(program: Program, said: dict[str, list[str]], story: Story) -> None:
    said[story.name] = [line.split(" # ")[0] for line in program.said.get(story.slug, [])]
    program.tell(story, "end")


def _start(program: Program, client: Client, bootstrap: str, story: Story) -> None:
    program.tell(
        story,
        "start",
        settings={"bootstrap.servers": bootstrap, **client.settings(story.properties)},
        topics=[story.topic(topic) for topic in story.subscribes],
        pattern=None if story.pattern is None else story.topic(story.pattern),
        policy=story.policy,
        stubborn=story.stubborn,
        poll_ms=story.poll_ms,
        error_pause_ms=ERROR_PAUSE_MS,
    )


def _carry_out(world: World, program: Program, play: Play, deed: Deed) -> None:
    if world.does(play, deed):
        return
    given = dict(deed.given)
    if "topics" in given:
        given["topics"] = [play.story.topic(topic) for topic in given["topics"]]
    program.tell(play.story, deed.what, **given)
