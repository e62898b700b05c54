"""The broker's end of the controller: registration, heartbeats, metadata, and changes of in-sync sets.

    NOT_RUNNING ── start ──▶ STARTING ── caught up ──▶ RECOVERY ── unfenced ──▶ RUNNING
                                                                                   │ shut_down
                             SHUTTING_DOWN ◀── controller agrees ── PENDING_CONTROLLED_SHUTDOWN

A broker registers first. Then it sends heartbeats, one in flight, the next an interval after the answer (sooner while
it starts or stops). Once it has the metadata up to its own registration, its heartbeat requests unfencing. A heartbeat
that is refused for its epoch leads to a new registration.

Besides, it has one open metadata request at the controller (`metadata_publisher`) and applies every answer to `image`,
also before it is registered: a broker that restarts within the session of its previous life is refused
(DUPLICATE_BROKER_REGISTRATION) until that session ends, and applies metadata in which that life still leads. It loads
its partitions of `__consumer_offsets` and unloads them when it is fenced; no client notices, because its port opens at
the unfencing. Brokers before 3.5 apply their first image once a heartbeat has confirmed that they have caught up
(`publishes_when_caught_up`).

A disconnected broker keeps its image and does not notice that it is fenced. After a lost heartbeat the metadata request
is sent again on a new connection, because the old one may be dead without notice; so it is after two heartbeats that
announced an image which did not arrive.

Sources: `BrokerLifecycleManager`, `BrokerServer.startup` (3.3 to 4.4: the order of publishers, `initialCatchUpFuture`,
`setReadyToUnfence` and `enableRequestProcessing`), KAFKA-19294 (4.1: an attempt is abandoned after an interval and
repeated an interval later), `NodeToControllerChannelManager` (before: after half a session). The order of loading,
registration and opening was observed on killed and restarted nodes of 3.9.1 and 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.alter_partition import AlterPartitionManager, OnDone
from groupsim.cluster.controller.channel import Channel, ControllerChannel
from groupsim.cluster.controller.image import EMPTY, difference
from groupsim.eventloop.interface import EventLoop, Handle, Host
from groupsim.eventloop.randomness import Stream
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.cluster import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ClusterImage,
    IsrChange,
    MetadataLogRequest,
    MetadataLogResponse,
)

_FIRST_WAIT_US = 100_000
_JITTER_PERCENT = 2
_STARTING_US = 10_000
_STOPPING_US = 50_000
_LONG_POLL_US = 1 << 60
_FOLLOW_RETRY_US = 100_000


class BrokerLife(Enum):
    """The state of a broker, under Kafka's names (`BrokerState`)."""

    NOT_RUNNING = "not running"
    STARTING = "starting"
    RECOVERY = "recovery"
    RUNNING = "running"
    PENDING_CONTROLLED_SHUTDOWN = "pending controlled shutdown"
    SHUTTING_DOWN = "shutting down"


