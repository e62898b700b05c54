"""Stories of commits, of commits before a reconciliation, and of look-ups of committed offsets."""

from __future__ import annotations

from tests.twins.consumer.story import BEAT, ConsumerStory, after, target
from tests.twins.stories import AUTO, GROWING, IMPATIENT, STATIC
from tests.twins.story import COMMIT, FETCH, Rule, Story, answer, breaks, silence, slow


def _commit(name: str, error: str, times: int = 1, **more: object) -> Story:
    """commitSync of three records is answered with an error."""
    given = {"ends_ms": 2000, "records": 3, "policy": "sync-after-batch", **more}
    return ConsumerStory(f"a commit {name}", (answer(COMMIT, 1, error, times),), **given)  # type: ignore[arg-type]


ASYNC = {"policy": "async-after-batch"}

COMMITS: tuple[Story, ...] = (
    ConsumerStory("a commit of a member", (), 2000, records=3, policy="sync-after-batch"),
    _commit("meets a loading coordinator", "COORDINATOR_LOAD_IN_PROGRESS", 2),
    _commit(
        "meets a loading coordinator for longer", "COORDINATOR_LOAD_IN_PROGRESS", 3, ends_ms=2900, settings=GROWING
    ),
    _commit("reaches the wrong coordinator", "NOT_COORDINATOR"),
    _commit("reaches no coordinator", "COORDINATOR_NOT_AVAILABLE"),
    _commit("is too late on the coordinator", "REQUEST_TIMED_OUT"),
    _commit("of an unknown member", "UNKNOWN_MEMBER_ID"),
    _commit("of an unknown member and poll goes on", "UNKNOWN_MEMBER_ID", stubborn=True),
    _commit("with a stale epoch", "STALE_MEMBER_EPOCH"),
    _commit("with a stale epoch and poll goes on", "STALE_MEMBER_EPOCH", stubborn=True),
    _commit("with a fenced epoch", "FENCED_MEMBER_EPOCH"),
    _commit("of an old generation", "ILLEGAL_GENERATION"),
    _commit("meets a rebalance", "REBALANCE_IN_PROGRESS"),
    _commit("of a fenced instance", "FENCED_INSTANCE_ID", settings=STATIC),
    _commit("finds no group", "GROUP_ID_NOT_FOUND"),
    _commit("is not authorized for the group", "GROUP_AUTHORIZATION_FAILED"),
    _commit("is not authorized for a topic", "TOPIC_AUTHORIZATION_FAILED"),
    _commit("of a topic that is unknown", "UNKNOWN_TOPIC_OR_PARTITION", 2),
    _commit("of a topic id that is unknown", "UNKNOWN_TOPIC_ID", 2),
    _commit("has too much metadata", "OFFSET_METADATA_TOO_LARGE"),
    _commit("is too large", "INVALID_COMMIT_OFFSET_SIZE"),
    _commit("of a version that is not supported", "UNSUPPORTED_VERSION"),
    _commit("meets a server error", "UNKNOWN_SERVER_ERROR"),
    _commit("without waiting meets a loading coordinator", "COORDINATOR_LOAD_IN_PROGRESS", **ASYNC),
    _commit("without waiting reaches the wrong coordinator", "NOT_COORDINATOR", **ASYNC),
    _commit("without waiting of an unknown member", "UNKNOWN_MEMBER_ID", **ASYNC),
    _commit("without waiting with a stale epoch", "STALE_MEMBER_EPOCH", **ASYNC),
    ConsumerStory(
        "the connection breaks under a commit", (breaks(COMMIT, 1),), 2100, records=3, policy="sync-after-batch"
    ),
    ConsumerStory(
        "a commit is not answered", (silence(COMMIT, 1),), 4500, IMPATIENT, records=3, policy="sync-after-batch"
    ),
    ConsumerStory("a commit is answered late", (slow(COMMIT, 1, 1000),), 2900, records=3, policy="sync-after-batch"),
    ConsumerStory(
        "a commit is under way when the member is fenced",
        (answer(BEAT, 3, "FENCED_MEMBER_EPOCH"), after(3, 300, "commit", offset=2)),
        3700,
        records=3,
        policy="never",
    ),
    ConsumerStory(
        "records of a revoked partition are committed in the callback",
        (target(3, 100, "t-1"), after(3, 50, "records", count=2)),
        4500,
        records=3,
        policy="on-revoke",
    ),
)


def _auto(name: str, *rules: Rule, ends_ms: int = 2900, **more: object) -> Story:
    """Positions are committed every second."""
    given = {"settings": AUTO, "records": 3, **more}
    return ConsumerStory(f"an auto-commit {name}", rules, ends_ms, **given)  # type: ignore[arg-type]


RARELY = {**AUTO, "auto.commit.interval.ms": 9000}


def _before(name: str, *rules: Rule, ends_ms: int = 4500, **more: object) -> Story:
    """Positions are committed before a partition is revoked."""
    given = {"settings": RARELY, "records": 3, **more}
    return ConsumerStory(f"a commit before a revocation {name}", (target(3, 100, "t-0"), *rules), ends_ms, **given)  # type: ignore[arg-type]


