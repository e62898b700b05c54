"""The controller's agent on each broker: it registers, beats, follows the metadata, and asks for in-sync sets.

    NOT_RUNNING ── start ──▶ STARTING ── caught up ──▶ RECOVERY ── unfenced ──▶ RUNNING
                                                                                   │ shut_down
                             SHUTTING_DOWN ◀── controller agrees ── PENDING_CONTROLLED_SHUTDOWN

A broker registers first; from then on it beats, one heartbeat in flight, the next an interval after the answer (sooner
while it starts or stops). Once it has read the metadata as
far as its own registration it asks to be let out of fencing. A heartbeat that is refused for its epoch leads to a new
registration.

Beside that it keeps one question open at the controller (`delivery`), and applies every answer: `image` is what this
broker believes. It does so before it is registered, too: a broker that starts again while the session of its life
before goes on is refused (DUPLICATE_BROKER_REGISTRATION) until that has ended, and acts meanwhile on metadata in which
that life still leads. It loads its partitions of `__consumer_offsets` and gives them up when it is fenced; no client
sees that, because its port opens when it is let out of fencing. Brokers before 3.5 publish their first image once the
controller has told them that they have caught up (`publishes_when_caught_up`).

Cut off, a broker goes on believing what it has; nobody tells it that it was fenced. When a heartbeat got lost the
question is asked anew, on a new connection, for the old one may be dead without either end having noticed; likewise
when two heartbeats on end told of an image that never came.

Sources: `BrokerLifecycleManager`, `BrokerServer.startup` (3.3 to 4.4: in which order publishers are installed and
`initialCatchUpFuture`, `setReadyToUnfence`, `enableRequestProcessing` are awaited), KAFKA-19294 (4.1: an attempt is
given up after an interval and repeated an interval later), `NodeToControllerChannelManager` (before: after half a
session). Nodes of 3.9.1 and 4.4.0 were killed and started again to see the order of loading, registration and opening.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.controller.alter_partition import Alterations, OnDone
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
_FOLLOW_AGAIN_US = 100_000


class BrokerLife(Enum):
    """Where a broker is in its life; the names are Kafka's."""

    NOT_RUNNING = "not running"
    STARTING = "starting"
    RECOVERY = "recovery"
    RUNNING = "running"
    PENDING_CONTROLLED_SHUTDOWN = "pending controlled shutdown"
    SHUTTING_DOWN = "shutting down"


