"""Which rows of docs/fidelity/members.toml the real client is the judge of, by the stories that show them.

python -m tests.twins.rows      writes `live` of the client's rows, and the pages
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from tests.helpers.fidelity_rows import Page, Row, pages, write
from tests.twins.clients import AIOKAFKA, JAVA, KAFKA_PYTHON_2_0, KAFKA_PYTHON_3, LIBRDKAFKA

_PAGE = "members"
_OWN = "own tests"
_OF_OTHERS = {
    "4.x-kafka-python": KAFKA_PYTHON_2_0.name,
    "4.x-kafka-python-3": KAFKA_PYTHON_3.name,
    "4.x-apart": AIOKAFKA.name,
    "4.x-aiokafka-limit": AIOKAFKA.name,
    "4.x-aiokafka-heartbeats": AIOKAFKA.name,
    "4.x-aiokafka-offsets": AIOKAFKA.name,
    "4.x-aiokafka-session": AIOKAFKA.name,
}

ROWS: Mapping[str, Sequence[str]] = {
    "4.2-preparing": ("a member that closes in a parked join",),
    "4.3-poll-quiet": ("a quiet member that closes",),
    "4.4-rediscovery": ("a heartbeat is told of another coordinator", "commit is told of another coordinator"),
    "4.4-reconnect": ("the connection breaks under a join", "the connection breaks under a heartbeat"),
    "4.4-unavailable": ("join is told of another coordinator", "sync is told of another coordinator"),
    "4.4-metadata-first": (
        "metadata comes before the next look-up",
        "metadata comes before a lost coordinator is looked up again",
    ),
    "4.5-handshake": ("a quiet member that closes", "join with an id nobody knows"),
    "4.5-subscription": ("both assignors are offered", "a cooperative member that follows"),
    "4.5-join-retriable": ("join is told of a loading coordinator", "join is told that no coordinator is there"),
    "4.5-join-refused": ("join into a full group", "join is told of a server error"),
    "4.5-join-again": ("join into a full group again",),
    "4.5-join-fenced": ("join is fenced", "sync is fenced", "commit is fenced"),
    "4.5-fenced-again": (
        "join is fenced and tried again",
        "sync is fenced and tried again",
        "a heartbeat is fenced and joins again",
        "commit is fenced and goes on",
        "commit without waiting is fenced",
    ),
    "4.5-unexpected": ("sync is told of a loading coordinator", "commit finds a server error"),
    "4.5-sync-rebalance": ("sync is told of a rebalance",),
    "4.5-sync-loading": ("sync is told of a loading coordinator", "sync is told of a load again"),
    "4.5-sync-disconnect": ("the connection breaks under a sync", "sync is not answered"),
    "4.5-skip-assignment": ("a heartbeat is fenced and joins again",),
    "4.6-interval": ("a quiet member that closes",),
    "4.6-rebalancing": ("a heartbeat is told of a rebalance", "the application is away for a rebalance"),
    "4.6-expelled": ("a heartbeat with an id nobody knows", "a heartbeat of an old generation"),
    "4.6-fenced": ("a heartbeat is fenced",),
    "4.6-other-errors": ("a heartbeat is told of a load", "a heartbeat is refused", "heartbeats fail and fail"),
    "4.6-session": ("heartbeats are not answered for a session",),
    "4.6-session-first": (
        "the process stands still for longer than its session",
        "the process stands still for longer than its session and the poll limit",
    ),
    "4.6-poll-limit": ("the application is away for too long",),
    "4.6-poll-limit-static": ("a static member's application is away for too long",),
    "4.7-who-leaves": (
        "a quiet member that closes",
        "a static member that closes",
        "a static member that closes and leaves",
        "a member that closes and stays",
    ),
    "4.7-pending-leaves": ("a member that closes in a parked join",),
    "4.7-unsubscribe": ("a member that unsubscribes", "a static member that unsubscribes"),
    "4.7-revokes": ("a member that closes when told of a rebalance", "commit is told of a rebalance and ends"),
    "4.8-eager": ("a heartbeat is told of a rebalance",),
    "4.8-cooperative": ("somebody else joins a cooperative group", "two pull at a cooperative group"),
    "4.8-cooperative-topics": ("a cooperative member's subscription changes",),
    "4.8-lost": ("a cooperative member is expelled", "a heartbeat with an id nobody knows"),
    "4.8-order": ("a topic appears that the pattern matches",),
    "4.9-partitions": ("a topic gets more partitions",),
    "4.9-pattern": ("a topic appears that the pattern matches", "a pattern matches nothing at first"),
    "4.9-subscription": ("the subscription changes",),
    "4.10-auto": ("positions are committed by themselves", "an auto-commit is told of a load"),
    "4.10-auto-lookup": ("the process stands still while it commits by itself",),
    "4.10-before-rebalance": ("positions are committed before a rebalance",),
    "4.10-before-rebalance-retried": (
        "a commit before a cooperative rebalance is told of a load and fetches come back",
        "a commit before a cooperative rebalance is told of a load and nothing else comes",
        "a commit before an eager rebalance is told of another coordinator",
    ),
    "4.10-sync": ("commit is told of a load for longer", "a commit is not answered"),
    "4.10-async": ("commit without waiting is told of a load",),
    "4.10-rebalancing": ("commit is told of a rebalance", "an auto-commit is told of a rebalance"),
    "4.10-zombie": ("commit with an id nobody knows goes on", "commit of an old generation"),
    "4.10-fetch-retried": (
        "committed offsets are looked up while they load",
        "committed offsets are looked up elsewhere",
        "committed offsets are not stable for longer",
    ),
    "4.10-reset": ("a commit",),
    "4.11-static-restart": ("a heartbeat is fenced and joins again",),
}
"""Row → the stories in which the real client shows it."""

OF_LIBRDKAFKA: Mapping[str, Sequence[str]] = {
    "4.x-librdkafka-subscription": ("a quiet member that closes", "a heartbeat is told of a rebalance"),
    "4.x-librdkafka-heartbeats": (
        "a quiet member that closes",
        "a topic gets more partitions",
        "heartbeats fail and fail",
    ),
    "4.x-librdkafka-rejoin": (
        "join is told of a loading coordinator",
        "join with an id nobody knows",
        "join into a full group again",
    ),
    "4.x-librdkafka-retries": (
        "sync is told of a loading coordinator",
        "the connection breaks under a sync",
        "commit is told of a load for longer",
        "a heartbeat is told of a load",
    ),
    "4.x-librdkafka-keeps": (
        "a heartbeat is told of another coordinator",
        "sync is told of another coordinator",
        "join is told of another coordinator",
    ),
    "4.x-librdkafka-done": ("a heartbeat is fenced and joins again", "commit is fenced and goes on", "join is fenced"),
    "4.x-librdkafka-session": (
        "heartbeats are not answered for a session",
        "every broker is away when a session is over",
        "every broker is away for longer than a session",
    ),
    "4.x-librdkafka-reconnects": (
        "every broker is away for less than a session",
        "every broker is away for longer than a session",
    ),
    "4.x-librdkafka-nameless": ("the process stands still while the application is away",),
    "4.x-librdkafka-offsets": ("committed offsets meet a server error", "committed offsets are looked up elsewhere"),
    "4.x-librdkafka-commits": (
        "positions are committed by themselves",
        "positions are committed before a rebalance",
        "positions are committed when somebody else joins a cooperative group",
        "positions are committed at the close",
    ),
    "4.x-librdkafka-told": ("the application is away for too long", "a pattern matches nothing at first"),
    "4.x-librdkafka-leaves": ("a static member that unsubscribes", "a static member that closes"),
    "4.x-librdkafka-assignors": (
        "a static member among others",
        "somebody else joins a cooperative group",
        "two pull at a cooperative group",
    ),
}
"""Row → the stories in which the real librdkafka shows it."""


def marked(found: Sequence[Page]) -> list[Page]:
    """The pages with the judge of each of the client's rows."""
    return [_marked(page) if page.name == _PAGE else page for page in found]


def _marked(page: Page) -> Page:
    sections = (
        section._replace(rows=tuple(row._replace(live=_judge(row)) for row in section.rows))
        for section in page.sections
    )
    return page._replace(sections=tuple(sections))


def _judge(row: Row) -> str | None:
    if row.cell in OF_LIBRDKAFKA:
        return LIBRDKAFKA.name
    if row.cell in _OF_OTHERS:
        return _OF_OTHERS[row.cell]
    return JAVA.name if row.cell in ROWS else None if row.kind == "left out" else _OWN


def main() -> int:
    """Write the column and the pages."""
    write(marked(pages()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
