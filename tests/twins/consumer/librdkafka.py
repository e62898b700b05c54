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

_TIMES_OUT = (
    "a heartbeat without an answer times out after an interval (rd_kafka_ConsumerGroupHeartbeatRequest), when the "
    "broker's thread looks, once a second (rd_kafka_broker_timeout_scan)"
)
_AT_INTERVALS = "a commit that timed out is sent again by each auto-commit since (rd_kafka_cgrp_defer_offset_commit)"
_OUTSIDE = "its application may be called while it is in a callback, the real one's thread may not"
_EACH_CALL = (
    "subscriptions that follow each other are each taken to the end (rd_kafka_cgrp_consumer_apply_next_subscribe); "
    "here the last one counts"
)

BEYOND_IT: Mapping[str, str] = {
    "a join with a regular expression that is not valid": "the library refuses the expression by itself",
    "records of a revoked partition are committed in the callback": "its program commits in no callback",
}
"""Stories that it begins otherwise, and why."""

DIFFERS: Mapping[str, str] = {
    "an acknowledgement is answered late": _TIMES_OUT,
    "while a callback runs the application wants to close": _OUTSIDE,
    "the subscription changes and goes back": _EACH_CALL,
    "an auto-commit is not answered": _AT_INTERVALS,
    "the application is away for too long and then unsubscribes": _OUTSIDE,
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
