"""The stories of the consumer protocol as librdkafka plays them: those that it has the means for.

It asks for the coordinator two or three times at first, so that no rule of a story can mean the second question. Its
program has no callbacks that throw, no commits on demand, and no option to leave or to stay. A regular expression for
the broker is a topic that begins with `^`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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

_LATE_JOIN = "a heartbeat with all fields follows a join that was late (rd_kafka_cgrp_consumer_serve, state INIT)"
_AS_THEY_GO = "positions are committed as partitions are lost (rd_kafka_assignment_serve_removals); here they are not"
_THE_LAST = "an error of the leave is ignored (rd_kafka_cgrp_handle_ConsumerGroupHeartbeat_leave); here it is fatal"
_SOONER = (
    "the next target came before the acknowledgement of the last one: a race of the main thread with the application"
)
_AT_ITS_LIMIT = "it leaves at the poll limit by itself (rd_kafka_cgrp_max_poll_interval_check_tmr_cb); here when polled"
_IN_FLIGHT = "commits that wait for a coordinator are each sent again (rd_kafka_cgrp_defer_offset_commit)"
_OF_OLDER: Mapping[str, str] = {
    "a join is not answered": _LATE_JOIN,
    "the subscription changes before the join is answered": _EACH_CALL,
    "while a callback runs the subscription is to change": _OUTSIDE,
    "the target changes before the acknowledgement": _SOONER,
    "a commit without waiting reaches the wrong coordinator": _IN_FLIGHT,
    "an auto-commit of a fenced member": _AS_THEY_GO,
    "a commit before a revocation is answered late and the member is fenced": _AS_THEY_GO,
    "the application is away for too long and commits by itself": _AS_THEY_GO,
}
DIFFERS_OF: Mapping[str, Mapping[str, str]] = {
    "2.12.2": {
        **DIFFERS,
        **_OF_OLDER,
        "an acknowledgement is lost with its connection": _SOONER,
        "partitions are set up slowly and the target changes": _SOONER,
        "the application is away for too long and never comes back": _AT_ITS_LIMIT,
        "the application is away while a target waits": _AT_ITS_LIMIT,
    },
    "2.15.1": {**DIFFERS, **_OF_OLDER, "a consumer that unsubscribes and meets a server error": _THE_LAST},
}
"""The same of older releases, of which nine stories more are kept."""

_MISSING = frozenset({"commit", "committed", "regex", "enforce", "wake"})


def fitted_of(version: str) -> Callable[[Story], Story | None]:
    """Return what fits stories to an older release."""

    def fits(story: Story) -> Story | None:
        own = fitted(story)
        return None if own is None else evolve(own, differs=DIFFERS_OF[version].get(story.name, ""))

    return fits


def fitted(story: Story) -> Story | None:
    """Return a story, None where librdkafka does not have the means."""
    assert isinstance(story, ConsumerStory)
    deeds = [rule for rule in story.rules if isinstance(rule, Deed)]
    missing = any(deed.what in _MISSING or "leave" in deed.given for deed in deeds)
    asks = any(rule.api is FIND for rule in story.rules)
    beyond = missing or asks or story.throws or story.poll_ms > 20 or story.name in BEYOND_IT
    return None if beyond else evolve(story, differs=DIFFERS.get(story.name, ""))
