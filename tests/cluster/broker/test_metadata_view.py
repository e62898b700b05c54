"""A broker's answers about the cluster come from its own image."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.broker.metadata import BrokerMetadata
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import BrokerState, ClusterImage, PartitionState, TopicState
from groupsim.protocol.messages.group import FindCoordinatorRequest, FindCoordinatorResponse

BROKERS = {node: BrokerState(node, f"broker-{node}", f"rack-{node % 2}") for node in range(3)}


def image(leader: int = 1, brokers: Any = BROKERS, version: int = 1) -> ClusterImage:
    """A topic of one partition on brokers 1 and 2, and `__consumer_offsets` with one partition led by the same."""
    state = PartitionState((1, 2), (1, 2), leader, leader_epoch=4)
    topics = {
        OFFSETS_TOPIC: TopicState(OFFSETS_TOPIC, "id-o", (state,), internal=True),
        "t": TopicState("t", "id-t", (state,)),
    }
    return ClusterImage(version, brokers, topics)


def view(*args: Any, **more: Any) -> BrokerMetadata:
    """A broker that believes this image."""
    metadata = BrokerMetadata()
    metadata.take(image(*args, **more))
    return metadata


def test_a_partition_is_told_with_leader_epoch_isr_and_racks() -> None:
    """Everything that newer clients go by is in the answer."""
    answer = view().describe(("t",))
    assert answer.brokers == ((0, "broker-0"), (1, "broker-1"), (2, "broker-2"))
    (part,) = answer.topics[0].partitions
    assert (part.leader, part.leader_epoch, part.replicas, part.isr, part.offline) == (1, 4, (1, 2), (1, 2), ())
    assert part.racks == ("rack-1", "rack-0")
    assert part.error is ErrorCode.NONE


def test_a_topic_has_its_id_in_the_answer() -> None:
    """Members map the ids of an assignment to names by it; an unknown topic has none."""
    known, unknown = view().describe(("t", "x")).topics
    assert (known.topic_id, unknown.topic_id) == ("id-t", None)


def test_all_topics_include_internal_ones_marked_as_such() -> None:
    """A request for all topics has `__consumer_offsets`, a request for none has none."""
    assert [(topic.name, topic.internal) for topic in view().describe(None).topics] == [
        (OFFSETS_TOPIC, True),
        ("t", False),
    ]
    assert view().describe(()).topics == ()


def test_an_unknown_topic_is_said_to_be_unknown() -> None:
    """Also between known ones, in the order of names."""
    answer = view().describe(("x", "t"))
    assert [(topic.name, topic.error) for topic in answer.topics] == [
        ("t", ErrorCode.NONE),
        ("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize("leader", [-1, 9], ids=["none", "unregistered"])
def test_a_partition_without_a_leader_says_so_and_keeps_the_rest(leader: int) -> None:
    """The answer has LEADER_NOT_AVAILABLE, leader -1, epoch and replicas; its groups have no coordinator."""
    metadata = view(leader)
    (part,) = metadata.describe(("t",)).topics[0].partitions
    assert (part.error, part.leader, part.leader_epoch) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, 4)
    assert part.replicas == (1, 2)
    answer = metadata.find_coordinator(FindCoordinatorRequest("g"))
    assert answer == FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_fenced_broker_is_named_to_nobody() -> None:
    """A fenced broker is not in the answer, its replicas are offline, its rack is absent, and it has no groups."""
    metadata = view(2, {**BROKERS, 2: evolve(BROKERS[2], fenced=True)})
    answer = metadata.describe(("t",))
    assert [node for node, _ in answer.brokers] == [0, 1]
    (part,) = answer.topics[0].partitions
    assert (part.offline, part.racks) == ((2,), ("rack-1",))
    assert metadata.find_coordinator(FindCoordinatorRequest("g")).error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_coordinator_is_the_leader_of_the_group_s_partition() -> None:
    """As many partitions as the topic has decide where a group belongs."""
    metadata = BrokerMetadata()
    states = tuple(PartitionState((node,), (node,), node) for node in (0, 1, 2))
    metadata.take(ClusterImage(1, BROKERS, {OFFSETS_TOPIC: TopicState(OFFSETS_TOPIC, "id", states, internal=True)}))
    for group in ("a", "b", "c", "some-group"):
        answer = metadata.find_coordinator(FindCoordinatorRequest(group))
        assert (answer.error, answer.node) == (ErrorCode.NONE, partition_for(group, 3))


def test_a_broker_that_hears_nothing_names_the_leader_of_yesterday() -> None:
    """Two brokers with different images answer differently; a new image changes the answer."""
    late, early = view(1), view(1)
    early.take(image(2, version=2))
    assert late.describe(("t",)).topics[0].partitions[0].leader == 1
    assert early.describe(("t",)).topics[0].partitions[0].leader == 2
    late.take(image(2, version=2))
    assert late.describe(("t",)) == early.describe(("t",))


def test_answers_follow_every_image_and_share_what_stayed() -> None:
    """The same question is answered once for each image; a topic that did not change is the same object in both."""
    metadata = view()
    before = metadata.describe(None)
    assert metadata.describe(None) is before
    changed = image(version=2)
    same = metadata.image.topics["t"]
    metadata.take(evolve(changed, topics={**changed.topics, "t": same}))
    after = metadata.describe(None)
    assert after is not before
    assert after.topics[1] is before.topics[1]
    fenced = {**BROKERS, 2: evolve(BROKERS[2], fenced=True)}
    metadata.take(evolve(metadata.image, brokers=fenced, version=3))
    assert metadata.describe(None).topics[1].partitions[0].offline == (2,)


def test_what_is_kept_of_answers_is_bounded() -> None:
    """An answer about more topics than the limit is not cached; the cache of new requests stays bounded."""
    metadata = view()
    kept = metadata.describe(("t",))
    assert metadata.describe(("t",)) is kept
    many = tuple(f"x{number}" for number in range(100_001))
    assert len(metadata.describe(many).topics) == len(many)
    assert metadata.describe(many) is not metadata.describe(many)
    assert metadata.describe(("t",)) is not kept


def test_partition_counts_are_those_of_the_image() -> None:
    """What the coordinator checks commits against."""
    assert view().partition_count("t") == 1
    assert view().partition_count("x") is None


def test_a_new_image_while_ids_are_looked_through_in_another_thread_is_believed() -> None:
    """Who looked through the old topics when the new ones came leaves nothing behind that they are taken for."""
    metadata = BrokerMetadata()
    later = TopicState("late", "id-late", (PartitionState((1,), (1,), 1),))

    class Interrupted(dict[str, TopicState]):
        """Topics that a thread reads while the broker gets a new image."""

        def items(self) -> Any:
            yield from super().items()
            metadata.take(ClusterImage(2, BROKERS, {"late": later}))

    metadata.take(ClusterImage(1, BROKERS, Interrupted(image().topics)))
    assert metadata.topic_name("id-t") == "t"
    assert (metadata.topic_name("id-late"), metadata.topic_name("id-t")) == ("late", None)
