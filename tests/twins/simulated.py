"""The simulated consumer of a profile plays a story, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.members.behaviour import Behaviour, CommitPolicy
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.profiles import ClientProfile
from groupsim.members.profiles.profile import OnError
from groupsim.members.settings import settings_from
from groupsim.protocol.messages.group import Api
from groupsim.protocol.messages.releases import BASELINE
from tests.twins.consumer.story import ConsumerStory
from tests.twins.story import Deed, Story
from tests.twins.tap import Play
from tests.twins.world import World
from tests.twins.writing import Told, written

ERROR_PAUSE_MS = 150
_THROWN = "poll threw "  # how the trace says that the application got an exception


def play_simulated(
    story: Story, profile: ClientProfile, unseen: frozenset[Api] = frozenset(), seed: int = 0, version: str = BASELINE
) -> Told:
    """What the simulated consumer did."""
    trace, sink = Trace(), MemorySink()
    trace.subscribe(sink)

    async def main(loop: VirtualLoop) -> tuple[Play, bool]:
        world = World(loop, version)
        await loop.sleep(1_000_000)
        await world.make([story])
        await world.begin(story)
        consumer = _consumer(story, profile, world)
        carry_out = partial(_carry_out, world, consumer)
        play = world.tap.plays[story.slug] = Play(loop, story, carry_out, unseen, world.coordinator(story))
        _subscribe(consumer, story, story.subscribes)
        consumer.start()
        for kind in story.throws if isinstance(story, ConsumerStory) else ():
            consumer.raise_in_callback(kind, "once")
        await loop.until(lambda: play.over, 60_000_000)
        return play, consumer.running

    play, running = run_virtual(main, seed=seed, trace=trace)
    ended_us = play.began_us + story.ends_ms * 1_000 if play.began_us is not None else 0
    events = [event for event in sink.events if event.host == story.slug and event.t_us <= ended_us]
    return written(play, [*_lived(events, story.tells), *([] if running else ["closed"])])


def _consumer(story: Story, profile: ClientProfile, world: World) -> Consumer:
    settings, _ = settings_from(profile, story.properties, pulls=True)
    behaviour = Behaviour(
        poll_timeout=parse_distribution(f"{story.poll_ms}ms"),
        commit=CommitPolicy(story.policy),
        on_assigned=f"{story.set_up_ms}ms" if isinstance(story, ConsumerStory) and story.set_up_ms else None,
        on_revoked=f"{story.clean_up_ms}ms" if story.clean_up_ms else None,
        on_lost=f"{story.clean_up_ms}ms" if isinstance(story, ConsumerStory) and story.clean_up_ms else None,
        on_error=OnError.RETRY_ALL if story.stubborn else OnError.STOP,
        on_commit_failure=OnError.STOP,
        error_pause_us=ERROR_PAUSE_MS * 1_000,
    )
    return Consumer(world.loop, story.slug, settings, world.cluster.transport, None, behaviour, profile)


def _subscribe(consumer: Consumer, story: Story, topics: tuple[str, ...]) -> None:
    if isinstance(story, ConsumerStory) and story.regex is not None and topics is story.subscribes:
        consumer.subscribe(regex=story.topic(story.regex))
    elif story.assigns:
        consumer.assign(map(story.topic, story.assigns))
    elif story.pattern is None:
        consumer.subscribe([story.topic(topic) for topic in topics])
    else:
        consumer.subscribe(pattern=story.topic(story.pattern))


def _subscribe_again(consumer: Consumer, story: Story, given: Mapping[str, Any]) -> None:
    """Subscribe to topics, or to a regular expression; an application whose client throws ends."""
    try:
        if "regex" in given:
            consumer.subscribe(regex=story.topic(given["regex"]))
        else:
            _subscribe(consumer, story, given["topics"])
    except RuntimeError:
        consumer.loop.trace.emit(Kind.WARNING, host=story.slug, reason=f"{_THROWN}IllegalStateException:")
        consumer.begin_close()


def _carry_out(world: World, consumer: Consumer, play: Play, deed: Deed) -> None:
    if world.does(play, deed) or not consumer.running:
        return
    given: Mapping[str, Any] = deed.given
    if deed.what == "close":
        consumer.begin_close(given.get("leave"))
    elif deed.what == "block":
        consumer.block_poll(given["ms"] * 1_000)
    elif deed.what == "pause":
        consumer.pause(given["ms"] * 1_000)
    elif deed.what in ("subscribe", "regex"):
        _subscribe_again(consumer, play.story, given)
    elif deed.what == "unsubscribe":
        consumer.unsubscribe()
    elif deed.what == "wake":
        pass  # a poll that begins again at once: nothing that the broker could see
    elif deed.what == "enforce":
        consumer.enforce_rebalance(given["reason"])
    else:
        raise ValueError(f"{play.story.name}: no such deed: {deed.what}")


def _lived(events: list[Any], tells: bool) -> list[str]:
    """What the application went through: callbacks, exceptions, a session that its client measured, its end."""
    lines = []
    for event in events:
        if event.kind is Kind.CALLBACK_BEGUN:
            lines.append(" ".join([event.reason, *event.payload["partitions"]]))
        elif event.kind is Kind.RECORDS_DELIVERED and tells:
            base, count = event.payload["base"], event.payload["count"]
            lines += [f"got {event.topic}-{event.partition}@{offset}" for offset in range(base, base + count)]
        elif event.kind is Kind.PROCESS_FAILED:
            lines.append(f"threw {event.error}")
        elif event.kind is Kind.WARNING and event.reason.startswith(_THROWN):
            lines.append(f"threw {event.reason.split()[2].rstrip(':')}")
        elif event.kind is Kind.SESSION_EXPIRED and event.payload:
            seconds, broker = event.payload["silent_us"] // 1_000_000, event.payload["coordinator"]
            lines.append(f"session over after {seconds} s, broker {broker}")
    return lines
