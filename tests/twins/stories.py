"""The stories, by what they are about."""

from __future__ import annotations

from collections.abc import Mapping

from tests.twins.story import (
    COMMIT,
    FETCH,
    FIND,
    HEARTBEAT,
    JOIN,
    LEAVE,
    SYNC,
    Story,
    answer,
    breaks,
    silence,
    then,
)

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
#: No question waits behind a Fetch.
QUICK = {"fetch.max.wait.ms": 30}
LONG = {"fetch.max.wait.ms": 4000}
STATIC = {"group.instance.id": "i"}
GROWING = {"retry.backoff.max.ms": 1000}
AUTO = {"enable.auto.commit": True, "auto.commit.interval.ms": 1000}
#: Only the application's thread sees that nothing is answered.
RARE = {"heartbeat.interval.ms": 3000, "session.timeout.ms": 10000}
IMPATIENT = {"request.timeout.ms": 1300, "default.api.timeout.ms": 4000}
OFTEN = {"metadata.max.age.ms": 1300, **QUICK}
SOON = {"max.poll.interval.ms": 1200}

LOOK_UPS = (
    Story("no coordinator is found at first", (answer(FIND, 1, "COORDINATOR_NOT_AVAILABLE", 3),), 2500),
    Story(
        "no coordinator is found for longer",
        (answer(FIND, 1, "COORDINATOR_NOT_AVAILABLE", 3),),
        3200,
        GROWING,
        poll_ms=5000,
    ),
    Story(
        "metadata comes before the next look-up",
        (answer(FIND, 1, "COORDINATOR_NOT_AVAILABLE", 2),),
        1700,
        QUICK,
        metadata=True,
    ),
    Story(
        "metadata comes before a lost coordinator is looked up again",
        (answer(HEARTBEAT, 1, "NOT_COORDINATOR"), answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 2)),
        2100,
        QUICK,
        metadata=True,
    ),
    Story("a look-up is refused", (answer(FIND, 1, "GROUP_AUTHORIZATION_FAILED"),), 1000),
    Story(
        "a look-up is refused and tried again", (answer(FIND, 1, "GROUP_AUTHORIZATION_FAILED"),), 1500, stubborn=True
    ),
    Story("a look-up finds a server error", (answer(FIND, 1, "UNKNOWN_SERVER_ERROR"),), 1500, stubborn=True),
    Story("the connection breaks under a look-up", (breaks(FIND, 1),), 1500),
)
JOINS = (
    Story("join is told of a loading coordinator", (answer(JOIN, 2, "COORDINATOR_LOAD_IN_PROGRESS", 3),), 2000),
    Story("join is told of another coordinator", (answer(JOIN, 2, "NOT_COORDINATOR"),), 2000),
    Story("join is told that no coordinator is there", (answer(JOIN, 2, "COORDINATOR_NOT_AVAILABLE", 2),), 2500),
    Story("join with an id nobody knows", (answer(JOIN, 2, "UNKNOWN_MEMBER_ID"),), 1200),
    Story("join of a generation that is none", (answer(JOIN, 2, "ILLEGAL_GENERATION"),), 1200, stubborn=True),
    Story("join is fenced", (answer(JOIN, 1, "FENCED_INSTANCE_ID"),), 1200, STATIC),
    Story("join is fenced and tried again", (answer(JOIN, 1, "FENCED_INSTANCE_ID"),), 1500, STATIC, stubborn=True),
    Story("join into a full group", (answer(JOIN, 1, "GROUP_MAX_SIZE_REACHED"),), 1200),
    Story("join into a full group again", (answer(JOIN, 1, "GROUP_MAX_SIZE_REACHED", 3),), 1900, stubborn=True),
    Story("join is told of a server error", (answer(JOIN, 2, "UNKNOWN_SERVER_ERROR"),), 1500, stubborn=True),
    Story("join is told of a rebalance", (answer(JOIN, 2, "REBALANCE_IN_PROGRESS"),), 1200),
    Story("the connection breaks under a join", (breaks(JOIN, 2),), 2000),
    Story("the connection breaks under a parked join", (then(JOIN, 2, 300, "cut"),), 3000, partner=True),
)
SYNCS = (
    Story("sync is told of a rebalance", (answer(SYNC, 1, "REBALANCE_IN_PROGRESS"),), 1500),
    Story("sync with an id nobody knows", (answer(SYNC, 1, "UNKNOWN_MEMBER_ID"),), 1500),
    Story("sync of an old generation", (answer(SYNC, 1, "ILLEGAL_GENERATION"),), 1500),
    Story("sync is told of another coordinator", (answer(SYNC, 1, "NOT_COORDINATOR"),), 2000),
    Story("sync is told of a loading coordinator", (answer(SYNC, 1, "COORDINATOR_LOAD_IN_PROGRESS"),), 1500),
    Story("sync is told of a load again", (answer(SYNC, 1, "COORDINATOR_LOAD_IN_PROGRESS"),), 1500, stubborn=True),
    Story("sync is fenced and tried again", (answer(SYNC, 1, "FENCED_INSTANCE_ID"),), 1500, STATIC, stubborn=True),
    Story("sync is fenced", (answer(SYNC, 1, "FENCED_INSTANCE_ID"),), 1500, STATIC),
    Story("the connection breaks under a sync", (breaks(SYNC, 1),), 2000),
    Story("sync is not answered", (silence(SYNC, 1),), 3500, {**IMPATIENT, **RARE}),
)
HEARTBEATS = (
    Story("a heartbeat is told of a rebalance", (answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS"),), 2800),
    Story("a heartbeat with an id nobody knows", (answer(HEARTBEAT, 2, "UNKNOWN_MEMBER_ID"),), 2800),
    Story("a heartbeat of an old generation", (answer(HEARTBEAT, 2, "ILLEGAL_GENERATION"),), 2800),
    Story(
        "a heartbeat is fenced and joins again",
        (answer(HEARTBEAT, 1, "FENCED_INSTANCE_ID"),),
        2500,
        STATIC,
        stubborn=True,
    ),
    Story("a heartbeat is fenced", (answer(HEARTBEAT, 2, "FENCED_INSTANCE_ID"),), 2800, STATIC),
    Story("a heartbeat is told of another coordinator", (answer(HEARTBEAT, 2, "NOT_COORDINATOR"),), 2800, QUICK),
    Story("a heartbeat is told of a load", (answer(HEARTBEAT, 2, "COORDINATOR_LOAD_IN_PROGRESS"),), 2800),
    Story("a heartbeat is told of a server error", (answer(HEARTBEAT, 2, "UNKNOWN_SERVER_ERROR", 2),), 2500),
    Story("heartbeats fail and fail", (answer(HEARTBEAT, 1, "UNKNOWN_SERVER_ERROR", 4),), 3600, GROWING),
    Story("a heartbeat is refused", (answer(HEARTBEAT, 1, "GROUP_AUTHORIZATION_FAILED"),), 1500),
    Story("the connection breaks under a heartbeat", (breaks(HEARTBEAT, 2),), 2800, QUICK),
    Story("heartbeats are not answered", (silence(HEARTBEAT, 1),), 4500, {**IMPATIENT, **QUICK}),
    Story(
        "heartbeats are not answered for a session",
        (silence(HEARTBEAT, 1),),
        4500,
        {"session.timeout.ms": 2000, **QUICK},
    ),
    Story(
        "a rebalance comes with a cooperative member",
        (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"),),
        1500,
        COOPERATIVE,
    ),
    Story("a cooperative member is expelled", (answer(HEARTBEAT, 1, "UNKNOWN_MEMBER_ID"),), 1500, COOPERATIVE),
)


def _commit(name: str, error: str, times: int = 1, **more: object) -> Story:
    """commitSync of three records is answered with an error."""
    given = {"ends_ms": 1500, "records": 3, "policy": "sync-after-batch", **more}
    return Story(f"commit {name}", (answer(COMMIT, 1, error, times),), **given)  # type: ignore[arg-type]


COMMITS = (
    Story("a commit", (), 1500, records=3, policy="sync-after-batch"),
    _commit("is told of a loading coordinator", "COORDINATOR_LOAD_IN_PROGRESS", 2),
    _commit("is told of a load for longer", "COORDINATOR_LOAD_IN_PROGRESS", 3, ends_ms=2900, settings=GROWING),
    _commit("is told of another coordinator", "NOT_COORDINATOR", settings=QUICK),
    _commit("is too late on the coordinator", "REQUEST_TIMED_OUT", settings=QUICK),
    _commit("with an id nobody knows", "UNKNOWN_MEMBER_ID"),
    _commit("with an id nobody knows goes on", "UNKNOWN_MEMBER_ID", stubborn=True),
    _commit("of an old generation", "ILLEGAL_GENERATION", stubborn=True),
    _commit("is told of a rebalance", "REBALANCE_IN_PROGRESS", stubborn=True),
    _commit("is told of a rebalance and ends", "REBALANCE_IN_PROGRESS"),
    _commit("is fenced", "FENCED_INSTANCE_ID", settings=STATIC),
    _commit("is fenced and goes on", "FENCED_INSTANCE_ID", settings=STATIC, stubborn=True, ends_ms=2000),
    _commit(
        "without waiting is fenced", "FENCED_INSTANCE_ID", settings=STATIC, stubborn=True, policy="async-after-batch"
    ),
    _commit("is refused", "GROUP_AUTHORIZATION_FAILED"),
    _commit("of a topic nobody knows", "UNKNOWN_TOPIC_OR_PARTITION", 2),
    _commit("finds a server error", "UNKNOWN_SERVER_ERROR"),
    _commit("without waiting is told of a load", "COORDINATOR_LOAD_IN_PROGRESS", policy="async-after-batch"),
    _commit("without waiting is told of a rebalance", "REBALANCE_IN_PROGRESS", policy="async-after-batch"),
    _commit("without waiting with an id nobody knows", "UNKNOWN_MEMBER_ID", policy="async-after-batch"),
    Story(
        "the connection breaks under a commit", (breaks(COMMIT, 1),), 1500, QUICK, records=3, policy="sync-after-batch"
    ),
    Story(
        "a commit is not answered",
        (silence(COMMIT, 1),),
        3500,
        {**IMPATIENT, **QUICK, **RARE},
        records=3,
        policy="sync-after-batch",
    ),
)


def _before(
    name: str, settings: Mapping[str, object], error: str = "COORDINATOR_LOAD_IN_PROGRESS", times: int = 3
) -> Story:
    """A commit before a rebalance is refused; no interval and no poll ends meanwhile."""
    rules = (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), answer(COMMIT, 1, error, times))
    given = {**AUTO, "auto.commit.interval.ms": 5000, **settings}
    return Story(f"a commit before {name}", rules, 2600, given, records=3, poll_ms=5000)


AUTO_COMMITS = (
    Story("positions are committed by themselves", (), 2600, AUTO, records=3),
    Story(
        "an auto-commit is told of a load", (answer(COMMIT, 1, "COORDINATOR_LOAD_IN_PROGRESS"),), 2000, AUTO, records=3
    ),
    Story("an auto-commit with an id nobody knows", (answer(COMMIT, 1, "UNKNOWN_MEMBER_ID"),), 2000, AUTO, records=3),
    Story(
        "an auto-commit is told of a rebalance", (answer(COMMIT, 1, "REBALANCE_IN_PROGRESS"),), 2000, AUTO, records=3
    ),
    Story("an auto-commit finds a server error", (answer(COMMIT, 1, "UNKNOWN_SERVER_ERROR"),), 2600, AUTO, records=3),
    Story(
        "positions are committed before a rebalance",
        (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"),),
        1600,
        AUTO,
        records=3,
    ),
    Story(
        "a commit before a rebalance is told of a load",
        (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), answer(COMMIT, 1, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
        2400,
        AUTO,
        records=3,
    ),
    Story(
        "a commit before a rebalance is told of it",
        (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"), answer(COMMIT, 1, "REBALANCE_IN_PROGRESS")),
        1600,
        AUTO,
        records=3,
    ),
    _before("a cooperative rebalance is told of a load and fetches come back", {**COOPERATIVE, **QUICK}),
    _before("a cooperative rebalance is told of a load and nothing else comes", {**COOPERATIVE, **LONG}),
    _before("an eager rebalance is told of a load and a fetch comes back", QUICK),
    _before("an eager rebalance is told of another coordinator", QUICK, "NOT_COORDINATOR", 1),
    Story(
        "positions are committed when somebody else joins a cooperative group",
        (then(HEARTBEAT, 1, 200, "partner"),),
        5200,
        {**COOPERATIVE, **AUTO, "auto.commit.interval.ms": 9000},
        records=3,
    ),
    Story(
        "positions are committed at the close",
        (then(HEARTBEAT, 1, 100, "close"),),
        1500,
        {**AUTO, "auto.commit.interval.ms": 5000},
        records=3,
    ),
    Story(
        "a commit at the close is told of a load",
        (then(HEARTBEAT, 1, 100, "close"), answer(COMMIT, 1, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
        2000,
        {**AUTO, "auto.commit.interval.ms": 5000},
        records=3,
    ),
)
OFFSET_LOOK_UPS = (
    Story(
        "committed offsets are looked up while they load", (answer(FETCH, 1, "COORDINATOR_LOAD_IN_PROGRESS", 2),), 1500
    ),
    Story("committed offsets are looked up elsewhere", (answer(FETCH, 1, "NOT_COORDINATOR"),), 1500),
    Story("committed offsets are not stable yet", (answer(FETCH, 1, "UNSTABLE_OFFSET_COMMIT", 2),), 1500),
    Story(
        "committed offsets are not stable for longer",
        (answer(FETCH, 1, "UNSTABLE_OFFSET_COMMIT", 3),),
        2900,
        GROWING,
        poll_ms=5000,
    ),
    Story("committed offsets are refused", (answer(FETCH, 1, "GROUP_AUTHORIZATION_FAILED"),), 1500),
    Story("committed offsets meet a server error", (answer(FETCH, 1, "UNKNOWN_SERVER_ERROR"),), 1500, stubborn=True),
    Story("the connection breaks under committed offsets", (breaks(FETCH, 1),), 1500),
)
ENDS = (
    Story("a quiet member that closes", (then(HEARTBEAT, 2, 200, "close"),), 2800),
    Story("a static member that closes", (then(HEARTBEAT, 1, 200, "close"),), 1800, STATIC),
    Story("a static member that closes and leaves", (then(HEARTBEAT, 1, 200, "close", leave=True),), 1800, STATIC),
    Story("a member that closes and stays", (then(HEARTBEAT, 1, 200, "close", leave=False),), 1800),
    Story("a member that closes in a parked join", (then(JOIN, 2, 300, "close"),), 1800, partner=True),
    Story("a close is not answered", (then(HEARTBEAT, 1, 200, "close"), silence(LEAVE, 1)), 3500, IMPATIENT),
    Story(
        "a member that closes before its commit is answered",
        (silence(COMMIT, 1), then(COMMIT, 1, 200, "close")),
        3000,
        {**IMPATIENT, **QUICK, **RARE},
        records=3,
        policy="async-after-batch",
        differs="which thread finds the connection broken first, and when",
    ),
    Story(
        "a member that closes when told of a rebalance",
        (
            then(HEARTBEAT, 1, 0, "block", ms=1000),
            answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS"),
            then(HEARTBEAT, 2, 0, "close"),
        ),
        2600,
        poll_ms=50,
    ),
    Story(
        "a member that closes while the coordinator is lost",
        (
            then(HEARTBEAT, 1, 300, "close"),
            answer(HEARTBEAT, 1, "NOT_COORDINATOR"),
            answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 9),
        ),
        2000,
        QUICK,
    ),
    Story("a member that unsubscribes", (then(HEARTBEAT, 1, 200, "unsubscribe"),), 1800),
    Story(
        "a member that unsubscribes and comes back",
        (then(HEARTBEAT, 1, 200, "unsubscribe"), then(LEAVE, 1, 400, "subscribe", topics=("t",))),
        2400,
    ),
    Story("a static member that unsubscribes", (then(HEARTBEAT, 1, 200, "unsubscribe"),), 1800, STATIC),
    Story("the application is away for too long", (then(HEARTBEAT, 1, 100, "block", ms=2000),), 3600, SOON, poll_ms=50),
    Story(
        "the application is away while the coordinator is lost",
        (
            then(HEARTBEAT, 1, 100, "block", ms=3500),
            answer(HEARTBEAT, 2, "NOT_COORDINATOR"),
            answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 4),
        ),
        4000,
        {**SOON, **QUICK},
        poll_ms=50,
        differs="a thread in the background looks at the network every retry.backoff.ms only",
    ),
    Story(
        "the application is away for a rebalance",
        (then(HEARTBEAT, 1, 100, "block", ms=2000), answer(HEARTBEAT, 2, "REBALANCE_IN_PROGRESS")),
        3600,
        poll_ms=50,
    ),
    Story(
        "a static member's application is away for too long",
        (then(HEARTBEAT, 1, 100, "block", ms=2000),),
        3600,
        {**SOON, **STATIC},
    ),
)
CHANGES = (
    Story(
        "the subscription changes", (then(HEARTBEAT, 1, 200, "subscribe", topics=("t", "u")),), 2000, topics=("t", "u")
    ),
    Story(
        "a cooperative member's subscription changes",
        (then(HEARTBEAT, 1, 200, "subscribe", topics=("u",)),),
        2400,
        COOPERATIVE,
        topics=("t", "u"),
    ),
    Story("the application enforces a rebalance", (then(HEARTBEAT, 1, 200, "enforce", reason="because"),), 2400),
    Story("a rebalance is enforced without a word", (then(HEARTBEAT, 1, 200, "enforce", reason=""),), 2400),
    Story("a topic gets more partitions", (then(HEARTBEAT, 1, 100, "partitions", total=3),), 3100, OFTEN),
    Story(
        "a topic appears that the pattern matches",
        (then(HEARTBEAT, 1, 100, "topic", name="tea"),),
        3100,
        OFTEN,
        pattern="t.*",
    ),
    Story("a rebalance with a pattern", (answer(HEARTBEAT, 1, "REBALANCE_IN_PROGRESS"),), 1500, pattern="t.*"),
    Story("a pattern matches nothing", (), 1500, OFTEN, topics=(), pattern="t.*"),
    Story(
        "a pattern matches nothing at first",
        (then(HEARTBEAT, 1, 100, "topic", name="tea"),),
        3100,
        OFTEN,
        topics=(),
        pattern="t.*",
    ),
)
OTHERS = (
    Story("somebody else joins", (then(HEARTBEAT, 1, 200, "partner"),), 4000),
    Story("somebody else joins a cooperative group", (then(HEARTBEAT, 1, 200, "partner"),), 5200, COOPERATIVE),
    Story(
        "somebody else joins a sticky group",
        (then(HEARTBEAT, 1, 200, "partner"),),
        4000,
        {"partition.assignment.strategy": "sticky"},
    ),
    Story("a member that follows", (), 2200, partner=True),
    Story("a cooperative member that follows", (), 4600, COOPERATIVE, partner=True),
    Story("the leader goes", (then(HEARTBEAT, 1, 200, "partner-ends"),), 3800, partner=True),
    Story(
        "somebody joins and goes", (then(HEARTBEAT, 1, 200, "partner"), then(HEARTBEAT, 3, 300, "partner-ends")), 5200
    ),
    Story(
        "two pull at a cooperative group",
        (then(HEARTBEAT, 1, 200, "partner"), then(HEARTBEAT, 4, 300, "partner-ends")),
        6800,
        COOPERATIVE,
    ),
    Story("a static member among others", (then(HEARTBEAT, 1, 200, "partner"),), 4000, STATIC),
    Story(
        "both assignors are offered",
        (then(HEARTBEAT, 1, 200, "partner"),),
        4000,
        {"partition.assignment.strategy": "range,cooperative-sticky"},
    ),
)

EAGER = {"reconnect.backoff.max.ms": 100}
#: A session shorter than the pauses.
SHORT = {"session.timeout.ms": 2000}


def _pause(name: str, settings: Mapping[str, object], ms: int = 3900, **more: object) -> Story:
    """The process stands still from 300 ms after its second heartbeat on."""
    given = {"ends_ms": 8400, **more}
    rules = (then(HEARTBEAT, 2, 300, "pause", ms=ms),)
    return Story(f"the process stands still {name}", rules, settings=settings, **given)  # type: ignore[arg-type]


PAUSES = (
    _pause("for less than its session", {}, ms=1500, ends_ms=4600),
    _pause("for longer than its session", SHORT),
    _pause("for longer than its session between short fetches", {**SHORT, **QUICK}),
    _pause("for longer than its session and the poll limit", {**SHORT, "max.poll.interval.ms": 2500}),
    _pause("for longer than the poll limit", {"max.poll.interval.ms": 2500}),
    _pause("and is a static member", {**SHORT, **STATIC}),
    _pause("while it commits by itself", {**SHORT, **AUTO}, records=3),
    _pause("while another member goes on", SHORT, partner=True),
    Story(
        "the process stands still while the application is away",
        (then(HEARTBEAT, 1, 100, "block", ms=11000), then(HEARTBEAT, 2, 300, "pause", ms=4500)),
        12500,
        {**SHORT, **QUICK},
        poll_ms=50,
    ),
)


def _away(name: str, ms: int, ends_ms: int, settings: Mapping[str, object], **more: object) -> Story:
    """All brokers refuse from 300 ms after the second heartbeat on; they are tried again and again."""
    rules = (then(HEARTBEAT, 2, 300, "away", ms=ms),)
    return Story(f"every broker is away {name}", rules, ends_ms, {**QUICK, **EAGER, **settings}, **more)  # type: ignore[arg-type]


AWAY = (
    _away("for less than a session", 1500, 6600, {}),
    _away("when a session is over", 9000, 10400, {}),
    _away("for longer than a session", 4900, 11600, SHORT),
    _away("for longer than a session and it commits by itself", 4900, 9200, {**SHORT, **AUTO}, records=3),
)

ALL: tuple[Story, ...] = (
    *LOOK_UPS,
    *JOINS,
    *SYNCS,
    *HEARTBEATS,
    *COMMITS,
    *AUTO_COMMITS,
    *OFFSET_LOOK_UPS,
    *ENDS,
    *CHANGES,
    *OTHERS,
    *PAUSES,
    *AWAY,
)