class ControllerAgent:
    """One broker's session with the controller. `start` begins a new one after every crash of the host.

    `connect` opens a connection to the controller; `on_image` is called with every applied image and its changes,
    `on_running` at the unfencing.
    """

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        node: int,
        rack: str | None,
        connect: Callable[[], ControllerChannel],
        on_image: Callable[[ClusterImage, MetadataLogResponse], None],
        config: ControllerConfig,
    ) -> None:
        self.on_running: Callable[[], None] = lambda: None
        self.image = EMPTY
        self.epoch = -1
        self.life = BrokerLife.NOT_RUNNING
        self._loop = loop
        self._host = host
        self._node = node
        self._rack = rack
        self._on_image = on_image
        self._config = config
        self._heartbeats, self._metadata, alter = Channel(connect), Channel(connect), Channel(connect)
        self._alterations = AlterPartitionManager(loop, host, node, alter, lambda: self.epoch)
        self._interval_us = config.broker_heartbeat_interval_ms * 1_000
        self._timeout_us = config.attempt_us
        self._clean_shutdown_epoch = -1
        self._starts = 0
        self._incarnation = -1
        self._reset()

    def _reset(self) -> None:
        self.image = EMPTY
        self.epoch = -1
        self.is_fenced = True
        self._registered = self._ready = self._shutdown_requested = self._at_once = False
        self._published = not self._config.publishes_when_caught_up
        self._failures = 0
        self._newest_version = 0
        self._next: Handle | None = None
        self._jitter: Stream | None = None
        self._on_stopped: Callable[[], None] | None = None

    # --- the broker's calls ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Register, send heartbeats, follow the metadata: once in each life of the host, and after a clean shutdown.

        Raises `RuntimeError` while it runs.
        """
        idle = self.life in (BrokerLife.NOT_RUNNING, BrokerLife.SHUTTING_DOWN)
        if not idle and self._incarnation == self._host.incarnation:
            raise RuntimeError(
                f"broker {self._node} is {self.life.value} already; crash its host or shut it down first"
            )
        self._incarnation = self._host.incarnation
        self._reset()
        for channel in (self._heartbeats, self._metadata):
            channel.reset()
        self._alterations.reset()
        self._starts += 1
        self.life = BrokerLife.STARTING
        self._communicate(None)
        self._follow(None)

    def start_formed(self, epoch: int, image: ClusterImage) -> None:
        """Begin as a broker that registered with this epoch long ago and has this image.

        Its first heartbeat comes at a drawn instant within one interval.
        """
        self._reset()
        self.life = BrokerLife.RUNNING
        self.epoch, self.image, self.is_fenced = epoch, image, False
        self._registered = self._ready = self._published = True
        stream = self._loop.stream("controller-beat", self._host.name, self._host.incarnation)
        self._schedule(stream.below(self._interval_us))
        self._follow(None)

    def alter(self, change: IsrChange, on_done: OnDone) -> None:
        """Request another in-sync set of a partition that this broker leads.

        `on_done(error, state)` is called with the controller's answer, however late, and never before this returns.
        OPERATION_NOT_ATTEMPTED: the partition has an unanswered change, and no request was sent.
        """
        if not self._alterations.submit(change, on_done):
            self._host.call_at(self._loop.now_us, lambda _: on_done(ErrorCode.OPERATION_NOT_ATTEMPTED, None))

    def shut_down(self, on_done: Callable[[], None]) -> None:
        """Move this broker's leaderships, then stop; `on_done` is called when the controller permits it.

        A broker that does not run yet stops at once. Raises `RuntimeError` when it is stopping already.
        """
        if self._on_stopped is not None:
            raise RuntimeError(f"broker {self._node} is shutting down already")
        self._on_stopped = on_done
        if self.life is BrokerLife.RUNNING:
            self.life = BrokerLife.PENDING_CONTROLLED_SHUTDOWN
            self._schedule(0)
        else:
            self._host.call_at(self._loop.now_us, self._stop)

    # --- registration and heartbeats -------------------------------------------------------------------------

    def _schedule(self, after_us: int) -> None:
        """Schedule the next heartbeat or registration (at once, if one was requested while another was in flight)."""
        if self._at_once:
            after_us, self._at_once = 0, False
        if self._next is not None:
            self._host.cancel(self._next)
        self._next = self._host.call_at(self._loop.now_us + after_us, self._communicate)

    def _communicate(self, _: object) -> None:
        self._next = None
        if self._heartbeats.busy:
            self._at_once = True
        elif self._registered:
            request = BrokerHeartbeatRequest(
                self._node,
                self.epoch,
                self.image.version,
                not self._ready,
                self.life is BrokerLife.PENDING_CONTROLLED_SHUTDOWN,
            )
            self._heartbeats.send(request, self._on_heartbeat, self._timeout_us)
        else:
            self._register()

    def _register(self) -> None:
        host = self._host
        # After a controlled shutdown the process may start again without a crash of its host.
        incarnation = (host.incarnation << 16) + self._starts
        request = BrokerRegistrationRequest(
            self._node, host.name, self._rack, incarnation, previous_epoch=self._clean_shutdown_epoch
        )
        self._heartbeats.send(request, self._on_registration, self._timeout_us)

    def _on_registration(self, response: BrokerRegistrationResponse | None) -> None:
        if response is None or response.error:
            self._after_failure()
            return
        self._failures = 0
        self._clean_shutdown_epoch = -1
        self._registered = True
        self.epoch = response.epoch
        self._schedule(0)

    def _on_heartbeat(self, response: BrokerHeartbeatResponse | None) -> None:
        if response is None:
            self._restart_follow()
            self._after_failure()
        elif response.error:
            if response.error in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
                self._registered = False
            self._after_failure()
        else:
            self._failures = 0
            self.is_fenced = response.is_fenced
            self._check_lag(response.metadata_version)
            self._advance(response)

    def _check_lag(self, newest: int) -> None:
        """Request the metadata again when the image announced by the previous heartbeat has not arrived."""
        if self.image.version < self._newest_version <= newest:
            self._restart_follow()
        self._newest_version = newest

    def _advance(self, response: BrokerHeartbeatResponse) -> None:
        """Advance the broker's state after a successful heartbeat."""
        life = self.life
        if life is BrokerLife.STARTING:
            if response.is_caught_up:
                self.life = BrokerLife.RECOVERY
                if not self._published:
                    self._publish_first()
                self._ready = True
                self._at_once = True
            self._schedule(_STARTING_US)
        elif life is BrokerLife.PENDING_CONTROLLED_SHUTDOWN:
            self._wait_to_stop(response)
        elif life is not BrokerLife.SHUTTING_DOWN:
            if life is BrokerLife.RECOVERY and not response.is_fenced:
                self.life = BrokerLife.RUNNING
                self.on_running()
            self._schedule(self._interval_us)

    def _wait_to_stop(self, response: BrokerHeartbeatResponse) -> None:
        if response.should_shut_down:
            self._clean_shutdown_epoch = self.epoch
            self._stop(None)
            return
        first, self._shutdown_requested = not self._shutdown_requested, True
        self._schedule(_STOPPING_US if first else self._interval_us)

    def _stop(self, _: object) -> None:
        self.life = BrokerLife.SHUTTING_DOWN
        if self._next is not None:
            self._host.cancel(self._next)
            self._next = None
        self._heartbeats.close()
        self._metadata.close()
        self._alterations.stop()
        stopped, self._on_stopped = self._on_stopped, None
        if stopped is not None:
            stopped()

    def _after_failure(self) -> None:
        """Wait for an interval; before 4.1 (KAFKA-19294) for 100 ms, 200 ms, … up to a session, each ± 2 %."""
        self._at_once = False
        if not self._config.retry_wait_grows:
            self._schedule(self._interval_us)
            return
        most_us = self._config.session_us
        wait_us = min(_FIRST_WAIT_US << min(self._failures, 20), most_us)
        self._failures += 1
        if self._jitter is None:
            self._jitter = self._loop.stream("controller-backoff", self._host.name, self._host.incarnation)
        spread = wait_us * _JITTER_PERCENT // 100
        self._schedule(min(wait_us - spread + self._jitter.below(2 * spread + 1), most_us))

    # --- metadata --------------------------------------------------------------------------------------------

    def _follow(self, _: object) -> None:
        """Request the changes after this broker's image."""
        if self.life is not BrokerLife.SHUTTING_DOWN and not self._metadata.busy:
            self._metadata.send(MetadataLogRequest(self._node, self.image.version), self._on_metadata, _LONG_POLL_US)

    def _on_metadata(self, response: MetadataLogResponse | None) -> None:
        if response is None:
            self._host.call_at(self._loop.now_us + _FOLLOW_RETRY_US, self._follow)
            return
        self.image = response.image
        self._follow(None)
        if self._published:
            self._on_image(response.image, response)

    def _publish_first(self) -> None:
        """Apply the first image, in which everything is new."""
        self._published = True
        changed = difference(EMPTY, self.image)
        everything = MetadataLogResponse(self.image, changed.partitions, changed.topics, changed.brokers)
        self._on_image(self.image, everything)

    def _restart_follow(self) -> None:
        self._metadata.close()
        self._follow(None)
