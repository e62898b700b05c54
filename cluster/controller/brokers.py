"""The brokers at the controller: registrations, heartbeats, fencing, controlled shutdown.

    not registered ── registration ──▶ fenced ── caught up, requested ──▶ unfenced
                                         ▲                                 │  │
              session expired, requested │◀────────────────────────────────┘  │ stop requested, leads a partition
                                         │◀─ shutdown now ─ controlled shutdown

A registration of a new incarnation fences the previous one; within the session of that one it is refused
(DUPLICATE_BROKER_REGISTRATION). Its epoch is the version of the image with the registration, and the broker is unfenced
when its heartbeats have that version. In a controlled shutdown the controller moves the broker's leaderships, waits
until every other active broker has the metadata, and then permits the broker to stop.

An incarnation that names the epoch of the previous one had a clean shutdown. Another may have lost unflushed records,
so it is also removed from the eligible replicas (KIP-966).

Sources: `ClusterControlManager.registerBroker`, `BrokerHeartbeatManager.calculateNextBrokerState`,
`ReplicationControlManager.processBrokerHeartbeat`, `handleBrokerShutdown` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from attrs import evolve

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import Partitions
from groupsim.cluster.controller.sessions import BrokerSessions
from groupsim.cluster.controller.trace import ControllerEvents
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    BrokerState,
)
from groupsim.protocol.values import define

_NEVER = 1 << 62


class BrokerControlState(Enum):
    """The state of a broker at the controller, under Kafka's names."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"


@define
class _Incarnation:
    """The controller's state of a broker's current incarnation beside its registration."""

    incarnation: int
    metadata_version: int = -1
    shutdown_version: int = -1


