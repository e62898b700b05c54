"""What brokers and the controller say to each other, and the cluster's metadata as a value.

The metadata is an *image*: brokers, topics, and of each partition its replicas, in-sync replicas, leader and epochs.
The controller makes a new one for every change; each broker has the one it last heard of, and acts on that. Two brokers
may believe different things at one instant, as in Kafka.

`MetadataLog` stands for a broker's Fetch of `__cluster_metadata`: a long poll, answered with the newest image and what
changed since the version asked for. The other three are Kafka's own.

Sources: `BrokerRegistrationRequest.json`, `BrokerHeartbeatRequest.json`, `AlterPartitionRequest.json`,
`MetadataImage`, `PartitionRegistration`; KIP-500, KIP-631, KIP-497, KIP-966.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

from attrs import define, field, frozen

from groupsim.protocol.basics import Api, Asks, TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Acl

NO_LEADER: Final = -1


# --- the image -----------------------------------------------------------------------------------------------------


@frozen
class PartitionState:
    """One partition as the controller has decided it; `partition_epoch` goes up with every change."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False  # the leader was elected unclean and has not said yet that it went through its log


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
    """One registered broker; a fenced one leads nothing and is named to no client."""

    node: int
    host: str
    rack: str | None = None
    epoch: int = 0
    fenced: bool = False
    in_controlled_shutdown: bool = False


@frozen
class ClusterImage:
    """All of it, at one version. Never changed; parts that stay the same are shared between versions.

    `configs` are the settings of brokers that were changed while they ran, by node as text; "" is for all of them.
    `acls` are those of the authorizer; who goes through them puts them in order. `groups` are the settings of groups
    (IncrementalAlterConfigs of the GROUP resource), by group id.
    """

    version: int = 0
    brokers: Mapping[int, BrokerState] = field(factory=dict)
    topics: Mapping[str, TopicState] = field(factory=dict)
    configs: Mapping[str, Mapping[str, str]] = field(factory=dict)
    acls: frozenset[Acl] = frozenset()
    groups: Mapping[str, Mapping[str, str]] = field(factory=dict)

    def partition(self, partition: TopicPartition) -> PartitionState | None:
        """The state of a partition; None when there is none."""
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
class BrokerRegistrationRequest(Asks["BrokerRegistrationResponse"]):
    """A broker's new incarnation reports; it starts fenced."""

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
class BrokerHeartbeatRequest(Asks["BrokerHeartbeatResponse"]):
    """A broker's sign of life: how far it has read the metadata, and what it wants."""

    API: ClassVar[Api] = Api.BROKER_HEARTBEAT
    node: int
    epoch: int
    metadata_version: int
    want_fence: bool = False
    want_shut_down: bool = False
    version: int = 1


@frozen
class BrokerHeartbeatResponse:
    """Where the broker stands with the controller.

    `metadata_version` is ours: the newest there is, so that a broker whose question for metadata, or its answer, was
    lost without a trace asks again. Kafka's fetches of metadata end after half a second at most, which does the same.
    """

    API: ClassVar[Api] = Api.BROKER_HEARTBEAT
    error: ErrorCode = ErrorCode.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    metadata_version: int = -1


@frozen
class IsrChange:
    """The in-sync replicas a leader proposes for one of its partitions."""

    partition: TopicPartition
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    recovering: bool = False


@frozen
class AlterPartitionRequest(Asks["AlterPartitionResponse"]):
    """A leader asks the controller to change in-sync replicas."""

    API: ClassVar[Api] = Api.ALTER_PARTITION
    node: int
    epoch: int
    changes: tuple[IsrChange, ...]
    version: int = 3


@frozen
class AlterPartitionResponse:
    """For each change of the request, in its order: the error, and the partition as it is now."""

    API: ClassVar[Api] = Api.ALTER_PARTITION
    error: ErrorCode = ErrorCode.NONE
    results: tuple[tuple[TopicPartition, ErrorCode, PartitionState | None], ...] = ()


@frozen
class MetadataLogRequest(Asks["MetadataLogResponse"]):
    """What changed after this version? Waits until something has."""

    API: ClassVar[Api] = Api.METADATA_LOG
    node: int
    after_version: int
    version: int = 0


@define(eq=False)
class MetadataLogResponse:
    """The newest image, and what changed since: partitions (of deleted topics too), topics, brokers."""

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
