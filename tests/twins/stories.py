"""The stories, by what they are about."""

from __future__ import annotations

from tests.twins.story import (
    HEARTBEAT,
    JOIN,
    SYNC,
    Story,
    answer,
    breaks,
    then,
)

#: Who is recorded, and which profile has to do the same.
CLIENT, PROFILE = "java-4.4.0", "java-4.x"
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
#: No question waits behind a Fetch.
QUICK = {"fetch.max.wait.ms": 30}

JOINS = (
    Story("a quiet member that closes", (then(HEARTBEAT, 2, 300, "close"),), 2800),
    Story("join is told of a loading coordinator", (answer(JOIN, 2, "COORDINATOR_LOAD_IN_PROGRESS", 3),), 2000),
    Story("join is told of another coordinator", (answer(JOIN, 2, "NOT_COORDINATOR"),), 2000),
    Story("join is told that no coordinator is there", (answer(JOIN, 2, "COORDINATOR_NOT_AVAILABLE", 2),), 2500),
    Story("join with an id nobody knows", (answer(JOIN, 2, "UNKNOWN_MEMBER_ID"),), 1200),
    Story("join of a generation that is none", (answer(JOIN, 2, "ILLEGAL_GENERATION"),), 1200, stubborn=True),
    Story("join is fenced", (answer(JOIN, 1, "FENCED_INSTANCE_ID"),), 1200, {"group.instance.id": "i"}),
    Story("join into a full group", (answer(JOIN, 1, "GROUP_MAX_SIZE_REACHED"),), 1200),
    Story("join into a full group again", (answer(JOIN, 1, "GROUP_MAX_SIZE_REACHED", 3),), 1900, stubborn=True),
    Story("join is told of a server error", (answer(JOIN, 2, "UNKNOWN_SERVER_ERROR"),), 1500, stubborn=True),
    Story("join is told of a rebalance", (answer(JOIN, 2, "REBALANCE_IN_PROGRESS"),), 1200),
    Story("the connection breaks under a join", (breaks(JOIN, 2),), 2000),
)
SYNCS = (
    Story("sync is told of a rebalance", (answer(SYNC, 1, "REBALANCE_IN_PROGRESS"),), 1500),
    Story("sync with an id nobody knows", (answer(SYNC, 1, "UNKNOWN_MEMBER_ID"),), 1500),
    Story("sync of an old generation", (answer(SYNC, 1, "ILLEGAL_GENERATION"),), 1500),
    Story("sync is told of another coordinator", (answer(SYNC, 1, "NOT_COORDINATOR"),), 2000),
    Story("sync is told of a loading coordinator", (answer(SYNC, 1, "COORDINATOR_LOAD_IN_PROGRESS"),), 1500),
    Story("sync is fenced", (answer(SYNC, 1, "FENCED_INSTANCE_ID"),), 1500, {"group.instance.id": "i"}),
    Story("the connection breaks under a sync", (breaks(SYNC, 1),), 2000),
)
HEARTBEATS = (
    Story("a heartbeat is told of a rebalance", (answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS"),), 2800),
    Story("a heartbeat with an id nobody knows", (answer(HEARTBEAT, 2, "UNKNOWN_MEMBER_ID"),), 2800),
    Story("a heartbeat of an old generation", (answer(HEARTBEAT, 2, "ILLEGAL_GENERATION"),), 2800),
    Story("a heartbeat is fenced", (answer(HEARTBEAT, 2, "FENCED_INSTANCE_ID"),), 2500, {"group.instance.id": "i"}),
    Story("a heartbeat is told of another coordinator", (answer(HEARTBEAT, 2, "NOT_COORDINATOR"),), 2800, QUICK),
    Story("a heartbeat is told of a load", (answer(HEARTBEAT, 2, "COORDINATOR_LOAD_IN_PROGRESS"),), 2800),
    Story("a heartbeat is told of a server error", (answer(HEARTBEAT, 2, "UNKNOWN_SERVER_ERROR", 2),), 2500),
    Story("the connection breaks under a heartbeat", (breaks(HEARTBEAT, 2),), 2800, QUICK),
)

ALL: tuple[Story, ...] = (*JOINS, *SYNCS, *HEARTBEATS)
