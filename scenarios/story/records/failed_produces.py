"""Records that producers gave up: refused, or past delivery.timeout.ms (KIP-91), and in no log.

They are in no account, because an account covers the records of a log. One entry has one producer, topic and error.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.protocol.values import frozen


@frozen
class FailedProduce:
    """The records of one topic that one producer gave up with one error."""

    producer: str
    topic: str
    error: str
    records: int
    first_us: int
    reason: str | None = None  # of the first of them


def failed_produces(failures: Iterable[TraceEvent]) -> tuple[FailedProduce, ...]:
    """Return the sums of `produce.failed` events, in the order of their first ones."""
    found: dict[tuple[str, str, str], FailedProduce] = {}
    for event in failures:
        key = (event.host or "?", event.topic or "?", event.error or "?")
        count = int((event.payload or {}).get("count", 0))
        known = found.get(key) or FailedProduce(*key, 0, event.t_us, event.reason)
        found[key] = evolve(known, records=known.records + count)
    return tuple(found.values())
