"""librdkafka as a real client (confluent-kafka for Python): its words for Kafka's settings, stories as it plays them.

* Its first heartbeat goes out with the assignment: what a story says of the first one is meant of its second.
* Its heartbeats go out every second: stories end between two of them.
* A JoinGroup that was refused is tried again after seconds: such stories last longer.
* It asks for the coordinator two or three times at first: an answer to the first is one to all of them.
* No session may be longer than max.poll.interval.ms.
* Its broker threads would wait out a Fetch of half a second now and then: none waits for long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import kafka_jars
from attrs import evolve

from tests.twins.releases import installed
from tests.twins.story import FIND, HEARTBEAT, JOIN, Answer, Deed, Rule, Story, Strike

_PROGRAM = Path(__file__).parents[1] / "interop" / "python" / "twin.py"
_WORDS = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "request.timeout.ms": "socket.timeout.ms",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "default.api.timeout.ms": None,
}
_SESSION, _POLL_LIMIT = "session.timeout.ms", "max.poll.interval.ms"
_LOOKS = "metadata.max.age.ms"
_QUICK = {"fetch.max.wait.ms": 30}
_PATIENCE_MS = {JOIN: 6_500, FIND: 2_000}
_FIRST_QUESTIONS = 3
_LATER_MS = 800

DIFFERS: Mapping[str, str] = {
    "a cooperative member's subscription changes": "what it gives up for a topic that is new to it it calls lost",
}
"""Stories in which the simulated profile does something else, and why."""

_ENFORCES = "it has no way to enforce a rebalance"
_CLOSES = "its close is not told whether to leave"
_ASKS = "it asks for the coordinator two or three times at first: nobody can say which question is the second"
_LOOKS_ROUND = "it asks for metadata of brokers and topics apart, when it pleases"
BEYOND_IT: Mapping[str, str] = {
    "a member that closes and stays": _CLOSES,
    "a static member that closes and leaves": _CLOSES,
    "metadata comes before the next look-up": _LOOKS_ROUND,
    "metadata comes before a lost coordinator is looked up again": _ASKS,
    "a member that closes while the coordinator is lost": _ASKS,
    "the application is away while the coordinator is lost": _ASKS,
    "the application enforces a rebalance": _ENFORCES,
    "a rebalance is enforced without a word": _ENFORCES,
    "somebody else joins a sticky group": "it has no assignor of that name",
    "both assignors are offered": "it offers none that is eager beside one that is cooperative",
}
"""Stories for which it does not have the means, and which."""


def command() -> Sequence[str]:
    """Starts the program of its applications. Raises `kafka_jars.Unavailable` without confluent-kafka."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as why:
        raise kafka_jars.Unavailable(f"confluent-kafka is not installed: {why}") from None
    return [sys.executable, str(_PROGRAM)]


def command_of(version: str) -> Callable[[], Sequence[str]]:
    """Starts the same program with another release, a wheel of confluent-kafka. Raises `kafka_jars.Unavailable`."""
    return lambda: [
        "env",
        f"PYTHONPATH={installed('confluent-kafka', version)}",
        sys.executable,
        str(_PROGRAM),
    ]


def settings(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Kafka's settings in its words."""
    named = {_WORDS.get(name, name): value for name, value in properties.items()}
    return {name: value for name, value in named.items() if name is not None}


def fitted(story: Story) -> Story | None:
    """A story as it plays it; None for those in `BEYOND_IT`."""
    if story.name in BEYOND_IT:
        return None
    session, limit = (int(str(story.properties[name])) for name in (_SESSION, _POLL_LIMIT))
    longer = max((_PATIENCE_MS.get(rule.api, 0) for rule in story.rules if not isinstance(rule, Deed)), default=0)
    return evolve(
        story,
        rules=tuple(_as_it_comes(story, rule) for rule in story.rules),
        settings={**story.settings, _SESSION: min(session, limit), **_QUICK, **_looks(story)},
        ends_ms=_between_heartbeats(story.ends_ms + longer),
        differs=DIFFERS.get(story.name, ""),
    )


def _between_heartbeats(ends_ms: int) -> int:
    return (ends_ms + 499) // 1000 * 1000 + 500


def _looks(story: Story) -> Mapping[str, object]:
    """When it looks for new topics: well after a heartbeat."""
    return {_LOOKS: 1_450} if _LOOKS in story.settings else {}


def _away_ms(story: Story, ms: int) -> int:
    """Not until a session is over with no heartbeat; but until a heartbeat is over that comes a little later here."""
    if any(isinstance(rule, Deed) and rule.what == "close" for rule in story.rules):
        return ms + _LATER_MS
    return ms - _LATER_MS // 2 if _POLL_LIMIT in story.settings else ms


def _finds_nothing(story: Story) -> bool:
    return story.pattern is not None and not story.topics


def _as_it_comes(story: Story, rule: Rule) -> Rule:
    if isinstance(rule, Deed) and rule.api is HEARTBEAT and _finds_nothing(story):  # it does not join
        return evolve(rule, api=FIND, wait_ms=1_000)
    if isinstance(rule, Deed) and rule.what == "block":
        rule = evolve(rule, given={"ms": _away_ms(story, rule.given["ms"])})
    if rule.api is HEARTBEAT:
        return evolve(rule, at=rule.at + 1)
    if rule.api is FIND and isinstance(rule, Answer | Strike):
        return evolve(rule, times=rule.times + _FIRST_QUESTIONS - 1)
    return rule
