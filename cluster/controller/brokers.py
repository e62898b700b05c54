"""What the controller knows of brokers: registrations, heartbeats, fencing, controlled shutdown.

    not registered ── registration ──▶ fenced ── caught up, wants it ──▶ unfenced
                                         ▲                                │  │
                     session over, asked │◀───────────────────────────────┘  │ wants to stop, leads something
                                         │◀── may stop ── shutting down ◀────┘

A registration of a new incarnation fences the one before; while the session of that one lives it is refused
(DUPLICATE_BROKER_REGISTRATION). It is given an epoch, the version of the image it made, and comes out of fencing when
its heartbeats say that it has read as far. A broker that stops in order first hands over what it leads, waits until
every other active broker has heard of it, and may then go.

An incarnation that names the epoch of the one before stopped in order; one that does not may have lost unflushed
records, so it is struck from the eligible replicas too (KIP-966).

Sources: `ClusterControlManager.registerBroker`, `BrokerHeartbeatManager.calculateNextBrokerState`,
`ReplicationControlManager.processBrokerHeartbeat`, `handleBrokerShutdown` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from attrs import define, evolve

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.image import Draft
from groupsim.cluster.controller.partitions import Partitions
from groupsim.cluster.controller.sessions import BrokerSessions
from groupsim.cluster.controller.trace import Teller
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    BrokerState,
)

_NEVER = 1 << 62


class Standing(Enum):
    """Where a broker is on its way through the controller's hands."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    SHUTTING_DOWN = "controlled shutdown"
    MAY_STOP = "shutdown now"


@define
class _Incarnation:
    """What the controller keeps of a broker's present incarnation beside its registration."""

    incarnation: int
    metadata_version: int = -1
    shutdown_version: int = -1


