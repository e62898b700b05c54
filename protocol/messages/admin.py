"""The requests of administrators about topics and settings, as values; a broker forwards them to the controller.

Sources: `CreateTopicsRequest.json`, `DeleteTopicsRequest.json`, `CreatePartitionsRequest.json`,
`DescribeConfigsRequest.json`, `AlterConfigsRequest.json`, `IncrementalAlterConfigsRequest.json`,
`ListConfigResourcesRequest.json`, `DescribeClusterRequest.json`; KIP-4, KIP-133, KIP-525, KIP-516, KIP-339, KIP-700,
KIP-1142.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from groupsim.protocol.basics import AnsweredBy, Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED
from groupsim.protocol.values import frozen


@frozen
class NewTopic:
    """One topic to create; -1 partitions or replicas mean the broker's default; `assignment` gives the replicas."""

    name: str
    partitions: int = -1
    replication: int = -1
    assignment: tuple[tuple[int, tuple[int, ...]], ...] = ()
    config: tuple[tuple[str, str | None], ...] = ()


@frozen
class CreateTopicsRequest(AnsweredBy["CreateTopicsResponse"]):
    """Create topics; with `validate_only` nothing is created."""

    API: ClassVar[Api] = Api.CREATE_TOPICS
    topics: tuple[NewTopic, ...]
    timeout_ms: int = 60_000
    validate_only: bool = False
    version: int = 7


@frozen
class ConfigEntry:
    """One setting in an answer, with the source of its value (`ConfigSource`) and its type (`ConfigType`)."""

    name: str
    value: str | None
    read_only: bool = False
    source: int = 5
    sensitive: bool = False
    type: int = 0
    documentation: str | None = None
    synonyms: tuple[tuple[str, str | None, int], ...] = ()


@frozen
class CreatedTopic:
    """The result of one new topic; `config_error` is the reason for which its settings and size are absent."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: str | None = None
    partitions: int = -1
    replication: int = -1
    config: tuple[ConfigEntry, ...] = ()
    config_error: ErrorCode = ErrorCode.NONE


@frozen
class CreateTopicsResponse:
    """One result per topic of the request, in its order."""

    API: ClassVar[Api] = Api.CREATE_TOPICS
    topics: tuple[CreatedTopic, ...] = ()


@frozen
class DeleteTopicsRequest(AnsweredBy["DeleteTopicsResponse"]):
    """Delete topics by name."""

    API: ClassVar[Api] = Api.DELETE_TOPICS
    topics: tuple[str, ...]
    timeout_ms: int = 60_000
    version: int = 6


@frozen
class DeletedTopic:
    """The result of one topic, with its id where it is known."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: str | None = None


@frozen
class DeleteTopicsResponse:
    """One result per topic of the request, in its order."""

    API: ClassVar[Api] = Api.DELETE_TOPICS
    topics: tuple[DeletedTopic, ...] = ()


@frozen
class MorePartitions:
    """Give a topic `count` partitions in all; `assignment` names the replicas of the new ones."""

    name: str
    count: int
    assignment: tuple[tuple[int, ...], ...] | None = None


@frozen
class CreatePartitionsRequest(AnsweredBy["CreatePartitionsResponse"]):
    """Add partitions to topics."""

    API: ClassVar[Api] = Api.CREATE_PARTITIONS
    topics: tuple[MorePartitions, ...]
    timeout_ms: int = 60_000
    validate_only: bool = False
    version: int = 3


@frozen
class CreatePartitionsResponse:
    """Topic, error and message for each topic of the request, in its order."""

    API: ClassVar[Api] = Api.CREATE_PARTITIONS
    topics: tuple[tuple[str, ErrorCode, str | None], ...] = ()


TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32


@frozen
class ConfigsAsked:
    """One resource of a DescribeConfigs; `names` None asks for all of its settings."""

    type: int
    name: str
    names: tuple[str, ...] | None = None


