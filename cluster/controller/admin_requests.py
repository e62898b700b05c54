"""The controller's handlers of administrators' requests, which brokers forward: topics, partitions, settings.

Each resource of a request has a result of its own; all valid changes are made in one version of the image. A request
with `validate_only` is rolled back. The order of the checks is Kafka's, because an answer has the first error.

Sources: `ControllerApis` (duplicate names), `ReplicationControlManager` (createTopics, createPartitions,
deleteTopics), `ConfigurationControlManager.incrementalAlterConfigs`, `QuorumController.ConfigResourceExistenceChecker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from attrs import evolve

from groupsim.cluster.acl.control import AclControl
from groupsim.cluster.config import setting_values
from groupsim.cluster.config.cluster import ClusterConfig, values_in_effect
from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.config.group_settings import GroupRules
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import MIN_ISR
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.controller.topic_changes import TopicChanges, illegal_name
from groupsim.eventloop.trace.trace import Trace
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import (
    APPEND,
    DELETE,
    GROUP_RESOURCE,
    SET,
    SUBTRACT,
    TOPIC_RESOURCE,
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigEntry,
    ConfigsToAlter,
    CreatedTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    MorePartitions,
    NewTopic,
)
from groupsim.protocol.messages.cluster import ClusterImage, TopicState
from groupsim.protocol.values import frozen

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
METADATA_TOPIC: Final = "__cluster_metadata"
MAX_PARTITIONS: Final = 10_000
"""Maximum number of new partitions of one request (KAFKA-17870)."""
MAX_RECORDS: Final = 10_000
"""Maximum number of metadata records of one request: topics, their settings, their partitions
(`QuorumController.MAX_RECORDS_PER_USER_OP`)."""
_DUPLICATE = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_TOO_MANY = Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
_TOO_MANY_MORE = Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of additional partitions per request.")
_TOO_LARGE = Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
_UNKNOWN_TOPIC = "This server does not host this topic-partition."
_OPERATIONS: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}

Describe = Callable[[Mapping[str, str], ClusterImage], tuple[ConfigEntry, ...]]


@frozen
class Decided:
    """An answer to a forwarded request, and the version of the image with the change."""

    response: Any  # not a response type: versions apply to the inner message
    version: int


class Administration:
    """Requests of administrators on a draft, which is not committed here.

    `describe` returns the settings of a topic with these settings of its own; `group_rules` check the settings of
    groups; `on_deleted` are called with each deleted
    topic after the commit. `may_elect` are the topics whose settings the last request changed.
    """

    def __init__(self, draft: Draft, admin: TopicChanges, config: ControllerConfig, trace: Trace) -> None:
        self._draft = draft
        self._admin = admin
        self._config = config
        self._trace = trace
        self.describe: Describe = lambda own, image: ()
        self.group_rules = GroupRules(values_in_effect(ClusterConfig()))
        self.on_deleted: list[Callable[[str], None]] = []
        self.may_elect: list[str] = []
        self._gone: list[str] = []
        self.handlers: dict[type, Callable[[Any], Any]] = {
            CreateTopicsRequest: self._create_all,
            DeleteTopicsRequest: self._delete_all,
            CreatePartitionsRequest: self._grow_all,
            IncrementalAlterConfigsRequest: self._alter_all,
            AlterConfigsRequest: self._replace_all,
            **AclControl(draft).handlers,
        }

    def begin(self) -> None:
        """Begin a transaction; drop the deletions of one that did not commit."""
        self._gone.clear()

    def notify(self) -> None:
        """Call the listeners of deleted topics after a commit."""
        gone, self._gone = self._gone, []
        for name in gone:
            for listener in self.on_deleted:
                listener(name)

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        """Roll back the changes of this block, and emit no events of them."""
        drawn = self._admin.draws
        with self._trace.muted():
            try:
                yield
            finally:
                self._admin.draws = drawn
                self._draft.discard()

    # --- topics ----------------------------------------------------------------------------------------------

    def _create_all(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        times = Counter(topic.name for topic in request.topics)
        once = [topic for topic in request.topics if times[topic.name] == 1]
        if too_much := self._too_much(once):
            return CreateTopicsResponse(tuple(_not_created(topic.name, too_much) for topic in request.topics))
        with self._rolled_back() if request.validate_only else nullcontext():
            results = [self._created(topic) for topic in once]
        duplicates = [_not_created(name, _DUPLICATE) for name, count in times.items() if count > 1]
        return CreateTopicsResponse((*results, *duplicates))

    def _too_much(self, topics: Sequence[NewTopic]) -> Refused | None:
        """Return the error of a request that is too large as a whole."""
        if sum(map(self._wanted, topics)) > MAX_PARTITIONS:
            return _TOO_MANY
        if sum(map(self._records, topics)) <= MAX_RECORDS:
            return None
        with self._rolled_back():  # invalid topics do not count
            made = [topic for topic in topics if not self._created(topic).error]
        return _TOO_LARGE if sum(map(self._records, made)) > MAX_RECORDS else None

    def _wanted(self, topic: NewTopic) -> int:
        """Return the number of partitions of a new topic."""
        wanted = self._config.num_partitions if topic.partitions == -1 else topic.partitions
        return len(topic.assignment) or max(wanted, 0)

    def _records(self, topic: NewTopic) -> int:
        """Return the number of metadata records of a new topic."""
        return 1 + len(dict(topic.config)) + self._wanted(topic)

    def _created(self, topic: NewTopic) -> CreatedTopic:
        try:
            made = self._create(topic)
        except Refused as refused:
            return _not_created(topic.name, refused)
        return CreatedTopic(
            topic.name,
            topic_id=made.topic_id,
            partitions=len(made.partitions),
            replication=len(made.partitions[0].replicas),
            config=self.describe(made.config, self._draft.image),
        )

    def _create(self, topic: NewTopic) -> TopicState:
        if topic.name == METADATA_TOPIC:
            text = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
            raise Refused(ErrorCode.INVALID_REQUEST, text)
        self._admin.check_name(topic.name)
        config = self._new_config(topic.config)
        manual = _manual_assignment(topic) if topic.assignment else None
        if manual is None:
            _check_numbers(topic)
        self._admin.create(
            topic.name,
            self._config.num_partitions if topic.partitions == -1 else topic.partitions,
            self._config.default_replication_factor if topic.replication == -1 else topic.replication,
            manual,
            config,
            topic.name in INTERNAL_TOPICS,
        )
        made = self._draft.topic(topic.name)
        assert made is not None
        return made

    def _new_config(self, given: Iterable[tuple[str, str | None]]) -> dict[str, str]:
        """Return the settings of a new topic. Raises `Refused` (INVALID_CONFIG)."""
        config = dict(given)
        empty = [name for name, value in config.items() if value is None]
        if empty:
            text = f"Null value not supported for topic configs: {','.join(empty)}"
            raise Refused(ErrorCode.INVALID_CONFIG, text)
        values = {name: value for name, value in config.items() if value is not None}
        _check_topic_settings(values)
        return values

    def _delete_all(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        times = Counter(request.topics)
        duplicates = [
            DeletedTopic(name, _DUPLICATE.error, _DUPLICATE.message) for name, count in times.items() if count > 1
        ]
        return DeleteTopicsResponse(
            (*duplicates, *(self._deleted(name) for name, count in times.items() if count == 1))
        )

    def _deleted(self, name: str) -> DeletedTopic:
        topic = self._draft.topic(name)
        if topic is None:
            return DeletedTopic(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN_TOPIC)
        self._admin.delete(name)
        self._gone.append(name)
        return DeletedTopic(name, topic_id=topic.topic_id)

    # --- partitions ------------------------------------------------------------------------------------------

    def _grow_all(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        times = Counter(more.name for more in request.topics)
        once = [more for more in request.topics if times[more.name] == 1]
        if sum(map(self._additional, once)) > MAX_PARTITIONS:
            refused = _TOO_MANY_MORE
            return CreatePartitionsResponse(tuple((m.name, refused.error, refused.message) for m in request.topics))
        duplicates = [(name, _DUPLICATE.error, _DUPLICATE.message) for name, count in times.items() if count > 1]
        with self._rolled_back() if request.validate_only else nullcontext():
            results = [self._grown(more) for more in once]
        return CreatePartitionsResponse((*duplicates, *results))

    def _additional(self, more: MorePartitions) -> int:
        """Return the number of new partitions; 0 for an unknown topic or a smaller total."""
        topic = self._draft.topic(more.name)
        return 0 if topic is None else max(more.count - len(topic.partitions), 0)

    def _grown(self, more: MorePartitions) -> tuple[str, ErrorCode, str | None]:
        topic = self._draft.topic(more.name)
        if topic is None:
            return more.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        try:
            self._admin.grow(more.name, more.count, more.assignment)
        except Refused as refused:
            return more.name, refused.error, refused.message
        return more.name, ErrorCode.NONE, None

    # --- settings --------------------------------------------------------------------------------------------

    def _alter_all(self, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        return IncrementalAlterConfigsResponse(self._results(request.resources, request.validate_only))

    def _replace_all(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """Replace all settings, as by SET of the named ones and DELETE of all others."""
        resources = [evolve(one, changes=(*one.changes, *self._dropped(one))) for one in request.resources]
        return AlterConfigsResponse(self._results(resources, request.validate_only))

    def _dropped(self, resource: ConfigsToAlter) -> list[tuple[str, int, str | None]]:
        kept = {name for name, _, _ in resource.changes}
        return [(name, DELETE, None) for name in self._settings(resource) if name not in kept]

    def _settings(self, resource: ConfigsToAlter) -> Mapping[str, str]:
        """Return a resource's own settings; a cluster with KIP-966 begins with min.insync.replicas."""
        if resource.type == GROUP_RESOURCE:
            return self._draft.group_config(resource.name)
        if resource.type == TOPIC_RESOURCE:
            topic = self._draft.topic(resource.name)
            return {} if topic is None else topic.config
        own = self._draft.config(resource.name)
        return own if resource.name or not self._config.eligible_leader_replicas else {MIN_ISR: "", **own}

    def _results(
        self, resources: Sequence[ConfigsToAlter], validate_only: bool
    ) -> tuple[tuple[int, str, ErrorCode, str | None], ...]:
        self.may_elect = []
        with self._rolled_back() if validate_only else nullcontext():
            return tuple(self._altered(resource) for resource in resources)

    def _altered(self, resource: ConfigsToAlter) -> tuple[int, str, ErrorCode, str | None]:
        alter = {TOPIC_RESOURCE: self._alter_topic, GROUP_RESOURCE: self._alter_group}
        try:
            alter.get(resource.type, self._alter_broker)(resource)
        except Refused as refused:
            return resource.type, resource.name, refused.error, refused.message
        return resource.type, resource.name, ErrorCode.NONE, None

    def _alter_group(self, resource: ConfigsToAlter) -> None:
        after = self._after(self._draft.group_config(resource.name), resource)
        if not resource.name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        try:
            self.group_rules.check(after)
        except setting_values.Invalid as invalid:
            raise Refused(ErrorCode.INVALID_CONFIG, str(invalid)) from None
        self._draft.set_group_config(resource.name, after)

    def _alter_topic(self, resource: ConfigsToAlter) -> None:
        name, topic = resource.name, self._draft.topic(resource.name)
        before = {} if topic is None else topic.config
        after = self._after(before, resource)
        # `ConfigurationControlManager` applies the operations before it checks the resource, so their error precedes.
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        if illegal := illegal_name(name):
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
        _check_topic_settings(after)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        gone = dict.fromkeys(key for key in before if key not in after)
        self._admin.configure(name, {**after, **gone})
        self.may_elect.append(name)

    def _alter_broker(self, resource: ConfigsToAlter) -> None:
        name = resource.name
        self._check_eligibility(resource)
        after = self._after(self._draft.config(name), resource)
        _check_broker_settings(after)
        if name and not (name.isdecimal() and self._draft.broker(int(name)) is not None):
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")
        self._admin.configure_broker(name, after)
        if not name:
            self.may_elect.extend(self._draft.image.topics)

    def _check_eligibility(self, resource: ConfigsToAlter) -> None:
        """Keep one `min.insync.replicas` for the whole cluster, on which eligible leader replicas (KIP-966) depend."""
        operation = next((operation for key, operation, _ in resource.changes if key == MIN_ISR), None)
        if operation is None or not self._config.eligible_leader_replicas:
            return
        if resource.name:
            text = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
            raise Refused(ErrorCode.INVALID_CONFIG, text)
        if operation == DELETE:
            text = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
            raise Refused(ErrorCode.INVALID_CONFIG, text)

    def _after(self, before: Mapping[str, str], resource: ConfigsToAlter) -> dict[str, str]:
        """Return the settings with these changes. Raises `Refused`."""
        after = dict(before)
        for name, operation, value in resource.changes:
            if operation == DELETE:
                after.pop(name, None)
            elif operation == SET:
                after[name] = value or ""
            else:
                after[name] = _joined(name, operation, after.get(name), value or "")
        return after


