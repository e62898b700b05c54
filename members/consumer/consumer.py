"""A simulated consumer process: the object that scenarios, the pytest plugin and users hold.

`Consumer` survives restarts: `start` begins a process, `close`, `crash` or a failure ends it, and the next `start`
begins a process without state on the same host. The parts of a process are modules of their own (listed in
`members/__init__.py`); `Consumer` puts them together.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from groupsim.assignors import registry
from groupsim.assignors.base.interface import Assignor
from groupsim.eventloop.interface import Order
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import as_us, show_us
from groupsim.members.behaviour import Behaviour
from groupsim.members.classic.membership import ClassicMembership
from groupsim.members.classic.ownership import Ownership, common_protocol
from groupsim.members.commit.committer import Committer
from groupsim.members.consumer.leave import close_process
from groupsim.members.consumer.poll_loop import PollLoop
from groupsim.members.consumer.rounds import Rounds
from groupsim.members.consumer.workers import StuckWorkers
from groupsim.members.coordinator_client import CoordinatorClient
from groupsim.members.failures import ClientFailure, PluginErrors
from groupsim.members.fetch.fetcher import PullFetcher
from groupsim.members.fetch.light import LightFetcher
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.fetch.push_fetcher import PushFetcher
from groupsim.members.generation import NO_MEMBERSHIP
from groupsim.members.leaders import Leaders
from groupsim.members.links import Links
from groupsim.members.member import Member
from groupsim.members.metadata import MetadataView
from groupsim.members.ownership.owned import CALLBACKS
from groupsim.members.profiles import PROFILES, ClientProfile, profile_under
from groupsim.members.settings import CLASSIC, ConsumerSettings, SettingError
from groupsim.members.subscription import (
    Assigned,
    Pattern,
    Regex,
    SubscriptionState,
    Topics,
    Wanted,
    listed,
    partition_of,
)

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.fetch_counts import FetchCounts
    from groupsim.members.interfaces import Data, OnRecord, Transport
    from groupsim.members.membership import Membership
    from groupsim.protocol.messages.group import TopicPartition

ENFORCED = "rebalance enforced by user"
_PLAIN = Behaviour()
STABLE = "STABLE"  # in a group of either protocol
NOT_STARTED, STOPPED, CRASHED, FAILED = "NOT_STARTED", "STOPPED", "CRASHED", "FAILED"


#: Makes an awaitable from its description and its work.
Awaits = Callable[[str, Callable[[], Coroutine[Any, Any, None]]], Awaitable[None]]


def _as_it_is(words: str, work: Callable[[], Coroutine[Any, Any, None]]) -> Awaitable[None]:
    return work()


def resolve_assignors(settings: ConsumerSettings) -> tuple[Assignor, ...]:
    """Resolve the configured assignors, by name or `module:Class`; each consumer gets its own objects."""
    return tuple([registry.resolve(name) for name in settings.assignors])


class Consumer:
    """One consumer process on one host. `cluster` or a test makes it, and calls its methods from outside the host.

    `settings`, `profile` and `behaviour` are those it was made with; `failed` is the ClientFailure that ended it, else
    None; `host.name` is its name. `data` supplies records on the light cluster; with None the consumer pulls records
    from brokers.
    """

    def __init__(
        self,
        loop: EventLoop,
        host_name: str,
        settings: ConsumerSettings,
        transport: Transport,
        data: Data | None,
        behaviour: Behaviour | None = None,
        profile: ClientProfile | None = None,
        *,
        plugin_errors: PluginErrors = PluginErrors.STOP,
        assignors: Callable[[ConsumerSettings], Sequence[Assignor]] = resolve_assignors,
    ) -> None:
        self.loop = loop
        self.host = loop.host(host_name)
        self.settings = settings
        self.profile = profile_under(PROFILES["java"] if profile is None else profile, settings.group_protocol)
        self._transport = transport
        self._data = data
        self._behaviour = _PLAIN if behaviour is None else behaviour
        self._plugin_errors = plugin_errors
        self._assignors = assignors
        self._subscription: Wanted | None = None
        self._member: Member | None = None
        self._ended = loop.event()
        self._ended.set()
        self._end_state = NOT_STARTED
        self._leave: bool | None = None
        self._close_cause = 0
        self._poll_loop: PollLoop | None = None
        self._quiet_before = 0
        self._fetched_before: FetchCounts | None = None
        self._paused_us = 0  # when the last pause began
        #: Called with the content of every record that poll returns, from the next start on; needs brokers' logs.
        self.on_record: OnRecord | None = None
        #: Makes awaitables; a test fixture records here those that a test forgot to await.
        self.awaits: Awaits = _as_it_is
        #: The failure that ended the process, if one did.
        self.failed: ClientFailure | None = None
        #: The assignors of the first process, made now so that an invalid one is refused at once.
        self._first_assignors: Sequence[Assignor] | None = None
        if settings.group_protocol == CLASSIC:
            self._first_assignors = self._assignors(settings)
            common_protocol(self._first_assignors)

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether a process runs (it may be paused, or closing)."""
        return self._member is not None

    @property
    def state(self) -> str:
        """The client's state (UNJOINED, PREPARING_REBALANCE …), or NOT_STARTED, STOPPED, CRASHED, FAILED."""
        return self._end_state if self._member is None else self._member.state.value

    @property
    def settled(self) -> bool:
        """Whether the member is stable: callbacks have ended, and no further rebalance is pending."""
        member = self._member
        if member is None or member.state.value != STABLE:
            return False
        return not member.membership.rebalances

    @property
    def subscription(self) -> tuple[str, ...] | str | None:
        """The subscribed topics; the text of a pattern or regular expression; None without a subscription."""
        wanted = self._subscription
        return wanted.names if isinstance(wanted, Topics) else getattr(wanted, "text", None)

    @property
    def subscribed_to_regex(self) -> bool:
        """Whether the subscription is a regular expression that the broker resolves."""
        return isinstance(self._subscription, Regex)

    @property
    def member_id(self) -> str:
        """The client's member id; "" without one."""
        return self._member.generation.member_id if self._member else ""

    @property
    def generation(self) -> int:
        """The client's generation, in a consumer group its member epoch; -1 without one."""
        return self._member.generation.id if self._member else NO_MEMBERSHIP.id

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that the client considers its own, in the order of the assignment."""
        return tuple(self._member.ownership.owned) if self._member else ()

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset that poll returns, by owned partition with a known position."""
        return dict(self._member.fetcher.positions) if self._member else {}

    @property
    def heartbeats(self) -> int:
        """Number of heartbeats answered without an error, over all starts of the process."""
        return self._quiet_before + (self._member.membership.quiet_heartbeats if self._member else 0)

    @property
    def fetches(self) -> FetchCounts | None:
        """Counts of fetches over all starts of the process; None where records do not come by its own fetches."""
        now = self._member.fetcher.counts() if self._member else None
        before = self._fetched_before
        return now if before is None else before if now is None else before.and_(now)

    # -- process ------------------------------------------------------------------------------------------------

    def reconfigure(self, settings: ConsumerSettings, profile: ClientProfile) -> None:
        """Let further processes have these settings. Raises ValueError while one runs, and for impossible assignors."""
        if self.running:
            raise ValueError(f"{self.host.name} runs: settings change with the next process")
        self.settings = settings
        self.profile = profile_under(profile, settings.group_protocol)
        self._first_assignors = None
        if settings.group_protocol == CLASSIC:
            self._first_assignors = self._assignors(settings)
            common_protocol(self._first_assignors)

    def start(self) -> None:
        """Begin a process. Raises RuntimeError when one runs."""
        if self._member is not None:
            raise RuntimeError(f"consumer {self.host.name} runs already")
        self.host.start()
        self._leave, self.failed = None, None
        self._ended.clear()
        member = self._member = self._assemble()
        before = member.trace.cause
        if member.trace.wants(Kind.PROCESS_STARTED):
            member.trace.begin(member.emit(Kind.PROCESS_STARTED, payload=self._start_payload()))
        self._launch(member)
        member.trace.cause = before  # several processes that start at once do not cause each other

    def _start_payload(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "client_id": settings.client_id,
            "profile": self.profile.name,
            **({"release": self.profile.release} if self.profile.release else {}),
            "instance_id": settings.group_instance_id,
            "config": dict(settings.changed),
            **self._subscribed(),
        }

    def _subscribed(self) -> dict[str, Any]:
        subscription = self._subscription
        if isinstance(subscription, Topics):
            return {"topics": list(subscription.names)}
        if isinstance(subscription, Assigned):
            return {"assign": [str(partition) for partition in subscription.partitions]}
        if isinstance(subscription, Regex):
            return {"regex": subscription.text}
        return {} if subscription is None else {"pattern": subscription.text}

    def _assemble(self) -> Member:
        member = Member(
            self.loop,
            self.host,
            self.settings,
            self.profile,
            self._behaviour,
            self._transport,
            self._plugin_errors,
            self.on_record,
        )
        member.subscription = SubscriptionState()
        member.subscription.change(self._subscription)
        member.links = Links(member)
        member.coordinator = CoordinatorClient(member)
        member.metadata = MetadataView(member, None if self._data is not None else Leaders())
        member.fetcher = self._fetcher_of(member)
        if self.settings.group_protocol == CLASSIC:
            assignors, self._first_assignors = self._first_assignors or self._assignors(self.settings), None
            ownership = member.ownership = Ownership(member, assignors)
            member.commits = Committer(member)
            member.membership = self._membership_of(member, ownership)
        else:
            self._join_by_consumer_protocol(member)
        self._rounds = member.rounds = Rounds(member)
        return member

    def _membership_of(self, member: Member, ownership: Ownership) -> Membership:
        return ClassicMembership(member, ownership)

    def _join_by_consumer_protocol(self, member: Member) -> None:
        # Imported here: a run of classic members starts without these dozen modules.
        from groupsim.members.consumer_protocol.membership import ConsumerMembership
        from groupsim.members.consumer_protocol.ownership import ConsumerOwnership

        ownership = member.ownership = ConsumerOwnership(member)
        member.commits = Committer(member)
        member.membership = ConsumerMembership(member, ownership)

    def _fetcher_of(self, member: Member) -> Fetcher:
        if self._data is not None:
            return LightFetcher(member, self._data)
        limit = self._behaviour.push_buffer
        return PullFetcher(member) if limit is None else PushFetcher(member, limit, self.crash)

    def _launch(self, member: Member) -> None:
        """Plan the first step: an event, or the task where that step may take time (`rounds.py`)."""
        if self._rounds.needs_task():
            self._start_task(member)
        else:
            self.host.call_at(self.loop.now_us, self._begin, member, order=Order.TASK)

    def _begin(self, member: Member) -> None:
        try:
            member.metadata.refresh()
        except ClientFailure as failure:
            self._start_task(member, failure)
            return
        self._poll_loop = PollLoop(member, self._rounds)
        self._poll_loop.begin(partial(self._start_task, member))

    def _start_task(self, member: Member, failure: ClientFailure | None = None) -> None:
        self.host.start_soon(self._live, member, failure, name=f"consumer {self.host.name}")

    async def _live(self, member: Member, failure: ClientFailure | None = None) -> None:
        """Run the task of one process, from its start or (`PollLoop.begin`) from within its first poll."""
        try:
            if failure is not None:
                raise failure
            if self._poll_loop is None:
                member.metadata.refresh()
                self._poll_loop = PollLoop(member, self._rounds)
            await self._poll_loop.run()
            member.trace.begin(self._close_cause)
        except ClientFailure as failure:
            self.failed = failure
            member.closing = True
            member.trace.begin(member.emit(Kind.PROCESS_FAILED, error=failure.error, reason=failure.reason))
        await self._shut_down(member)
        if self.failed is None:
            member.emit(Kind.PROCESS_STOPPED, reason="closed")
        self._over(STOPPED if self.failed is None else FAILED)
        self.host.crash()  # cancels the timers of the process

    async def _shut_down(self, member: Member) -> None:
        try:
            await close_process(member, self._leave)
        except ClientFailure as failure:
            member.warn(f"close threw {failure}")
            member.ownership.release_all("closed")
            member.links.close()

    def _over(self, state: str) -> None:
        if self._member is not None:
            self._fetched_before = self.fetches
            self._quiet_before += self._member.membership.quiet_heartbeats
        self._member = self._poll_loop = None
        self._end_state = state
        self._ended.set()

    def close(self, leave: bool | None = None) -> Awaitable[None]:
        """Close cleanly and wait for the end: the handler finishes its batch, then commit, callbacks, LeaveGroup.

        `leave` as in `close_process`: None as in library and settings, True also for static members, False to stay.
        """
        return self.awaits(f"{self.host.name}.close()", partial(self._close, leave))

    async def _close(self, leave: bool | None) -> None:
        self.begin_close(leave)
        await self._ended.wait()

    def begin_close(self, leave: bool | None = None) -> None:
        """Ask the process to close, without waiting."""
        member = self._member
        if member is not None:
            self._leave = leave
            self._close_cause = member.trace.cause
            member.closing = True
            member.wake.hurry()

    def ended(self) -> Awaitable[None]:
        """Wait until no process runs."""
        return self.awaits(f"{self.host.name}.ended()", self._ended.wait)

    def crash(self, reason: str = "killed") -> None:
        """Kill the process: no commit, no callback, no LeaveGroup."""
        member = self._member
        if member is None:
            return
        member.trace.begin(member.emit(Kind.PROCESS_CRASHED, reason=reason))
        member.closing = True
        member.ownership.release_all("crashed")
        member.fetcher.close()
        member.links.close()
        self._over(CRASHED)
        self.host.crash()

    def pause(self, us: int | str) -> None:
        """Pause the whole process (a long garbage collection) for so many microseconds, or "30s"."""
        member, us = self._member, as_us(us)
        if member is None or self.host.paused:
            return
        member.emit(Kind.PROCESS_PAUSED, payload={"pause_us": us}, reason=f"standing still for {show_us(us)}")
        member.membership.pausing()
        self.host.pause()
        self._paused_us = self.loop.now_us
        self.loop.call_at(self.loop.now_us + us, self._resume, self.host.incarnation)

    def _resume(self, incarnation: int) -> None:
        member = self._member
        if member is not None and self.host.paused and self.host.incarnation == incarnation:
            member.trace.begin(member.emit(Kind.PROCESS_RESUMED))
            if member.membership.in_poll:
                member.fetcher.was_away(self._paused_us)
            self.host.resume()

    # -- the application ----------------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str] = (), *, pattern: str | None = None, regex: str | None = None) -> None:
        """Subscribe to topics, to a pattern that the client resolves, or to a regex (RE2/J) that the broker resolves.

        It holds from the next poll on. Raises SettingError for a bad pattern, and for a regex with the classic
        protocol; RuntimeError where a regex and another kind of subscription replace each other, as Kafka does
        (`SubscriptionState.setSubscriptionType`).
        """
        text = pattern if regex is None else regex
        if self._patterns_to_broker:
            self._exclude(Assigned)
            self._subscription = Topics(listed(topics, "topics")) if text is None else Regex(f"(^{text}$)")
        elif regex is None:
            self._exclude(Assigned, Regex)
            self._subscription = Topics(listed(topics, "topics")) if pattern is None else Pattern(pattern)
        else:
            self._exclude(Assigned, Topics, Pattern)
            if self.settings.group_protocol == CLASSIC:
                remedy = "set group.protocol: consumer, or subscribe by a pattern, which the client resolves"
                raise SettingError("regex", regex, "the classic protocol cannot subscribe to it", remedy)
            self._subscription = Regex(regex)
        self._apply_subscription()

    @property
    def _patterns_to_broker(self) -> bool:
        """Whether patterns are resolved by the coordinator, as under librdkafka's consumer protocol."""
        is_consumer = self.settings.group_protocol != CLASSIC
        return is_consumer and self.profile.consumer_protocol.patterns_to_broker

    def assign(self, partitions: Iterable[str | TopicPartition]) -> None:
        """Consume these partitions from the next poll on without joining the group; the group's offsets are used.

        Raises RuntimeError while there is a subscription, as Kafka does, ValueError for text that names no partition.
        """
        self._exclude(Topics, Pattern, Regex)
        self._subscription = Assigned(tuple(map(partition_of, listed(partitions, "partitions"))))
        self._apply_subscription()

    def _exclude(self, *kinds: type) -> None:
        if isinstance(self._subscription, kinds):
            raise RuntimeError(
                f"{self.host.name}: subscription to topics, partitions and pattern are mutually exclusive; "
                "unsubscribe first"
            )

    def unsubscribe(self) -> None:
        """Give all partitions up and leave the group; the process continues to poll."""
        self._subscription = None
        self._apply_subscription()

    def _apply_subscription(self) -> None:
        member = self._member
        if member is not None:
            member.subscription.change(self._subscription)
            if not self.subscribed_to_regex:  # its topics are known with the next target
                member.metadata.refresh()
            member.wake.hurry()

    def enforce_rebalance(self, reason: str = "") -> None:
        """Request a rebalance at the next poll (`enforceRebalance`); the default reason is Java's own."""
        if self._member is not None:
            self._member.membership.request_rejoin(reason or ENFORCED)

    @property
    def behaviour(self) -> Behaviour:
        """The application's behaviour; it may be replaced while the process runs."""
        return self._behaviour

    @behaviour.setter
    def behaviour(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        if self._member is not None:
            self._member.behaviour = behaviour
            self._member.wake.set()

    def change_behaviour(self, **changes: Any) -> None:
        """Replace some fields of the behaviour, e.g. `processing="7m"`."""
        self.behaviour = evolve(self._behaviour, **changes)

    def block_poll(self, us: int | str) -> None:
        """Keep the application's thread away from poll for so many microseconds, or "30s".

        It leaves at once if it waits in poll, else after its batch.
        """
        if self._poll_loop is not None:
            self._poll_loop.block(as_us(us))

    def block_heartbeats(self, us: int | str) -> None:
        """Keep the library's heartbeat thread, but not the application, from running for so long (µs, or "30s").

        Raises ValueError for a library without such a thread.
        """
        member, us = self._member, as_us(us)
        if not self.profile.pace.heartbeats_in_background:
            raise ValueError(f"{self.host.name}: {self.profile.name} sends heartbeats from poll; block poll instead")
        if member is not None:
            member.emit(Kind.HEARTBEATS_BLOCKED, payload={"blocked_us": us})
            member.membership.block_heartbeats(us)

    def block_callback(self, kind: str, us: int | str) -> None:
        """Extend the next callback of this kind (assigned, revoked, lost) by so many microseconds, or "30s".

        Raises ValueError for another kind.
        """
        if self._member is not None:
            self._member.ownership.block_next(_callback(kind), as_us(us))

    @property
    def busy_us(self) -> int:
        """Time that the handlers of this process have worked since its start, in microseconds of virtual time."""
        return self._rounds.busy_us if self.running else 0

    def stick_workers(self, us: int | str, partitions: Iterable[str | TopicPartition] | None = None) -> None:
        """Block the application's workers for so many microseconds, or "30s", while the application polls on.

        `partitions` are those of the blocked workers; None: one worker has all. Afterwards a worker finishes its
        records, unless the partition was lost meanwhile.
        """
        member = self._member
        if member is None:
            return
        named = None if partitions is None else [partition_of(one) for one in partitions]
        stuck = self._rounds.workers = StuckWorkers(member, self._rounds, named)
        member.host.call_at(member.now_us + as_us(us), StuckWorkers.end, stuck)

    def raise_in_callback(self, kind: str, message: str) -> None:
        """Make the next callback of this kind raise. Raises ValueError for another kind."""
        if self._member is not None:
            self._member.ownership.raise_next(_callback(kind), message)

    def __repr__(self) -> str:
        return f"<consumer {self.host.name} of {self.settings.group_id} {self.state} generation {self.generation}>"


def _callback(kind: str) -> str:
    if kind not in CALLBACKS:
        raise ValueError(f"no callback {kind!r}; there are {', '.join(CALLBACKS)}")
    return kind
