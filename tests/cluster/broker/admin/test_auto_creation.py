"""Automatic creation of topics that clients request."""

from __future__ import annotations

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import DeleteTopicsRequest
from groupsim.protocol.messages.group import FindCoordinatorRequest, MetadataRequest
from tests.helpers.replicated_stage import SECOND, Stage, run

E = ErrorCode


async def _ask(stage: Stage, *names: str, auto_create: bool = True) -> dict[str, ErrorCode]:
    answer = await stage.ask(1, MetadataRequest(names, auto_create=auto_create))
    return {info.name: info.error for info in answer.topics}


def test_a_topic_that_is_asked_for_is_made() -> None:
    """The first answer says that it is not known, a later one has it, with the broker's number of partitions."""

    async def story(stage: Stage) -> None:
        assert await _ask(stage, "orders", "t") == {"orders": E.UNKNOWN_TOPIC_OR_PARTITION, "t": E.NONE}
        await stage.loop.sleep(SECOND)
        assert await _ask(stage, "orders") == {"orders": E.NONE}
        assert len(stage.cluster.controller.image.topics["orders"].partitions) == 1

    run(story)


def test_nothing_is_made_for_who_does_not_allow_it() -> None:
    """Without the client's leave or with the broker's setting off, and for a name that cannot be, nothing is made."""

    async def story(stage: Stage) -> None:
        assert await _ask(stage, "orders", auto_create=False) == {"orders": E.UNKNOWN_TOPIC_OR_PARTITION}
        assert await _ask(stage, "no good") == {"no good": E.INVALID_TOPIC_EXCEPTION}
        assert await _ask(stage, "no good", auto_create=False) == {"no good": E.INVALID_TOPIC_EXCEPTION}
        await stage.loop.sleep(SECOND)
        assert set(stage.cluster.controller.image.topics) == {"__consumer_offsets", "t"}

    async def off(stage: Stage) -> None:
        assert await _ask(stage, "orders") == {"orders": E.UNKNOWN_TOPIC_OR_PARTITION}
        await stage.loop.sleep(SECOND)
        assert "orders" not in stage.cluster.controller.image.topics

    run(story)
    run(off, auto_create_topics_enable=False)


def test_two_who_ask_make_one_topic() -> None:
    """While a topic is being created the broker sends no second CreateTopics for it."""

    async def story(stage: Stage) -> None:
        connection = stage.cluster.network.connect("a", "a", 1, "admin")
        for _ in range(3):
            connection.send(MetadataRequest(("orders",), auto_create=True), lambda _: None, SECOND)
        await stage.loop.sleep(SECOND)
        assert len(stage.said("metadata.changed", since_us=0)) == 1

    run(story)


def test_the_topic_of_offsets_is_made_again_when_somebody_looks_for_a_coordinator() -> None:
    """`__consumer_offsets` can be deleted, as in Kafka; FindCoordinator brings it back."""

    async def story(stage: Stage) -> None:
        answer = await stage.ask(1, DeleteTopicsRequest(("__consumer_offsets",)))
        assert answer.topics[0].error is E.NONE
        assert (await stage.ask(1, FindCoordinatorRequest("g"))).error is E.COORDINATOR_NOT_AVAILABLE
        await stage.loop.sleep(SECOND)
        assert (await stage.ask(1, FindCoordinatorRequest("g"))).error is E.NONE
        assert stage.cluster.controller.image.topics["__consumer_offsets"].internal

    run(story)
