"""Stories of members that leave: by close, by unsubscribe, by the poll limit, and static ones that come back."""

from __future__ import annotations

from tests.twins.consumer.story import BEAT, ConsumerStory, after, target
from tests.twins.stories import AUTO, IMPATIENT, SOON, STATIC
from tests.twins.story import FIND, Rule, Story, answer, breaks, silence, slow


def _closes(name: str, *rules: Rule, ends_ms: int = 2900, **more: object) -> Story:
    """The application closes; the fourth heartbeat is that of the leave."""
    leave = more.pop("leave", None)
    closes = after(3, 200, "close") if leave is None else after(3, 200, "close", leave=leave)
    return ConsumerStory(f"a consumer that closes {name}", (closes, *rules), ends_ms, **more)  # type: ignore[arg-type]


CLOSES: tuple[Story, ...] = (
    _closes("and is quiet"),
    _closes("and leaves by option", leave=True),
    _closes("and stays by option", leave=False),
    _closes("and is static", settings=STATIC),
    _closes("and is static and leaves by option", settings=STATIC, leave=True),
    _closes("and is static and stays by option", settings=STATIC, leave=False),
    _closes("and is unknown", answer(BEAT, 4, "UNKNOWN_MEMBER_ID")),
    _closes("and its epoch is fenced", answer(BEAT, 4, "FENCED_MEMBER_EPOCH")),
    _closes("and its group is gone", answer(BEAT, 4, "GROUP_ID_NOT_FOUND")),
    _closes("at the wrong coordinator", answer(BEAT, 4, "NOT_COORDINATOR")),
    _closes("at a loading coordinator", answer(BEAT, 4, "COORDINATOR_LOAD_IN_PROGRESS")),
    _closes("and meets a server error", answer(BEAT, 4, "UNKNOWN_SERVER_ERROR")),
    _closes("and its connection breaks", breaks(BEAT, 4), ends_ms=3700),
    _closes("and is not answered", silence(BEAT, 4), ends_ms=4500, settings=IMPATIENT),
    _closes("and is answered late", slow(BEAT, 4, 1000), ends_ms=3700),
    _closes("while a heartbeat is not answered", silence(BEAT, 3), ends_ms=4500, settings=IMPATIENT),
    _closes("while a heartbeat is answered late", slow(BEAT, 3, 700)),
    _closes("and cleans up slowly", clean_up_ms=1500, ends_ms=4500),
    _closes(
        "and cleans up slowly and is fenced", answer(BEAT, 4, "FENCED_MEMBER_EPOCH"), clean_up_ms=1500, ends_ms=4500
    ),
    _closes("and cleans up slowly and gets a new target", target(3, 300, "t-0"), clean_up_ms=1500, ends_ms=4500),
    _closes("and whose callback throws", throws=("revoked",)),
    _closes("with no partitions", first=()),
    ConsumerStory(
        "a consumer that closes while the coordinator is lost",
        (
            answer(BEAT, 3, "NOT_COORDINATOR"),
            after(3, 300, "close"),
            answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 20),
        ),
        3700,
    ),
    ConsumerStory(
        "a consumer that closes after it was fenced",
        (answer(BEAT, 3, "FENCED_MEMBER_EPOCH"), slow(BEAT, 4, 600), after(3, 300, "close")),
        3700,
    ),
)


def _unsubscribes(name: str, *rules: Rule, ends_ms: int = 2900, **more: object) -> Story:
    """The application unsubscribes; the fourth heartbeat is that of the leave."""
    return ConsumerStory(
        f"a consumer that unsubscribes {name}", (after(3, 200, "unsubscribe"), *rules), ends_ms, **more
    )  # type: ignore[arg-type]


