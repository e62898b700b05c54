"""A real client plays stories, in real time: many consumers in one process, a cluster behind a port of this process.

Stories begin one after the other, a little apart, and go on side by side; each has a group and topics of its own. One
goes first whose lines nobody keeps: a JVM that has just started is slow. A story that pauses its process has a process
of its own (`Story.alone`), one in which all brokers go away a cluster as well (`Story.apart`); they are played after
the others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import IO, Any

from attrs import evolve, frozen

from groupsim.cluster.tcp import TcpListeners
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.realtime import RealTimeLoop
from tests.twins.clients import Client
from tests.twins.consumer.story import ConsumerStory
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

    def pause(self, loop: EventLoop, ms: int) -> None:
        """Stop the process (SIGSTOP), and let it go on so many milliseconds later."""
        self._signal(signal.SIGSTOP)
        loop.call_at(loop.now_us + ms * 1_000, self._signal, signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        if self._process.poll() is None:
            os.kill(self.pid, which)

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
    apart = [one for one in stories if one.apart]
    alone = [one for one in stories if one.alone and not one.apart]
    together = [one for one in stories if not (one.alone or one.apart)]

    async def main(loop: RealTimeLoop) -> Mapping[str, Told]:
        common, *own = clusters = [Served(loop, client.broker) for _ in range(1 + len(apart))]
        try:
            for cluster in clusters:
                await cluster.listeners.open()
            told = await _cast(client, command, [(common, together)] if together else [])
            casts = [(common, [one]) for one in alone] + [
                (cluster, [one]) for cluster, one in zip(own, apart, strict=True)
            ]
            return {**told, **await _cast(client, command, casts)}
        finally:
            for cluster in clusters:
                await cluster.listeners.close()

    return RealTimeLoop().run(main)


class Served:
    """A cluster behind ports of this process."""

    def __init__(self, loop: RealTimeLoop, profile: str) -> None:
        self.world = World(loop)
        self.listeners = TcpListeners(self.world.cluster, profile=profile)


@frozen(eq=False)
class Stage:
    """Where a story is played: a cluster, and the process that its application is in."""

    world: World
    bootstrap: str
    program: Program


async def _cast(
    client: Client, command: Sequence[str], casts: Sequence[tuple[Served, Sequence[Story]]]
) -> Mapping[str, Told]:
    """Play lists of stories, each list in a process of its own, all at the same time."""
    stages = [Stage(cluster.world, cluster.listeners.bootstrap, Program(command)) for cluster, _ in casts]
    if not stages:
        return {}
    loop = stages[0].world.loop
    plays: list[Play] = []
    waits = Waits(*(stage.program.pid for stage in stages))
    watched = loop.start_soon(watch, loop, waits, plays, name="watch")
    try:
        stories = [stories for _, stories in casts]
        first = [evolve(cast[0], name=f"warm up {cast[0].name}", ends_ms=_WARM_UP_MS, rules=()) for cast in stories]
        await _played(loop, client, plays, list(zip(stages, first, strict=True)))
        pairs = [(stage, story) for stage, cast in zip(stages, stories, strict=True) for story in cast]
        return await _played(loop, client, plays, pairs)
    finally:
        watched.cancel()
        for stage in stages:
            stage.program.end()


async def _played(
    loop: EventLoop, client: Client, watched: list[Play], pairs: Sequence[tuple[Stage, Story]]
) -> Mapping[str, Told]:
    plays: dict[str, Play] = {}
    said: dict[str, list[str]] = {}
    for world in dict.fromkeys(stage.world for stage, _ in pairs):
        await world.make([story for stage, story in pairs if stage.world is world])
    for stage, story in pairs:
        world, program = stage.world, stage.program
        await world.begin(story)
        play = Play(loop, story, partial(_carry_out, world, program), client.unseen, world.coordinator(story))
        plays[story.name] = world.tap.plays[story.slug] = play
        watched.append(play)
        play.at_the_end = partial(_keep, program, said, story)
        _start(program, client, stage.bootstrap, story)
        await loop.sleep(client.apart_ms * 1_000)
    owners = {story.name: stage.program for stage, story in pairs}
    await loop.until(
        lambda: all(play.over or _refused(owners[name], play) for name, play in plays.items()), _LONGEST_US
    )
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
        assigns=[story.topic(one) for one in story.assigns],
        tells=story.tells,
        clean_up_ms=story.clean_up_ms,
        poll_ms=story.poll_ms,
        error_pause_ms=ERROR_PAUSE_MS,
        **_more(story),
    )


def _more(story: Story) -> Mapping[str, object]:
    """What the application of a story of the consumer protocol is given besides."""
    if not isinstance(story, ConsumerStory):
        return {}
    regex = None if story.regex is None else story.topic(story.regex)
    return {"regex": regex, "throws": list(story.throws), "set_up_ms": story.set_up_ms}


def _carry_out(world: World, program: Program, play: Play, deed: Deed) -> None:
    if world.does(play, deed):
        return
    if deed.what == "pause":
        program.pause(world.loop, deed.given["ms"])
        return
    given = dict(deed.given)
    if "topics" in given:
        given["topics"] = [play.story.topic(topic) for topic in given["topics"]]
    if "regex" in given:
        given["regex"] = play.story.topic(given["regex"])
    program.tell(play.story, deed.what, **given)
