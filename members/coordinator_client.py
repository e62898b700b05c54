"""Discovery of the group coordinator, and requests to it.

The poll loop or the heartbeat starts a look-up; it goes on as events while the application works. Marking the
coordinator unknown keeps generation and member id (`AbstractCoordinator.markCoordinatorUnknown`; classic-protocol
reference, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.failures import ClientFailure
from groupsim.members.interfaces import Connection, Disconnected, Outcome
from groupsim.members.links import SHARED, Done
from groupsim.members.member import Member
from groupsim.members.profiles.exceptions import exception_name
from groupsim.members.profiles.reactions import Reaction
from groupsim.members.profiles.row_types import AfterBreak
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, FindCoordinatorRequest, FindCoordinatorResponse, Request

APART = "coordinator"
_BACKOFF = "coordinator-backoff"  # the purpose of its random stream


class CoordinatorClient:
    """The group coordinator as this client knows it."""

    __slots__ = (
        "_asked_node",
        "_began_us",
        "_broke",
        "_busy",
        "_late_node",
        "_member",
        "_purpose",
        "_spaced_us",
        "_waiting",
        "awaited",
        "link",
        "node",
    )

    def __init__(self, member: Member) -> None:
        self._member = member
        #: The connection to the coordinator; None while it is unknown. It may be closed.
        self.link: Connection | None = None
        self.node = -1  #: node id of the last known coordinator
        self._busy = False  # a look-up is in flight, or waits for its backoff
        self._purpose = SHARED if member.profile.coordinator.shared_connection else APART
        self._asked_node = -1
        self._broke = False  # the connection broke, too
        self._spaced_us = 0  # no look-up before
        self._began_us = -1  # when the connection was started
        self._late_node = -1  # a broker whose connection is closed with the next look-up
        self._waiting: list[Callable[[], None]] = []  # called when the current look-up ends
        self.awaited = False  #: the application's thread waits for the coordinator outside poll

    @property
    def known(self) -> bool:
        """Whether a coordinator is known; marks one with a broken connection unknown (`checkAndGetCoordinator`)."""
        link = self.link
        if link is None:
            return False
        if link.open:
            return True
        if self._member.profile.coordinator.reconnects:
            self.link = self._member.links.connection(self.node, self._purpose)
            return True
        self.lost("coordinator unavailable")
        return False

    @property
    def ready(self) -> bool:
        """Whether a request may be sent now; kafka-python treats a connection that is being made as not ready."""
        return self._began_us != self._member.loop.now_us

    def send(self, request: Request, on_done: Done, timeout_us: int | None = None) -> None:
        """Send a group request. Raises RuntimeError unless `known`."""
        if self.link is None:
            raise RuntimeError(f"{self._member.host.name}: no coordinator to send {request.API.title} to")
        member = self._member
        timeout_us = member.request_timeout_us if timeout_us is None else timeout_us
        member.links.send(self.link, self.node, request, on_done, timeout_us)

    def lost(self, reason: str, *, later: bool = False) -> None:
        """Mark the coordinator unknown after an answer, a disconnect or the session timeout; requests in flight fail.

        `later`: the application's thread waits for its backoff before the look-up. The connection is closed only then
        (`ConsumerNetworkClient.disconnectAsync`), so reconnect.backoff.ms starts then, and delays the next connection.
        """
        link = self.link
        if link is None:
            return
        if link.open and self._member.pace.keeps_in_doubt:
            self._doubted()
            return
        self.link = None
        self._broke = not link.open
        kept = link.open and not self._member.profile.coordinator.closes_lost
        if later and link.open and not kept:
            self._late_node = self.node
        elif not kept:
            self._member.links.failed(self.node, self._purpose)
        self._member.membership.coordinator_lost()
        self._member.emit(Kind.COORDINATOR_LOST, reason=reason)
        if link.open and not kept:
            self._member.links.drop(link, reason)
        elif not link.open:
            self._member.metadata.outdated()  # `NetworkClient.handleServerDisconnect` requests metadata
        pace = self._member.pace
        by_itself = self._member.membership.sends_heartbeats and (not later or pace.rebalances_in_task)
        if by_itself or pace.keeps_coordinator:
            self.ensure()  # by the background thread; else by the next part that needs the coordinator

    def _doubted(self) -> None:
        """Look the coordinator up but keep it until another is named, as librdkafka (`rd_kafka_cgrp_coord_query`)."""
        if not self._busy:
            self._busy = True
            self._ask(None)

    def _given_up(self, reason: str) -> None:
        """Close the connection to a coordinator in doubt: the look-up named another one, or failed."""
        link, self.link = self.link, None
        if link is not None and link.open:
            self._member.membership.coordinator_lost()
            self._member.emit(Kind.COORDINATOR_LOST, reason=reason)
            self._member.links.drop(link, reason)

    # -- look-up ------------------------------------------------------------------------------------------------

    def ensure(self) -> None:
        """Start a look-up unless the coordinator is known or a look-up is under way."""
        if self._busy or self.known:
            return
        self._busy = True
        if self._spaced_us > self._member.now_us:
            self._member.host.call_at(self._spaced_us, self._ask)
        else:
            self._ask(None)

    def look_up(self, done: Callable[[], None]) -> None:
        """Start a look-up likewise; `done` is called when the current attempt, or else the next one, ends."""
        self._waiting.append(done)
        self.ensure()

    def _end_look_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done()

    def _ask(self, _: Any) -> None:
        member = self._member
        if self._late_node >= 0:
            member.links.failed(self._late_node, self._purpose)
            self._late_node = -1
        request = FindCoordinatorRequest(member.group, version=member.version(Api.FIND_COORDINATOR))
        self._asked_node = member.links.ask_any(request, self._answered)

    def _answered(self, outcome: Outcome) -> None:
        if type(outcome) is Disconnected:
            self._member.links.avoid(self._asked_node)
            self._again(reconnects=outcome.unreachable)
        elif type(outcome) is FindCoordinatorResponse:
            if outcome.error:
                self._refused(outcome.error)
            else:
                self._found(outcome.node)

    def _refused(self, error: ErrorCode) -> None:
        failure = ClientFailure(exception_name(error), f"looking up the coordinator: {error.name}")
        if self._member.profile.reaction(Api.FIND_COORDINATOR, error) is Reaction.RETRY:
            self._given_up(f"error response {error.name}")
            self._again()
        elif self._member.pace.keeps_coordinator:  # librdkafka reports the error, and asks again
            self._member.fail(failure)
            self._later()
        else:
            self._busy = False
            self._member.fail(failure)
            self._end_look_up()

    def _again(self, *, reconnects: bool = False) -> None:
        """Repeat a failed look-up after the backoff; librdkafka as soon as it may reconnect.

        In poll, `AbstractCoordinator.ensureCoordinatorReady` sleeps for the backoff, then waits for a metadata update
        (`ConsumerNetworkClient.awaitMetadataUpdate`), unless one arrived meanwhile; the heartbeat thread does not.
        """
        member = self._member
        if member.profile.coordinator.refreshes_metadata and (member.membership.in_poll or self.awaited):
            again_us = member.now_us + member.backoff(_BACKOFF).next_us()
            member.host.call_at(again_us, self._with_new_metadata, member.metadata.version)
        else:
            member.metadata.outdated()
            if reconnects and member.pace.keeps_coordinator:
                member.host.call_at(member.now_us + member.links.reconnect_us(), self._ask)
            else:
                self._later()
        self._end_look_up()

    def _with_new_metadata(self, version: int) -> None:
        metadata = self._member.metadata
        if metadata.version == version:
            metadata.call_after_next(self._ask)
        else:
            self._ask(None)

    def _later(self) -> None:
        member = self._member
        again_us = member.pace.ask_us(member.started_us, member.now_us)
        if again_us is None:
            again_us = member.now_us + member.backoff(_BACKOFF).next_us()
        member.host.call_at(again_us, self._ask)

    def _found(self, node: int) -> None:
        member = self._member
        if self.link is not None and self._keeps(node):
            return
        after_break, wait_us = member.profile.coordinator.after_break, member.links.wait_us(node, self._purpose)
        if after_break is AfterBreak.ASKS_AGAIN and self._broke:
            self._broke = False
            member.links.connection(node, self._purpose)  # start the connection
            self._ask(None)
            return
        if wait_us and after_break is not AfterBreak.CONNECTS:
            self._unavailable(node, wait_us)
            return
        self._connect(node)

    def _connect(self, node: int) -> None:
        member = self._member
        self._busy = False
        member.succeeded(_BACKOFF)
        if member.profile.coordinator.spaced:
            self._spaced_us = member.now_us + member.settings.retry_backoff_ms * MS_US
        self.node = node
        if member.profile.coordinator.connects_first and not member.links.connected(node, self._purpose):
            self._began_us = member.now_us
        self.link = member.links.connection(node, self._purpose)
        member.trace.begin(member.emit(Kind.COORDINATOR_FOUND, payload={"node": node}))
        member.membership.coordinator_found()
        self._end_look_up()
        member.wake.set()

    def _keeps(self, node: int) -> bool:
        """Whether the look-up confirmed the coordinator in doubt."""
        keeps = self.known and node == self.node
        if keeps:
            self._busy = False
            self._member.succeeded(_BACKOFF)
        else:
            self._given_up("another coordinator")
        return keeps

    def _unavailable(self, node: int, wait_us: int) -> None:
        """Handle a coordinator whose reconnect backoff is not over.

        In poll, `AbstractCoordinator.ensureCoordinatorReady` marks it unknown, and looks it up again after the backoff.
        The heartbeat thread returns after retry.backoff.ms, and connects if the reconnect backoff is over by then.
        """
        member = self._member
        in_background = not (member.membership.in_poll or self.awaited)
        if member.pace.keeps_coordinator or (in_background and wait_us <= member.settings.retry_backoff_ms * MS_US):
            member.host.call_at(member.now_us + wait_us, self._found, node)
            return
        member.trace.begin(member.emit(Kind.COORDINATOR_FOUND, payload={"node": node}))
        member.trace.begin(member.emit(Kind.COORDINATOR_LOST, reason="coordinator unavailable"))
        self._later()
        self._end_look_up()
