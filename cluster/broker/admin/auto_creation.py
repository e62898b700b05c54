"""Automatic creation of topics that clients request (`auto.create.topics.enable`).

When a Metadata request allows creation and names a missing topic, the broker sends CreateTopics to the controller. The
answer does not wait for the topic: it has an error, and the client retries. FindCoordinator creates the topics of
coordinators in the same way. While a CreateTopics for a topic is in flight the broker sends no second one.

Brokers with ZooKeeper created the topic themselves and then answered LEADER_NOT_AVAILABLE.

Source: `DefaultAutoTopicCreationManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from groupsim.cluster.broker.admin.forwarding import Forwarding
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.config.transactions import TRANSACTION_TOPIC
from groupsim.cluster.controller.topic_changes import illegal_name
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.versions import parse_version
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import CreateTopicsRequest, NewTopic

_FIRST_KRAFT: Final = (3, 3)


class AutoCreation:
    """The topics in creation on behalf of one life of a broker."""

    def __init__(self, config: ClusterConfig, forwarding: Forwarding) -> None:
        self._config = config
        self._forwarding = forwarding
        self._in_flight: dict[str, None] = {}
        release = parse_version(config.coordinator_config.broker_version)
        self._error_until_created = (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if release >= _FIRST_KRAFT else ErrorCode.LEADER_NOT_AVAILABLE
        )

    @property
    def enabled(self) -> bool:
        """`auto.create.topics.enable`."""
        return self._config.auto_create_topics_enable

    def make(self, names: Iterable[str]) -> dict[str, ErrorCode]:
        """Request the creation of missing topics; return the error to answer for each."""
        errors, wanted = {}, []
        for name in names:
            if illegal_name(name):
                errors[name] = ErrorCode.INVALID_TOPIC_EXCEPTION
            else:
                errors[name] = self._error_until_created
                if name not in self._in_flight:
                    wanted.append(name)
        if wanted:
            self._create(wanted)
        return errors

    def _create(self, names: list[str]) -> None:
        self._in_flight.update(dict.fromkeys(names))
        timeout_ms = self._config.transactions.request_timeout_ms
        request = CreateTopicsRequest(tuple(self._new(name) for name in names), timeout_ms)
        self._forwarding.send(request, self._done(names), timeout_ms * 1_000)

    def _done(self, names: list[str]) -> Callable[[Any], None]:
        def done(_: Any) -> None:
            for name in names:
                self._in_flight.pop(name, None)

        return done

    def _new(self, name: str) -> NewTopic:
        config = self._config
        if name == OFFSETS_TOPIC:
            settings = config.offsets_topic_settings()
            return NewTopic(name, config.offsets_partitions, config.offsets_replicas, config=tuple(settings.items()))
        if name == TRANSACTION_TOPIC:
            own = config.transactions
            settings = own.topic_settings(config.brokers)
            replicas = min(own.replication_factor, config.brokers)  # Kafka would not create it with fewer brokers
            return NewTopic(name, own.num_partitions, replicas, config=tuple(settings.items()))
        return NewTopic(name, config.controller.num_partitions, config.default_replication_factor)
