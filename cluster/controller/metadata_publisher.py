"""How brokers hear of a new image: each keeps one question open, "what changed after this version?".

It is answered at once when something has, else when something does; while nothing happens nothing is sent and no timer
runs. One answer carries the newest image and everything that changed since the version asked about, however many
versions lie between. A broker that asks about a version the controller did not give it is told everything.

`stale_us` holds a broker's answers back beyond what its network takes, for scenes of brokers that believe what is no
longer true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from groupsim.cluster.controller.image import EMPTY, difference
from groupsim.eventloop.interface import Host, Order
from groupsim.protocol.messages.cluster import ClusterImage, MetadataLogResponse


class Call(Protocol):
    """One request as it reaches the controller, and the way back."""

    request: Any

    def answer(self, response: Any) -> None:
        """Send the response; at most once."""


class Delivery:
    """The open questions of all brokers, by node."""

    def __init__(self, host: Host, now_us: Any, stale_us: Mapping[int, int]) -> None:
        self._host = host
        self._now_us = now_us
        self.stale_us = dict(stale_us)
        self._image = EMPTY
        self._open: dict[int, tuple[Call, int]] = {}
        self._held_back: dict[int, None] = {}
        self._given: dict[int, dict[int, ClusterImage]] = {}

    def has(self, node: int, image: ClusterImage) -> None:
        """A broker has this image already, though it never asked for it: it was there before the run began."""
        self._given[node] = {image.version: image}

    def ask(self, call: Call) -> None:
        """Take a `MetadataLogRequest`; an older question of the same broker is nobody's any more."""
        node, after = call.request.node, call.request.after_version
        self._open[node] = (call, after)
        if after != self._image.version:
            self._wake(node)

    def publish(self, image: ClusterImage) -> None:
        """An image is in force: answer everybody who waits for it."""
        self._image = image
        for node in list(self._open):
            self._wake(node)

    def _wake(self, node: int) -> None:
        late_us = self.stale_us.get(node, 0)
        if not late_us:
            self._answer(node)
        elif node not in self._held_back:
            self._held_back[node] = None
            self._host.call_at(self._now_us() + late_us, self._late, node, order=Order.TIMER)

    def _late(self, node: int) -> None:
        del self._held_back[node]
        self._answer(node)

    def _answer(self, node: int) -> None:
        question = self._open.pop(node, None)
        if question is None:
            return
        call, after = question
        given = self._given.get(node, {})
        before = given.get(after, EMPTY)
        image = self._image
        # What the broker has, should this answer get lost, and what it will have.
        self._given[node] = {before.version: before, image.version: image}
        changed = difference(before, image)
        call.answer(MetadataLogResponse(image, changed.partitions, changed.topics, changed.brokers))
