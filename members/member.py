"""State that the parts of one running consumer share: identity, client state, the wake-up flag, and its trace events.

A `Member` is one process from start to end; a restart makes a new one. Its parts (coordinator client, heartbeat,
rebalance …) refer to each other through it. They run on the member's host, either in its one task (the application's
thread with its poll loop) or as events (answers that arrive, timers). An event that needs the task stores its result in
a field and sets `wake`; the task reads all those fields when it wakes. The Java client divides its work the same way:
the thread that reads the socket stores an answer, and `poll` acts on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.backoff import Backoff
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import NO_MEMBERSHIP, ClientState
from groupsim.members.wake import SharedWake, Wake
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import Api
from groupsim.protocol.messages.releases import client_version

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host
    from groupsim.eventloop.randomness import Stream
    from groupsim.members.behaviour import Behaviour
    from groupsim.members.failures import PluginErrors
    from groupsim.members.interfaces import OnRecord, Transport
    from groupsim.members.links import Links
    from groupsim.members.membership import Membership
    from groupsim.members.metadata import MetadataView
    from groupsim.members.parts import Application, Commits, Coordinator, Partitions, RecordSource
    from groupsim.members.profiles import ClientProfile
    from groupsim.members.settings import ConsumerSettings
    from groupsim.members.subscription import SubscriptionState

_STATE = Kind.CLIENT_STATE  # looked up once: members of an enumeration are found slowly


class Member:
    """The shared state of one consumer. `Consumer` sets the parts right after it is made."""

    __slots__ = (
        "_backoffs",
        "behaviour",
        "closing",
        "commits",
        "coordinator",
        "failure",
        "fetcher",
        "generation",
        "group",
        "host",
        "joined",
        "links",
        "loop",
        "membership",
        "metadata",
        "on_network_event",
        "on_record",
        "ownership",
        "pace",
        "plugin_errors",
        "profile",
        "request_timeout_us",
        "rounds",
        "settings",
        "started_us",
        "state",
        "subscription",
        "trace",
        "transport",
        "versions",
        "wake",
    )

    commits: Commits
    coordinator: Coordinator
    fetcher: RecordSource
    links: Links
    membership: Membership
    metadata: MetadataView
    ownership: Partitions
    rounds: Application
    subscription: SubscriptionState

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        settings: ConsumerSettings,
        profile: ClientProfile,
        behaviour: Behaviour,
        transport: Transport,
        plugin_errors: PluginErrors,
        on_record: OnRecord | None = None,
    ) -> None:
        self.loop = loop
        self.host = host
        self.trace = loop.trace
        self.settings = settings
        self.profile = profile
        self.pace = profile.pace
        self.behaviour = behaviour
        self.transport = transport
        self.plugin_errors = plugin_errors
        self.on_record = on_record
        self.versions = _agreed(profile, transport.release)
        self.group = settings.group_id
        #: The client's state; its protocol has its own (`ClientState`, `consumer_protocol.states.MemberState`).
        self.state: StrEnum = ClientState.UNJOINED
        self.generation = NO_MEMBERSHIP
        #: The generation of the last completed rebalance; it may have been reset since.
        self.joined = NO_MEMBERSHIP
        #: request.timeout.ms in microseconds, rounded up to the interval at which the library checks for timeouts.
        self.request_timeout_us = profile.pace.timeout_ms(settings.request_timeout_ms) * MS_US
        self.started_us = loop.now_us
        self.wake = SharedWake(loop) if profile.pace.rebalances_in_task else Wake(loop)
        #: Called for each network event while a commit waits for one (`commit/before_rebalance.py`).
        self.on_network_event: Callable[[], None] | None = None
        self._backoffs: dict[str, Backoff] = {}
        self.closing = False
        self.failure: ClientFailure | None = None

    # -- identity -----------------------------------------------------------------------------------------------

    def become(self, state: StrEnum, reason: str | None = None) -> None:
        """Enter a client state, and emit the change."""
        before, self.state = self.state, state
        if before is not state and self.trace.wants(_STATE):
            self.emit(_STATE, from_=before.value, to=state.value, reason=reason)

    def fail(self, failure: ClientFailure) -> None:
        """Store the failure that the next poll throws, as the heartbeat thread does."""
        if self.failure is None:
            self.failure = failure
            self.wake.set()

    def version(self, api: Api) -> int:
        """Return the newest version of an API that this library and the brokers share.

        Raises ClientFailure UNSUPPORTED_VERSION where they share none.
        """
        known = self.versions.get(api)
        if known is None:
            known = self.versions[api] = self._negotiate(api)
        return known

    def _negotiate(self, api: Api) -> int:
        try:
            return client_version(api, self.profile.versions[api], self.transport.release)
        except ProtocolError as error:
            raise ClientFailure("UNSUPPORTED_VERSION", str(error), fatal=True) from error

    # -- trace --------------------------------------------------------------------------------------------------

    def emit(
        self,
        kind: Kind,
        *,
        topic: str | None = None,
        partition: int | None = None,
        api: str | None = None,
        correlation: int | None = None,
        error: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        reason: str | None = None,
        span: int | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> int:
        """Emit an event with this member's host, group, member id and generation; returns its seq, 0 if not wanted."""
        trace, generation = self.trace, self.generation
        if not trace.wants(kind):
            return 0
        # fmt: off
        return trace.emit(
            kind, self.host.name, self.group,
            generation.member_id or None, generation.id if generation.id >= 0 else None,
            topic, partition, api, correlation, error, from_, to, reason, span, None, payload,
        )
        # fmt: on

    @property
    def is_done(self) -> bool:
        """Whether a fatal error has ended this client: a library with a main thread does nothing after one."""
        failure = self.failure
        return failure is not None and failure.lasting and self.pace.ends_with_fatal_error

    @property
    def group_comes_first(self) -> bool:
        """Whether a rebalance is pending, which `poll` handles before interval auto-commits and positions.

        A library with a main thread handles them in parallel. `ConsumerCoordinator.poll` returns false meanwhile.
        """
        return self.membership.rebalances and self.subscription.active and self.pace.poll_begins_with_group

    def report_error(self, error: str, reason: str) -> None:
        """Emit an error that the library reports to the application as a message, without a failed poll."""
        self.warn(f"poll threw {error}: {reason}; polling again")

    def warn(self, reason: str) -> None:
        """Emit a warning of the client's own log."""
        self.emit(Kind.WARNING, reason=reason)

    # -- random streams -----------------------------------------------------------------------------------------

    def stream_factory(self, purpose: str) -> Callable[[], Stream]:
        """Return a function that makes this process's random stream for a purpose, at the first use of the stream."""
        return partial(self.loop.stream, purpose, self.host.name, self.host.incarnation)

    def backoff(self, purpose: str) -> Backoff:
        """Return the waits between attempts of one kind; they exist from the first failure on."""
        found = self._backoffs.get(purpose)
        if found is None:
            found = self._backoffs[purpose] = Backoff(self.settings, self.profile, self.stream_factory(purpose))
        return found

    def succeeded(self, purpose: str) -> None:
        """Restart the waits of that kind at the shortest, after a success."""
        if self._backoffs:
            self.backoff(purpose).reset()

    # -- times --------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """The current time of the event loop, in microseconds."""
        return self.loop.now_us

    def wake_at(self, when_us: int) -> None:
        """Set `wake` at an instant, such as the end of a backoff."""
        self.host.call_at(when_us, self._wake)

    def _wake(self, _: Any) -> None:
        self.wake.set()


_AGREED: dict[tuple[str, str], tuple[ClientProfile, dict[Api, int]]] = {}


def _agreed(profile: ClientProfile, release: str) -> dict[Api, int]:
    """Return the negotiated versions; members of one library on brokers of one release share the table."""
    kept = _AGREED.get((profile.name, release))
    if kept is None or kept[0] is not profile:
        kept = _AGREED[profile.name, release] = (profile, {})
    return kept[1]
