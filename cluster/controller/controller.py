"""The controller: one host that decides who is alive and who leads, and tells every broker.

KRaft's quorum is not modelled: this controller never crashes, forgets nothing and is never replaced, and what it
decides is committed at once. Everything else is Kafka's: what a broker says and hears passes through the network, so a
broker that is cut off goes on believing the image it has, is fenced here when its session is over, and learns of it
when the link heals.

The parts, each without input or output except for the trace:

* `image.Draft` holds the image in force and collects what one doing changes; `commit` makes the next version of it;
* `brokers.Brokers`: registrations, heartbeats, fencing, controlled shutdown, over `sessions.Sessions`;
* `partitions.Partitions`: which partitions are concerned, over `elections.decide`, which knows the rules;
* `topic_changes.Admin`: topics, placement, reassignment; `admin_requests.Administration`: the requests for them;
* `metadata_publisher.Delivery`: the brokers' open questions.

This module is the shell: it takes requests, keeps the three timers, commits, and publishes. One doing (a request, a
lost session, a call of an administrator) makes at most one version. Where the cluster is kept (`Controller.keep`), a
version is in force when it is kept: one that cannot be is taken back, as if it had never been thought of, and whoever
asked hears KAFKA_STORAGE_ERROR. Timers, all lazy, so that a quiet cluster costs
nothing but its heartbeats:

* *sessions*: set for the first look after the session that ends first; a look that finds it renewed sets it anew;
* *balance* (`auto.leader.rebalance.enable`): set while a partition is not led by the first of its replicas;
* *unclean*: set when a topic is newly allowed unclean elections. `ControllerConfig.next_check_us` times both.

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
from groupsim.cluster.controller.image import Draft, Keep
from groupsim.cluster.controller.metadata_publisher import Call, Delivery
from groupsim.cluster.controller.partitions import Partitions
from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.controller.reassignment import Movements
from groupsim.cluster.controller.topic_changes import Admin
from groupsim.cluster.controller.trace import Teller
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
_AGAIN_US = 1_000_000
"""When to try again what could not be kept and nobody asks for again."""


class Unkept(Refused):
    """A change was refused because it cannot be kept; nothing differs."""

    def __init__(self, error: OSError) -> None:
        text = f"Nothing was changed: it cannot be kept ({error.strerror or error}). Make room, and try again."
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, text)


class Controller:
    """The controller. `on_image` are called with every new image, after the brokers' questions were answered.

    `keep` gets every change before it is in force; one for which it raises OSError is refused, and nothing differs.
    """

    def __init__(self, loop: EventLoop, config: ControllerConfig | None = None) -> None:
        self.node = CONTROLLER_NODE
        self.host: Host = loop.host(CONTROLLER_HOST)
        self.config = config = ControllerConfig() if config is None else config
        self.on_image: list[Callable[[ClusterImage], None]] = []
        self.keep: Keep | None = None
        self._loop = loop
        self._draft = Draft()
        self._teller = teller = Teller(loop.trace, CONTROLLER_HOST)
        self._partitions = Partitions(self._draft, config, teller)
        self._brokers = Brokers(self._draft, config, self._partitions, teller)
        self._admin = Admin(self._draft, config, self._partitions, teller, loop.stream)
        self.administration = Administration(self._draft, self._admin, config, loop.trace)
        self.administration.handlers.update(Movements(self._draft, self._partitions, self._admin).handlers)
        self.delivery = Delivery(self.host, lambda: loop.now_us, config.stale_metadata_us)
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

    def go_on(self, image: ClusterImage, reassignments: Mapping[TopicPartition, Reassignment], life: int) -> None:
        """Begin where an earlier process stopped; before any broker registers."""
        self._draft.image = image
        self._draft.reassignments.update(reassignments)
        self._admin.begin_life(life)

    # --- requests --------------------------------------------------------------------------------------------

    def receive(self, call: Call) -> None:
        """Take a request of a broker. Raises `TypeError` for one that is not meant for a controller."""
        request = call.request
        if isinstance(request, MetadataLogRequest):
            self.delivery.ask(call)
            return
        handler = self._handlers.get(type(request))
        if handler is None:
            raise TypeError(f"{CONTROLLER_HOST} got {request!r}, which no broker sends to a controller")
        try:
            with self._doing():
                response = handler(request)
        except Unkept as unkept:
            response = refusal(request, unkept.error)
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
    def _doing(self) -> Iterator[None]:
        """One doing of the controller: what it changed is in force, and told, at the end. Raises `Unkept`."""
        with caused_by(self._loop.trace):
            for part in (self._teller, self._admin, self.administration):
                part.begin()
            go_back = None if self.keep is None else self._brokers.as_now()
            try:
                yield
                changed = self._draft.commit(self.keep)
            except OSError as error:
                self._take_back(go_back)
                self._teller.unkept(error)
                raise Unkept(error) from error
            except BaseException:
                self._draft.discard()
                raise
            if changed:
                self._publish()

    def _take_back(self, go_back: Callable[[], None] | None) -> None:
        self._draft.discard()
        self._admin.take_back()
        self.administration.may_elect = []
        if go_back is not None:
            go_back()

    def _publish(self) -> None:
        self._teller.tell()
        self.administration.tell()
        image = self._draft.image
        self.delivery.publish(image)
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
                with self._doing():
                    self._brokers.sessions.end(node)
                    self._brokers.fence(node, "session expired")
            except Unkept:
                again_us = now_us + _AGAIN_US
        self._watch_sessions(again_us)

    def _watch_balance(self) -> None:
        config = self.config
        if config.auto_leader_rebalance_enable and not self._balance_due and self._partitions.any_led_by_another():
            self._balance_due = True
            self._look_later(config.leader_imbalance_check_interval_seconds * 1_000_000, self._balance)

    def _balance(self, _: object) -> None:
        self._balance_due = False
        with suppress(Unkept), self._doing():
            self._partitions.balance(self._partitions.imbalanced())
        self._watch_balance()

    def _watch_unclean(self) -> None:
        every_us = self.config.unclean_leader_election_interval_ms * 1_000
        if not every_us:
            self._elect_unclean(None)
        elif not self._unclean_due:
            self._unclean_due = True
            self._look_later(every_us, self._elect_unclean)

    def _elect_unclean(self, _: object) -> None:
        self._unclean_due = False
        try:
            with self._doing():
                self._partitions.elect_unclean()
        except Unkept:
            self._unclean_due = True
            self._look_later(
                max(self.config.unclean_leader_election_interval_ms * 1_000, _AGAIN_US), self._elect_unclean
            )

    def _look_later(self, every_us: int, callback: Callable[[object], None]) -> None:
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
        """Make a topic, placed as the configuration says or by hand (`assignment`: per partition its replicas).

        Raises `Refused`: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
        INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG.
        """
        with self._doing():
            self._admin.create(name, partitions, replication, assignment, config or {}, internal)

    def add_partitions(self, name: str, total: int, *, assignment: Sequence[Sequence[int]] | None = None) -> None:
        """Give a topic more partitions, `total` in all. Raises `Refused`, as `create_topic`."""
        with self._doing():
            self._admin.grow(name, total, assignment)

    def delete_topic(self, name: str) -> None:
        """Remove a topic. Raises `Refused` (UNKNOWN_TOPIC_OR_PARTITION)."""
        with self._doing():
            self._admin.delete(name)

    def add_acls(self, acls: frozenset[Acl]) -> None:
        """Add ACLs to those there are."""
        with self._doing():
            self._draft.set_acls(self._draft.acls | acls)

    def remove_acls(self, acls: frozenset[Acl]) -> None:
        """Delete ACLs, as far as they are there."""
        with self._doing():
            self._draft.set_acls(self._draft.acls - acls)

    def elect_leaders(
        self, kind: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect the preferred leaders, or uncleanly where there is none; of all partitions unless some are named.

        Returns the outcome by partition; of all partitions, those that needed no election are left out.
        """
        if kind is Election.ONLINE:
            raise ValueError("elect_leaders: choose Election.PREFERRED or Election.UNCLEAN")
        wanted = [partition for partition, _ in self._draft.partitions()] if partitions is None else partitions
        with self._doing():
            outcome = {partition: self._partitions.elect(kind, partition) for partition in wanted}
        if partitions is not None:
            return outcome
        return {partition: error for partition, error in outcome.items() if error != ErrorCode.ELECTION_NOT_NEEDED}

    def move_leader(self, partition: TopicPartition, node: int) -> None:
        """Let a broker lead a partition.

        A replica in sync becomes the first of the list and leads at once, as after `kafka-reassign-partitions` with the
        list so ordered and a preferred election. A broker that holds no replica takes the present leader's place in the
        list and leads when it has caught up and the old leader has left. Nothing happens when it leads already. Raises
        `Refused`: UNKNOWN_TOPIC_OR_PARTITION, PREFERRED_LEADER_NOT_AVAILABLE (a replica that is not in sync or not up),
        INVALID_REPLICA_ASSIGNMENT (no such broker).
        """
        with self._doing():
            self._admin.move(partition, node)

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Give a partition other replicas; done when all of them are in sync. Raises `Refused` as `move_leader`."""
        with self._doing():
            self._admin.reassign(partition, replicas)
