"""A broker's answers to administrators: what it knows itself, and what it passes on to the controller.

    DescribeConfigs, DescribeCluster ──▶ answered from this broker's image and settings
    CreateTopics, DeleteTopics, CreatePartitions ──▶ the controller
    AlterConfigs, IncrementalAlterConfigs ──▶ looked at here, as far as this broker can tell ──▶ the controller

Nobody else's settings are told or changed here: a request about broker 2 goes to broker 2.

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
"""A request for settings names no time to wait: `request.timeout.ms` of the broker."""

_NOT_KEPT: Final = {BROKER_LOGGER_RESOURCE: "BROKER_LOGGER", CLIENT_METRICS_RESOURCE: "CLIENT_METRICS"}
"""Resources that have settings in Kafka, and none here."""
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

Altered = tuple[int, str, ErrorCode, str | None]
_Alteration: TypeAlias = IncrementalAlterConfigsRequest | AlterConfigsRequest
_Alterations: TypeAlias = IncrementalAlterConfigsResponse | AlterConfigsResponse


class AdminRequests:
    """The requests of administrators that one life of a broker takes, by their types (`handlers`)."""

    def __init__(
        self, node: int, settings: Settings, forwarding: Forwarding, image: Callable[[], ClusterImage]
    ) -> None:
        self._node = node
        self._settings = settings
        self._forwarding = forwarding
        self._image = image
        #: Why somebody may not change these settings, where there is an authorizer; else nobody is asked.
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
        """Have the controller answer a request."""
        self._forwarding.ask(request, _giver(call, request), timeout_us)

    def _cluster(self, request: DescribeClusterRequest) -> DescribeClusterResponse:
        states = self._image().brokers
        operations = CLUSTER_OPERATIONS if request.include_authorized_operations else NOT_ASKED
        told = (states[node] for node in sorted(states))
        return DescribeClusterResponse(
            brokers=tuple((one.node, one.fenced) for one in told if request.include_fenced or not one.fenced),
            operations=operations,
        )

    # --- telling settings ------------------------------------------------------------------------------------

    def describe(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        """The settings of topics, of groups and of this broker."""
        return DescribeConfigsResponse(tuple(self._described(asked) for asked in request.resources))

    def _described(self, asked: ConfigsAsked) -> ConfigsDescribed:
        names = asked.names or ()
        if asked.type == TOPIC_RESOURCE:
            return self._topic(asked, names)
        if asked.type == BROKER_RESOURCE:
            return self._broker(asked, names)
        if asked.type == GROUP_RESOURCE:
            return self._group(asked, names)
        if asked.type not in _NOT_KEPT:
            return _undescribed(asked, ErrorCode.INVALID_REQUEST, _MALFORMED)
        return _undescribed(asked, ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {_NOT_KEPT[asked.type]}")

    def _topic(self, asked: ConfigsAsked, names: tuple[str, ...]) -> ConfigsDescribed:
        illegal = illegal_name(asked.name)
        if illegal:
            return _undescribed(asked, ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
        image = self._image()
        topic = image.topics.get(asked.name)
        if topic is None:
            return _undescribed(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        entries = self._settings.of_topic(topic.config, image, names)
        return ConfigsDescribed(asked.type, asked.name, message="", entries=tuple(entries))

    def _group(self, asked: ConfigsAsked, names: tuple[str, ...]) -> ConfigsDescribed:
        if not asked.name:
            return _undescribed(asked, ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        image = self._image()
        entries = self._settings.of_group(image.groups.get(asked.name, {}), image, names)
        return ConfigsDescribed(asked.type, asked.name, message="", entries=tuple(entries))

    def _resources(self, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
        """List what has settings; there are no client metrics here, which is all that version 0 lists."""
        image = self._image()
        brokers = [str(node) for node in sorted(image.brokers)]
        there = {
            GROUP_RESOURCE: sorted(image.groups),
            CLIENT_METRICS_RESOURCE: [],
            BROKER_LOGGER_RESOURCE: brokers,
            BROKER_RESOURCE: brokers,
            TOPIC_RESOURCE: sorted(image.topics),
        }
        types = (CLIENT_METRICS_RESOURCE,) if request.version == 0 else request.types or tuple(there)
        if any(kind not in there for kind in types):
            return ListConfigResourcesResponse(ErrorCode.UNSUPPORTED_VERSION)
        return ListConfigResourcesResponse(
            resources=tuple((kind, name) for kind in there if kind in types for name in there[kind])
        )

    def _broker(self, asked: ConfigsAsked, names: tuple[str, ...]) -> ConfigsDescribed:
        if not asked.name:
            entries = self._settings.of_all_brokers(self._image(), names)
        elif asked.name.isdecimal() and int(asked.name) == self._node:
            entries = self._settings.of_broker(self._image(), names)
        else:
            return _undescribed(asked, ErrorCode.INVALID_REQUEST, self._not_this_one(asked.name))
        return ConfigsDescribed(asked.type, asked.name, message="", entries=tuple(entries))

    def _not_this_one(self, name: str) -> str:
        if not name.removeprefix("-").isdecimal():
            return f"Broker id must be an integer, but it is: {name}"
        return f"Unexpected broker id, expected {self._node} or empty string, but received {name}"

    # --- changing settings -----------------------------------------------------------------------------------

    def _alter(self, call: Call, request: _Alteration) -> None:
        times = Counter((resource.type, resource.name) for resource in request.resources)
        objections = [
            (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if times[resource.type, resource.name] > 1
            else self._objection(resource) or self.forbids(call, resource)
            for resource in request.resources
        ]
        fine = tuple(one for one, why in zip(request.resources, objections, strict=True) if why is None)
        if not fine:
            call.answer(_altered(request, objections, ()))
            return
        give = _giver(call, request)

        def answered(response: _Alterations | None) -> None:
            give(None if response is None else _altered(request, objections, response.results))

        passed_on = evolve(request, resources=fine)
        self._forwarding.ask(passed_on, answered, _SETTINGS_TIMEOUT_MS * 1_000)

    def _objection(self, resource: ConfigsToAlter) -> tuple[ErrorCode, str | None] | None:
        """What this broker itself has against a change. An operation that is none trips it, and it has no words."""
        names = [name for name, _, _ in resource.changes]
        empty = [name for name, operation, value in resource.changes if operation != DELETE and value is None]
        why = None
        if len(set(names)) < len(names):
            why = "Error due to duplicate config keys"
        elif empty:
            why = f"Null value not supported for : {', '.join(empty)}"
        elif any(not 0 <= operation <= SUBTRACT for _, operation, _ in resource.changes):
            return ErrorCode.UNKNOWN_SERVER_ERROR, None
        elif resource.type == BROKER_RESOURCE:
            why = self._broker_objection(resource)
        elif resource.type not in (TOPIC_RESOURCE, GROUP_RESOURCE):
            why = f"Unknown resource type {resource.type}"
        return None if why is None else (ErrorCode.INVALID_REQUEST, why)

    def _broker_objection(self, resource: ConfigsToAlter) -> str | None:
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
    objections: Sequence[tuple[ErrorCode, str | None] | None],
    results: tuple[Altered, ...],
) -> _Alterations:
    """One result per resource of the request: this broker's objection, or what the controller said."""
    said = iter(results)
    told = tuple(
        next(said) if why is None else (resource.type, resource.name, *why)
        for resource, why in zip(request.resources, objections, strict=True)
    )
    if isinstance(request, AlterConfigsRequest):
        return AlterConfigsResponse(told)
    return IncrementalAlterConfigsResponse(told)


def _giver(call: Call, request: AdminRequest) -> Callable[[Any], None]:
    """Answers the call with the controller's answer, or says that none came in time; nobody, if it has gone."""
    gone: list[bool] = []
    call.give_up = lambda: gone.append(True)  # type: ignore[attr-defined]

    def give(response: Any) -> None:
        if not gone:
            call.answer(refusal(request, ErrorCode.REQUEST_TIMED_OUT) if response is None else response)

    return give


def _undescribed(asked: ConfigsAsked, error: ErrorCode, message: str) -> ConfigsDescribed:
    return ConfigsDescribed(asked.type, asked.name, error, message)