UNSUBSCRIBES: tuple[Story, ...] = (
    _unsubscribes("and is quiet"),
    _unsubscribes("and comes back", after(4, 400, "subscribe", topics=("t",))),
    _unsubscribes("and comes back at once", after(4, 0, "subscribe", topics=("t",))),
    _unsubscribes("and comes back for another topic", after(4, 400, "subscribe", topics=("u",)), topics=("t", "u")),
    _unsubscribes("and is static", settings=STATIC),
    _unsubscribes("and is static and comes back", after(4, 400, "subscribe", topics=("t",)), settings=STATIC),
    _unsubscribes("and is unknown", answer(BEAT, 4, "UNKNOWN_MEMBER_ID")),
    _unsubscribes("and its epoch is fenced", answer(BEAT, 4, "FENCED_MEMBER_EPOCH")),
    _unsubscribes("and its group is gone", answer(BEAT, 4, "GROUP_ID_NOT_FOUND")),
    _unsubscribes("at the wrong coordinator", answer(BEAT, 4, "NOT_COORDINATOR")),
    _unsubscribes("at a loading coordinator", answer(BEAT, 4, "COORDINATOR_LOAD_IN_PROGRESS")),
    _unsubscribes("and meets a server error", answer(BEAT, 4, "UNKNOWN_SERVER_ERROR")),
    _unsubscribes("and its connection breaks", breaks(BEAT, 4)),
    _unsubscribes("and is not answered", silence(BEAT, 4), ends_ms=4500, settings=IMPATIENT),
    _unsubscribes("and cleans up slowly", clean_up_ms=1500, ends_ms=4500),
    _unsubscribes(
        "and cleans up slowly and is unknown", answer(BEAT, 4, "UNKNOWN_MEMBER_ID"), clean_up_ms=1500, ends_ms=4500
    ),
    _unsubscribes("and whose callback throws", throws=("revoked",)),
    ConsumerStory(
        "a consumer that unsubscribes while the coordinator is lost",
        (
            answer(BEAT, 3, "NOT_COORDINATOR"),
            after(3, 300, "unsubscribe"),
            answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 20),
        ),
        2900,
    ),
)


def _away(name: str, *rules: Rule, ms: int = 2000, ends_ms: int = 5300, **more: object) -> Story:
    """The application stays away from poll for longer than max.poll.interval.ms."""
    given = {**more, "settings": {**SOON, **more.get("settings", {})}}  # type: ignore[dict-item]
    return ConsumerStory(f"the application is away {name}", (after(3, 100, "block", ms=ms), *rules), ends_ms, **given)  # type: ignore[arg-type]


AWAY: tuple[Story, ...] = (
    _away("for too long"),
    _away("for less than the limit", ms=800, ends_ms=3700),
    _away("for too long and never comes back", ms=9000, ends_ms=4500),
    _away("for too long and is static", settings=STATIC),
    _away("for too long and commits by itself", settings=AUTO, records=3),
    _away("for too long and commits then", after(3, 200, "commit", offset=1), records=3, policy="never"),
    _away("for too long and then closes", after(3, 300, "close")),
    _away("for too long and then unsubscribes", after(3, 300, "unsubscribe")),
    _away("for too long and the leave is refused", answer(BEAT, 5, "UNKNOWN_MEMBER_ID")),
    _away("for too long and the leave is not answered", silence(BEAT, 5), settings=IMPATIENT),
    _away("while a target waits", target(3, 200, "t-0")),
    _away("while it is fenced", answer(BEAT, 4, "FENCED_MEMBER_EPOCH")),
    _away(
        "while the coordinator is lost",
        answer(BEAT, 4, "NOT_COORDINATOR"),
        answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 8),
    ),
    _away("while its group is gone", answer(BEAT, 4, "GROUP_ID_NOT_FOUND")),
)

OTHERS: tuple[Story, ...] = (
    ConsumerStory("a poll is woken", (after(3, 200, "wake"),), 3700),
    ConsumerStory(
        "the application enforces a rebalance in the consumer protocol",
        (after(3, 200, "enforce", reason="because"),),
        3700,
    ),
    ConsumerStory("the application asks for committed offsets", (after(3, 200, "committed"),), 2900),
    ConsumerStory("the process stands still in the consumer protocol", (after(3, 300, "pause", ms=1500),), 5300),
    ConsumerStory(
        "the process stands still while the session ends",
        (after(3, 300, "pause", ms=1500), after(3, 500, "expel")),
        6100,
    ),
)


def _long(name: str, *rules: Rule, ends_ms: int = 3700, **more: object) -> Story:
    """The application polls for a second at a time."""
    return ConsumerStory(f"{name} in a long poll", rules, ends_ms, poll_ms=1000, **more)  # type: ignore[arg-type]


LONG_POLLS: tuple[Story, ...] = (
    _long("a quiet member"),
    _long("a partition is revoked", target(3, 100, "t-0")),
    _long("a partition is revoked between long fetches", target(3, 100, "t-0"), settings={"fetch.max.wait.ms": 500}),
    _long("a partition is added", target(3, 100, "t-0", "t-1"), first=("t-0",)),
    _long("a partition is added to none", target(3, 100, "t-0"), first=()),
    _long("a join is answered late", slow(BEAT, 1, 1000)),
    _long("a session ends", after(3, 200, "expel")),
    _long("a coordinator moves", after(3, 200, "move")),
    _long("a commit", records=3, policy="sync-after-batch"),
    _long("positions are committed before a revocation", target(3, 100, "t-0"), settings=AUTO, records=3),
    _long("a close", after(3, 200, "close")),
)
