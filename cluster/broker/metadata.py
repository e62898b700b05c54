"""One broker's answers to Metadata and FindCoordinator, from its own image.

Every broker answers from its latest image, so two brokers may answer differently at one instant, and a broker without
the controller answers with old leaders. Answers are cached by image and request; unchanged topics share their part.

A partition without a leader is answered with LEADER_NOT_AVAILABLE, leader -1 and its replicas. A fenced or unknown
broker is in no answer, and its replicas are offline.

Sources: `KRaftMetadataCache.getPartitionMetadata`, `getAliveBrokerNode`, `KafkaApis.getCoordinator` (4.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from groupsim.cluster.broker.topic_views import BrokerTopics
from groupsim.cluster.controller.admin_requests import INTERNAL_TOPICS
from groupsim.cluster.controller.topic_changes import illegal_name
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import NO_LEADER, BrokerState, ClusterImage, PartitionState, TopicState
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionInfo,
    TopicInfo,
)

GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1
_MAX_NAMES: Final = 100_000  # in all cached answers
_NOT_AVAILABLE = FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


class BrokerMetadata:
    """The metadata of one broker; implements `coordinator.interfaces.Metadata`. `image` is replaced through `take`.

    Threads that read and write long messages also call `topic_id`, `topic_name`, `controller` and `rack`. These read
    `image` once and cache nothing that a newer image would make wrong.
    """

    def __init__(self) -> None:
        self.image = ClusterImage()
        self.topics = BrokerTopics(lambda: self.image, self.topic_name)  #: the topics for the coordinator
        self._answers: dict[tuple[str, ...] | None, MetadataResponse] = {}
        self._kept = 0  # number of names in the keys of the cached answers
        self._topics: dict[str, tuple[TopicState, TopicInfo]] = {}
        self._names: tuple[Mapping[str, TopicState], dict[str, str]] | None = None  # topic id → name, of these topics

    def take(self, image: ClusterImage) -> None:
        """Replace the image and drop answers made from the old one."""
        if image.brokers is not self.image.brokers:
            self._topics.clear()  # leaders may have become unknown, replicas offline
        self.image = image
        self._forget()

    def partition_count(self, topic: str) -> int | None:
        """Return the number of partitions; None for an unknown topic."""
        known = self.image.topics.get(topic)
        return None if known is None else len(known.partitions)

    # --- identity --------------------------------------------------------------------------------------------

    def topic_id(self, name: str) -> str | None:
        """Return the id of a topic; None for an unknown topic."""
        known = self.image.topics.get(name)
        return None if known is None else known.topic_id

    def topic_name(self, topic_id: str) -> str | None:
        """Return the name of the topic with an id; None for an unknown id."""
        topics, known = self.image.topics, self._names
        if known is None or known[0] is not topics:
            known = self._names = topics, {topic.topic_id: name for name, topic in topics.items()}
        return known[1].get(topic_id)

    @property
    def controller(self) -> int:
        """The broker that clients send requests for the controller to; -1 when no broker is up.

        Every broker forwards them. A KRaft broker names a random broker, since clients cannot reach the controllers;
        here it is the broker with the lowest id.
        """
        image = self.image
        return min((node for node in image.brokers if image.is_up(node)), default=-1)

    def rack(self, node: int) -> str | None:
        """Return the rack of a broker; None for an unknown broker."""
        broker = self.image.brokers.get(node)
        return None if broker is None else broker.rack

    # --- Metadata --------------------------------------------------------------------------------------------

    def named(self, request: MetadataRequest) -> tuple[str, ...] | None:
        """Return the names of the topics that a request asks for; None for all. Unknown ids are left out."""
        if request.topics is None or not request.topic_ids:
            return request.topics
        found = map(self.topic_name, request.topic_ids)
        return (*request.topics, *(name for name in found if name is not None))

    def describe(self, names: tuple[str, ...] | None) -> MetadataResponse:
        """Return the answer to a Metadata request, of all topics when `names` is None."""
        answer = self._answers.get(names)
        if answer is None:
            image = self.image
            wanted = sorted(image.topics) if names is None else sorted(set(names))
            brokers = tuple((node, image.brokers[node].host) for node in sorted(image.brokers) if image.is_up(node))
            answer = MetadataResponse(brokers, tuple(self._info(name) for name in wanted))
            self._keep(names, answer)
        return answer

    def _keep(self, names: tuple[str, ...] | None, answer: MetadataResponse) -> None:
        """Cache an answer within a limit, since clients may request new and many names without end."""
        self._kept += 1 + len(names or ())
        if self._kept > _MAX_NAMES:
            self._forget()
        else:
            self._answers[names] = answer

    def _forget(self) -> None:
        self._answers.clear()
        self._kept = 0

    def _info(self, name: str) -> TopicInfo:
        topic = self.image.topics.get(name)
        if topic is None:
            illegal = illegal_name(name) is not None
            error = ErrorCode.INVALID_TOPIC_EXCEPTION if illegal else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return TopicInfo(name, error, internal=name in INTERNAL_TOPICS)  # by its name, as in `KafkaApis`
        kept = self._topics.get(name)
        if kept is not None and kept[0] is topic:
            return kept[1]
        brokers = self.image.brokers
        partitions = (_partition(number, state, brokers) for number, state in enumerate(topic.partitions))
        info = TopicInfo(name, partitions=tuple(partitions), internal=topic.internal, topic_id=topic.topic_id)
        self._topics[name] = topic, info
        return info

    # --- FindCoordinator -------------------------------------------------------------------------------------

    def find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """Return the leader of the group's partition of `__consumer_offsets`.

        COORDINATOR_NOT_AVAILABLE without a leader or without the topic. `transactions.wiring` answers for transactional
        ids, so this method answers COORDINATOR_NOT_AVAILABLE for them, too.
        """
        topic = self.image.topics.get(OFFSETS_TOPIC)
        if topic is None or request.key_type != GROUP_KEY:
            return _NOT_AVAILABLE
        leader = topic.partitions[partition_for(request.key, len(topic.partitions))].leader
        if leader == NO_LEADER or not self.image.is_up(leader):
            return _NOT_AVAILABLE
        return FindCoordinatorResponse(ErrorCode.NONE, leader, self.image.brokers[leader].host)


def with_errors(answer: MetadataResponse, errors: Mapping[str, ErrorCode]) -> MetadataResponse:
    """Return the answer with these errors for missing topics."""
    topics = (evolve(info, error=errors.get(info.name, info.error)) for info in answer.topics)
    return evolve(answer, topics=tuple(topics))


def _partition(number: int, state: PartitionState, brokers: Mapping[int, BrokerState]) -> PartitionInfo:
    known = state.leader in brokers
    return PartitionInfo(
        number,
        state.leader if known else NO_LEADER,
        state.replicas,
        _racks(state.replicas, brokers),
        state.leader_epoch,
        state.isr,
        tuple(node for node in state.replicas if node not in brokers or brokers[node].fenced),
        ErrorCode.NONE if known else ErrorCode.LEADER_NOT_AVAILABLE,
    )


def _racks(replicas: tuple[int, ...], brokers: Mapping[int, BrokerState]) -> tuple[str, ...]:
    """Return the racks of the replicas whose brokers are in the answer."""
    states = (brokers.get(node) for node in replicas)
    return tuple(state.rack for state in states if state is not None and not state.fenced and state.rack is not None)