@frozen
class DescribeConfigsRequest(AnsweredBy["DescribeConfigsResponse"]):
    """Describe the settings of topics, brokers, groups."""

    API: ClassVar[Api] = Api.DESCRIBE_CONFIGS
    resources: tuple[ConfigsAsked, ...]
    synonyms: bool = False
    documentation: bool = False
    version: int = 4


@frozen
class ConfigsDescribed:
    """The settings of one resource."""

    type: int
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    entries: tuple[ConfigEntry, ...] = ()


@frozen
class DescribeConfigsResponse:
    """One result per resource of the request, in its order."""

    API: ClassVar[Api] = Api.DESCRIBE_CONFIGS
    results: tuple[ConfigsDescribed, ...] = ()


SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@frozen
class ConfigsToAlter:
    """Changes of one resource: setting, operation (SET, DELETE, APPEND, SUBTRACT), value."""

    type: int
    name: str
    changes: tuple[tuple[str, int, str | None], ...] = ()


@frozen
class IncrementalAlterConfigsRequest(AnsweredBy["IncrementalAlterConfigsResponse"]):
    """Change settings one by one (KIP-339)."""

    API: ClassVar[Api] = Api.INCREMENTAL_ALTER_CONFIGS
    resources: tuple[ConfigsToAlter, ...]
    validate_only: bool = False
    version: int = 1


@frozen
class IncrementalAlterConfigsResponse:
    """Type, name, error and message for each resource of the request, in its order."""

    API: ClassVar[Api] = Api.INCREMENTAL_ALTER_CONFIGS
    results: tuple[tuple[int, str, ErrorCode, str | None], ...] = ()


@frozen
class AlterConfigsRequest(AnsweredBy["AlterConfigsResponse"]):
    """Replace all settings of resources (KIP-133); each change is a SET, an absent setting becomes the default."""

    API: ClassVar[Api] = Api.ALTER_CONFIGS
    resources: tuple[ConfigsToAlter, ...]
    validate_only: bool = False
    version: int = 2


@frozen
class AlterConfigsResponse:
    """Type, name, error and message for each resource of the request, in its order."""

    API: ClassVar[Api] = Api.ALTER_CONFIGS
    results: tuple[tuple[int, str, ErrorCode, str | None], ...] = ()


@frozen
class ListConfigResourcesRequest(AnsweredBy["ListConfigResourcesResponse"]):
    """List the resources that have settings; no types stand for all of them. Version 0 lists client metrics only."""

    API: ClassVar[Api] = Api.LIST_CONFIG_RESOURCES
    types: tuple[int, ...] = ()
    version: int = 1


@frozen
class ListConfigResourcesResponse:
    """Type and name of each resource."""

    API: ClassVar[Api] = Api.LIST_CONFIG_RESOURCES
    error: ErrorCode = ErrorCode.NONE
    resources: tuple[tuple[int, str], ...] = ()


@frozen
class DescribeClusterRequest(AnsweredBy["DescribeClusterResponse"]):
    """List the brokers of the cluster."""

    API: ClassVar[Api] = Api.DESCRIBE_CLUSTER
    include_authorized_operations: bool = False
    include_fenced: bool = False
    version: int = 2


@frozen
class DescribeClusterResponse:
    """Brokers as (node, fenced); the listener adds addresses and racks. `operations`: the authorized operations."""

    API: ClassVar[Api] = Api.DESCRIBE_CLUSTER
    error: ErrorCode = ErrorCode.NONE
    brokers: tuple[tuple[int, bool], ...] = ()
    operations: int = NOT_ASKED


AdminRequest: TypeAlias = (
    CreateTopicsRequest
    | DeleteTopicsRequest
    | CreatePartitionsRequest
    | DescribeConfigsRequest
    | IncrementalAlterConfigsRequest
    | AlterConfigsRequest
    | ListConfigResourcesRequest
    | DescribeClusterRequest
)
AdminResponse: TypeAlias = (
    CreateTopicsResponse
    | DeleteTopicsResponse
    | CreatePartitionsResponse
    | DescribeConfigsResponse
    | IncrementalAlterConfigsResponse
    | AlterConfigsResponse
    | ListConfigResourcesResponse
    | DescribeClusterResponse
)
