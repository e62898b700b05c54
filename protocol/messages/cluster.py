"""The messages between brokers and the controller, and the cluster's metadata as a value.

The metadata is an *image*: brokers, topics, and of each partition its replicas, in-sync replicas, leader and epochs.
The controller makes a new one for every change. Each broker has the newest one that it has received, and acts on it. So
two brokers may have different views at one instant, as in Kafka.

`MetadataLog` stands for a broker's Fetch of `__cluster_metadata`: a long poll, answered with the newest image and the
changes since the requested version. The other three are Kafka's own.

Sources: `BrokerRegistrationRequest.json`, `BrokerHeartbeatRequest.json`, `AlterPartitionRequest.json`,
`MetadataImage`, `PartitionRegistration`; KIP-500, KIP-631, KIP-497, KIP-966.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

from attrs import field

from groupsim.protocol.basics import AnsweredBy, Api, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.values import define, frozen

NO_LEADER: Final = -1


# --- the image -----------------------------------------------------------------------------------------------------


@frozen
class PartitionState:
    """One partition as the controller has decided it; `partition_epoch` rises with every change."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False  # the leader was elected unclean and has not reported the end of its log recovery


@frozen
class TopicState:
    """One topic: id (22 characters, base64 as Kafka prints it), settings by Kafka's names, partitions by number."""

    name: str
    topic_id: str
    partitions: tuple[PartitionState, ...]
    config: Mapping[str, str] = field(factory=dict)
    internal: bool = False


@frozen
class BrokerState:
    """One registered broker; a fenced one leads nothing and is absent from clients' metadata."""

    node: int
    host: str
    rack: str | None = None
    epoch: int = 0
    fenced: bool = False
    in_controlled_shutdown: bool = False


@frozen
class ClusterImage:
    """The whole metadata at one version. It never changes; versions share their unchanged parts.

    `configs` are the settings of brokers that were changed at run time, by node as text; "" is for all of them. `acls`
    are those of the authorizer; readers sort them. `groups` are the settings of groups (IncrementalAlterConfigs of the
    GROUP resource), by group id.
    """

    version: int = 0
    brokers: Mapping[int, BrokerState] = field(factory=dict)
    topics: Mapping[str, TopicState] = field(factory=dict)
    configs: Mapping[str, Mapping[str, str]] = field(factory=dict)
    acls: frozenset[Acl] = frozenset()
    groups: Mapping[str, Mapping[str, str]] = field(factory=dict)

    def partition(self, partition: TopicPartition) -> PartitionState | None:
        """Return the state of a partition; None when it does not exist."""
        topic = self.topics.get(partition.topic)
        if topic is None or not 0 <= partition.partition < len(topic.partitions):
            return None
        return topic.partitions[partition.partition]

    def is_up(self, node: int) -> bool:
        """Whether a broker is registered and not fenced."""
        broker = self.brokers.get(node)
        return broker is not None and not broker.fenced


# --- messages ------------------------------------------------------------------------------------------------------


@frozen
class BrokerRegistrationRequest(AnsweredBy["BrokerRegistrationResponse"]):
    """Register a broker's new incarnation; it starts fenced."""

    API: ClassVar[Api] = Api.BROKER_REGISTRATION
    node: int
    host: str
    rack: str | None
    incarnation: int
    previous_epoch: int = -1
    version: int = 4


@frozen
class BrokerRegistrationResponse:
    """The epoch of this incarnation."""

    API: ClassVar[Api] = Api.BROKER_REGISTRATION
    error: ErrorCode = ErrorCode.NONE
    epoch: int = -1


@frozen
class BrokerHeartbeatRequest(AnsweredBy["BrokerHeartbeatResponse"]):
    """Report that a broker is alive, its metadata version, and its wishes."""

    API: ClassVar[Api] = Api.BROKER_HEARTBEAT
    node: int
    epoch: int
    metadata_version: int
    want_fence: bool = False
    want_shut_down: bool = False
    version: int = 1


@frozen
class BrokerHeartbeatResponse:
    """The state of the broker at the controller.

    `metadata_version` is our own: the newest version, so that a broker whose request for metadata, or its answer, was
    lost sends it again. Kafka's fetches of metadata end after half a second at most, which has the same effect.
    """

    API: ClassVar[Api] = Api.BROKER_HEARTBEAT
    error: ErrorCode = ErrorCode.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    metadata_version: int = -1


@frozen
class IsrChange:
    """The in-sync replicas that a leader proposes for one of its partitions."""

    partition: TopicPartition
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    recovering: bool = False


@frozen
class AlterPartitionRequest(AnsweredBy["AlterPartitionResponse"]):
    """Change in-sync replicas; sent by a leader to the controller."""

    API: ClassVar[Api] = Api.ALTER_PARTITION
    node: int
    epoch: int
    changes: tuple[IsrChange, ...]
    version: int = 3


@frozen
class AlterPartitionResponse:
    """For each change of the request, in its order: the error, and the partition's present state."""

    API: ClassVar[Api] = Api.ALTER_PARTITION
    error: ErrorCode = ErrorCode.NONE
    results: tuple[tuple[TopicPartition, ErrorCode, PartitionState | None], ...] = ()


@frozen
class MetadataLogRequest(AnsweredBy["MetadataLogResponse"]):
    """Wait for the changes after this version."""

    API: ClassVar[Api] = Api.METADATA_LOG
    node: int
    after_version: int
    version: int = 0


@define(eq=False)
class MetadataLogResponse:
    """The newest image, and the changes: partitions (of deleted topics too), topics, brokers."""

    API: ClassVar[Api] = Api.METADATA_LOG
    image: ClusterImage
    partitions: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()
    error: ErrorCode = ErrorCode.NONE


ClusterRequest: TypeAlias = (
    BrokerRegistrationRequest | BrokerHeartbeatRequest | AlterPartitionRequest | MetadataLogRequest
)
ClusterResponse: TypeAlias = (
    BrokerRegistrationResponse | BrokerHeartbeatResponse | AlterPartitionResponse | MetadataLogResponse
)
