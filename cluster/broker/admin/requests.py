"""A broker's handlers for administrators: answered from the broker's image, or forwarded to the controller.

    DescribeConfigs, DescribeCluster ──▶ answered from this broker's image and settings
    CreateTopics, DeleteTopics, CreatePartitions ──▶ the controller
    AlterConfigs, IncrementalAlterConfigs ──▶ validated as far as the broker can ──▶ the controller

A broker describes and changes its own settings only: a request about broker 2 has to go to broker 2.

Sources: `KafkaApis` (forwardToControllerOrFail), `ConfigHelper.describeConfigs`, `ConfigAdminManager.preprocess`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from attrs import evolve

from groupsim.cluster.acl.operations import CLUSTER_OPERATIONS
from groupsim.cluster.broker.admin.effective import Settings
from groupsim.cluster.broker.admin.forwarding import Forwarding
from groupsim.cluster.config import setting_values
from groupsim.cluster.controller.topic_changes import illegal_name
from groupsim.coordinator.base.interfaces import Call
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED
from groupsim.protocol.messages.admin import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    DELETE,
    GROUP_RESOURCE,
    SUBTRACT,
    TOPIC_RESOURCE,
    AdminRequest,
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigsAsked,
    ConfigsDescribed,
    ConfigsToAlter,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from groupsim.protocol.messages.cluster import ClusterImage
from groupsim.protocol.messages.refusals import refusal

_SETTINGS_TIMEOUT_MS: Final = 30_000
"""Requests that alter settings have no timeout of their own: `request.timeout.ms` of the broker."""

_NOT_SUPPORTED: Final = {BROKER_LOGGER_RESOURCE: "BROKER_LOGGER", CLIENT_METRICS_RESOURCE: "CLIENT_METRICS"}
"""Resources that have settings in Kafka, but none here."""
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

Altered = tuple[int, str, ErrorCode, str | None]
_Alteration: TypeAlias = IncrementalAlterConfigsRequest | AlterConfigsRequest
_Alterations: TypeAlias = IncrementalAlterConfigsResponse | AlterConfigsResponse


class AdminRequests:
    """Handlers of administrators' requests in one life of a broker, by request type (`handlers`)."""

    def __init__(
        self, node: int, settings: Settings, forwarding: Forwarding, image: Callable[[], ClusterImage]
    ) -> None:
        self._node = node
        self._settings = settings
        self._forwarding = forwarding
        self._image = image
        #: The authorization error for a change of settings; None when it is allowed or without an authorizer.
        self.forbids: Callable[[Call, ConfigsToAlter], tuple[ErrorCode, str | None] | None] = lambda call, resource: (
            None
        )
        self.handlers: dict[type, Callable[[Any, Any], None]] = {
            CreateTopicsRequest: self._pass_on,
            DeleteTopicsRequest: self._pass_on,
            CreatePartitionsRequest: self._pass_on,
            IncrementalAlterConfigsRequest: self._alter,
            AlterConfigsRequest: self._alter,
            ListConfigResourcesRequest: lambda call, request: call.answer(self._resources(request)),
            DescribeConfigsRequest: lambda call, request: call.answer(self.describe(request)),
            DescribeClusterRequest: lambda call, request: call.answer(self._cluster(request)),
        }

    def _pass_on(self, call: Call, request: Any) -> None:
        self.pass_on(call, request, request.timeout_ms * 1_000)

    def pass_on(self, call: Call, request: Any, timeout_us: int) -> None:
        """Forward a request to the controller, and its answer to the client."""
        self._forwarding.send(request, _answerer(call, request), timeout_us)

    def _cluster(self, request: DescribeClusterRequest) -> DescribeClusterResponse:
        states = self._image().brokers
        operations = CLUSTER_OPERATIONS if request.include_authorized_operations else NOT_ASKED
        ordered = (states[node] for node in sorted(states))
        return DescribeClusterResponse(
            brokers=tuple((one.node, one.fenced) for one in ordered if request.include_fenced or not one.fenced),
            operations=operations,
        )

    # --- describing settings ----------------------------------------------------------------------------------

    def describe(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        """Return the settings of topics, of groups and of this broker."""
        return DescribeConfigsResponse(tuple(self._described(resource) for resource in request.resources))

    def _described(self, resource: ConfigsAsked) -> ConfigsDescribed:
        names = resource.names or ()
        if resource.type == TOPIC_RESOURCE:
            return self._topic(resource, names)
        if resource.type == BROKER_RESOURCE:
            return self._broker(resource, names)
        if resource.type == GROUP_RESOURCE:
            return self._group(resource, names)
        if resource.type not in _NOT_SUPPORTED:
            return _undescribed(resource, ErrorCode.INVALID_REQUEST, _MALFORMED)
        return _undescribed(
            resource, ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {_NOT_SUPPORTED[resource.type]}"
        )

    def _topic(self, resource: ConfigsAsked, names: tuple[str, ...]) -> ConfigsDescribed:
        illegal = illegal_name(resource.name)
        if illegal:
            return _undescribed(resource, ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
        image = self._image()
        topic = image.topics.get(resource.name)
        if topic is None:
            return _undescribed(resource, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        entries = self._settings.of_topic(topic.config, image, names)
        return ConfigsDescribed(resource.type, resource.name, message="", entries=tuple(entries))

    def _group(self, resource: ConfigsAsked, names: tuple[str, ...]) -> ConfigsDescribed:
        if not resource.name:
            return _undescribed(resource, ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        image = self._image()
        entries = self._settings.of_group(image.groups.get(resource.name, {}), image, names)
        return ConfigsDescribed(resource.type, resource.name, message="", entries=tuple(entries))

    def _resources(self, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
        """List resources with settings; version 0 lists client metrics only (KIP-1142), and there are none here."""
        image = self._image()
        brokers = [str(node) for node in sorted(image.brokers)]
        names = {
            GROUP_RESOURCE: sorted(image.groups),
            CLIENT_METRICS_RESOURCE: [],
            BROKER_LOGGER_RESOURCE: brokers,
            BROKER_RESOURCE: brokers,
            TOPIC_RESOURCE: sorted(image.topics),
        }
        types = (CLIENT_METRICS_RESOURCE,) if request.version == 0 else request.types or tuple(names)
        if any(kind not in names for kind in types):
            return ListConfigResourcesResponse(ErrorCode.UNSUPPORTED_VERSION)
        return ListConfigResourcesResponse(
            resources=tuple((kind, name) for kind in names if kind in types for name in names[kind])
        )

    def _broker(self, resource: ConfigsAsked, names: tuple[str, ...]) -> ConfigsDescribed:
        if not resource.name:
            entries = self._settings.of_all_brokers(self._image(), names)
        elif resource.name.isdecimal() and int(resource.name) == self._node:
            entries = self._settings.of_broker(self._image(), names)
        else:
            return _undescribed(resource, ErrorCode.INVALID_REQUEST, self._wrong_broker(resource.name))
        return ConfigsDescribed(resource.type, resource.name, message="", entries=tuple(entries))

    def _wrong_broker(self, name: str) -> str:
        if not name.removeprefix("-").isdecimal():
            return f"Broker id must be an integer, but it is: {name}"
        return f"Unexpected broker id, expected {self._node} or empty string, but received {name}"

    # --- altering settings ------------------------------------------------------------------------------------

    def _alter(self, call: Call, request: _Alteration) -> None:
        times = Counter((resource.type, resource.name) for resource in request.resources)
        errors = [
            (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if times[resource.type, resource.name] > 1
            else self._validation_error(resource) or self.forbids(call, resource)
            for resource in request.resources
        ]
        valid = tuple(one for one, why in zip(request.resources, errors, strict=True) if why is None)
        if not valid:
            call.answer(_altered(request, errors, ()))
            return
        answer = _answerer(call, request)

        def answered(response: _Alterations | None) -> None:
            answer(None if response is None else _altered(request, errors, response.results))

        forwarded = evolve(request, resources=valid)
        self._forwarding.send(forwarded, answered, _SETTINGS_TIMEOUT_MS * 1_000)

    def _validation_error(self, resource: ConfigsToAlter) -> tuple[ErrorCode, str | None] | None:
        """Return the error that this broker finds in a change itself (`ConfigAdminManager.preprocess`)."""
        names = [name for name, _, _ in resource.changes]
        empty = [name for name, operation, value in resource.changes if operation != DELETE and value is None]
        why = None
        if len(set(names)) < len(names):
            why = "Error due to duplicate config keys"
        elif empty:
            why = f"Null value not supported for : {', '.join(empty)}"
        # Kafka's enumeration has no such operation: the handler throws, so there is no message.
        elif any(not 0 <= operation <= SUBTRACT for _, operation, _ in resource.changes):
            return ErrorCode.UNKNOWN_SERVER_ERROR, None
        elif resource.type == BROKER_RESOURCE:
            why = self._broker_error(resource)
        elif resource.type not in (TOPIC_RESOURCE, GROUP_RESOURCE):
            why = f"Unknown resource type {resource.type}"
        return None if why is None else (ErrorCode.INVALID_REQUEST, why)

    def _broker_error(self, resource: ConfigsToAlter) -> str | None:
        if resource.name and not resource.name.removeprefix("-").isdecimal():
            return f"Node id must be an integer, but it is: {resource.name}"
        if resource.name and int(resource.name) != self._node:
            return f"Unexpected broker id, expected {self._node}, but received {resource.name}"
        try:
            setting_values.check_broker(
                {name: value or "" for name, operation, value in resource.changes if operation != DELETE}
            )
        except setting_values.Invalid as invalid:
            return str(invalid)
        return None


def _altered(
    request: _Alteration,
    errors: Sequence[tuple[ErrorCode, str | None] | None],
    results: tuple[Altered, ...],
) -> _Alterations:
    """Return one result per resource of the request: this broker's error, or the controller's result."""
    remaining = iter(results)
    altered = tuple(
        next(remaining) if why is None else (resource.type, resource.name, *why)
        for resource, why in zip(request.resources, errors, strict=True)
    )
    if isinstance(request, AlterConfigsRequest):
        return AlterConfigsResponse(altered)
    return IncrementalAlterConfigsResponse(altered)


def _answerer(call: Call, request: AdminRequest) -> Callable[[Any], None]:
    """Return a callback that answers the call, with REQUEST_TIMED_OUT for None, unless the client has gone."""
    client_gone: list[bool] = []
    call.give_up = lambda: client_gone.append(True)  # type: ignore[attr-defined]

    def answer(response: Any) -> None:
        if not client_gone:
            call.answer(refusal(request, ErrorCode.REQUEST_TIMED_OUT) if response is None else response)

    return answer


def _undescribed(resource: ConfigsAsked, error: ErrorCode, message: str) -> ConfigsDescribed:
    return ConfigsDescribed(resource.type, resource.name, error, message)