AUTO_COMMITS: tuple[Story, ...] = (
    _auto("of a quiet member"),
    _auto("meets a loading coordinator", answer(COMMIT, 1, "COORDINATOR_LOAD_IN_PROGRESS")),
    _auto("reaches the wrong coordinator", answer(COMMIT, 1, "NOT_COORDINATOR")),
    _auto("of an unknown member", answer(COMMIT, 1, "UNKNOWN_MEMBER_ID")),
    _auto("with a stale epoch", answer(COMMIT, 1, "STALE_MEMBER_EPOCH")),
    _auto("meets a server error", answer(COMMIT, 1, "UNKNOWN_SERVER_ERROR")),
    _auto("is not answered", silence(COMMIT, 1), ends_ms=4500, settings={**AUTO, **IMPATIENT}),
    _auto("of a fenced member", answer(BEAT, 3, "FENCED_MEMBER_EPOCH")),
    _before("of a member"),
    _before("meets a loading coordinator", answer(COMMIT, 2, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
    _before("reaches the wrong coordinator", answer(COMMIT, 2, "NOT_COORDINATOR")),
    _before("with a stale epoch", answer(COMMIT, 2, "STALE_MEMBER_EPOCH", 2)),
    _before("of an unknown member", answer(COMMIT, 2, "UNKNOWN_MEMBER_ID")),
    _before("meets a server error", answer(COMMIT, 2, "UNKNOWN_SERVER_ERROR")),
    _before("is lost with its connection", breaks(COMMIT, 2)),
    _before("is not answered", silence(COMMIT, 2), ends_ms=5300, settings={**RARELY, **IMPATIENT}),
    _before("is answered late", slow(COMMIT, 2, 1500), ends_ms=5300),
    _before(
        "is answered late and the member is fenced",
        slow(COMMIT, 2, 1500),
        answer(BEAT, 5, "FENCED_MEMBER_EPOCH"),
        ends_ms=5300,
    ),
    _before(
        "takes longer than the poll limit",
        answer(COMMIT, 2, "COORDINATOR_LOAD_IN_PROGRESS", 20),
        ends_ms=5300,
        settings={**RARELY, "max.poll.interval.ms": 1500},
    ),
    ConsumerStory("a commit at the close", (after(3, 100, "close"),), 2100, RARELY, records=3),
    ConsumerStory(
        "a commit at the close meets a loading coordinator",
        (after(3, 100, "close"), answer(COMMIT, 2, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
        2900,
        RARELY,
        records=3,
    ),
    ConsumerStory(
        "a commit at the close is not answered",
        (after(3, 100, "close"), silence(COMMIT, 2)),
        4500,
        {**RARELY, **IMPATIENT},
        records=3,
    ),
    ConsumerStory("a commit when the consumer unsubscribes", (after(3, 100, "unsubscribe"),), 2100, RARELY, records=3),
)


def _fetch(name: str, *rules: Rule, ends_ms: int = 2100, **more: object) -> Story:
    return ConsumerStory(f"committed offsets {name}", rules, ends_ms, **more)  # type: ignore[arg-type]


OFFSET_LOOK_UPS: tuple[Story, ...] = (
    _fetch("are looked up while they load", answer(FETCH, 1, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
    _fetch("are looked up at the wrong coordinator", answer(FETCH, 1, "NOT_COORDINATOR")),
    _fetch("are looked up at no coordinator", answer(FETCH, 1, "COORDINATOR_NOT_AVAILABLE")),
    _fetch("are not stable yet", answer(FETCH, 1, "UNSTABLE_OFFSET_COMMIT", 2)),
    _fetch("are not stable for longer", answer(FETCH, 1, "UNSTABLE_OFFSET_COMMIT", 3), ends_ms=2900, settings=GROWING),
    _fetch("are looked up with a stale epoch", answer(FETCH, 1, "STALE_MEMBER_EPOCH")),
    _fetch("are looked up by an unknown member", answer(FETCH, 1, "UNKNOWN_MEMBER_ID")),
    _fetch("are looked up by an unknown member and poll goes on", answer(FETCH, 1, "UNKNOWN_MEMBER_ID"), stubborn=True),
    _fetch("are refused", answer(FETCH, 1, "GROUP_AUTHORIZATION_FAILED")),
    _fetch("of no group", answer(FETCH, 1, "GROUP_ID_NOT_FOUND")),
    _fetch("meet a server error", answer(FETCH, 1, "UNKNOWN_SERVER_ERROR"), stubborn=True),
    _fetch("are lost with their connection", breaks(FETCH, 1)),
    _fetch("are not answered", silence(FETCH, 1), ends_ms=4500, settings=IMPATIENT),
    _fetch("come late", slow(FETCH, 1, 1000), ends_ms=2900),
    _fetch("come late and the partition is revoked", slow(FETCH, 1, 1500), target(2, 100, "t-1"), ends_ms=4500),
)
