"""A cluster that stands when the run begins: every broker registered, unfenced, and up to date.

What the network and the brokers' agents would do in the first seconds of a cluster's life is done here at once, without
messages, without time, and without a word in the trace: the controller takes each broker's registration and its first
heartbeat, and hands every image straight to every broker. From the run's first instant on (`begin`) all goes through
the network; each broker's heartbeats begin at an instant of their own within one interval, as in a cluster that has
been up for long.
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


class _Said:
    """A request that reaches the controller without a network, and what it answered."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.response: Any = None

    def answer(self, response: Any) -> None:
        self.response = response


class Formation:
    """Brokers and controller before the run's first event."""

    def __init__(self, loop: EventLoop, controller: Controller, nodes: Mapping[int, Broker]) -> None:
        self._loop = loop
        self._controller = controller
        self._nodes = nodes
        self._epochs: dict[int, int] = {}
        self._told = EMPTY
        #: Whether the run has not begun yet.
        self.open = False

    def form(self) -> None:
        """Register every broker, let it out of fencing, and keep telling all of them what changes until `begin`."""
        with self.unseen():
            for node in self._nodes.values():
                self._register(node)
        self.open = True
        self._controller.on_image.append(self._tell)
        if self._controller.image.topics:  # the cluster goes on: its partitions are to be led from the beginning
            with self.unseen():
                self._tell(self._controller.image)
        self._loop.call_at(self._loop.now_us, self._begin, order=Order.CANCEL)

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What happens in this block happened long ago: the trace does not tell it."""
        with self._loop.trace.muted():
            yield

    def _register(self, node: Broker) -> None:
        controller, host = self._controller, node.host
        registration = _Said(BrokerRegistrationRequest(node.node, host.name, node.rack, host.incarnation))
        controller.receive(registration)
        epoch = self._epochs[node.node] = registration.response.epoch
        controller.receive(_Said(BrokerHeartbeatRequest(node.node, epoch, controller.image.version)))

    def _tell(self, image: ClusterImage) -> None:
        if not self.open:
            return
        changed = difference(self._told, image)
        self._told = image
        answer = MetadataLogResponse(image, changed.partitions, changed.topics, changed.brokers)
        for node in self._nodes.values():
            node.take(image, answer)

    def _begin(self, _: object) -> None:
        """The run begins: from here on the brokers talk to the controller themselves."""
        self.open = False
        image = self._controller.image
        for node in self._nodes.values():
            self._controller.delivery.has(node.node, image)
            node.begin(self._epochs[node.node], image)
