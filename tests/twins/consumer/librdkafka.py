"""The stories of the consumer protocol as librdkafka plays them: those that it has the means for.

It asks for the coordinator two or three times at first, so that no rule of a story can mean the second question. Its
program has no callbacks that throw, no commits on demand, and no option to leave or to stay. A regular expression for
the broker is a topic that begins with `^`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from tests.twins.consumer.story import ConsumerStory
from tests.twins.story import FIND, Deed, Story

_AT_INTERVALS = "its main thread looks for work at intervals, which this one does not wait for"
_ONE_MORE = "a heartbeat that is answered late is sent once more, with the same fields"
_LOOK_UPS = "an error of a look-up of committed offsets waits for the next heartbeat; here it is thrown, or tried again"
_AS_IT_CLOSES = "it leaves before it has acknowledged its first target: the error of the look-up came first"
_COMMITS = "a commit that is refused with a fatal error ends the membership, and one in a callback is the library's own"
_OUTSIDE = "its application may be called while it is in a callback, the real one's thread may not"
_ORDER = "errors and callbacks come in one queue (rd_kafka_q_serve): here errors come after callbacks, or before them"
_IN_PART = "a target with a topic that is unknown revokes what it lacks (rd_kafka_cgrp_consumer_handle_next_assignment)"
_EACH_CALL = "subscriptions that follow each other are each taken to the end; here the last one counts"
_AFTER_THE_LIMIT = "beyond the poll limit it leaves also when it was fenced meanwhile"
_UNSUBSCRIBED = "unsubscribe commits the positions of what it gives up (rd_kafka_assignment_serve_removals)"

BEYOND_IT: Mapping[str, str] = {
    "a join with a regular expression that is not valid": "the library refuses the expression by itself",
}
"""Stories that it begins otherwise, and why."""

DIFFERS: Mapping[str, str] = {
    "a join is not authorized for a topic": _AT_INTERVALS,
    "a join is not authorized for a topic and ends": _AT_INTERVALS,
    "a join is answered late": _ONE_MORE,
    "the coordinator moves before the join": _AS_IT_CLOSES,
    "an acknowledgement is answered late": _ONE_MORE,
    "while a callback runs a heartbeat is not authorized for a topic": _ORDER,
    "while a callback runs the application wants to close": _OUTSIDE,
    "the subscription changes and goes back": _EACH_CALL,
    "an assignment names an unknown topic in the place of another": _IN_PART,
    "an unknown topic is given up again": _IN_PART,
    "a commit of an old generation": _COMMITS,
    "a commit of a fenced instance": _COMMITS,
    "records of a revoked partition are committed in the callback": _COMMITS,
    "an auto-commit is not answered": _AT_INTERVALS,
    "a commit when the consumer unsubscribes": _UNSUBSCRIBED,
    "committed offsets are looked up at the wrong coordinator": _AS_IT_CLOSES,
    "committed offsets are looked up at no coordinator": _AS_IT_CLOSES,
    "committed offsets are looked up with a stale epoch": _LOOK_UPS,
    "committed offsets are looked up by an unknown member": _LOOK_UPS,
    "committed offsets are looked up by an unknown member and poll goes on": _LOOK_UPS,
    "committed offsets are refused": _AS_IT_CLOSES,
    "the application is away for too long and then closes": _OUTSIDE,
    "the application is away for too long and then unsubscribes": _OUTSIDE,
    "the application is away for too long and the leave is refused": _AFTER_THE_LIMIT,
    "the application is away while a target waits": _ORDER,
    "the application is away while it is fenced": _AFTER_THE_LIMIT,
}
"""Stories in which the simulated profile does something else, and why."""

_MISSING = frozenset({"commit", "committed", "regex", "enforce", "wake"})


def fitted(story: Story) -> Story | None:
    """Return a story, None where librdkafka does not have the means."""
    assert isinstance(story, ConsumerStory)
    deeds = [rule for rule in story.rules if isinstance(rule, Deed)]
    missing = any(deed.what in _MISSING or "leave" in deed.given for deed in deeds)
    asks = any(rule.api is FIND for rule in story.rules)
    beyond = missing or asks or story.throws or story.poll_ms > 20 or story.name in BEYOND_IT
    return None if beyond else evolve(story, differs=DIFFERS.get(story.name, ""))