class Brokers:
    """The brokers of a draft. Nothing here commits the draft."""

    def __init__(self, draft: Draft, config: ControllerConfig, partitions: Partitions, teller: Teller) -> None:
        self._draft = draft
        self._config = config
        self._partitions = partitions
        self._teller = teller
        self._known: dict[int, _Incarnation] = {}
        self._well = BrokerHeartbeatResponse()
        self.sessions = BrokerSessions(config.session_us, config.session_check_ms * 1_000)

    def as_now(self) -> Callable[[], None]:
        """How to go back to what is known now, though registrations and heartbeats come in between."""
        known, sessions = {node: evolve(one) for node, one in self._known.items()}, self.sessions.as_now()

        def go_back() -> None:
            self._known = known
            self.sessions.go_back(sessions)

        return go_back

    def epoch_error(self, node: int, epoch: int) -> ErrorCode:
        """STALE_BROKER_EPOCH unless this is the epoch of the broker's present registration."""
        broker = self._draft.broker(node)
        return ErrorCode.NONE if broker is not None and broker.epoch == epoch else ErrorCode.STALE_BROKER_EPOCH

    # --- registration ----------------------------------------------------------------------------------------

    def register(self, request: BrokerRegistrationRequest, now_us: int) -> BrokerRegistrationResponse:
        """Take a broker's registration."""
        before, known = self._draft.broker(request.node), self._known.get(request.node)
        if before is not None and known is not None and known.incarnation == request.incarnation:
            self._draft.set_broker(evolve(before, host=request.host, rack=request.rack))
            return BrokerRegistrationResponse(epoch=before.epoch)
        if before is not None and self._session_lives(before, now_us):
            return BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        self._bury(before, request)
        epoch = self._draft.next_version
        self._draft.set_broker(BrokerState(request.node, request.host, request.rack, epoch, fenced=True))
        self._known[request.node] = _Incarnation(request.incarnation)
        self.sessions.end(request.node)
        return BrokerRegistrationResponse(epoch=epoch)

    def _session_lives(self, broker: BrokerState, now_us: int) -> bool:
        counts = self._config.fenced_sessions_count or not broker.fenced
        return counts and self.sessions.is_valid(broker.node, broker.epoch, now_us)

    def _bury(self, before: BrokerState | None, request: BrokerRegistrationRequest) -> None:
        """Take the incarnation before out of every in-sync set."""
        if before is None:
            return
        if not before.fenced:
            self._teller.fenced(before, "a new incarnation registered")
        clean = not self._config.eligible_leader_replicas or request.previous_epoch == before.epoch
        if clean:
            self._partitions.without(request.node, "restarted")
        else:
            self._partitions.after_unclean_stop(request.node, "restarted uncleanly")

    # --- heartbeats ------------------------------------------------------------------------------------------

    def heartbeat(self, request: BrokerHeartbeatRequest, now_us: int) -> BrokerHeartbeatResponse:
        """Take a sign of life."""
        node = request.node
        broker = self._draft.broker(node)
        if broker is None or broker.epoch != request.epoch:
            return BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH)
        self.sessions.contact(node, request.epoch, now_us)
        known = self._known[node]
        if not (broker.fenced or request.want_fence or request.want_shut_down or known.shutdown_version >= 0):
            known.metadata_version = request.metadata_version
            return self._all_is_well()
        return self._consider(broker, known, request)

    def _all_is_well(self) -> BrokerHeartbeatResponse:
        """The answer to a heartbeat that changes nothing: one object for all until the image changes."""
        version = self._draft.image.version
        if self._well.metadata_version != version:
            self._well = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False, metadata_version=version)
        return self._well

    def _consider(
        self, broker: BrokerState, known: _Incarnation, request: BrokerHeartbeatRequest
    ) -> BrokerHeartbeatResponse:
        """A heartbeat that may change something."""
        now, then = self._standing(broker, known), self._next(broker, known, request)
        if now is not then:
            self._move(broker, known, then)
        known.metadata_version = request.metadata_version
        fenced = then in (Standing.FENCED, Standing.MAY_STOP)
        if fenced:
            known.shutdown_version = -1
        return BrokerHeartbeatResponse(
            is_caught_up=request.metadata_version >= broker.epoch,
            is_fenced=fenced,
            should_shut_down=then is Standing.MAY_STOP,
            metadata_version=self._draft.image.version,
        )

    def _standing(self, broker: BrokerState, known: _Incarnation) -> Standing:
        if known.shutdown_version >= 0:
            return Standing.SHUTTING_DOWN
        return Standing.FENCED if broker.fenced else Standing.UNFENCED

    def _next(self, broker: BrokerState, known: _Incarnation, request: BrokerHeartbeatRequest) -> Standing:
        now = self._standing(broker, known)
        if now is Standing.SHUTTING_DOWN:
            waits = self._partitions.leads_any(broker.node) or known.shutdown_version > self._lowest_version()
            return now if waits else Standing.MAY_STOP
        if now is Standing.FENCED:
            if request.want_shut_down:
                return Standing.MAY_STOP
            ready = not request.want_fence and request.metadata_version >= broker.epoch
            return Standing.UNFENCED if ready else now
        if request.want_fence:
            return Standing.MAY_STOP if request.want_shut_down else Standing.FENCED
        if request.want_shut_down:
            return Standing.SHUTTING_DOWN if self._partitions.leads_any(broker.node) else Standing.MAY_STOP
        return now

    def _lowest_version(self) -> int:
        """How far the active broker that is furthest behind has read the metadata."""
        return min(
            (
                known.metadata_version
                for node, known in self._known.items()
                if known.shutdown_version < 0 and (broker := self._draft.broker(node)) and not broker.fenced
            ),
            default=_NEVER,
        )

    def _move(self, broker: BrokerState, known: _Incarnation, then: Standing) -> None:
        if then is Standing.UNFENCED:
            self._unfence(broker)
        elif then is Standing.SHUTTING_DOWN:
            known.shutdown_version = self._draft.next_version
            self._draft.set_broker(evolve(broker, in_controlled_shutdown=True))
            self._partitions.without(broker.node, "controlled shutdown")
        elif not broker.fenced:
            self.fence(broker.node, "shut down" if then is Standing.MAY_STOP else "asked for it")

    def _unfence(self, broker: BrokerState) -> None:
        self._teller.unfenced(broker)
        self._draft.set_broker(evolve(broker, fenced=False))
        self._partitions.with_broker(broker.node, "unfenced")

    def fence(self, node: int, reason: str) -> None:
        """A broker leads nothing and is in sync nowhere; nothing happens when it is fenced already."""
        broker, known = self._draft.broker(node), self._known.get(node)
        if known is not None:
            known.shutdown_version = -1
        if broker is None or broker.fenced:
            return
        self._teller.fenced(broker, reason)
        self._partitions.without(node, "fenced")
        self._draft.set_broker(evolve(broker, fenced=True))
