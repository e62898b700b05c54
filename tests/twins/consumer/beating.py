"""Stories of heartbeats that fail, in each state of the member.

The first heartbeat joins, the second acknowledges the first assignment, the third is that of a stable member. While a
callback for revoked partitions takes its time the member is reconciling, and its heartbeats go on.
"""

from __future__ import annotations

from tests.twins.consumer.story import BEAT, ConsumerStory, after, target
from tests.twins.stories import GROWING, IMPATIENT, STATIC
from tests.twins.story import Rule, Story, answer, breaks, silence, slow


def _acknowledged(name: str, *rules: Rule, ends_ms: int = 2900, **more: object) -> Story:
    """Something is in the way of the heartbeat that acknowledges the first assignment."""
    return ConsumerStory(f"an acknowledgement {name}", rules, ends_ms, **more)  # type: ignore[arg-type]


ACKNOWLEDGEMENTS: tuple[Story, ...] = (
    _acknowledged("meets a loading coordinator", answer(BEAT, 2, "COORDINATOR_LOAD_IN_PROGRESS", 2)),
    _acknowledged("reaches the wrong coordinator", answer(BEAT, 2, "NOT_COORDINATOR")),
    _acknowledged("reaches no coordinator", answer(BEAT, 2, "COORDINATOR_NOT_AVAILABLE")),
    _acknowledged("of an unknown member", answer(BEAT, 2, "UNKNOWN_MEMBER_ID")),
    _acknowledged("with a fenced epoch", answer(BEAT, 2, "FENCED_MEMBER_EPOCH")),
    _acknowledged("finds no group", answer(BEAT, 2, "GROUP_ID_NOT_FOUND")),
    _acknowledged("is not authorized for a topic", answer(BEAT, 2, "TOPIC_AUTHORIZATION_FAILED"), stubborn=True),
    _acknowledged("meets a server error", answer(BEAT, 2, "UNKNOWN_SERVER_ERROR")),
    _acknowledged("is lost with its connection", breaks(BEAT, 2)),
    _acknowledged("is not answered", silence(BEAT, 2), ends_ms=3700, settings=IMPATIENT),
    _acknowledged("is answered late", slow(BEAT, 2, 1000)),
    _acknowledged("of a revocation is lost with its connection", target(3, 100, "t-0"), breaks(BEAT, 5), ends_ms=4500),
    _acknowledged(
        "of a revocation with a fenced epoch",
        target(3, 100, "t-0"),
        answer(BEAT, 5, "FENCED_MEMBER_EPOCH"),
        ends_ms=4500,
    ),
)


def _beat(name: str, error: str, times: int = 1, ends_ms: int = 3700, **more: object) -> Story:
    """The heartbeat of a stable member is answered with an error."""
    return ConsumerStory(f"a heartbeat {name}", (answer(BEAT, 3, error, times),), ends_ms, **more)  # type: ignore[arg-type]


