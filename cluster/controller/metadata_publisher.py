"""The publication of images: each broker has one open request for the changes after its version.

The request is answered at once when there are changes, else at the next change; meanwhile no message is sent and no
timer runs. One answer has the newest image and all changes since the broker's version. A broker with a version that the
controller did not send gets the whole image as changed.

`stale_us` delays a broker's answers beyond its network's latency, for scenarios with stale metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from groupsim.cluster.controller.image import EMPTY, difference
from groupsim.eventloop.interface import Host, Order
from groupsim.protocol.messages.cluster import ClusterImage, MetadataLogResponse


class Call(Protocol):
    """One request at the controller."""

    request: Any

    def answer(self, response: Any) -> None:
        """Send the response; at most once."""


class MetadataPublisher:
    """The open requests of all brokers, by node."""

    def __init__(self, host: Host, now_us: Any, stale_us: Mapping[int, int]) -> None:
        self._host = host
        self._now_us = now_us
        self.stale_us = dict(stale_us)
        self._image = EMPTY
        self._open: dict[int, tuple[Call, int]] = {}
        self._delayed: dict[int, None] = {}
        self._sent: dict[int, dict[int, ClusterImage]] = {}

    def set_known(self, node: int, image: ClusterImage) -> None:
        """Record that a broker has this image from before the run began."""
        self._sent[node] = {image.version: image}

    def request(self, call: Call) -> None:
        """Handle a `MetadataLogRequest`; it replaces an older request of the same broker."""
        node, after = call.request.node, call.request.after_version
        self._open[node] = (call, after)
        if after != self._image.version:
            self._wake(node)

    def publish(self, image: ClusterImage) -> None:
        """Answer all open requests with a new image."""
        self._image = image
        for node in list(self._open):
            self._wake(node)

    def _wake(self, node: int) -> None:
        late_us = self.stale_us.get(node, 0)
        if not late_us:
            self._answer(node)
        elif node not in self._delayed:
            self._delayed[node] = None
            self._host.call_at(self._now_us() + late_us, self._late, node, order=Order.TIMER)

    def _late(self, node: int) -> None:
        del self._delayed[node]
        self._answer(node)

    def _answer(self, node: int) -> None:
        waiting = self._open.pop(node, None)
        if waiting is None:
            return
        call, after = waiting
        given = self._sent.get(node, {})
        before = given.get(after, EMPTY)
        image = self._image
        # The broker's image if this answer is lost, and its next image.
        self._sent[node] = {before.version: before, image.version: image}
        changed = difference(before, image)
        call.answer(MetadataLogResponse(image, changed.partitions, changed.topics, changed.brokers))
