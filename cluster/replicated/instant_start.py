"""The state of a cluster at the start of a run: every broker registered, unfenced and up to date.

The registrations and first heartbeats of a cluster's first seconds are made here at once, without messages, time or
trace events, and every image goes directly to every broker. From the run's first instant on (`_begin`) all messages use
the network. Each broker's heartbeats begin at another instant within one interval, as in a cluster that has been up for
long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from groupsim.cluster.controller.image import EMPTY, difference
from groupsim.eventloop.interface import EventLoop, Order
from groupsim.protocol.messages.cluster import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ClusterImage,
    MetadataLogResponse,
)

if TYPE_CHECKING:
    from groupsim.cluster.broker.broker import Broker
    from groupsim.cluster.controller.controller import Controller


class _DirectCall:
    """A request to the controller without a network, and its response."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.response: Any = None

    def answer(self, response: Any) -> None:
        self.response = response


class InstantStart:
    """The start of brokers and controller before the run's first event."""

    def __init__(self, loop: EventLoop, controller: Controller, nodes: Mapping[int, Broker]) -> None:
        self._loop = loop
        self._controller = controller
        self._nodes = nodes
        self._epochs: dict[int, int] = {}
        self._published = EMPTY
        #: Whether the run has not begun.
        self.open = False

    def start(self) -> None:
        """Register and unfence every broker, and pass them every image until the run begins."""
        with self.unseen():
            for node in self._nodes.values():
                self._register(node)
        self.open = True
        self._controller.on_image.append(self._publish)
        if self._controller.image.topics:  # a stored cluster: its partitions have leaders from the beginning
            with self.unseen():
                self._publish(self._controller.image)
        self._loop.call_at(self._loop.now_us, self._begin, order=Order.CANCEL)

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Return a context without trace events: its changes were made before the run."""
        with self._loop.trace.muted():
            yield

    def _register(self, node: Broker) -> None:
        controller, host = self._controller, node.host
        registration = _DirectCall(BrokerRegistrationRequest(node.node, host.name, node.rack, host.incarnation))
        controller.receive(registration)
        epoch = self._epochs[node.node] = registration.response.epoch
        controller.receive(_DirectCall(BrokerHeartbeatRequest(node.node, epoch, controller.image.version)))

    def _publish(self, image: ClusterImage) -> None:
        if not self.open:
            return
        changed = difference(self._published, image)
        self._published = image
        answer = MetadataLogResponse(image, changed.partitions, changed.topics, changed.brokers)
        for node in self._nodes.values():
            node.take(image, answer)

    def _begin(self, _: object) -> None:
        """Begin the run: the brokers' agents send requests to the controller from now on."""
        self.open = False
        image = self._controller.image
        for node in self._nodes.values():
            self._controller.publisher.set_known(node.node, image)
            node.begin(self._epochs[node.node], image)