class ControllerAgent:
    """One broker's end of the talk with the controller. `start` begins anew after every crash of the host.

    `connect` opens a connection to the controller; `on_image` is called with every image that this broker acts on, and
    with what changed since the one before; `on_running` when the broker has been let out of fencing.
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
        self._beats, self._follows, asks = Channel(connect), Channel(connect), Channel(connect)
        self._alterations = Alterations(loop, host, node, asks, lambda: self.epoch)
        self._interval_us = config.broker_heartbeat_interval_ms * 1_000
        self._timeout_us = config.attempt_us
        self._stopped_in_order = -1
        self._starts = 0
        self._incarnation = -1
        self._reset()

    def _reset(self) -> None:
        self.image = EMPTY
        self.epoch = -1
        self.is_fenced = True
        self._registered = self._ready = self._asked_to_stop = self._at_once = False
        self._published = not self._config.publishes_when_caught_up
        self._failures = 0
        self._heard_of = 0
        self._next: Handle | None = None
        self._luck: Stream | None = None
        self._on_stopped: Callable[[], None] | None = None

    # --- what a broker asks ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Register, beat, follow the metadata. Once in each life of the host, and again after an orderly stop.

        Raises `RuntimeError` while it runs.
        """
        idle = self.life in (BrokerLife.NOT_RUNNING, BrokerLife.SHUTTING_DOWN)
        if not idle and self._incarnation == self._host.incarnation:
            raise RuntimeError(
                f"broker {self._node} is {self.life.value} already; crash its host or shut it down first"
            )
        self._incarnation = self._host.incarnation
        self._reset()
        for channel in (self._beats, self._follows):
            channel.forget()
        self._alterations.reset()
        self._starts += 1
        self.life = BrokerLife.STARTING
        self._communicate(None)
        self._follow(None)

    def start_formed(self, epoch: int, image: ClusterImage) -> None:
        """Instead of `start`: go on as a broker that registered with this epoch long ago and knows this image.

        Its first heartbeat comes at an instant of its own within one interval.
        """
        self._reset()
        self.life = BrokerLife.RUNNING
        self.epoch, self.image, self.is_fenced = epoch, image, False
        self._registered = self._ready = self._published = True
        luck = self._loop.stream("controller-beat", self._host.name, self._host.incarnation)
        self._soon(luck.below(self._interval_us))
        self._follow(None)

    def alter(self, change: IsrChange, on_done: OnDone) -> None:
        """Ask for another in-sync set of a partition that this broker leads.

        `on_done(error, state)` is called when the controller has answered, however long it is out of reach; not before
        this returns. OPERATION_NOT_ATTEMPTED: a change of this partition is waiting already, nothing was asked.
        """
        if not self._alterations.submit(change, on_done):
            self._host.call_at(self._loop.now_us, lambda _: on_done(ErrorCode.OPERATION_NOT_ATTEMPTED, None))

    def shut_down(self, on_done: Callable[[], None]) -> None:
        """Hand over what this broker leads, then stop; `on_done` is called when the controller lets it go.

        A broker that does not run yet stops at once. Raises `RuntimeError` when it is stopping already.
        """
        if self._on_stopped is not None:
            raise RuntimeError(f"broker {self._node} is shutting down already")
        self._on_stopped = on_done
        if self.life is BrokerLife.RUNNING:
            self.life = BrokerLife.PENDING_CONTROLLED_SHUTDOWN
            self._soon(0)
        else:
            self._host.call_at(self._loop.now_us, self._stop)

    # --- registration and heartbeats -------------------------------------------------------------------------

    def _soon(self, after_us: int) -> None:
        """Speak to the controller after this time (at once, if somebody wished it meanwhile)."""
        if self._at_once:
            after_us, self._at_once = 0, False
        if self._next is not None:
            self._host.cancel(self._next)
        self._next = self._host.call_at(self._loop.now_us + after_us, self._communicate)

    def _communicate(self, _: object) -> None:
        self._next = None
        if self._beats.busy:
            self._at_once = True
        elif self._registered:
            request = BrokerHeartbeatRequest(
                self._node,
                self.epoch,
                self.image.version,
                not self._ready,
                self.life is BrokerLife.PENDING_CONTROLLED_SHUTDOWN,
            )
            self._beats.send(request, self._on_heartbeat, self._timeout_us)
        else:
            self._register()

    def _register(self) -> None:
        host = self._host
        # A process that stopped in order may be started again without its host having crashed.
        incarnation = (host.incarnation << 16) + self._starts
        request = BrokerRegistrationRequest(
            self._node, host.name, self._rack, incarnation, previous_epoch=self._stopped_in_order
        )
        self._beats.send(request, self._on_registration, self._timeout_us)

    def _on_registration(self, response: BrokerRegistrationResponse | None) -> None:
        if response is None or response.error:
            self._after_failure()
            return
        self._failures = 0
        self._stopped_in_order = -1
        self._registered = True
        self.epoch = response.epoch
        self._soon(0)

    def _on_heartbeat(self, response: BrokerHeartbeatResponse | None) -> None:
        if response is None:
            self._follow_anew()
            self._after_failure()
        elif response.error:
            if response.error in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
                self._registered = False
            self._after_failure()
        else:
            self._failures = 0
            self.is_fenced = response.is_fenced
            self._look_behind(response.metadata_version)
            self._go_on(response)

    def _look_behind(self, newest: int) -> None:
        """A broker that a whole interval ago was told of an image it still has not got asks for it anew."""
        if self.image.version < self._heard_of <= newest:
            self._follow_anew()
        self._heard_of = newest

    def _go_on(self, response: BrokerHeartbeatResponse) -> None:
        """A heartbeat went well: where that leads depends on where the broker is in its life."""
        life = self.life
        if life is BrokerLife.STARTING:
            if response.is_caught_up:
                self.life = BrokerLife.RECOVERY
                if not self._published:
                    self._publish_first()
                self._ready = True
                self._at_once = True
            self._soon(_STARTING_US)
        elif life is BrokerLife.PENDING_CONTROLLED_SHUTDOWN:
            self._wait_to_stop(response)
        elif life is not BrokerLife.SHUTTING_DOWN:
            if life is BrokerLife.RECOVERY and not response.is_fenced:
                self.life = BrokerLife.RUNNING
                self.on_running()
            self._soon(self._interval_us)

    def _wait_to_stop(self, response: BrokerHeartbeatResponse) -> None:
        if response.should_shut_down:
            self._stopped_in_order = self.epoch
            self._stop(None)
            return
        first, self._asked_to_stop = not self._asked_to_stop, True
        self._soon(_STOPPING_US if first else self._interval_us)

    def _stop(self, _: object) -> None:
        self.life = BrokerLife.SHUTTING_DOWN
        if self._next is not None:
            self._host.cancel(self._next)
            self._next = None
        self._beats.close()
        self._follows.close()
        self._alterations.stop()
        stopped, self._on_stopped = self._on_stopped, None
        if stopped is not None:
            stopped()

    def _after_failure(self) -> None:
        """Wait for an interval; before 4.1 for 100 ms, 200 ms, … up to a session, each 2 % more or less."""
        self._at_once = False
        if not self._config.retry_wait_grows:
            self._soon(self._interval_us)
            return
        most_us = self._config.session_us
        wait_us = min(_FIRST_WAIT_US << min(self._failures, 20), most_us)
        self._failures += 1
        if self._luck is None:
            self._luck = self._loop.stream("controller-backoff", self._host.name, self._host.incarnation)
        spread = wait_us * _JITTER_PERCENT // 100
        self._soon(min(wait_us - spread + self._luck.below(2 * spread + 1), most_us))

    # --- metadata --------------------------------------------------------------------------------------------

    def _follow(self, _: object) -> None:
        """Ask what changed after the image this broker has."""
        if self.life is not BrokerLife.SHUTTING_DOWN and not self._follows.busy:
            self._follows.send(MetadataLogRequest(self._node, self.image.version), self._on_metadata, _LONG_POLL_US)

    def _on_metadata(self, response: MetadataLogResponse | None) -> None:
        if response is None:
            self._host.call_at(self._loop.now_us + _FOLLOW_AGAIN_US, self._follow)
            return
        self.image = response.image
        self._follow(None)
        if self._published:
            self._on_image(response.image, response)

    def _publish_first(self) -> None:
        """Let the broker act on the image that it has read, in which everything is new to it."""
        self._published = True
        changed = difference(EMPTY, self.image)
        everything = MetadataLogResponse(self.image, changed.partitions, changed.topics, changed.brokers)
        self._on_image(self.image, everything)

    def _follow_anew(self) -> None:
        self._follows.close()
        self._follow(None)
