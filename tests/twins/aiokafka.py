"""aiokafka as a real client: its words for Kafka's settings, stories as it plays them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import kafka_jars
from attrs import evolve

from tests.twins.story import Deed, Story

_PROGRAM = Path(__file__).parents[1] / "interop" / "python" / "twin_aiokafka.py"
_UNKNOWN = ("default.api.timeout.ms", "retry.backoff.max.ms", "reconnect.backoff.max.ms")

_AS_NOBODY = "who has lost its generation commits all the same, as somebody outside the group"
_ORDER = "topics are in the order of a set of Python's"
_ITS_TURN = "its task finishes the round that it is in before it closes"
_ONCE_MORE = "its heartbeat's task, asleep when the consumer left, sends one more with no member id"
_INTERVAL = "the interval of its auto-commit goes on over generations"
_ASKS_AGAIN = "it asks for the coordinator once more before it joins"
DIFFERS: Mapping[str, str] = {
    "join is told of a loading coordinator": "after COORDINATOR_LOAD_IN_PROGRESS it sleeps twice for retry.backoff.ms",
    "join is told of a rebalance": "who has a member id and no generation does not leave",
    "commit with an id nobody knows": _AS_NOBODY,
    "commit with an id nobody knows goes on": _AS_NOBODY,
    "commit of an old generation": _AS_NOBODY,
    "an auto-commit with an id nobody knows": _AS_NOBODY,
    "the process stands still while it commits by itself": _AS_NOBODY,
    "the process stands still while another member goes on": "its question for the coordinator waits behind a Fetch",
    "commit is told of a rebalance and ends": _ITS_TURN,
    "a member that closes in a parked join": _ITS_TURN,
    "a member that closes when told of a rebalance": _ITS_TURN,
    "an auto-commit is told of a rebalance": _INTERVAL,
    "positions are committed before a rebalance": _INTERVAL,
    "an auto-commit finds a server error": "the application is told of an auto-commit that failed for good",
    "a member that unsubscribes": _ONCE_MORE,
    "a static member that unsubscribes": _ONCE_MORE,
    "a member that unsubscribes and comes back": "callbacks for what was unsubscribed from come with the next join",
    "the subscription changes": _ORDER,
    "somebody else joins a sticky group": "its sticky assignor does not say in which generation it owned what",
    "a topic appears that the pattern matches": _ORDER,
    "every broker is away for less than a session": "it is connected again a little sooner",
    "every broker is away for longer than a session": _ASKS_AGAIN,
    "every broker is away for longer than a session and it commits by itself": _AS_NOBODY,
}
"""Stories in which the simulated profile does something else, and why."""


def command() -> Sequence[str]:
    """Starts the program of its applications. Raises `kafka_jars.Unavailable` without aiokafka."""
    try:
        import aiokafka  # noqa: F401
    except ImportError as why:
        raise kafka_jars.Unavailable(f"aiokafka is not installed: {why}") from None
    # Its sets of topics are in an order of their own; in the same one each time, with this seed.
    return ["env", "PYTHONHASHSEED=0", sys.executable, str(_PROGRAM)]


def settings(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Kafka's settings in its words."""
    return {name.replace(".", "_"): value for name, value in properties.items() if name not in _UNKNOWN}


def fitted(story: Story) -> Story | None:
    """A story as it plays it, None where it does not have the means.

    There is no cooperative assignor, `stop` cannot be told to leave or to stay, a rebalance cannot be enforced, and
    every commit is waited for.
    """
    assignors = str(story.properties["partition.assignment.strategy"])
    deeds = [rule for rule in story.rules if isinstance(rule, Deed)]
    offered = (
        story.policy != "async-after-batch"
        and "cooperative" not in assignors
        and all(deed.what != "enforce" and "leave" not in deed.given for deed in deeds)
    )
    return evolve(story, differs=DIFFERS.get(story.name, "")) if offered else None
