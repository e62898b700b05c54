"""What scripts, actors and players share: failures, marks in time, topics, the steps of a play."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, frozen

from tests.conformance.bodies import Body
from tests.conformance.peers import LATE_US

PATIENCE_US = 10_000_000
POLL_US = 10_000
SETTLE_US = 80_000
EARLY_US = 2_000  # Kafka's timers count whole milliseconds
LONG_MS = 60_000
DELAY_MS = 500
"""`group.initial.rebalance.delay.ms` of every peer."""
SCALA = "3.9"
"""The last line of releases with the group coordinator in Scala: what peers of the kind `scala` are."""
NEWEST_OF_SCALA = {"DescribeGroups": 5, "OffsetCommit": 9, "OffsetFetch": 9, "ListTransactions": 1}
"""The newest versions of `SCALA` that scripts go beyond; they are asked in their place."""
NEWEST_OF_4_0 = {"OffsetCommit": 9, "OffsetFetch": 9, "TxnOffsetCommit": 5}
"""The newest versions of 4.0, where those of 4.4 go beyond."""
COMMIT_MS = 2_000
"""`offsets.commit.timeout.ms` of peers of several nodes."""


def newest(release: str) -> Mapping[str, int]:
    """The newest versions that a release takes, where scripts and walks go beyond; "" is the newest release."""
    if release == SCALA:
        return NEWEST_OF_SCALA
    return NEWEST_OF_4_0 if release.startswith("4.0") else {}


class ScriptFailed(Exception):
    """A peer did not do what the script says; names the step, what was expected and what came."""


class TimingFailed(ScriptFailed):
    """It came too early or too late; in real time that may be the machine's fault."""


@frozen
class Mark:
    """When something happened: not before `lo_us` (it was asked for), not after `hi_us` (it was seen)."""

    lo_us: int
    hi_us: int


@frozen
class Topic:
    """A topic of a script; its id as a UUID."""

    name: str
    topic_id: str = "00000000-0000-0000-0000-000000000000"


def named_in_subscription(topic: str) -> str:
    """A topic's name as it stands in a subscription: its length before it."""
    return (len(topic).to_bytes(2, "big") + topic.encode()).decode()


def subscription(*topics: str) -> str:
    """A consumer's subscription (version 0, no user data), as text that encodes to its bytes."""
    named = "".join(map(named_in_subscription, topics))
    return (0).to_bytes(2, "big").decode() + len(topics).to_bytes(4, "big").decode() + named + "\0" * 4


@define
class Step:
    """One request and what became of it: a response, None when none came, "closed" when the connection was closed."""

    actor: str
    api: str
    version: int
    request: Body
    response: Body | str | None = None


def in_time(what: str, at_us: int, ms: int, since: Mark) -> None:
    """Never early, at most 250 ms late. Raises TimingFailed."""
    if at_us < since.lo_us + ms * 1_000 - EARLY_US:
        raise TimingFailed(f"{what}: {(at_us - since.lo_us) / 1e3:.1f} ms after, due after {ms} ms: early")
    if at_us > since.hi_us + ms * 1_000 + LATE_US:
        raise TimingFailed(f"{what}: {(at_us - since.hi_us) / 1e3:.1f} ms after, due after {ms} ms: late")
