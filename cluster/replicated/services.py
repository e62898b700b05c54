"""The services of a broker beside groups: records, transactions, administration, and the authorization by ACLs.

A `ReplicatedServices` lives from a broker's start to its crash. Metadata and FindCoordinator are here because they may
create topics.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.cluster.acl.checks import authorization_of
from groupsim.cluster.acl.operations import with_all_operations
from groupsim.cluster.acl.requests import AclRequests
from groupsim.cluster.broker.admin.auto_creation import AutoCreation
from groupsim.cluster.broker.admin.effective import Settings
from groupsim.cluster.broker.admin.forwarding import Forwarding
from groupsim.cluster.broker.admin.operators import OperatorRequests
from groupsim.cluster.broker.admin.requests import AdminRequests
from groupsim.cluster.broker.metadata import TRANSACTION_KEY, with_errors
from groupsim.cluster.replicated.stores import disk_of
from groupsim.cluster.transactions.broker_transactions import Transactions
from groupsim.cluster.transactions.producer_ids import ProducerIdBlocks, ProducerIds
from groupsim.cluster.transactions.verification import Verification
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.coordinator.base.versions import parse_version
from groupsim.protocol.messages.data import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
    ProduceResponse,
)
from groupsim.protocol.messages.group import FindCoordinatorRequest, MetadataRequest

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.controller.channel import ControllerChannel
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.cluster.replica.manager import ReplicaManager
    from groupsim.cluster.transactions.coordinator import TransactionCoordinator
    from groupsim.protocol.basics import TopicPartition
    from groupsim.protocol.messages.cluster import ClusterImage

Handler = Callable[[Any, Any], None]


class ReplicatedServices:
    """The services of a broker from its start to its crash; implements `parts.Services`.

    `to_controller` opens a connection to the controller; `coordinator_of` returns the coordinator of a transactional
    id, which may be on another broker.
    """

    def __init__(
        self,
        broker: Broker,
        replicas: ReplicaManager,
        blocks: ProducerIdBlocks,
        *,
        make_transaction_topic: Callable[[], None],
        to_controller: Callable[[], ControllerChannel],
        coordinator_of: Callable[[str], TransactionCoordinator | None],
    ) -> None:
        self._broker = broker
        self._config = config = broker.config
        self._loop = broker.loop
        self._replicas = replicas
        ids = ProducerIds(blocks, lambda: self._loop.now_us, config.transactions.first_block_ms * 1_000)
        self.transactions = Transactions(
            self._loop,
            broker.host,
            broker.node,
            config.transactions,
            replicas=replicas,
            groups=broker.groups,
            image=self._image,
            connect=broker.connect_to_peer,
            fresh_producer_id=ids.fresh,
            make_topic=make_transaction_topic,
            loading=config.loading,
        )
        if Verification.is_done_by(parse_version(config.coordinator_of(broker.node).broker_version)):
            broker.groups.verify = Verification(replicas, coordinator_of)
        self._administrators(to_controller)
        self.handlers = self._guarded(self._all_handlers())

    def _image(self) -> ClusterImage:
        return self._broker.metadata.image

    def _administrators(self, to_controller: Callable[[], ControllerChannel]) -> None:
        """Set up the requests of administrators; the connection to the controller is opened on first use."""
        config, broker = self._config, self._broker
        self._forwarding = Forwarding(self._loop, broker.host, to_controller, lambda: self._image().version)
        self.auto_creation = AutoCreation(config, self._forwarding)
        self._settings = Settings(config, broker.node, broker.rack)
        self.admin = AdminRequests(broker.node, self._settings, self._forwarding, self._image)
        self._operators = OperatorRequests(
            self._image,
            self._replicas,
            self.transactions.coordinator,
            partial(disk_of, config.storage, broker.host.name),
            self.admin.pass_on,
        )
        self._acls = AclRequests(config.acl.enabled, self._image, self.admin.pass_on)

    def _all_handlers(self) -> dict[type, Handler]:
        replicas = self._replicas
        own: dict[type, Handler] = {
            FetchRequest: self._fetch,
            ProduceRequest: self._produce,
            ListOffsetsRequest: lambda call, request: call.answer(replicas.list_offsets(request)),
            OffsetForLeaderEpochRequest: lambda call, request: call.answer(replicas.epoch_ends(request)),
            MetadataRequest: self._describe,
            FindCoordinatorRequest: self._find_coordinator,
        }
        parts = (self.transactions, self.admin, self._acls, self._operators)
        return {**own, **{kind: take for part in parts for kind, take in part.handlers.items()}}

    def _guarded(self, handlers: dict[type, Handler]) -> dict[type, Handler]:
        """Add the authorization checks to the handlers, if the broker has an authorizer."""
        broker = self._broker
        authorization = authorization_of(self._config, self._image, broker.node)
        self._allows_everything = authorization is None
        if authorization is None:
            return handlers
        self.admin.forbids = authorization.forbids
        return authorization.guarded(handlers, lambda call, request: broker.groups.handle(call))

    # --- parts.Services --------------------------------------------------------------------------------------

    def image_changes(self, image: ClusterImage) -> None:
        """See `parts.Services.image_changes`: brokers' settings are applied first."""
        if image.configs is not self._image().configs:
            self._replicas.set_defaults(self._settings.log_defaults(image))

    def image_changed(self) -> None:
        """See `parts.Services.image_changed`: answers that waited for this image are sent."""
        self._forwarding.known()

    def leading(self, partition: TopicPartition, epoch: int) -> None:
        self.transactions.leading(partition, epoch, load_us=self._config.load_us)

    def not_leading(self, partition: TopicPartition, epoch: int) -> None:
        self.transactions.not_leading(partition, epoch)

    def stop(self) -> None:
        self.transactions.stop()

    # --- requests --------------------------------------------------------------------------------------------

    def _fetch(self, call: BrokerConnection, request: FetchRequest) -> None:
        call.took_us = self._loop.now_us
        answer = call.answer if request.pushes is None else partial(_answer_and_push, call, request, request.pushes)
        give_up = self._replicas.fetch(request, answer)
        if call.busy:
            call.give_up = give_up

    def _produce(self, call: BrokerConnection, request: ProduceRequest) -> None:
        if request.acks != 0:
            self._replicas.produce(request, call.client_id, call.answer)
            return
        failed: list[ProduceResponse] = []
        self._replicas.produce(request, call.client_id, failed.append)
        if failed:  # with acks=0 there is no response to carry the error, so Kafka closes the connection
            call.cut("the broker closed the connection")
        else:
            call.no_answer()

    def _describe(self, call: BrokerConnection, request: MetadataRequest) -> None:
        creation, errors = self.auto_creation, {}
        if request.auto_create and creation.enabled and request.topics:
            known = self._image().topics
            errors = creation.make(name for name in sorted(set(request.topics)) if name not in known)
        answer = self._broker.metadata.describe(self._broker.metadata.named(request))
        answer = with_errors(answer, errors) if errors else answer
        call.answer(with_all_operations(answer, request) if self._allows_everything else answer)

    def _find_coordinator(self, call: BrokerConnection, request: FindCoordinatorRequest) -> None:
        if request.key_type == TRANSACTION_KEY:
            call.answer(self.transactions.find_coordinator(request.key))
        else:
            if OFFSETS_TOPIC not in self._image().topics:
                self.auto_creation.make([OFFSETS_TOPIC])
            call.answer(self._broker.metadata.find_coordinator(request))


def _answer_and_push(
    call: BrokerConnection,
    request: FetchRequest,
    pushes: Callable[[FetchRequest, FetchResponse], None],
    response: FetchResponse,
) -> None:
    """Answer a Fetch of a pushing connection, and continue the pushes."""
    call.answer(response)
    pushes(request, response)
