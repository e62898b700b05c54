"""The membership in a consumer group (KIP-848): state, epoch, heartbeats, reconciliation, poll limit.

Two actors work on it. The application's thread calls `poll`, and runs the callbacks there (`callbacks.py`). The
background thread sends heartbeats and handles answers, whether the application polls or not; one pass of it is `run`,
after every input and at the earliest deadline. A pass takes no time, so a second pass follows at once where the state
has changed: an acknowledgement leaves at the instant at which the reconciliation ends.

The coordinator assigns partitions in its answers. The member reconciles, reports what it owns, and is stable; no other
member waits for it, except for partitions that it has yet to give up. Its epoch fences it: an older one is refused
(FENCED_MEMBER_EPOCH), after which partitions are lost and the member joins again with epoch 0 and the same member id,
which the client draws itself (KIP-1082).

Every `poll` is an event of the Java client (`AsyncPollEvent`), whose order `poll` keeps: reconcile, join if the
application has subscribed since, restart the poll limit (a stale member joins again). Records, the commit at its
interval and positions follow in the poll loop.

Sources: `AbstractMembershipManager`, `ConsumerMembershipManager`, `ApplicationEventProcessor` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.consumer_protocol.assignment import NONE, LocalAssignment, by_topic
from groupsim.members.consumer_protocol.callbacks import Callbacks
from groupsim.members.consumer_protocol.heartbeat import ConsumerHeartbeats
from groupsim.members.consumer_protocol.ownership import ConsumerOwnership
from groupsim.members.consumer_protocol.poll_timer import PollTimer
from groupsim.members.consumer_protocol.reconciliation import Reconciliation
from groupsim.members.consumer_protocol.states import (
    AT_ONCE,
    OUTSIDE,
    TAKES_ASSIGNMENT,
    MemberState,
    may_follow,
)
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import generation_of
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.ports import Ports
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatResponse,
)
from groupsim.protocol.messages.group import NO_GENERATION
from groupsim.protocol.topic_ids import random_uuid

if TYPE_CHECKING:
    from groupsim.members.membership import Membership

_S = MemberState
_S_RECONCILING = _S.RECONCILING  # bound once: access to a member of an enumeration is slow
POLL_LIMIT = "consumer poll timeout has expired"
_LIMIT = ("MaxPollExceeded", "max.poll.interval.ms was exceeded")
#: The outcome of a leave for which no answer came.
_UNANSWERED = Disconnected("the heartbeat that leaves was not answered")


class ConsumerMembership:
    """The membership of one process in a consumer group. `Membership` documents the methods."""

    __slots__ = (
        "_by_poll_limit",
        "_heartbeats",
        "_held_until_us",
        "_ids",
        "_leaves_first",
        "_matched",
        "_member",
        "_on_left",
        "_ownership",
        "_reconciliation",
        "_rejoins",
        "_released",
        "_running",
        "_searches",
        "_seen",
        "callbacks",
        "enter_poll",
        "epoch",
        "expired",
        "leave_poll",
        "member_id",
        "poll_timer",
        "state",
    )

    def __init__(self, member: Ports, ownership: ConsumerOwnership) -> None:
        self._member = member
        self._ownership = ownership
        self.state = _S.UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        #: Drawn by the client, and kept as long as the process lives.
        self._ids = member.stream_factory("member-id")()
        self.member_id = random_uuid(self._ids.word)
        member.state = self.state
        member.generation = generation_of(NO_GENERATION, self.member_id, None)
        self.callbacks = Callbacks(member)
        self.poll_timer = PollTimer(member)
        self._reconciliation = Reconciliation(member, self, ownership, self.callbacks)
        self._heartbeats = ConsumerHeartbeats(member, self)
        self._matched = 0  # version of the metadata that the pattern was matched against
        self._seen = 0  # changes of the subscription that `poll` has seen
        self._by_poll_limit = False  # the member leaves because of the poll limit
        self._released = True  # a stale member has called back for what it lost
        self._rejoins = False  # a stale member joins when it has
        self._leaves_first = False  # a fenced member leaves by the poll limit before it joins again
        self.expired = False  #: the poll limit is over, and the member has not left yet
        self._on_left: Callable[[Outcome], None] | None = None
        self._searches = True  # the coordinator is looked up when it is unknown
        self._held_until_us = 0  # the background thread does not run before
        self._running = False
        # Bound methods without a call in between: every poll uses them.
        self.enter_poll: Callable[[], None] = self.poll_timer.enter
        self.leave_poll: Callable[[], None] = self.poll_timer.leave

    # -- the background thread ----------------------------------------------------------------------------------

    def run(self) -> None:
        """One pass, and more where the state asks for one at once (`RequestManagers`: coordinator, heartbeat, rest)."""
        member = self._member
        if self._running or member.loop.now_us < self._held_until_us:
            return
        self._running = True
        try:
            link = member.coordinator.link
            if (link is None or not link.open) and not member.coordinator.known and self._searches:
                member.coordinator.ensure()
            goes_on = True
            while goes_on:
                self._heartbeats.run()
                if self.state is _S_RECONCILING:
                    self._reconciliation.begin(in_poll=False)
                goes_on = self.state in AT_ONCE and self._heartbeats.may_overtake
        finally:
            self._running = False

    @property
    def current(self) -> LocalAssignment:
        """What was reconciled last, by topic ids."""
        return self._reconciliation.current

    @property
    def has_nothing(self) -> bool:
        """Whether nothing was reconciled yet, and there is nothing to reconcile."""
        return self._reconciliation.current.is_none and not self._reconciliation.in_progress

    @property
    def has_unsubscribed(self) -> bool:
        """Whether the member leaves, or has left, because the application unsubscribed or closes."""
        return self.epoch < 0 and not self._by_poll_limit

    def become(self, state: MemberState, reason: str | None = None) -> None:
        """Enter a state. Raises RuntimeError for a state that may not follow."""
        if not may_follow(self.state, state):
            raise RuntimeError(f"{self._member.host.name}: {state} may not follow {self.state}")
        self.state = state
        self._member.become(state, reason)

    def _set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        member = self._member
        number = epoch if epoch > 0 else NO_GENERATION
        if member.generation.id != number:
            member.generation = generation_of(number, self.member_id, None)
            if epoch > 0:
                member.joined = member.generation

    def _join(self) -> None:
        self._reconciliation.rejoined()
        self._set_epoch(JOIN_EPOCH)
        self.become(_S.JOINING)

    # -- answers ------------------------------------------------------------------------------------------------

    def accepted(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Handle an answer without an error (`onHeartbeatSuccess`)."""
        if self.state is _S.UNSUBSCRIBED and response.member_epoch < 0:
            self._left(response)
        if self.state in OUTSIDE or self.state is _S.LEAVING or response.member_epoch < 0:
            return
        if self.epoch != response.member_epoch or self._member.generation.id != self.epoch:
            self._set_epoch(response.member_epoch)
        if response.assignment is not None and self.state in TAKES_ASSIGNMENT:
            self._assigned(by_topic(response.assignment))

    def _assigned(self, partitions: Mapping[str, tuple[int, ...]]) -> None:
        reconciliation = self._reconciliation
        reconciliation.target = reconciliation.target.followed_by(partitions)
        self._member.subscription.assigned_ids = tuple(reconciliation.target.partitions)
        awaits = self._member.profile.consumer_protocol.awaits_partitions
        is_news = partitions or not (awaits and reconciliation.current.is_none)
        if not reconciliation.is_done and is_news:
            self.become(_S.RECONCILING)
            self._member.wake.set()
        elif self.state in (_S.RECONCILING, _S.JOINING):
            self.become(_S.STABLE)

    def heartbeat_failed(self) -> None:
        """Handle an error or a lost connection: a leave is sent once, whatever becomes of it."""
        if self.state is _S.UNSUBSCRIBED:
            self._left(_UNANSWERED)

    def _left(self, outcome: Outcome) -> None:
        on_left, self._on_left = self._on_left, None
        if on_left is not None:
            on_left(outcome)

    def fence(self, error: ErrorCode) -> None:
        """Lose all partitions and join again; a member that leaves is out at once (`transitionToFenced`)."""
        if self.state is _S.PREPARE_LEAVING:
            self._begin_leave(LEAVE_EPOCH)
        if self.state is _S.LEAVING:
            self._set_epoch(JOIN_EPOCH)
            self.become(_S.UNSUBSCRIBED, error.name)
            self._left(_UNANSWERED)
        if self.state in OUTSIDE:
            return
        self.become(_S.FENCED, error.name)
        if error is ErrorCode.UNKNOWN_MEMBER_ID and self._member.profile.consumer_protocol.new_id_when_unknown:
            self.member_id = random_uuid(self._ids.word)
        self._set_epoch(JOIN_EPOCH)
        self._lose(self._rejoin_if_fenced)

    def _rejoin_if_fenced(self) -> None:
        if self.state is _S.FENCED:
            self._join()
            if self._leaves_first:
                self._leaves_first = False
                self._leave_after_poll_limit()

    def fatal(self, failure: ClientFailure) -> None:
        """End the membership: `poll` calls back for lost partitions, and throws (`transitionToFatal`)."""
        before = self.state
        if before is _S.FATAL or not may_follow(before, _S.FATAL):
            return
        if self._member.pace.ends_with_fatal_error:
            self._member.fail(ClientFailure(failure.error, failure.reason, fatal=failure.fatal, lasting=True))
        else:
            self.callbacks.throw(failure)
        self.become(_S.FATAL, failure.error)
        self._set_epoch(JOIN_EPOCH)
        if before in (_S.LEAVING, _S.PREPARE_LEAVING):
            self._left(_UNANSWERED)
        elif before is not _S.UNSUBSCRIBED and self._member.profile.consumer_protocol.loses_when_fatal:
            self._lose(_nothing)

    def _lose(self, then: Callable[[], None]) -> None:
        """Have the application call back for lost partitions, and forget them; then go on."""
        partitions = list(self._ownership.owned)
        if partitions and self._reconciliation.finish_round():
            self.callbacks.ask(self._ownership.lose_all, partial(self._lost, then))
        elif partitions:
            self._ownership.stop_consuming(partitions)
            self.callbacks.ask(partial(self._ownership.lose, partitions), partial(self._lost, then))
        else:
            self._lost(then, None)

    def _lost(self, then: Callable[[], None], failure: ClientFailure | None) -> None:
        self._reconciliation.clear()
        then()
        self.run()

    # -- heartbeats ---------------------------------------------------------------------------------------------

    def heartbeat_generated(self) -> None:
        """Go on once a heartbeat is built (`onHeartbeatRequestGenerated`)."""
        if self.state is _S.ACKNOWLEDGING:
            self.become(_S.STABLE if self._reconciliation.is_done else _S.RECONCILING)
            self._member.wake.set()
        elif self.state is _S.LEAVING and self._by_poll_limit:
            self.become(_S.STALE)
            self._released = False
            self._lose(self._release)
        elif self.state is _S.LEAVING:
            self.become(_S.UNSUBSCRIBED)

    def heartbeat_skipped(self) -> None:
        """Leave without a heartbeat: there is no coordinator (`onHeartbeatRequestSkipped`)."""
        if self.state is _S.LEAVING:
            self.become(_S.UNSUBSCRIBED, "no coordinator to leave")
            self._set_epoch(JOIN_EPOCH)
            self._left(_UNANSWERED)

    def leave_by_poll_limit(self) -> None:
        """Leave at once, without callbacks: they follow when the application polls."""
        member = self._member
        seq = member.emit(Kind.POLL_EXPIRED, payload={"limit_us": self.poll_timer.limit_us})
        member.trace.begin(seq)
        self._by_poll_limit = True
        self.become(_S.PREPARE_LEAVING, POLL_LIMIT)
        self._begin_leave(self._leave_epoch(for_good=False))

    def _leave_after_poll_limit(self) -> None:
        """Report the limit, lose all partitions, leave, and join again; a fenced member has lost them first."""
        if self.state is _S.FENCED:
            self._leaves_first = True
        if self.state in OUTSIDE or not may_follow(self.state, _S.PREPARE_LEAVING):
            return
        if self.callbacks.pending:
            self.callbacks.tell(self._report_limit)
        else:
            self._member.report_error(*_LIMIT)
        self.become(_S.PREPARE_LEAVING, POLL_LIMIT)
        self._lose(self._leave_now)

    async def _report_limit(self) -> None:
        self._member.report_error(*_LIMIT)

    def _leave_now(self) -> None:
        if self.state is _S.PREPARE_LEAVING:
            self._by_poll_limit = self._rejoins = True
            self._begin_leave(self._leave_epoch(for_good=False))

    def expire(self) -> None:
        """The poll limit is over, and the member leaves when the application polls again."""
        if not self.expired:
            self.expired = True
            member = self._member
            member.trace.begin(member.emit(Kind.POLL_EXPIRED, payload={"limit_us": self.poll_timer.limit_us}))

    def _release(self) -> None:
        self._released = True
        if self._rejoins and self.state is _S.STALE:
            self._rejoins = False
            self._join()

    def _begin_leave(self, epoch: int) -> None:
        self._reconciliation.current = NONE
        self._set_epoch(epoch)
        self.become(_S.LEAVING)

    def _leave_epoch(self, *, for_good: bool) -> int:
        is_static = self._member.settings.group_instance_id is not None
        return STATIC_LEAVE_EPOCH if is_static and not for_good else LEAVE_EPOCH

    # -- the application's thread -------------------------------------------------------------------------------

    def poll(self) -> Coroutine[Any, Any, None] | None:
        self.process_poll()
        return self.callbacks.run() if self.callbacks.pending else None

    def process_poll(self) -> None:
        """Do what a call of `poll` has the background thread do, up to the callbacks."""
        self._reconciliation.begin(in_poll=True)
        if self._member.subscription.by_pattern:
            self._match_pattern()
        changes = self._member.subscription.changes
        if self._seen != changes:
            self._seen = changes
            if self.state is _S.UNSUBSCRIBED:
                self._join()
        self._by_poll_limit = False
        late = self.poll_timer.came_late and self.state is _S.FENCED
        if self.expired or (late and self._member.profile.consumer_protocol.leaves_when_polled):
            self.expired = self.poll_timer.came_late = False
            self._leave_after_poll_limit()
        if self.state is _S.STALE:
            self._rejoins = True
            if self._released:
                self._release()
        self.run()

    @property
    def longest_wait_us(self) -> int:
        """How long `poll` may wait for the background thread's sake (`maximumTimeToWait`), in microseconds."""
        return min(self._heartbeats.longest_wait_us, self.poll_timer.limit_us // 2)

    def _match_pattern(self) -> None:
        """Match the pattern again if the metadata are newer (`ApplicationEventProcessor.updatePatternSubscription`)."""
        metadata = self._member.metadata
        if self._matched != metadata.version:
            self._matched = metadata.version
            metadata.match_pattern()

    def polled(self) -> None:
        """Do nothing: heartbeats do not wait for the application."""

    def go_on(self) -> None:
        self.run()

    def prepare_leave(self) -> None:
        if self.state not in OUTSIDE and may_follow(self.state, _S.PREPARE_LEAVING):
            self.become(_S.PREPARE_LEAVING)
        self.callbacks.clear()

    def leave(self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False) -> bool:
        """Leave the group; the partitions were given up before. A static member comes back, unless `static_too`."""
        self._reconciliation.clear()
        if self.state is _S.FENCED:
            self.become(_S.UNSUBSCRIBED, reason)
        if self.state is _S.FATAL and self._member.profile.consumer_protocol.leaves_when_fatal:
            self._set_epoch(self._leave_epoch(for_good=static_too))
            return self._heartbeats.send_leave(_ignore if on_done is None else on_done)
        if self.state in OUTSIDE:
            return False
        if self.state is not _S.PREPARE_LEAVING:
            self.become(_S.PREPARE_LEAVING, reason)
        self._by_poll_limit = False
        if self.epoch == JOIN_EPOCH and self._member.profile.consumer_protocol.leaves_when_joined:
            self._begin_leave(LEAVE_EPOCH)
            self.become(_S.UNSUBSCRIBED, reason)
            return False
        self._begin_leave(self._leave_epoch(for_good=static_too))
        self._on_left = on_done
        sent = self._member.coordinator.known
        self.run()
        return sent

    # -- inputs from elsewhere ----------------------------------------------------------------------------------

    def metadata_changed(self) -> None:
        if self.state is _S.RECONCILING and self.poll_timer.inside:
            self._member.wake.set()
        if self._member.subscription.by_pattern:
            self._member.wake_at(self._member.now_us + self._member.settings.retry_backoff_ms * MS_US)
        self.run()

    def coordinator_found(self) -> None:
        self.run()

    def coordinator_lost(self) -> None:
        """Do nothing: state and epoch stay."""

    def pausing(self) -> None:
        self._member.host.call_at(self._member.loop.now_us, self._run_after_pause)

    def _run_after_pause(self, _: Any) -> None:
        self.run()

    def block_heartbeats(self, us: int) -> None:
        self._held_until_us = max(self._held_until_us, self._member.loop.now_us + us)
        self._member.host.call_at(self._held_until_us, self._run_after_pause)

    # -- requests of other parts --------------------------------------------------------------------------------

    def request_rejoin(self, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Do nothing but warn: `enforceRebalance` has no effect under this protocol."""
        text = "Operation not supported in new consumer group protocol"
        self._member.emit(Kind.WARNING, reason=f"enforceRebalance: {text}")

    def reset(self, reason: str, *, member_id_too: bool) -> None:
        """Lose all partitions and join again (librdkafka); in Java no commit has this reaction."""
        self.fence(ErrorCode.ILLEGAL_GENERATION)

    def resign(self) -> None:
        """Do nothing: no member leads."""

    def stop_heartbeats(self) -> None:
        """Look for no other coordinator: the process closes. Heartbeats go on until the member leaves."""
        self._searches = False
        self.callbacks.clear()

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def resolves_in_poll(self) -> bool:
        return True

    @property
    def in_poll(self) -> bool:
        return self.poll_timer.inside

    @property
    def away_since_us(self) -> int:
        return self.poll_timer.away_since_us

    @property
    def owes_heartbeat(self) -> bool:
        return False

    @property
    def rejoin_needed(self) -> bool:
        row = self._member.profile.consumer_protocol
        return (
            self.state in (_S.FENCED, _S.STALE) or self.expired or (row.leaves_when_polled and self.poll_timer.is_over)
        )

    @property
    def rebalances(self) -> bool:
        return self.state is not _S.STABLE or self.callbacks.pending

    @property
    def in_group(self) -> bool:
        return self.state not in OUTSIDE or self.state is _S.FENCED

    @property
    def commit_refusal(self) -> str | None:
        return None

    @property
    def stays_by_request(self) -> bool:
        """Whether a member that is to stay sends a request: always. A dynamic one leaves by it, as seen of 4.4.0."""
        return True

    @property
    def busy(self) -> bool:
        return self.callbacks.running

    @property
    def assigns_next(self) -> bool:
        return False

    @property
    def sends_heartbeats(self) -> bool:
        return self._searches

    @property
    def quiet_heartbeats(self) -> int:
        return self._heartbeats.quiet


def _ignore(outcome: Outcome) -> None:
    """Ignore the answer to a leave."""


def _nothing() -> None:
    """Do nothing after the callback of a member that ends."""


if TYPE_CHECKING:

    def _is_one(made: ConsumerMembership) -> Membership:
        return made
