"""Records that producers gave up: they were refused, or too late, and no log ever took them.

They are in no account, for an account is of what the logs held. One entry stands for one producer, topic and error.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from groupsim.eventloop.trace.events import TraceEvent


@frozen
class FailedProduce:
    """What one producer gave up of one topic with one error, in records."""

    producer: str
    topic: str
    error: str
    records: int
    first_us: int
    reason: str | None = None  # of the first of them


def failed_produces(failures: Iterable[TraceEvent]) -> tuple[FailedProduce, ...]:
    """`produce.failed` events added up, in the order of their first ones."""
    found: dict[tuple[str, str, str], FailedProduce] = {}
    for event in failures:
        key = (event.host or "?", event.topic or "?", event.error or "?")
        count = int((event.payload or {}).get("count", 0))
        known = found.get(key) or FailedProduce(*key, 0, event.t_us, event.reason)
        found[key] = evolve(known, records=known.records + count)
    return tuple(found.values())
