"""Stories of a classic member in a consumer group: its partner is a member of the consumer protocol (KIP-848).

With `partner` the group is a consumer group before the client joins; else the client's classic group is converted
when the partner joins. The coordinator answers JoinGroup and SyncGroup of a classic member at once, and asks it for
another round with REBALANCE_IN_PROGRESS in a heartbeat. When the last member of the consumer protocol goes, the group
is classic again. The first JoinGroup is answered MEMBER_ID_REQUIRED, so that the second one joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.twins.stories import AUTO, COOPERATIVE, IMPATIENT, QUICK, RARE, SOON, STATIC
from tests.twins.story import (
    COMMIT,
    FETCH,
    FIND,
    HEARTBEAT,
    JOIN,
    LEAVE,
    SYNC,
    Deed,
    Rule,
    Story,
    answer,
    breaks,
    silence,
    slow,
    then,
)

_ASSIGNORS = "cooperative-sticky,range"


def _in_group(name: str, *rules: Rule, ends_ms: int = 2800, settings: Mapping[str, object] | None = None) -> Story:
    """The client joins a consumer group that a partner has made."""
    return _story(f"into a consumer group {name}", rules, ends_ms, settings, partner=True)


def _converted(
    name: str,
    *rules: Rule,
    ends_ms: int = 4400,
    settings: Mapping[str, object] | None = None,
    wait_ms: int = 200,
) -> Story:
    """The partner joins after the client's first heartbeat, and so converts its classic group."""
    joins = then(HEARTBEAT, 1, wait_ms, "partner")
    return _story(f"a group is converted {name}", (joins, *rules), ends_ms, settings)


def _story(
    name: str, rules: tuple[Rule, ...], ends_ms: int, settings: Mapping[str, object] | None, **more: Any
) -> Story:
    return Story(name, rules, ends_ms, {**QUICK, **(settings or {})}, partner_protocol="consumer", **more)


def _goes(at: int) -> Deed:
    return then(HEARTBEAT, at, 200, "partner-ends")


INTO: tuple[Story, ...] = (
    _in_group("and is quiet"),
    _in_group("as a cooperative member", settings=COOPERATIVE),
    _in_group("as a static member", settings=STATIC),
    _in_group("with two assignors", settings={"partition.assignment.strategy": _ASSIGNORS}),
    _in_group("while the coordinator loads", answer(JOIN, 2, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
    _in_group("at another coordinator", answer(JOIN, 2, "NOT_COORDINATOR")),
    _in_group("and the connection breaks under the join", breaks(JOIN, 2)),
    _in_group("and the answer to the join is late", slow(JOIN, 2, 600)),
    _in_group("and the connection breaks under the sync", breaks(SYNC, 1)),
    _in_group("and the sync meets a rebalance", answer(SYNC, 1, "REBALANCE_IN_PROGRESS")),
    _in_group("and the sync is of an old generation", answer(SYNC, 1, "ILLEGAL_GENERATION")),
    _in_group("and the sync is of an unknown member", answer(SYNC, 1, "UNKNOWN_MEMBER_ID")),
    _in_group("and the sync is not answered", silence(SYNC, 1), ends_ms=4200, settings={**IMPATIENT, **RARE}),
    _in_group("and a heartbeat is of an unknown member", answer(HEARTBEAT, 1, "UNKNOWN_MEMBER_ID"), ends_ms=3600),
    _in_group("and a heartbeat is of an old generation", answer(HEARTBEAT, 1, "ILLEGAL_GENERATION"), ends_ms=3600),
    _in_group("and the connection breaks under a heartbeat", breaks(HEARTBEAT, 2), ends_ms=3600),
    _in_group("and looks up offsets elsewhere", answer(FETCH, 1, "NOT_COORDINATOR")),
    _in_group("and closes", then(HEARTBEAT, 1, 200, "close"), ends_ms=2000),
    _in_group("and closes as a static member", then(HEARTBEAT, 1, 200, "close"), ends_ms=2000, settings=STATIC),
    _in_group("and unsubscribes", then(HEARTBEAT, 1, 200, "unsubscribe"), ends_ms=2000),
    _in_group("and its leave is refused", then(HEARTBEAT, 1, 200, "close"), answer(LEAVE, 1, "NOT_COORDINATOR")),
    _in_group("and is away for too long", then(HEARTBEAT, 1, 200, "block", ms=2000), ends_ms=4400, settings=SOON),
    _in_group("and the partner goes", _goes(1), ends_ms=4400),
    _in_group("and the partner goes from a cooperative member", _goes(1), ends_ms=4400, settings=COOPERATIVE),
    _in_group("and the partner goes from a static member", _goes(1), ends_ms=4400, settings=STATIC),
    _in_group("and the look-up fails at first", answer(FIND, 1, "COORDINATOR_NOT_AVAILABLE", 2)),
)

CONVERTED: tuple[Story, ...] = (
    _converted("under an eager member"),
    _converted("under a cooperative member", settings=COOPERATIVE),
    _converted("under a static member", settings=STATIC),
    _converted("and back", _goes(3), ends_ms=6000),
    _converted("and back under a cooperative member", _goes(3), ends_ms=6000, settings=COOPERATIVE),
    _converted("and the join is of an unknown member", answer(JOIN, 3, "UNKNOWN_MEMBER_ID")),
    _converted("and the connection breaks under the join", breaks(JOIN, 3)),
    _converted("and the sync meets a rebalance", answer(SYNC, 2, "REBALANCE_IN_PROGRESS")),
    _converted("and the connection breaks under the sync", breaks(SYNC, 2)),
    _converted("and the heartbeat that tells of it is not answered", silence(HEARTBEAT, 2), settings=IMPATIENT),
    _converted("and the client closes", then(HEARTBEAT, 3, 100, "close"), ends_ms=3600),
    _converted("and the client is away", then(HEARTBEAT, 1, 100, "block", ms=1500)),
    _converted("and positions are committed", settings=AUTO, wait_ms=50),
    _converted(
        "and the commit meets a rebalance",
        answer(COMMIT, 1, "REBALANCE_IN_PROGRESS"),
        ends_ms=4000,
        settings=AUTO,
        wait_ms=50,
    ),
)

ALL: tuple[Story, ...] = (*INTO, *CONVERTED)
