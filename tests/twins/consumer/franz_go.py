"""The stories of the consumer protocol as franz-go plays them: heartbeats, joins, leaves, static members, commits.

Its application has no callbacks that throw, subscribes once, and commits by itself or after a batch. A static member
of 1.22.2 leaves with epoch -2 and no instance id, which a broker refuses; so does its profile.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from tests.twins.consumer.story import ConsumerStory
from tests.twins.story import Story

_BACKOFF = "it is sent again after the backoff, too, when the coordinator has moved (kgo.groupConsumer.heartbeat)"
_FIRST_OFFSETS = (
    "it looks offsets up in a goroutine of its own (kgo.groupConsumer.setupAssignedAndHeartbeat), before the heartbeat "
    "that acknowledges is sent again"
)
_LAST_BEAT = (
    "it sends one heartbeat while it revokes (kgo.groupConsumer.setupAssignedAndHeartbeat); here one an interval"
)
_MATCHED = "it joins when it has the topics that the pattern matches; here at once, and again with them"

DIFFERS: Mapping[str, str] = {
    "a heartbeat reaches the wrong coordinator": _BACKOFF,
    "an acknowledgement with a fenced epoch": _FIRST_OFFSETS,
    "an acknowledgement is lost with its connection": _FIRST_OFFSETS,
    "while a callback runs heartbeats go on": _LAST_BEAT,
    "a pattern that the client matches": _MATCHED,
    "a topic appears that the pattern of the client matches": _MATCHED,
    "a commit at the close": (
        "an application with its own callback for revoked partitions commits there itself (kgo.OnPartitionsRevoked); "
        "here a close commits"
    ),
}
"""Stories in which the simulated profile does something else, and why."""

ASKED = frozenset(
    {
        "a quiet member",
        "a heartbeat meets a loading coordinator",
        "a heartbeat reaches the wrong coordinator",
        "a heartbeat of an unknown member",
        "a heartbeat with a fenced epoch",
        "a heartbeat finds no group",
        "a heartbeat meets a server error",
        "the connection breaks under a heartbeat",
        "the interval becomes shorter",
        "the interval becomes longer",
        "an acknowledgement meets a loading coordinator",
        "an acknowledgement with a fenced epoch",
        "an acknowledgement is lost with its connection",
        "while a callback runs heartbeats go on",
        "a partition is revoked",
        "a partition is added",
        "a partition is exchanged",
        "all partitions are revoked",
        "the first assignment is empty",
        "the epoch rises and nothing moves",
        "a consumer that closes and is quiet",
        "a consumer that closes with no partitions",
        "a topic is subscribed that does not exist",
        "a pattern that the client matches",
        "a topic appears that the pattern of the client matches",
        "a join of a static member meets another one",
        "a quiet static member with a rack",
        "a heartbeat of a static member meets another one",
        "a heartbeat of a static member is fenced",
        "a heartbeat of a static member with a fenced epoch",
        "a consumer that closes and is static",
        "an auto-commit of a quiet member",
        "an auto-commit meets a loading coordinator",
        "an auto-commit of an unknown member",
        "an auto-commit with a stale epoch",
        "an auto-commit meets a server error",
        "a commit of a member",
        "a commit at the close",
    }
)
"""The stories that it was asked."""


def fitted(story: Story) -> Story | None:
    """A story as it plays it; None for those that it was not asked."""
    assert isinstance(story, ConsumerStory)
    return evolve(story, differs=DIFFERS.get(story.name, "")) if story.name in ASKED else None
