"""A story of the consumer protocol (KIP-848): one consumer, and a coordinator whose group it has for itself.

The coordinator is scripted (`coordinator.py`): it keeps epochs and reconciles as Kafka's does, and changes the target
when the story says so. Rules that answer, delay or strike requests are those of all stories (`tests/twins/story.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupsim.protocol.messages.group import Api
from tests.twins.story import SETTINGS, Deed, Rule, Story, slow, then

BEAT = Api.CONSUMER_GROUP_HEARTBEAT

_METADATA_FIRST_MS = 30
OF_THE_BROKER = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
CONSUMER_SETTINGS: Mapping[str, object] = {
    "group.protocol": "consumer",
    "fetch.max.wait.ms": 50,  # poll looks at the group when a Fetch comes back
    **{name: value for name, value in SETTINGS.items() if name not in OF_THE_BROKER},
}
"""The settings of all stories, without those that the consumer protocol refuses: the broker has them."""


@frozen
class Reply:
    """Heartbeats that are answered as written, whatever the group's state: an epoch, and partitions (None: no change).

    A partition is `t-0`; one of a topic that does not exist is `?-0`.
    """

    at: int
    epoch: int
    owns: tuple[str, ...] | None = None
    times: int = 1


@frozen
class ConsumerStory(Story):
    """One story of the consumer protocol.

    The coordinator asks for a heartbeat every `interval_ms`. `replies`: heartbeats that are answered as written.
    `first`: the first target; None: all partitions of what is subscribed. `regex`: the pattern that the broker
    resolves. Callbacks named in `throws` (assigned, revoked, lost) throw at their first call; onPartitionsAssigned
    takes `set_up_ms`. The application polls for 20 ms at a time, so that it soon looks at what its client's other
    thread has for it; in a longer poll it looks when a Fetch comes back, and every retry.backoff.ms.
    """

    interval_ms: int = 800
    replies: tuple[Reply, ...] = ()
    first: tuple[str, ...] | None = None
    regex: str | None = None
    throws: tuple[str, ...] = ()
    set_up_ms: int = 0
    poll_ms: int = 20

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """The first heartbeat is answered a little later, so that metadata are there before the assignment."""
        return (slow(BEAT, 1, _METADATA_FIRST_MS), *self.rules)

    @property
    def properties(self) -> dict[str, object]:
        own = {"group.id": self.slug, "client.id": self.slug}
        return {**CONSUMER_SETTINGS, **own, **self.settings}


def target(at: int, wait_ms: int, *partitions: str) -> Deed:
    """So many milliseconds after the `at`-th heartbeat the group has a new target, and a new epoch."""
    return then(BEAT, at, wait_ms, "target", partitions=partitions)


def after(at: int, wait_ms: int, what: str, **given: Any) -> Deed:
    """So many milliseconds after the `at`-th heartbeat something is done."""
    return then(BEAT, at, wait_ms, what, **given)