def _joined(name: str, operation: int, before: str | None, value: str) -> str:
    """Return a list with values added or removed. Raises `Refused` (INVALID_CONFIG) for a setting that is no list."""
    if not setting_values.is_list(name):
        text = f"Can't {_OPERATIONS[operation]} to key {name} because its type is not LIST."
        raise Refused(ErrorCode.INVALID_CONFIG, text)
    # A list without a value of its own begins with Kafka's default (`ConfigurationControlManager`).
    parts = [part for part in (setting_values.default_of(name) if before is None else before).split(",") if part]
    for part in value.split(","):
        if operation == APPEND and part not in parts:
            parts.append(part)
        elif operation == SUBTRACT and part in parts:
            parts.remove(part)
    return ",".join(parts)


def _check_topic_settings(config: Mapping[str, str]) -> None:
    try:
        setting_values.check_topic(config)
    except setting_values.Invalid as invalid:
        raise Refused(ErrorCode.INVALID_CONFIG, str(invalid)) from None


def _check_broker_settings(config: Mapping[str, str]) -> None:
    try:
        setting_values.check_broker(config)
    except setting_values.Invalid as invalid:
        raise Refused(ErrorCode.INVALID_REQUEST, str(invalid)) from None


def _not_created(name: str, refused: Refused) -> CreatedTopic:
    return CreatedTopic(name, refused.error, refused.message)


def _check_numbers(topic: NewTopic) -> None:
    if topic.replication < -1 or topic.replication == 0:
        text = "Replication factor must be larger than 0, or -1 to use the default value."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, text)
    if topic.partitions < -1 or topic.partitions == 0:
        text = "Number of partitions was set to an invalid non-positive value."
        raise Refused(ErrorCode.INVALID_PARTITIONS, text)


def _manual_assignment(topic: NewTopic) -> list[tuple[int, ...]]:
    """Return the replicas of each partition of a manual assignment. Raises `Refused`."""
    prefix = "A manual partition assignment was specified, but"
    if topic.replication != -1:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{prefix} replication factor was not set to -1.")
    if topic.partitions != -1:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{prefix} numPartitions was not set to -1.")
    found: dict[int, tuple[int, ...]] = {}
    for number, replicas in topic.assignment:
        if number in found:
            text = f"Found multiple manual partition assignments for partition {number}"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        found[number] = replicas
    if sorted(found) != list(range(len(found))):
        text = "partitions should be a consecutive 0-based integer sequence"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    return [found[number] for number in range(len(found))]
