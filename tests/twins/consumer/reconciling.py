"""Stories of assignments that change: targets, callbacks, subscriptions, topics."""

from __future__ import annotations

from tests.twins.consumer.story import ConsumerStory, Reply, after, target
from tests.twins.stories import OFTEN
from tests.twins.story import METADATA, Story, answer, slow

TARGETS: tuple[Story, ...] = (
    ConsumerStory("a partition is revoked", (target(3, 100, "t-0"),), 4500),
    ConsumerStory("a partition is added", (target(3, 100, "t-0", "t-1"),), 4500, first=("t-0",)),
    ConsumerStory("a partition is exchanged", (target(3, 100, "t-1"),), 4500, first=("t-0",)),
    ConsumerStory("all partitions are revoked", (target(3, 100),), 4500),
    ConsumerStory("all partitions are revoked and come back", (target(3, 100), target(5, 100, "t-0", "t-1")), 6100),
    ConsumerStory("the first assignment is empty", (target(3, 100, "t-0"),), 4500, first=()),
    ConsumerStory("the epoch rises and nothing moves", (target(3, 100, "t-0", "t-1"),), 4500),
    ConsumerStory(
        "an old member with a new epoch and the same partitions", (), 4500, replies=(Reply(3, 9, ("t-0", "t-1")),)
    ),
    ConsumerStory("the epoch rises without an assignment", (), 4500, replies=(Reply(3, 9),)),
    ConsumerStory("the target changes twice between heartbeats", (target(3, 100, "t-0"), target(3, 300, "t-1")), 4500),
    ConsumerStory("the target changes before the acknowledgement", (target(1, 50, "t-0"),), 3700),
    ConsumerStory("a partition is revoked slowly", (target(3, 100, "t-0"),), 4500, clean_up_ms=500),
    ConsumerStory("partitions are set up slowly", (), 4500, set_up_ms=1500),
    ConsumerStory(
        "partitions are set up slowly and the target changes", (target(2, 100, "t-0"),), 5300, set_up_ms=1500
    ),
    ConsumerStory("a callback for assigned partitions throws", (), 3700, throws=("assigned",)),
    ConsumerStory(
        "a callback for assigned partitions throws and poll goes on", (), 3700, throws=("assigned",), stubborn=True
    ),
    ConsumerStory("a callback for revoked partitions throws", (target(3, 100, "t-0"),), 4500, throws=("revoked",)),
    ConsumerStory(
        "a callback for revoked partitions throws and poll goes on",
        (target(3, 100, "t-0"),),
        4500,
        throws=("revoked",),
        stubborn=True,
    ),
    ConsumerStory("a callback for lost partitions throws", (after(3, 200, "expel"),), 4500, throws=("lost",)),
    ConsumerStory(
        "a callback for lost partitions throws and poll goes on",
        (after(3, 200, "expel"),),
        4500,
        throws=("lost",),
        stubborn=True,
    ),
    ConsumerStory("partitions are lost slowly", (after(3, 200, "expel"),), 5300, clean_up_ms=1200),
)

SUBSCRIPTIONS: tuple[Story, ...] = (
    ConsumerStory(
        "a topic is added to the subscription",
        (after(3, 200, "subscribe", topics=("t", "u")),),
        3700,
        topics=("t", "u"),
    ),
    ConsumerStory(
        "a topic is dropped",
        (after(3, 200, "subscribe", topics=("t",)),),
        4500,
        topics=("t", "u"),
        subscribes=("t", "u"),
    ),
    ConsumerStory(
        "a topic is replaced by another one", (after(3, 200, "subscribe", topics=("u",)),), 4500, topics=("t", "u")
    ),
    ConsumerStory("the same topics are subscribed again", (after(3, 200, "subscribe", topics=("t",)),), 3700),
    ConsumerStory(
        "the subscription changes and goes back",
        (
            after(3, 100, "subscribe", topics=("u",)),
            after(3, 400, "subscribe", topics=("t",)),
        ),
        4500,
        topics=("t", "u"),
    ),
    ConsumerStory("a topic is subscribed that does not exist", (), 3700, subscribes=("t", "u")),
    ConsumerStory(
        "a topic is created after it was subscribed",
        (after(3, 100, "topic", name="u"),),
        4500,
        OFTEN,
        subscribes=("t", "u"),
    ),
    ConsumerStory("a topic of the subscription grows", (after(3, 100, "partitions", total=3),), 4500, OFTEN),
    ConsumerStory("an assignment names an unknown topic", (), 4500, replies=(Reply(3, 5, ("t-0", "t-1", "?-0")),)),
    ConsumerStory(
        "an assignment names an unknown topic in the place of another", (), 4500, replies=(Reply(3, 5, ("t-0", "?-0")),)
    ),
    ConsumerStory("the first assignment names an unknown topic alone", (), 3700, replies=(Reply(1, 2, ("?-0",)),)),
    ConsumerStory(
        "an unknown topic is given up again",
        (target(5, 100, "t-0", "t-1"),),
        5300,
        replies=(Reply(3, 5, ("t-0", "t-1", "?-0")),),
    ),
    ConsumerStory("metadata comes after the assignment", (answer(METADATA, 1, "UNKNOWN_TOPIC_OR_PARTITION", 4),), 4500),
    ConsumerStory("metadata comes late", (slow(METADATA, 1, 700),), 3700),
)

EXPRESSIONS: tuple[Story, ...] = (
    ConsumerStory("a regular expression for the broker", (), 3700, regex="t.*", subscribes=()),
    ConsumerStory("a regular expression that matches nothing", (), 3700, regex="x.*", subscribes=()),
    ConsumerStory(
        "a topic appears that the regular expression matches",
        (after(3, 100, "topic", name="tea"), after(3, 300, "bump")),
        4500,
        regex="t.*",
        subscribes=(),
    ),
    ConsumerStory(
        "a regular expression is replaced by names",
        (after(3, 200, "subscribe", topics=("u",)),),
        4500,
        regex="t.*",
        topics=("t", "u"),
        subscribes=(),
    ),
    ConsumerStory(
        "names are replaced by a regular expression", (after(3, 200, "regex", regex="u.*"),), 4500, topics=("t", "u")
    ),
    ConsumerStory(
        "a regular expression is replaced by another one",
        (after(3, 200, "regex", regex="u.*"),),
        4500,
        regex="t.*",
        topics=("t", "u"),
        subscribes=(),
    ),
    ConsumerStory(
        "a member unsubscribes and subscribes to a regular expression",
        (after(3, 200, "unsubscribe"), after(4, 300, "regex", regex="u.*")),
        4500,
        topics=("t", "u"),
    ),
    ConsumerStory("a pattern that the client matches", (), 3700, pattern="t.*"),
    ConsumerStory("a pattern that the client matches with nothing", (), 3700, OFTEN, pattern="x.*"),
    ConsumerStory(
        "a topic appears that the pattern of the client matches",
        (after(3, 100, "topic", name="tea"),),
        4500,
        OFTEN,
        pattern="t.*",
    ),
)
