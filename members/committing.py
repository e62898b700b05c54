"""Commits: auto-commit at intervals, before a rebalance and on close; manual ones, synchronous or not.

Auto-commit commits *positions* (what poll has returned), manual commits what the handler has finished. A commit is
only sent while the client is STABLE: otherwise it fails without a request, as RebalanceInProgressException while a
rebalance is under way and as CommitFailedException when the membership is lost. A failed auto-commit is logged, a
failed commitSync is the application's (`COMMIT_FAILED` either way).

Sources: `ConsumerCoordinator.sendOffsetCommitRequest`, `OffsetCommitResponseHandler`, `maybeAutoCommitOffsetsAsync`,
`commitOffsetsSync`; classic-protocol reference, section 4.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import frozen

from groupsim.eventloop.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.assignors.interface import RebalanceProtocol
from groupsim.members.behaviour import CommitPolicy, OnError
from groupsim.members.failures import ClientFailure, exception_name
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.meanwhile import go_on
from groupsim.members.member import ClientState, Generation, Member
from groupsim.members.reactions import Reaction, exception_of
from groupsim.members.requests import commit_request
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import Api, OffsetCommitResponse, OffsetToCommit, TopicPartition

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Handle

REBALANCING = "offset commit failed since group is already rebalancing"
Offsets = Mapping[TopicPartition, int]
Entries = tuple[OffsetToCommit, ...]


@frozen
class CommitResult:
    """What came of one attempt: `error` is the exception's name, None when it succeeded."""

    error: str | None = None
    retriable: bool = False
    fatal: bool = False


_DONE = CommitResult()
# Looked up once: members of an enumeration are found slowly, and these are for every commit.
_AUTO, _STABLE, _COMMITTED = CommitPolicy.AUTO, ClientState.STABLE, Kind.OFFSETS_COMMITTED
OnResult = Callable[[CommitResult], None]
_BACKOFF = "commit-backoff"  # what its luck is drawn for


