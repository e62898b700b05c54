"""The stories of the consumer protocol, their facts, and the coordinator that answers them."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest, TopicPartitions
from groupsim.protocol.messages.group import OffsetCommitRequest, OffsetToCommit
from tests.twins import facts
from tests.twins.clients import JAVA_CONSUMER, LIBRDKAFKA_CONSUMER, OLDER_JAVA_CONSUMERS, Client
from tests.twins.consumer.coordinator import ScriptedGroup
from tests.twins.consumer.stories import ALL
from tests.twins.consumer.story import BEAT, ConsumerStory, target

BOTH = (TopicPartitions("id-of-t", (0, 1)),)
FIRST = (TopicPartitions("id-of-t", (0,)),)


class OneTopic:
    """A cluster with the topic of the story "s"."""

    node = 1
    other = 2

    def topics(self) -> dict[str, tuple[str, int]]:
        """Two partitions of one topic."""
        return {"s.t": ("id-of-t", 2)}

    def host(self, node: int) -> str:
        """The broker's name."""
        return f"broker-{node}"


def group() -> ScriptedGroup:
    """The group of a story without rules."""
    return ScriptedGroup(OneTopic(), ConsumerStory("s", (), 1000))


def beat(to: ScriptedGroup, epoch: int, owns: Any = None, **more: Any) -> Any:
    """The answer to a heartbeat of member "m"."""
    given = {"rebalance_timeout_ms": 100, "subscribed_topic_names": ("s.t",)} if epoch == 0 else {}
    request = ConsumerGroupHeartbeatRequest(
        "g", "m", epoch, topic_partitions=() if epoch == 0 else owns, **{**given, **more}
    )
    return to.answer(request, 1)


def test_a_member_that_joins_gets_the_epoch_of_its_subscription_and_all_partitions() -> None:
    """A subscription that is new raises the epoch of a new group from 1 to 2."""
    answer = beat(group(), 0)
    assert (answer.member_epoch, answer.assignment) == (2, BOTH)


def test_a_revocation_is_waited_for_before_the_epoch_rises() -> None:
    """The target loses a partition: the member keeps its epoch until it does not report the partition any more."""
    one = group()
    beat(one, 0)
    assert beat(one, 2, BOTH).assignment is None
    one.does(target(1, 0, "t-0"))
    assert [(a.member_epoch, a.assignment) for a in (beat(one, 2), beat(one, 2), beat(one, 2, FIRST))] == [
        (2, FIRST),
        (2, None),
        (3, None),
    ]


@pytest.mark.parametrize(
    ("epoch", "owns", "error"),
    [
        (1, None, "FENCED_MEMBER_EPOCH"),
        (2, BOTH, "NONE"),
        (2, None, "FENCED_MEMBER_EPOCH"),
        (4, None, "FENCED_MEMBER_EPOCH"),
    ],
)
def test_the_previous_epoch_passes_with_partitions_of_the_member_alone(epoch: int, owns: Any, error: str) -> None:
    """An older epoch passes when it is the previous one and the partitions are reported, as after a lost answer."""
    one = group()
    beat(one, 0)
    one.does(target(1, 0, "t-0", "t-1"))
    assert beat(one, 2).member_epoch == 3
    assert beat(one, epoch, owns).error is ErrorCode[error]


def test_a_static_member_that_is_away_comes_back_to_its_partitions() -> None:
    """Epoch -2 keeps the instance id for it; while the instance is there another join is UNRELEASED_INSTANCE_ID."""
    one = group()
    beat(one, 0, instance_id="i")
    assert beat(one, 0, instance_id="i").error is ErrorCode.UNRELEASED_INSTANCE_ID
    assert beat(one, -2, instance_id="i").member_epoch == -2
    assert beat(one, 0, instance_id="i").assignment == BOTH


def test_a_commit_with_an_old_epoch_passes_for_partitions_that_were_owned_then() -> None:
    """The window of KIP-1251: a partition that was given up, or came later, is refused with STALE_MEMBER_EPOCH."""
    one = group()
    beat(one, 0)
    one.does(target(1, 0, "t-0"))
    beat(one, 2)
    beat(one, 2, FIRST)
    errors = [
        one.answer(OffsetCommitRequest("g", (OffsetToCommit(TopicPartition("s.t", number), 1),), epoch, "m"), 1).error
        for number, epoch in ((0, 3), (0, 2), (1, 2))
    ]
    assert errors == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH]


def test_every_fact_of_the_consumer_protocol_belongs_to_a_story() -> None:
    """No file is left of a story that does not exist any more, and every story has a fact of its own."""
    slugs = [story.slug for story in ALL]
    assert facts.kept(JAVA_CONSUMER.name) == sorted(slugs)


@pytest.mark.parametrize("client", [*OLDER_JAVA_CONSUMERS, LIBRDKAFKA_CONSUMER], ids=lambda client: client.name)
def test_the_facts_of_other_clients_belong_to_stories_that_they_play(client: Client) -> None:
    """A client has facts of those stories that it has the means for, and that went the same way twice."""
    stories = {story.slug for story in ALL if client.fitted(story) is not None}
    assert set(facts.kept(client.name)) <= stories


@pytest.mark.parametrize(
    "client", [JAVA_CONSUMER, *OLDER_JAVA_CONSUMERS, LIBRDKAFKA_CONSUMER], ids=lambda client: client.name
)
def test_every_fact_begins_with_a_join(client: Client) -> None:
    """What was recorded is a play of the consumer protocol: a member id that the client made, at epoch 0."""
    kept = set(facts.kept(client.name))
    for story in ALL:
        for way in facts.read(client.name, story).ways if story.slug in kept else ():
            beats = [request for request in way.requests if request.startswith(f"{BEAT.title} ")]
            assert not beats or " member M1 epoch 0 " in beats[0], story.name
