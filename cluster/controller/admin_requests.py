"""The controller's answers to administrators, as brokers pass them on: topics, partitions, settings.

One request may name many things; each has a result of its own, what can be done is done in one version of the image,
and a request that only asks (`validate_only`) is carried out and taken back. The order of the checks is Kafka's, for
an answer tells of the first that fails.

Sources: `ControllerApis` (names that come twice), `ReplicationControlManager` (createTopics, createPartitions,
deleteTopics), `ConfigurationControlManager.incrementalAlterConfigs`, `QuorumController.ConfigResourceExistenceChecker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from attrs import evolve, frozen

from groupsim.cluster.acl.control import AclControl
from groupsim.cluster.config import setting_values
from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.config.group_settings import check_group
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import MIN_ISR
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.controller.topic_changes import Admin, illegal_name
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

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
METADATA_TOPIC: Final = "__cluster_metadata"
MOST_PARTITIONS: Final = 10_000
"""How many partitions one request may ask for (KAFKA-17870)."""
MOST_RECORDS: Final = 10_000
"""How many metadata records one request may make: topics, their settings, their partitions
(`QuorumController.MAX_RECORDS_PER_USER_OP`)."""
_TWICE = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_TOO_MANY = Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
_TOO_MANY_MORE = Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of additional partitions per request.")
_TOO_LARGE = Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
_UNKNOWN_TOPIC = "This server does not host this topic-partition."
_OPERATIONS: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}

Describe = Callable[[Mapping[str, str], ClusterImage], tuple[ConfigEntry, ...]]


@frozen
class Decided:
    """An answer to a broker that asked for an administrator, and the version of the image from which on it holds."""

    response: Any  # not its type: it is not this message that a version carries or not
    version: int


class Administration:
    """Requests of administrators on a draft. Nothing here commits the draft.

    `describe` tells the settings of a topic with these settings of its own; `on_deleted` are called with each topic
    that went, when it has gone. `may_elect` are topics whose settings changed in the request that was handled last.
    """

    def __init__(self, draft: Draft, admin: Admin, config: ControllerConfig, trace: Trace) -> None:
        self._draft = draft
        self._admin = admin
        self._config = config
        self._trace = trace
        self.describe: Describe = lambda own, image: ()
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
        """A doing begins; nothing of an earlier one is to be told any more."""
        self._gone.clear()

    def tell(self) -> None:
        """What was decided is in force: let those know who care for topics that went."""
        gone, self._gone = self._gone, []
        for name in gone:
            for listener in self.on_deleted:
                listener(name)

    @contextmanager
    def _taken_back(self) -> Iterator[None]:
        """What is done in this block has not happened, and is not told."""
        luck = self._admin.luck_spent
        with self._trace.muted():
            try:
                yield
            finally:
                self._admin.luck_spent = luck
                self._draft.discard()

    # --- topics ----------------------------------------------------------------------------------------------

    def _create_all(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        times = Counter(topic.name for topic in request.topics)
        once = [topic for topic in request.topics if times[topic.name] == 1]
        if too_much := self._too_much(once):
            return CreateTopicsResponse(tuple(_not_created(topic.name, too_much) for topic in request.topics))
        with self._taken_back() if request.validate_only else nullcontext():
            results = [self._created(topic) for topic in once]
        twice = [_not_created(name, _TWICE) for name, count in times.items() if count > 1]
        return CreateTopicsResponse((*results, *twice))

    def _too_much(self, topics: Sequence[NewTopic]) -> Refused | None:
        """Why nothing of a request is done: it is too large."""
        if sum(map(self._wanted, topics)) > MOST_PARTITIONS:
            return _TOO_MANY
        if sum(map(self._records, topics)) <= MOST_RECORDS:
            return None
        with self._taken_back():  # those that would be refused anyway do not count
            made = [topic for topic in topics if not self._created(topic).error]
        return _TOO_LARGE if sum(map(self._records, made)) > MOST_RECORDS else None

    def _wanted(self, topic: NewTopic) -> int:
        """How many partitions a new topic is to have."""
        asked = self._config.num_partitions if topic.partitions == -1 else topic.partitions
        return len(topic.assignment) or max(asked, 0)

    def _records(self, topic: NewTopic) -> int:
        """How many metadata records a new topic is."""
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
        by_hand = _by_hand(topic) if topic.assignment else None
        if by_hand is None:
            _check_numbers(topic)
        self._admin.create(
            topic.name,
            self._config.num_partitions if topic.partitions == -1 else topic.partitions,
            self._config.default_replication_factor if topic.replication == -1 else topic.replication,
            by_hand,
            config,
            topic.name in INTERNAL_TOPICS,
        )
        made = self._draft.topic(topic.name)
        assert made is not None
        return made

    def _new_config(self, given: Iterable[tuple[str, str | None]]) -> dict[str, str]:
        """The settings of a new topic. Raises `Refused` (INVALID_CONFIG)."""
        config = dict(given)
        empty = [name for name, value in config.items() if value is None]
        if empty:
            text = f"Null value not supported for topic configs: {','.join(empty)}"
            raise Refused(ErrorCode.INVALID_CONFIG, text)
        said = {name: value for name, value in config.items() if value is not None}
        _check_topic_settings(said)
        return said

    def _delete_all(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        times = Counter(request.topics)
        twice = [DeletedTopic(name, _TWICE.error, _TWICE.message) for name, count in times.items() if count > 1]
        return DeleteTopicsResponse((*twice, *(self._deleted(name) for name, count in times.items() if count == 1)))

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
        if sum(map(self._additional, once)) > MOST_PARTITIONS:
            refused = _TOO_MANY_MORE
            return CreatePartitionsResponse(tuple((m.name, refused.error, refused.message) for m in request.topics))
        twice = [(name, _TWICE.error, _TWICE.message) for name, count in times.items() if count > 1]
        with self._taken_back() if request.validate_only else nullcontext():
            results = [self._grown(more) for more in once]
        return CreatePartitionsResponse((*twice, *results))

    def _additional(self, more: MorePartitions) -> int:
        """How many partitions a topic is to get; none where there is no such topic, or fewer are asked for."""
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
        """Replace all settings: each resource is altered as by SET of what is named and DELETE of all the rest."""
        resources = [evolve(one, changes=(*one.changes, *self._dropped(one))) for one in request.resources]
        return AlterConfigsResponse(self._results(resources, request.validate_only))

    def _dropped(self, resource: ConfigsToAlter) -> list[tuple[str, int, str | None]]:
        kept = {name for name, _, _ in resource.changes}
        return [(name, DELETE, None) for name in self._settings(resource) if name not in kept]

    def _settings(self, resource: ConfigsToAlter) -> Mapping[str, str]:
        """The settings that a resource has of its own; a cluster with ELR begins with min.insync.replicas."""
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
        with self._taken_back() if validate_only else nullcontext():
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
            check_group(after)
        except setting_values.Invalid as invalid:
            raise Refused(ErrorCode.INVALID_CONFIG, str(invalid)) from None
        self._admin.configure_group(resource.name, after)

    def _alter_topic(self, resource: ConfigsToAlter) -> None:
        name, topic = resource.name, self._draft.topic(resource.name)
        before = {} if topic is None else topic.config
        after = self._after(before, resource)
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
        """Who is eligible (KIP-966) depends on one smallest in-sync set for the whole cluster."""
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
        """The settings with these changes. Raises `Refused`."""
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
    """A list with values added, or taken from it. Raises `Refused` (INVALID_CONFIG) for what is no list."""
    if not setting_values.is_list(name):
        text = f"Can't {_OPERATIONS[operation]} to key {name} because its type is not LIST."
        raise Refused(ErrorCode.INVALID_CONFIG, text)
    there = [part for part in (setting_values.default_of(name) if before is None else before).split(",") if part]
    for part in value.split(","):
        if operation == APPEND and part not in there:
            there.append(part)
        elif operation == SUBTRACT and part in there:
            there.remove(part)
    return ",".join(there)


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


def _by_hand(topic: NewTopic) -> list[tuple[int, ...]]:
    """The replicas of each partition as they were given. Raises `Refused`."""
    said = "A manual partition assignment was specified, but"
    if topic.replication != -1:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{said} replication factor was not set to -1.")
    if topic.partitions != -1:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{said} numPartitions was not set to -1.")
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
