"""What the parts of one running consumer share: identity, state, the one wake-up, and its voice in the trace.

One `Member` lives from the start of a process to its end; a restart makes a new one. Its parts (coordinator client,
heartbeat, joining …) know each other through it. All of them run on the member's host, either in its one story (the
application's thread with its poll loop) or as events (answers that arrive, timers). What an event wants of the story
it leaves in a field and sets `wake`; the story looks at every field when it comes round. That is the Java client's own
division: answers are stored by whoever reads the socket, and acted upon in `poll`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """The shared part of one consumer. The parts are set by `Consumer` right after it is made."""

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
        "stirred",
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
        self.state = ClientState.UNJOINED
        self.generation = NO_MEMBERSHIP
        #: The generation of the last rebalance that was completed, though it may have been reset since.
        self.joined = NO_MEMBERSHIP
        #: request.timeout.ms in microseconds, or when a library looks whether it has passed.
        self.request_timeout_us = profile.pace.timeout_ms(settings.request_timeout_ms) * MS_US
        self.started_us = loop.now_us
        self.wake = SharedWake(loop) if profile.pace.rebalances_apart else Wake(loop)
        #: Called after whatever comes over a connection, while a commit waits for that (`commit/before_rebalance.py`).
        self.stirred: Callable[[], None] | None = None
        self._backoffs: dict[str, Backoff] = {}
        self.closing = False
        self.failure: ClientFailure | None = None

    # -- identity -----------------------------------------------------------------------------------------------

    def become(self, state: ClientState, reason: str | None = None) -> None:
        """Enter a client state."""
        before, self.state = self.state, state
        if before is not state and self.trace.wants(_STATE):
            self.say(_STATE, from_=before.value, to=state.value, reason=reason)

    def fail(self, failure: ClientFailure) -> None:
        """Store what the next poll will throw (as the heartbeat thread does)."""
        if self.failure is None:
            self.failure = failure
            self.wake.set()

    def version(self, api: Api) -> int:
        """The version this library and the brokers talk in: the newest that both know.

        Raises ClientFailure UNSUPPORTED_VERSION where there is none.
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

    # -- voice --------------------------------------------------------------------------------------------------

    def say(
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
        """Emit an event of this member, with host, group, member id and generation filled in; returns its seq."""
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
        """Whether an error was the last of this client: a library with a main thread does nothing any more."""
        failure = self.failure
        return failure is not None and failure.lasting and self.pace.ends_with_fatal_error

    @property
    def group_comes_first(self) -> bool:
        """Whether a rebalance is in the works, which `poll` sees to before auto-commits at intervals and positions.

        A library's main thread sees to all of them at once. Source: `ConsumerCoordinator.poll`, false until it is over.
        """
        return self.membership.rebalances and self.subscription.active and self.pace.poll_begins_with_group

    def tell(self, error: str, reason: str) -> None:
        """The application is told, among its records, and goes on."""
        self.warn(f"poll threw {error}: {reason}; polling again")

    def warn(self, reason: str) -> None:
        """Emit what the client's own log would warn of."""
        self.say(Kind.WARNING, reason=reason)

    # -- luck ---------------------------------------------------------------------------------------------------

    def luck(self, purpose: str) -> Callable[[], Stream]:
        """A way to make the random stream of this process for a purpose, for whoever needs it one day."""
        return partial(self.loop.stream, purpose, self.host.name, self.host.incarnation)

    def backoff(self, purpose: str) -> Backoff:
        """The waits between attempts of one kind; there are none before the first of them has failed."""
        found = self._backoffs.get(purpose)
        if found is None:
            found = self._backoffs[purpose] = Backoff(self.settings, self.profile, self.luck(purpose))
        return found

    def succeeded(self, purpose: str) -> None:
        """An attempt of that kind went well: the next wait is the shortest again."""
        if self._backoffs:
            self.backoff(purpose).reset()

    # -- times --------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """The present instant."""
        return self.loop.now_us

    def wake_at(self, when_us: int) -> None:
        """Wake the story at an instant (a backoff that ends)."""
        self.host.call_at(when_us, self._wake)

    def _wake(self, _: Any) -> None:
        self.wake.set()


_AGREED: dict[tuple[str, str], tuple[ClientProfile, dict[Api, int]]] = {}


def _agreed(profile: ClientProfile, release: str) -> dict[Api, int]:
    """The versions found so far: one table for all members of a library that talk to brokers of a release."""
    kept = _AGREED.get((profile.name, release))
    if kept is None or kept[0] is not profile:
        kept = _AGREED[profile.name, release] = (profile, {})
    return kept[1]