class Committer:
    """The commits of one member."""

    __slots__ = (
        "_again_us",
        "_blocking",
        "_committed",
        "_in_flight",
        "_interval_us",
        "_main_loop",
        "_member",
        "_pending",
        "_rebalance",
        "_rebalance_deadline_us",
        "_revoking",
        "_timer",
        "before_rebalance_pending",
        "owed",
        "processed",
    )

    def __init__(self, member: Member) -> None:
        settings = member.settings
        self._member = member
        self._main_loop = member.profile.main_loop
        self._interval_us = settings.auto_commit_interval_ms * MS_US
        self._again_us = 0
        self._timer: Handle | None = None
        self.owed = False  #: an auto-commit waits for the application to come to `poll`
        self._committed: dict[TopicPartition, int] = {}
        self._pending = 0  # asynchronous commits without an answer
        self._blocking = False  # the application waits for the answer to a commit
        self._rebalance = 0  # counts the commits before a rebalance
        self._rebalance_deadline_us = 0
        self._revoking: Entries = ()  # what a main loop commits when the callback before a join has returned
        self._in_flight = 0  # commits that its next join waits for
        self.before_rebalance_pending = False
        #: Partition → the offset after the last record the handler has finished.
        self.processed: dict[TopicPartition, int] = {}

    @property
    def auto(self) -> bool:
        """Whether the client commits by itself: enable.auto.commit, and no policy of the application's own."""
        return self._member.settings.enable_auto_commit and self._member.behaviour.commit is _AUTO

    # -- auto-commit --------------------------------------------------------------------------------------------

    def restart_interval(self) -> None:
        """A new assignment: the interval begins anew, and what was committed before is another owner's affair."""
        owned = self._member.ownership.owned
        if self._committed:
            self._committed = {partition: at for partition, at in self._committed.items() if partition in owned}
        if self.processed:
            self.processed = {partition: at for partition, at in self.processed.items() if partition in owned}
        if self.auto:
            self._arm(self._interval_us)

    def stop(self) -> None:
        """No more auto-commits at intervals."""
        self.owed = False
        timer, self._timer = self._timer, None
        if timer is not None:
            self._member.host.cancel(timer)

    def _arm(self, wait_us: int) -> None:
        self.stop()
        self._timer = self._member.host.call_at(self._member.now_us + wait_us, self._due)

    def _due(self, _: Any) -> None:
        """The interval has passed; the commit itself is `poll`'s, so it waits for the application to come back."""
        self._timer = None
        if not self.auto:
            return
        if self._member.poll_clock.inside:
            self._auto_commit()
        else:
            self.owed = True

    def polled(self) -> None:
        """The application has come to `poll`: commit if that is owed."""
        if self.owed:
            self._auto_commit()

    def _auto_commit(self) -> None:
        member = self._member
        if not member.ownership.owned:
            self.owed = False
            return
        if member.group_comes_first:
            self.owed = True  # `poll` sees to the group first, and comes as far as this when the rebalance is over
            return
        self._arm(self._interval_us)
        if not self._member.coordinator.known:
            self._member.coordinator.ensure()
            self._arm(self._member.settings.retry_backoff_ms * MS_US)
            return
        self._in_flight += self._main_loop is not None
        self._attempt(self._positions(), auto=True, on_result=self._auto_committed)

    def _auto_committed(self, result: CommitResult) -> None:
        if self._main_loop is not None:
            self._one_less(result)
        if result.error and result.retriable and self._member.ownership.owned:
            self._arm(self._member.settings.retry_backoff_ms * MS_US)

    def _positions(self) -> Offsets:
        """The positions to commit; libraries other than Java leave out what has not moved."""
        member = self._member
        positions = member.fetcher.positions
        if member.profile.commits_unchanged:
            return dict(positions)
        if self._main_loop is not None:
            positions = self._given()
        return {partition: at for partition, at in positions.items() if self._committed.get(partition) != at}

    def _given(self) -> dict[TopicPartition, int]:
        """The positions of partitions of which the application was given records."""
        fetcher = self._member.fetcher
        return {partition: at for partition, at in fetcher.positions.items() if fetcher.begun.get(partition) != at}

    def _entries(self, offsets: Offsets) -> Entries:
        epoch = self._member.fetcher.leader_epoch
        return tuple([OffsetToCommit(part, offset, epoch(part)) for part, offset in offsets.items()])

    # -- before a rebalance -------------------------------------------------------------------------------------

    def before_rebalance(self) -> None:
        """Auto-commit before partitions are given up: retried until it is done or the rebalance timeout has passed."""
        member = self._member
        if not self.auto:
            return
        if member.ownership.protocol is RebalanceProtocol.EAGER:
            member.fetcher.stop_delivering(list(member.ownership.owned))
            if self._main_loop is not None:
                self._revoking = self._entries(self._given()) if member.state is _STABLE else ()
                return
        self._rebalance += 1
        self._rebalance_deadline_us = member.now_us + member.settings.own_rebalance_timeout_ms * MS_US
        self.before_rebalance_pending = True
        self._commit_before_rebalance(self._rebalance)

    def _commit_before_rebalance(self, number: int) -> None:
        if number != self._rebalance or not self.before_rebalance_pending:
            return
        self._attempt(self._positions(), auto=True, on_result=partial(self._committed_before_rebalance, number))
        if self.before_rebalance_pending:  # no answer yet: the rebalance waits for it, but not for ever
            member = self._member
            latest = min(member.now_us + member.request_timeout_us, self._rebalance_deadline_us)
            if latest == self._rebalance_deadline_us:
                member.host.call_at(latest, self._rebalance_goes_on, number)

    def _committed_before_rebalance(self, number: int, result: CommitResult) -> None:
        member = self._member
        if number != self._rebalance or not self.before_rebalance_pending:
            return
        if result.error and result.retriable and member.now_us < self._rebalance_deadline_us:
            member.coordinator.ensure()
            again = member.now_us + member.settings.retry_backoff_ms * MS_US
            member.host.call_at(again, self._commit_before_rebalance, number)
            return
        self._rebalance_goes_on(number)

    def _rebalance_goes_on(self, number: int) -> None:
        """The commit has come to an end, or its time has."""
        if number == self._rebalance and self.before_rebalance_pending:
            self.before_rebalance_pending = False
            self._member.wake.set()
            go_on(self._member)

    def revoked(self) -> None:
        """The callback before a join has returned. A main loop commits then, and joins when no commit is in flight."""
        entries, self._revoking = self._revoking, ()
        if entries or self._in_flight:
            self.before_rebalance_pending = True
            self._in_flight += 1
            offsets = {entry.partition: entry.offset for entry in entries}
            self._attempt(offsets, auto=True, on_result=self._one_less, entries=entries)

    def _one_less(self, _: CommitResult) -> None:
        self._in_flight -= 1
        if self.before_rebalance_pending and not self._in_flight:
            self.before_rebalance_pending = False
            self._member.wake.set()

    # -- manual commits -----------------------------------------------------------------------------------------

    async def after_batch(self) -> None:
        """The application has finished a batch: commit by its policy.

        Raises ClientFailure from commitSync when that is fatal, or when the application does not catch it.
        """
        behaviour = self._member.behaviour
        policy = behaviour.commit
        if policy is CommitPolicy.SYNC_AFTER_BATCH:
            try:
                await self.commit_sync(self._finished())
            except ClientFailure as failure:
                if failure.fatal or behaviour.on_commit_failure is OnError.STOP:
                    raise
        elif policy is CommitPolicy.ASYNC_AFTER_BATCH:
            self.commit_async(self._finished())
        elif self.auto and self._member.profile.commits_after_batch:
            self._attempt(self._positions(), auto=True, on_result=_ignore)

    async def on_revoke(self) -> None:
        """In the revoked callback: a synchronous commit, whose failure the callback swallows."""
        policy = self._member.behaviour.commit
        if policy in (CommitPolicy.ON_REVOKE, CommitPolicy.SYNC_AFTER_BATCH, CommitPolicy.ASYNC_AFTER_BATCH):
            try:
                await self.commit_sync(self._finished())
            except ClientFailure:
                return  # said in the trace already

    def commit_async(self, offsets: Offsets) -> None:
        """Send and forget; nothing is retried. Without a coordinator it goes out when the next look-up finds one."""
        self._pending += bool(offsets)
        coordinator = self._member.coordinator
        attempt = partial(self._attempt, offsets, auto=False, on_result=self._async_done)
        if not offsets or self._main_loop is not None or coordinator.known:
            attempt()
        else:
            coordinator.look_up(attempt)

    def _async_done(self, result: CommitResult) -> None:
        self._pending = max(self._pending - 1, 0)
        if self._member.closing:
            self._member.wake.set()

    async def commit_sync(self, offsets: Offsets, *, auto: bool = False, timeout_us: int | None = None) -> None:
        """Commit and wait, retrying what can be retried until default.api.timeout.ms. Raises ClientFailure."""
        member = self._member
        if timeout_us is None:
            timeout_us = member.settings.default_api_timeout_ms * MS_US
        deadline = member.now_us + timeout_us
        member.succeeded(_BACKOFF)
        while offsets:
            await self._wait_for_coordinator(deadline)
            result = await self._attempt_and_wait(offsets, auto=auto, until_us=deadline)
            if result.error is None:
                return
            if not result.retriable:
                raise ClientFailure(result.error, "commitSync failed", fatal=result.fatal)
            wait = member.backoff(_BACKOFF).next_us()
            if member.now_us + wait >= deadline:
                raise ClientFailure("TimeoutException", f"commitSync timed out; the last error was {result.error}")
            await member.host.sleep(wait)

    async def _wait_for_coordinator(self, until_us: int) -> None:
        """A synchronous commit looks the coordinator up first, as long as its time lasts."""
        member = self._member
        while not member.coordinator.known and member.now_us < until_us:
            member.coordinator.awaited = True
            member.coordinator.ensure()
            member.wake.clear()
            with member.loop.timeout(until_us - member.now_us):
                await member.wake.wait()
        member.coordinator.awaited = False

    async def on_close(self, timeout_us: int) -> None:
        """The last auto-commit, whose errors are swallowed; then asynchronous commits are waited for."""
        deadline = self._member.now_us + timeout_us
        await self._last_auto_commit(timeout_us)
        member = self._member
        while self._pending and member.now_us < deadline:
            member.wake.clear()
            with member.loop.timeout(deadline - member.now_us):
                await member.wake.wait()

    async def _last_auto_commit(self, timeout_us: int) -> None:
        member = self._member
        sound = member.subscription.assigned is not None or not member.generation.is_lost
        if self.auto and member.fetcher.positions and sound:
            try:
                offsets = self._positions() if self._main_loop is None else self._given()
                await self.commit_sync(offsets, auto=True, timeout_us=timeout_us)
            except ClientFailure:
                return

    def _finished(self) -> Offsets:
        """What the handler has finished since the last commit, of partitions still owned."""
        owned, after = self._member.ownership.owned, self._member.fetcher.after
        finished = {partition: after(partition, at) for partition, at in self.processed.items() if partition in owned}
        return {partition: at for partition, at in finished.items() if self._committed.get(partition) != at}

    # -- one attempt --------------------------------------------------------------------------------------------

    async def _attempt_and_wait(self, offsets: Offsets, *, auto: bool, until_us: int) -> CommitResult:
        member = self._member
        arrived = member.loop.event()
        box: list[CommitResult] = []

        def store(result: CommitResult) -> None:
            box.append(result)
            arrived.set()

        self._blocking = True
        self._attempt(offsets, auto=auto, on_result=store)
        with member.loop.timeout(max(until_us - member.now_us, 0)):
            await arrived.wait()
        self._blocking = False
        return box[0] if box else CommitResult("TimeoutException", retriable=True)

    def _attempt(
        self, offsets: Offsets, *, auto: bool, on_result: OnResult, tries: int = 0, entries: Entries = ()
    ) -> None:
        """One try: a local refusal, or a request. `on_result` is called at once or when the answer is there.

        `entries`: what was sent the last time.
        """
        member = self._member
        if not offsets:
            on_result(_DONE)
        elif member.state is not _STABLE and member.subscription.assigned is None:
            rebalancing = member.state is not ClientState.UNJOINED
            name = "RebalanceInProgressException" if rebalancing else "CommitFailedException"
            self._failed(offsets, auto, CommitResult(name), on_result)
        elif not (member.coordinator.known and member.coordinator.ready):
            result = CommitResult("CoordinatorNotAvailableException", retriable=True)
            self._failed_once(offsets, auto, result, on_result, tries, entries)
        else:
            entries = entries or self._entries(offsets)
            member.coordinator.send(
                commit_request(member, entries),
                partial(self._answered, member.generation, offsets, auto, on_result, tries, entries),
            )

    def _answered(
        self,
        sent: Generation,
        offsets: Offsets,
        auto: bool,
        on_result: OnResult,
        tries: int,
        entries: Entries,
        outcome: Outcome,
    ) -> None:
        member = self._member
        if isinstance(outcome, Disconnected):
            member.coordinator.lost("coordinator unavailable", later=self._blocking)
            result = CommitResult("DisconnectException", retriable=True)
            self._failed_once(offsets, auto, result, on_result, tries, entries)
            return
        error = outcome.error if isinstance(outcome, OffsetCommitResponse) else ErrorCode.UNKNOWN_SERVER_ERROR
        if error:
            self._failed_once(offsets, auto, self._react(error, sent), on_result, tries, entries, error)
            return
        if not auto or not offsets.items() <= self._committed.items():
            payload = {"offsets": {str(partition): at for partition, at in offsets.items()}, "auto": auto}
            member.say(_COMMITTED, payload=payload)
        self._committed.update(offsets)
        on_result(_DONE)

    def _react(self, error: ErrorCode, sent: Generation) -> CommitResult:
        """Do what the table says; returns what the application gets to see."""
        member = self._member
        reaction = member.profile.reaction(Api.OFFSET_COMMIT, error)
        preparing = member.state is ClientState.PREPARING_REBALANCE
        changed = member.generation != sent
        if reaction is Reaction.RETRY:
            return CommitResult(exception_name(error), retriable=True)
        if reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}", later=self._blocking)
            return CommitResult(exception_name(error), retriable=True)
        if reaction is Reaction.REJOIN:
            member.joining.request(REBALANCING)
            return CommitResult("RebalanceInProgressException")
        if reaction is Reaction.FATAL and not changed:
            is_done = self._main_loop is not None
            if is_done:
                member.heartbeat.disable()
            if is_done or not self._blocking:  # nobody catches it: every poll from here on throws
                reason = f"OffsetCommit answered {error.name}"
                member.fail(ClientFailure(exception_name(error), reason, fatal=True, lasting=True))
            return CommitResult(exception_name(error), fatal=True)
        if reaction is Reaction.THROW:
            return CommitResult(exception_of(Api.OFFSET_COMMIT, error))
        if changed and (preparing or reaction is Reaction.FATAL):
            return CommitResult("RebalanceInProgressException" if preparing else "CommitFailedException")
        member.joining.reset(
            f"encountered {error.name} from {Api.OFFSET_COMMIT.name} response",
            member_id_too=reaction is Reaction.RESET_MEMBER,
        )
        return CommitResult("CommitFailedException")

    def _failed_once(
        self,
        offsets: Offsets,
        auto: bool,
        result: CommitResult,
        on_result: OnResult,
        tries: int,
        entries: Entries,
        code: ErrorCode | None = None,
    ) -> None:
        """A request came to nothing: the same once more, where a library does so and it may pass; else the result."""
        member, main_loop = self._member, self._main_loop
        if main_loop is None or not result.retriable:
            self._failed(offsets, auto, result, on_result, code)
        elif tries >= main_loop.retries:
            self._failed(offsets, auto, CommitResult(result.error), on_result, code)
        else:
            if not tries:
                member.succeeded(_BACKOFF)
            again = partial(self._attempt, offsets, auto=auto, on_result=on_result, tries=tries + 1, entries=entries)
            self._again_us = max(self._again_us, member.now_us + member.backoff(_BACKOFF).next_us())  # in their order
            member.host.call_at(self._again_us, _once_more, again)

    def _failed(
        self, offsets: Offsets, auto: bool, result: CommitResult, on_result: OnResult, code: ErrorCode | None = None
    ) -> None:
        """Say that a commit failed, and hand the result on."""
        payload = {"offsets": {str(partition): at for partition, at in offsets.items()}, "auto": auto}
        self._member.say(
            Kind.COMMIT_FAILED, error=code.name if code else result.error, reason=result.error, payload=payload
        )
        on_result(result)


def _once_more(attempt: Callable[[], None]) -> None:
    attempt()


def _ignore(result: CommitResult) -> None:
    """An asynchronous commit whose result nobody waits for; the trace has it."""
