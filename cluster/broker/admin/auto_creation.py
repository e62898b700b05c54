"""Topics that come into being because somebody asks for them (`auto.create.topics.enable`).

A Metadata request that allows it, and names a topic that is not there, has the broker ask the controller to make it;
the answer does not wait for that, it says that the topic is not known, and the client asks again. So it is with the
topics that coordinators live on. While one request for a topic is on its way there is no second one.

Kafka's brokers of the ZooKeeper era made the topic themselves before they answered LEADER_NOT_AVAILABLE.

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
    """The topics that one life of a broker has asked for."""

    def __init__(self, config: ClusterConfig, forwarding: Forwarding) -> None:
        self._config = config
        self._forwarding = forwarding
        self._asked: dict[str, None] = {}
        release = parse_version(config.coordinator_config.broker_version)
        self._said_meanwhile = (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if release >= _FIRST_KRAFT else ErrorCode.LEADER_NOT_AVAILABLE
        )

    @property
    def enabled(self) -> bool:
        """`auto.create.topics.enable`."""
        return self._config.auto_create_topics_enable

    def make(self, names: Iterable[str]) -> dict[str, ErrorCode]:
        """Have topics made that are not there; what to say of each of them now."""
        said, wanted = {}, []
        for name in names:
            if illegal_name(name):
                said[name] = ErrorCode.INVALID_TOPIC_EXCEPTION
            else:
                said[name] = self._said_meanwhile
                if name not in self._asked:
                    wanted.append(name)
        if wanted:
            self._ask(wanted)
        return said

    def _ask(self, names: list[str]) -> None:
        self._asked.update(dict.fromkeys(names))
        timeout_ms = self._config.transactions.request_timeout_ms
        request = CreateTopicsRequest(tuple(self._new(name) for name in names), timeout_ms)
        self._forwarding.ask(request, self._done(names), timeout_ms * 1_000)

    def _done(self, names: list[str]) -> Callable[[Any], None]:
        def done(_: Any) -> None:
            for name in names:
                self._asked.pop(name, None)

        return done

    def _new(self, name: str) -> NewTopic:
        config = self._config
        if name == OFFSETS_TOPIC:
            settings = config.offsets_topic_settings()
            return NewTopic(name, config.offsets_partitions, config.offsets_replicas, config=tuple(settings.items()))
        if name == TRANSACTION_TOPIC:
            own = config.transactions
            settings = own.topic_settings(config.brokers)
            replicas = min(own.replication_factor, config.brokers)
            return NewTopic(name, own.num_partitions, replicas, config=tuple(settings.items()))
        return NewTopic(name, config.controller.num_partitions, config.default_replication_factor)
