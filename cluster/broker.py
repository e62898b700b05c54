"""One broker: it answers for the cluster's metadata itself and hands everything about groups to its coordinator."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from groupsim.cluster.endpoint import QUIET, Endpoint
from groupsim.cluster.topics import Topics
from groupsim.coordinator.interfaces import Call
from groupsim.coordinator.placement import partition_for
from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from groupsim.protocol.versions import normalise_request

if TYPE_CHECKING:
    from groupsim.cluster.lines import Line


class Handles(Protocol):
    """What a broker needs of its coordinator."""

    def handle(self, call: Call) -> None:
        """Take a request; its answer goes out through the call, now or later."""
        ...


def broker_name(node: int) -> str:
    """The host name of a broker."""
    return f"broker-{node}"


class Broker(Endpoint):
    """A broker on its host. It gets one request per connection at a time."""

    def __init__(self, loop: EventLoop, node: int, topics: Topics) -> None:
        super().__init__(loop, broker_name(node))
        self.node = node
        self.handle: Callable[[Call], None] = self._no_groups
        self._topics = topics

    def receive(self, call: Line) -> None:
        """Take the request in hand of a connection. Raises `RuntimeError` when there is no coordinator to ask."""
        call.request = request = normalise_request(call.request)
        if type(request) not in QUIET or self._trace.heartbeats:
            self.note_received(call)
        if isinstance(request, MetadataRequest):
            call.answer(self._metadata(request))
            return
        if isinstance(request, FindCoordinatorRequest):
            call.answer(self._find_coordinator(request))
            return
        self.handle(call)

    def serve_groups(self, coordinator: Handles) -> None:
        """Hand everything about groups to this coordinator from now on."""
        self.handle = coordinator.handle

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        return self._topics.describe(request.topics)

    def _find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """The leader of the group's partition, as this broker knows it (classic-protocol reference, 1.12)."""
        partition = partition_for(request.key, self._topics.offsets_partitions)
        leader = self._topics.offsets_leader_seen(partition)
        if leader is None:
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return _coordinator(leader)


@lru_cache(maxsize=1024)
def _coordinator(node: int) -> FindCoordinatorResponse:
    """One answer for all that ask: a thousand members do, one after the other."""
    return FindCoordinatorResponse(ErrorCode.NONE, node, broker_name(node))