class Brokers:
    """The brokers of a draft, which is not committed here."""

    def __init__(
        self, draft: Draft, config: ControllerConfig, partitions: Partitions, events: ControllerEvents
    ) -> None:
        self._draft = draft
        self._config = config
        self._partitions = partitions
        self._events = events
        self._known: dict[int, _Incarnation] = {}
        self._unchanged = BrokerHeartbeatResponse()
        self.sessions = BrokerSessions(config.session_us, config.session_check_ms * 1_000)

    def copy(self) -> Callable[[], None]:
        """Return a function that restores the present state after registrations and heartbeats."""
        known, sessions = {node: evolve(one) for node, one in self._known.items()}, self.sessions.copy()

        def restore() -> None:
            self._known = known
            self.sessions.restore(sessions)

        return restore

    def epoch_error(self, node: int, epoch: int) -> ErrorCode:
        """Return STALE_BROKER_EPOCH unless this is the epoch of the broker's current registration."""
        broker = self._draft.broker(node)
        return ErrorCode.NONE if broker is not None and broker.epoch == epoch else ErrorCode.STALE_BROKER_EPOCH

    # --- registration ----------------------------------------------------------------------------------------

    def register(self, request: BrokerRegistrationRequest, now_us: int) -> BrokerRegistrationResponse:
        """Handle a broker's registration."""
        before, known = self._draft.broker(request.node), self._known.get(request.node)
        if before is not None and known is not None and known.incarnation == request.incarnation:
            self._draft.set_broker(evolve(before, host=request.host, rack=request.rack))
            return BrokerRegistrationResponse(epoch=before.epoch)
        if before is not None and self._session_lives(before, now_us):
            return BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        self._fence_previous(before, request)
        epoch = self._draft.next_version
        self._draft.set_broker(BrokerState(request.node, request.host, request.rack, epoch, fenced=True))
        self._known[request.node] = _Incarnation(request.incarnation)
        self.sessions.end(request.node)
        return BrokerRegistrationResponse(epoch=epoch)

    def _session_lives(self, broker: BrokerState, now_us: int) -> bool:
        counts = self._config.fenced_sessions_count or not broker.fenced
        return counts and self.sessions.is_valid(broker.node, broker.epoch, now_us)

    def _fence_previous(self, before: BrokerState | None, request: BrokerRegistrationRequest) -> None:
        """Remove the previous incarnation from every in-sync set."""
        if before is None:
            return
        if not before.fenced:
            self._events.fenced(before, "a new incarnation registered")
        clean = not self._config.eligible_leader_replicas or request.previous_epoch == before.epoch
        if clean:
            self._partitions.without(request.node, "restarted")
        else:
            self._partitions.without(request.node, "restarted uncleanly", unclean=True)

    # --- heartbeats ------------------------------------------------------------------------------------------

    def heartbeat(self, request: BrokerHeartbeatRequest, now_us: int) -> BrokerHeartbeatResponse:
        """Handle a broker's heartbeat."""
        node = request.node
        broker = self._draft.broker(node)
        if broker is None or broker.epoch != request.epoch:
            return BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH)
        self.sessions.contact(node, request.epoch, now_us)
        known = self._known[node]
        if not (broker.fenced or request.want_fence or request.want_shut_down or known.shutdown_version >= 0):
            known.metadata_version = request.metadata_version
            return self._unchanged_response()
        return self._consider(broker, known, request)

    def _unchanged_response(self) -> BrokerHeartbeatResponse:
        """Return the answer to a heartbeat that changes nothing, one object until the image changes."""
        version = self._draft.image.version
        if self._unchanged.metadata_version != version:
            self._unchanged = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False, metadata_version=version)
        return self._unchanged

    def _consider(
        self, broker: BrokerState, known: _Incarnation, request: BrokerHeartbeatRequest
    ) -> BrokerHeartbeatResponse:
        """Handle a heartbeat that may change the broker's state."""
        now, then = self._standing(broker, known), self._next(broker, known, request)
        if now is not then:
            self._move(broker, known, then)
        known.metadata_version = request.metadata_version
        fenced = then in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)
        if fenced:
            known.shutdown_version = -1
        return BrokerHeartbeatResponse(
            is_caught_up=request.metadata_version >= broker.epoch,
            is_fenced=fenced,
            should_shut_down=then is BrokerControlState.SHUTDOWN_NOW,
            metadata_version=self._draft.image.version,
        )

    def _standing(self, broker: BrokerState, known: _Incarnation) -> BrokerControlState:
        if known.shutdown_version >= 0:
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.FENCED if broker.fenced else BrokerControlState.UNFENCED

    def _next(self, broker: BrokerState, known: _Incarnation, request: BrokerHeartbeatRequest) -> BrokerControlState:
        now = self._standing(broker, known)
        if now is BrokerControlState.CONTROLLED_SHUTDOWN:
            waits = self._partitions.leads_any(broker.node) or known.shutdown_version > self._lowest_version()
            return now if waits else BrokerControlState.SHUTDOWN_NOW
        if now is BrokerControlState.FENCED:
            if request.want_shut_down:
                return BrokerControlState.SHUTDOWN_NOW
            ready = not request.want_fence and request.metadata_version >= broker.epoch
            return BrokerControlState.UNFENCED if ready else now
        if request.want_fence:
            return BrokerControlState.SHUTDOWN_NOW if request.want_shut_down else BrokerControlState.FENCED
        if request.want_shut_down:
            return (
                BrokerControlState.CONTROLLED_SHUTDOWN
                if self._partitions.leads_any(broker.node)
                else BrokerControlState.SHUTDOWN_NOW
            )
        return now

    def _lowest_version(self) -> int:
        """Return the lowest metadata version of active brokers."""
        return min(
            (
                known.metadata_version
                for node, known in self._known.items()
                if known.shutdown_version < 0 and (broker := self._draft.broker(node)) and not broker.fenced
            ),
            default=_NEVER,
        )

    def _move(self, broker: BrokerState, known: _Incarnation, then: BrokerControlState) -> None:
        if then is BrokerControlState.UNFENCED:
            self._unfence(broker)
        elif then is BrokerControlState.CONTROLLED_SHUTDOWN:
            known.shutdown_version = self._draft.next_version
            self._draft.set_broker(evolve(broker, in_controlled_shutdown=True))
            self._partitions.without(broker.node, "controlled shutdown")
        elif not broker.fenced:
            self.fence(broker.node, "shut down" if then is BrokerControlState.SHUTDOWN_NOW else "asked for it")

    def _unfence(self, broker: BrokerState) -> None:
        self._events.unfenced(broker)
        self._draft.set_broker(evolve(broker, fenced=False))
        self._partitions.with_broker(broker.node)

    def fence(self, node: int, reason: str) -> None:
        """Fence a broker: remove it from leaderships and in-sync sets; without effect on a fenced one."""
        broker, known = self._draft.broker(node), self._known.get(node)
        if known is not None:
            known.shutdown_version = -1
        if broker is None or broker.fenced:
            return
        self._events.fenced(broker, reason)
        self._partitions.without(node, "fenced")
        self._draft.set_broker(evolve(broker, fenced=True))
