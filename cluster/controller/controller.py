"""The controller: one host that fences brokers, elects leaders and publishes the metadata to every broker.

KRaft's quorum is not modelled: this controller never crashes and is never replaced, and its decisions are committed at
once. Everything else is Kafka's: requests and answers of brokers pass through the network, so a disconnected broker
keeps its image, is fenced when its session expires, and learns of it when the link recovers.

The parts, each without input or output except for the trace:

* `image.Draft` has the image in force and the changes of a transaction; `commit` makes the next version;
* `brokers.Brokers`: registrations, heartbeats, fencing, controlled shutdown, over `sessions.BrokerSessions`;
* `partitions.Partitions`: the affected partitions, over `elections.decide`, which has the rules;
* `topic_changes.TopicChanges`: topics, placement, reassignment; `admin_requests.Administration`: the requests for them;
* `metadata_publisher.MetadataPublisher`: the brokers' open requests for metadata.

This module handles requests, has the three timers, commits and publishes. One transaction (a request, an expired
session, a call of an administrator) makes at most one version. With `Controller.keep` a version is in force when it is
stored: one that cannot be stored is rolled back, and its request is answered with KAFKA_STORAGE_ERROR. The timers are
lazy, so that a quiet cluster has no cost beside its heartbeats:

* *sessions*: set for the first check after the earliest expiry; a check that finds the session renewed sets it again;
* *balance* (`auto.leader.rebalance.enable`): set while the first replica of a partition does not lead it;
* *unclean*: set when unclean elections become allowed for a topic. `ControllerConfig.next_check_us` times both.

Sources: `QuorumController`, `ReplicationControlManager`, `ClusterControlManager` (4.4; the trunk of October 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.admin_requests import Administration, Decided
from groupsim.cluster.controller.brokers import Brokers
from groupsim.cluster.controller.elections import Election, Reassignment
from groupsim.cluster.controller.image import Draft, Persist
from groupsim.cluster.controller.metadata_publisher import Call, MetadataPublisher
from groupsim.cluster.controller.partitions import Partitions
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.controller.reassignment import ReassignmentRequests
from groupsim.cluster.controller.topic_changes import TopicChanges
from groupsim.cluster.controller.trace import ControllerEvents
from groupsim.cluster.network.causes import caused_by
from groupsim.eventloop.interface import EventLoop, Handle, Host
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.messages.cluster import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ClusterImage,
    MetadataLogRequest,
)
from groupsim.protocol.messages.refusals import refusal

CONTROLLER_NODE = 3_000
CONTROLLER_HOST = "controller"
_RETRY_US = 1_000_000
"""The wait before a retry of an internal change that could not be stored."""


class WriteFailed(Refused):
    """A change was refused because it could not be stored; nothing is changed."""

    def __init__(self, error: OSError) -> None:
        text = f"Nothing was changed: it cannot be kept ({error.strerror or error}). Make room, and try again."
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, text)


class Controller:
    """The controller. `on_image` are called with every new image, after the answers to brokers.

    `keep` stores every change before it is in force; a change for which it raises OSError is refused.
    """

    def __init__(self, loop: EventLoop, config: ControllerConfig | None = None) -> None:
        self.node = CONTROLLER_NODE
        self.host: Host = loop.host(CONTROLLER_HOST)
        self.config = config = ControllerConfig() if config is None else config
        self.on_image: list[Callable[[ClusterImage], None]] = []
        self.keep: Persist | None = None
        self._loop = loop
        self._draft = Draft()
        self._events = events = ControllerEvents(loop.trace, CONTROLLER_HOST)
        self._partitions = Partitions(self._draft, config, events)
        self._brokers = Brokers(self._draft, config, self._partitions, events)
        self._admin = TopicChanges(self._draft, config, self._partitions, events, loop.stream)
        self.administration = Administration(self._draft, self._admin, config, loop.trace)
        self.administration.handlers.update(ReassignmentRequests(self._draft, self._partitions, self._admin).handlers)
        self.publisher = MetadataPublisher(self.host, lambda: loop.now_us, config.stale_metadata_us)
        self._session_check: tuple[int, Handle] | None = None
        self._balance_due = self._unclean_due = False
        self._handlers: dict[type, Callable[[Any], Any]] = {
            BrokerHeartbeatRequest: lambda request: self._brokers.heartbeat(request, loop.now_us),
            BrokerRegistrationRequest: lambda request: self._brokers.register(request, loop.now_us),
            AlterPartitionRequest: self._alter,
            **self.administration.handlers,
        }

    @property
    def image(self) -> ClusterImage:
        """The image in force."""
        return self._draft.image

    @property
    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """The reassignments that wait for replicas to catch up."""
        return self._draft.reassignments

    def resume(self, image: ClusterImage, reassignments: Mapping[TopicPartition, Reassignment], life: int) -> None:
        """Continue the cluster of an earlier process; before any broker registers."""
        self._draft.image = image
        self._draft.reassignments.update(reassignments)
        self._admin.begin_life(life)

    # --- requests --------------------------------------------------------------------------------------------

    def receive(self, call: Call) -> None:
        """Handle a request of a broker. Raises `TypeError` for one that is not for a controller."""
        request = call.request
        if isinstance(request, MetadataLogRequest):
            self.publisher.request(call)
            return
        handler = self._handlers.get(type(request))
        if handler is None:
            raise TypeError(f"{CONTROLLER_HOST} got {request!r}, which no broker sends to a controller")
        try:
            with self._transaction():
                response = handler(request)
        except WriteFailed as failed:
            response = refusal(request, failed.error)
        if type(request) in self.administration.handlers:
            response = Decided(response, self.image.version)
            self._watch_altered()
        call.answer(response)
        self._watch_sessions()

    def _watch_altered(self) -> None:
        """Topics whose settings an administrator changed may have become able to elect uncleanly."""
        altered, self.administration.may_elect = self.administration.may_elect, []
        topics = self.image.topics
        if any(self._partitions.allows_unclean(topics[name]) for name in altered if name in topics):
            self._watch_unclean()

    def _alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        error = self._brokers.epoch_error(request.node, request.epoch)
        return AlterPartitionResponse(error) if error else self._partitions.alter(request)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run one transaction: commit its changes and emit its events at the end. Raises `WriteFailed`."""
        with caused_by(self._loop.trace):
            for part in (self._events, self._admin, self.administration):
                part.begin()
            restore = None if self.keep is None else self._brokers.copy()
            try:
                yield
                changed = self._draft.commit(self.keep)
            except OSError as error:
                self._roll_back(restore)
                self._events.write_failed(error)
                raise WriteFailed(error) from error
            except BaseException:
                self._draft.discard()
                raise
            if changed:
                self._publish()

    def _roll_back(self, restore: Callable[[], None] | None) -> None:
        self._draft.discard()
        self._admin.roll_back()
        self.administration.may_elect = []
        if restore is not None:
            restore()

    def _publish(self) -> None:
        self._events.emit()
        self.administration.notify()
        image = self._draft.image
        self.publisher.publish(image)
        for listener in self.on_image:
            listener(image)
        self._watch_balance()

    # --- timers ----------------------------------------------------------------------------------------------

    def _watch_sessions(self, not_before_us: int = 0) -> None:
        if self._session_check is None:
            due = self._brokers.sessions.next_check_us()
            if due is not None:
                due = max(due, not_before_us)
                self._session_check = due, self.host.call_at(due, self._check_sessions)

    def _check_sessions(self, _: object) -> None:
        self._session_check, now_us, again_us = None, self._loop.now_us, 0
        for node in self._brokers.sessions.expired(now_us):
            try:
                with self._transaction():
                    self._brokers.sessions.end(node)
                    self._brokers.fence(node, "session expired")
            except WriteFailed:
                again_us = now_us + _RETRY_US
        self._watch_sessions(again_us)

    def _watch_balance(self) -> None:
        config = self.config
        if config.auto_leader_rebalance_enable and not self._balance_due and self._partitions.any_led_by_another():
            self._balance_due = True
            self._schedule(config.leader_imbalance_check_interval_seconds * 1_000_000, self._balance)

    def _balance(self, _: object) -> None:
        self._balance_due = False
        with suppress(WriteFailed), self._transaction():
            self._partitions.balance(self._partitions.imbalanced())
        self._watch_balance()

    def _watch_unclean(self) -> None:
        every_us = self.config.unclean_leader_election_interval_ms * 1_000
        if not every_us:
            self._elect_unclean(None)
        elif not self._unclean_due:
            self._unclean_due = True
            self._schedule(every_us, self._elect_unclean)

    def _elect_unclean(self, _: object) -> None:
        self._unclean_due = False
        try:
            with self._transaction():
                self._partitions.elect_unclean()
        except WriteFailed:
            self._unclean_due = True
            self._schedule(max(self.config.unclean_leader_election_interval_ms * 1_000, _RETRY_US), self._elect_unclean)

    def _schedule(self, every_us: int, callback: Callable[[object], None]) -> None:
        self.host.call_at(self.config.next_check_us(self._loop.now_us, every_us), callback)

    # --- administration --------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication: int = 1,
        assignment: Sequence[Sequence[int]] | None = None,
        config: Mapping[str, str] | None = None,
        internal: bool = False,
    ) -> None:
        """Create a topic, placed by the configuration or manually (`assignment`: per partition its replicas).

        Raises `Refused`: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
        INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG.
        """
        with self._transaction():
            self._admin.create(name, partitions, replication, assignment, config or {}, internal)

    def add_partitions(self, name: str, total: int, *, assignment: Sequence[Sequence[int]] | None = None) -> None:
        """Add partitions to a topic, up to `total`. Raises `Refused` like `create_topic`."""
        with self._transaction():
            self._admin.grow(name, total, assignment)

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises `Refused` (UNKNOWN_TOPIC_OR_PARTITION)."""
        with self._transaction():
            self._admin.delete(name)

    def set_group_config(self, group: str, settings: Mapping[str, str]) -> None:
        """Replace the settings of a group."""
        with self._transaction():
            self._draft.set_group_config(group, settings)

    def add_acls(self, acls: frozenset[Acl]) -> None:
        """Add ACLs."""
        with self._transaction():
            self._draft.set_acls(self._draft.acls | acls)

    def remove_acls(self, acls: frozenset[Acl]) -> None:
        """Delete those of these ACLs that exist."""
        with self._transaction():
            self._draft.set_acls(self._draft.acls - acls)

    def elect_leaders(
        self, kind: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect preferred leaders, or uncleanly where there is no leader, of these partitions (default: all).

        Returns the outcome by partition; by default without partitions that needed no election.
        """
        if kind is Election.ONLINE:
            raise ValueError("elect_leaders: choose Election.PREFERRED or Election.UNCLEAN")
        wanted = [partition for partition, _ in self._draft.partitions()] if partitions is None else partitions
        with self._transaction():
            outcome = {partition: self._partitions.elect(kind, partition) for partition in wanted}
        if partitions is not None:
            return outcome
        return {partition: error for partition, error in outcome.items() if error != ErrorCode.ELECTION_NOT_NEEDED}

    def move_leader(self, partition: TopicPartition, node: int) -> None:
        """Make a broker the leader of a partition.

        An in-sync replica becomes the first of the list and leads at once, as after `kafka-reassign-partitions` with
        that order and a preferred election. A broker without a replica replaces the current leader in the list and
        leads when it has caught up and the old leader has left. Without effect when it leads already. Raises `Refused`:
        UNKNOWN_TOPIC_OR_PARTITION, PREFERRED_LEADER_NOT_AVAILABLE (a replica out of sync or not active),
        INVALID_REPLICA_ASSIGNMENT (no such broker).
        """
        with self._transaction():
            self._admin.move(partition, node)

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Change a partition's replicas; complete when all are in sync. Raises `Refused` like `move_leader`."""
        with self._transaction():
            self._admin.reassign(partition, replicas)
