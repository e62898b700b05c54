"""Stories of look-ups of the coordinator, and of the heartbeat that joins."""

from __future__ import annotations

from tests.twins.consumer.story import BEAT, ConsumerStory, after
from tests.twins.stories import GROWING, IMPATIENT, STATIC
from tests.twins.story import FIND, Story, answer, breaks, silence, slow

LOOK_UPS: tuple[Story, ...] = (
    ConsumerStory("no coordinator is found at first", (answer(FIND, 1, "COORDINATOR_NOT_AVAILABLE", 3),), 2900),
    ConsumerStory(
        "no coordinator is found for longer", (answer(FIND, 1, "COORDINATOR_NOT_AVAILABLE", 3),), 2900, GROWING
    ),
    ConsumerStory("a look-up meets a loading broker", (answer(FIND, 1, "COORDINATOR_LOAD_IN_PROGRESS", 2),), 2000),
    ConsumerStory("a look-up is refused", (answer(FIND, 1, "GROUP_AUTHORIZATION_FAILED"),), 1500),
    ConsumerStory(
        "a look-up is refused and tried again", (answer(FIND, 1, "GROUP_AUTHORIZATION_FAILED"),), 2000, stubborn=True
    ),
    ConsumerStory("a look-up meets a server error", (answer(FIND, 1, "UNKNOWN_SERVER_ERROR"),), 2000, stubborn=True),
    ConsumerStory("a look-up of an invalid group", (answer(FIND, 1, "INVALID_GROUP_ID"),), 1500),
    ConsumerStory("the connection breaks under a look-up", (breaks(FIND, 1),), 2000),
    ConsumerStory("a look-up is not answered", (silence(FIND, 1),), 3700, IMPATIENT),
    ConsumerStory(
        "a lost coordinator is not found at once",
        (answer(BEAT, 3, "NOT_COORDINATOR"), answer(FIND, 2, "COORDINATOR_NOT_AVAILABLE", 2)),
        4500,
    ),
    ConsumerStory(
        "the look-up of a lost coordinator is refused",
        (answer(BEAT, 3, "NOT_COORDINATOR"), answer(FIND, 2, "GROUP_AUTHORIZATION_FAILED")),
        3700,
        stubborn=True,
    ),
    ConsumerStory(
        "the connection breaks under the look-up of a lost coordinator",
        (answer(BEAT, 3, "NOT_COORDINATOR"), breaks(FIND, 2)),
        3700,
    ),
)


def _join(name: str, error: str, times: int = 1, ends_ms: int = 2100, **more: object) -> Story:
    """The heartbeat that joins is answered with an error."""
    return ConsumerStory(f"a join {name}", (answer(BEAT, 1, error, times),), ends_ms, **more)  # type: ignore[arg-type]


JOINS: tuple[Story, ...] = (
    _join("meets a loading coordinator", "COORDINATOR_LOAD_IN_PROGRESS", 3),
    _join("reaches the wrong coordinator", "NOT_COORDINATOR"),
    _join("reaches no coordinator", "COORDINATOR_NOT_AVAILABLE", 2),
    _join("of an unknown member", "UNKNOWN_MEMBER_ID"),
    _join("with a fenced epoch", "FENCED_MEMBER_EPOCH"),
    _join("with a fenced epoch twice", "FENCED_MEMBER_EPOCH", 2),
    _join("finds no group", "GROUP_ID_NOT_FOUND"),
    _join("is not authorized for the group", "GROUP_AUTHORIZATION_FAILED"),
    _join("is not authorized for a topic", "TOPIC_AUTHORIZATION_FAILED", 2, stubborn=True),
    _join("is not authorized for a topic and ends", "TOPIC_AUTHORIZATION_FAILED"),
    _join("is an invalid request", "INVALID_REQUEST"),
    _join("finds a full group", "GROUP_MAX_SIZE_REACHED"),
    _join("finds a full group and polls on", "GROUP_MAX_SIZE_REACHED", stubborn=True),
    _join("names an assignor that is not supported", "UNSUPPORTED_ASSIGNOR", settings={"group.remote.assignor": "x"}),
    _join("of a version that is not supported", "UNSUPPORTED_VERSION"),
    _join("of a static member meets another one", "UNRELEASED_INSTANCE_ID", settings=STATIC),
    _join(
        "of a static member meets another one and polls on", "UNRELEASED_INSTANCE_ID", settings=STATIC, stubborn=True
    ),
    _join("of a static member is fenced", "FENCED_INSTANCE_ID", settings=STATIC),
    _join("with a regular expression that is not valid", "INVALID_REGULAR_EXPRESSION", regex="t(", subscribes=()),
    _join("meets a server error", "UNKNOWN_SERVER_ERROR"),
    _join("is too late on the coordinator", "REQUEST_TIMED_OUT"),
    _join("reaches a broker that shuts its network down", "NETWORK_EXCEPTION"),
    ConsumerStory("the connection breaks under a join", (breaks(BEAT, 1),), 2100),
    ConsumerStory("the connection breaks under two joins", (breaks(BEAT, 1, 2),), 2900),
    ConsumerStory("a join is not answered", (silence(BEAT, 1),), 3700, IMPATIENT),
    ConsumerStory("a join is answered late", (slow(BEAT, 1, 1000),), 2900),
    ConsumerStory("a consumer closes before its join is answered", (slow(BEAT, 1, 800), after(1, 300, "close")), 2100),
    ConsumerStory(
        "a consumer unsubscribes before its join is answered", (slow(BEAT, 1, 800), after(1, 300, "unsubscribe")), 2100
    ),
    ConsumerStory(
        "the subscription changes before the join is answered",
        (slow(BEAT, 1, 800), after(1, 300, "subscribe", topics=("u",))),
        2900,
        topics=("t", "u"),
    ),
    ConsumerStory(
        "a member with a rack and an assignor",
        (),
        2100,
        {"client.rack": "east", "group.remote.assignor": "range"},
    ),
)