HEARTBEATS: tuple[Story, ...] = (
    ConsumerStory("a quiet member", (), 4500),
    ConsumerStory("a quiet static member with a rack", (), 3700, {**STATIC, "client.rack": "east"}),
    _beat("meets a loading coordinator", "COORDINATOR_LOAD_IN_PROGRESS", 2),
    _beat("meets a loading coordinator for longer", "COORDINATOR_LOAD_IN_PROGRESS", 3, settings=GROWING, ends_ms=4500),
    _beat("reaches the wrong coordinator", "NOT_COORDINATOR"),
    _beat("reaches no coordinator", "COORDINATOR_NOT_AVAILABLE"),
    _beat("of an unknown member", "UNKNOWN_MEMBER_ID"),
    _beat("with a fenced epoch", "FENCED_MEMBER_EPOCH"),
    _beat("finds no group", "GROUP_ID_NOT_FOUND"),
    _beat("finds no group and polls on", "GROUP_ID_NOT_FOUND", stubborn=True),
    _beat("is not authorized for the group", "GROUP_AUTHORIZATION_FAILED"),
    _beat("is not authorized for a topic", "TOPIC_AUTHORIZATION_FAILED", 2, stubborn=True),
    _beat("is not authorized for a topic and ends", "TOPIC_AUTHORIZATION_FAILED"),
    _beat("is an invalid request", "INVALID_REQUEST"),
    _beat("finds a full group", "GROUP_MAX_SIZE_REACHED"),
    _beat("names an assignor that is not supported", "UNSUPPORTED_ASSIGNOR"),
    _beat("of a version that is not supported", "UNSUPPORTED_VERSION"),
    _beat("with a regular expression that is not valid", "INVALID_REGULAR_EXPRESSION"),
    _beat("of a static member meets another one", "UNRELEASED_INSTANCE_ID", settings=STATIC),
    _beat("of a static member is fenced", "FENCED_INSTANCE_ID", settings=STATIC),
    _beat("of a static member with a fenced epoch", "FENCED_MEMBER_EPOCH", settings=STATIC),
    _beat("meets a server error", "UNKNOWN_SERVER_ERROR"),
    _beat("meets a server error and polls on", "UNKNOWN_SERVER_ERROR", stubborn=True),
    _beat("is too late on the coordinator", "REQUEST_TIMED_OUT"),
    ConsumerStory("the connection breaks under a heartbeat", (breaks(BEAT, 3),), 3700),
    ConsumerStory("the connection breaks between heartbeats", (after(3, 300, "cut"),), 3700),
    ConsumerStory("a heartbeat is not answered", (silence(BEAT, 3),), 4500, IMPATIENT),
    ConsumerStory("a heartbeat is answered late", (slow(BEAT, 3, 1000),), 3700),
    ConsumerStory("the session ends at the coordinator", (after(3, 200, "expel"),), 3700),
    ConsumerStory("the coordinator moves", (after(3, 200, "move"),), 3700),
    ConsumerStory("the coordinator moves before the join", (after(1, 10, "move"),), 2900),
    ConsumerStory("the interval becomes longer", (after(3, 100, "interval", ms=1500),), 4900),
    ConsumerStory("the interval becomes shorter", (after(3, 100, "interval", ms=400),), 3700),
)


def _slow(name: str, *rules: Rule, ends_ms: int = 4900, **more: object) -> Story:
    """Something happens while the callback for a revoked partition takes two seconds; the fifth heartbeat is in it."""
    given = {"clean_up_ms": 2000, **more}
    return ConsumerStory(f"while a callback runs {name}", (target(3, 100, "t-0"), *rules), ends_ms, **given)  # type: ignore[arg-type]


IN_CALLBACKS: tuple[Story, ...] = (
    _slow("heartbeats go on"),
    _slow("a heartbeat meets a loading coordinator", answer(BEAT, 5, "COORDINATOR_LOAD_IN_PROGRESS")),
    _slow("a heartbeat reaches the wrong coordinator", answer(BEAT, 5, "NOT_COORDINATOR")),
    _slow("the member becomes unknown", answer(BEAT, 5, "UNKNOWN_MEMBER_ID")),
    _slow("the epoch is fenced", answer(BEAT, 5, "FENCED_MEMBER_EPOCH")),
    _slow("the session ends at the coordinator", after(4, 200, "expel")),
    _slow("a heartbeat finds no group", answer(BEAT, 5, "GROUP_ID_NOT_FOUND")),
    _slow("a heartbeat is not authorized for a topic", answer(BEAT, 5, "TOPIC_AUTHORIZATION_FAILED"), stubborn=True),
    _slow("the connection breaks", breaks(BEAT, 5)),
    _slow("a heartbeat is not answered", silence(BEAT, 5), settings=IMPATIENT),
    _slow("the target changes", target(4, 200, "t-1")),
    _slow("the target goes back", target(4, 200, "t-0", "t-1")),
    _slow("the target becomes empty", target(4, 200)),
    _slow("the coordinator moves", after(4, 200, "move")),
    _slow("the application wants to close", after(4, 300, "close")),
    _slow("the subscription is to change", after(4, 300, "subscribe", topics=("u",)), topics=("t", "u")),
)
