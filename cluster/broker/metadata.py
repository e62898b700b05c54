"""What one broker knows of the cluster, from its own image: its answers to Metadata and FindCoordinator.

Every broker answers from the image it last heard of, so two brokers may answer differently at one instant, and one
that is cut off goes on naming leaders of yesterday. An answer is made once for each image and question; topics that did
not change share their part of it.

A partition without a leader is told with LEADER_NOT_AVAILABLE, leader -1, and all else that is known of it; a fenced or
unknown broker is named to nobody, and its replicas are offline.

Sources: `KRaftMetadataCache.getPartitionMetadata`, `getAliveBrokerNode`, `KafkaApis.getCoordinator` (4.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from groupsim.cluster.controller.admin_requests import INTERNAL_TOPICS
from groupsim.cluster.controller.topic_changes import illegal_name
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import NO_LEADER, BrokerState, ClusterImage, PartitionState, TopicState
from groupsim.protocol.messages.group import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataResponse,
    PartitionInfo,
    TopicInfo,
)

GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1
_MOST_NAMES: Final = 100_000  # in all answers that are kept
_NOT_AVAILABLE = FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


class BrokerMetadata:
    """The metadata of one broker; implements `coordinator.interfaces.Metadata`. `image` is replaced through `take`.

    Its identities (`topic_id`, `topic_name`, `controller`, `rack`) are asked for in other threads, too, where long
    messages are read and answered: they look at `image` once, and remember nothing that a newer one would make wrong.
    """

    def __init__(self) -> None:
        self.image = ClusterImage()
        self._answers: dict[tuple[str, ...] | None, MetadataResponse] = {}
        self._kept = 0  # how many names they are kept under
        self._topics: dict[str, tuple[TopicState, TopicInfo]] = {}
        self._names: tuple[Mapping[str, TopicState], dict[str, str]] | None = None  # of these topics, by id

    def take(self, image: ClusterImage) -> None:
        """Believe this image from now on."""
        if image.brokers is not self.image.brokers:
            self._topics.clear()  # leaders may have become unknown, replicas offline
        self.image = image
        self._forget()

    def partition_count(self, topic: str) -> int | None:
        """Number of partitions, None for an unknown topic."""
        known = self.image.topics.get(topic)
        return None if known is None else len(known.partitions)

    # --- identity --------------------------------------------------------------------------------------------

    def topic_id(self, name: str) -> str | None:
        """The id of a topic; None for an unknown one."""
        known = self.image.topics.get(name)
        return None if known is None else known.topic_id

    def topic_name(self, topic_id: str) -> str | None:
        """The topic of an id; None for an unknown one."""
        topics, known = self.image.topics, self._names
        if known is None or known[0] is not topics:
            known = self._names = topics, {topic.topic_id: name for name, topic in topics.items()}
        return known[1].get(topic_id)

    @property
    def controller(self) -> int:
        """The node that clients are sent to with what the controller has to do; -1 when no broker is up.

        Any broker passes it on. Kafka names one at random (KRaft's own controllers are not for clients), here it is
        the lowest.
        """
        image = self.image
        return min((node for node in image.brokers if image.is_up(node)), default=-1)

    def rack(self, node: int) -> str | None:
        """The rack of a broker; None for an unknown one."""
        broker = self.image.brokers.get(node)
        return None if broker is None else broker.rack

    # --- Metadata --------------------------------------------------------------------------------------------

    def describe(self, names: tuple[str, ...] | None) -> MetadataResponse:
        """The answer to a Metadata request, of all topics when `names` is None."""
        answer = self._answers.get(names)
        if answer is None:
            image = self.image
            wanted = sorted(image.topics) if names is None else sorted(set(names))
            brokers = tuple((node, image.brokers[node].host) for node in sorted(image.brokers) if image.is_up(node))
            answer = MetadataResponse(brokers, tuple(self._info(name) for name in wanted))
            self._keep(names, answer)
        return answer

    def _keep(self, names: tuple[str, ...] | None, answer: MetadataResponse) -> None:
        """Keep an answer for whoever asks the same; somebody may ask for ever other names, and for very many."""
        self._kept += 1 + len(names or ())
        if self._kept > _MOST_NAMES:
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
            return TopicInfo(name, error, internal=name in INTERNAL_TOPICS)
        kept = self._topics.get(name)
        if kept is not None and kept[0] is topic:
            return kept[1]
        brokers = self.image.brokers
        partitions = (_partition(number, state, brokers) for number, state in enumerate(topic.partitions))
        info = TopicInfo(name, partitions=tuple(partitions), internal=topic.internal)
        self._topics[name] = topic, info
        return info

    # --- FindCoordinator -------------------------------------------------------------------------------------

    def find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """Who leads the partition of `__consumer_offsets` that a group falls on.

        COORDINATOR_NOT_AVAILABLE while nobody does, or the topic is not there; so it is for transactional ids: they
        are asked of `transactions.wiring`.
        """
        topic = self.image.topics.get(OFFSETS_TOPIC)
        if topic is None or request.key_type != GROUP_KEY:
            return _NOT_AVAILABLE
        leader = topic.partitions[partition_for(request.key, len(topic.partitions))].leader
        if leader == NO_LEADER or not self.image.is_up(leader):
            return _NOT_AVAILABLE
        return FindCoordinatorResponse(ErrorCode.NONE, leader, self.image.brokers[leader].host)


def with_errors(answer: MetadataResponse, errors: Mapping[str, ErrorCode]) -> MetadataResponse:
    """The answer with these errors for topics that are not there."""
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
    """The racks of the replicas whose brokers a client is told of."""
    states = (brokers.get(node) for node in replicas)
    return tuple(state.rack for state in states if state is not None and not state.fenced and state.rack is not None)
