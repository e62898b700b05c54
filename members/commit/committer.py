"""When offsets are committed: automatically at intervals and on close, or by the application.

Auto-commit commits *positions* (records that poll has returned), a manual commit what the handler has finished. One
attempt is in `attempt`, the commit before a rebalance in `before_rebalance`. A failed auto-commit is logged, a failed
commitSync throws (`COMMIT_FAILED` either way).

Sources: `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, `commitOffsetsSync`; classic-protocol reference, section
4.10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from groupsim.assignors.base.interface import RebalanceProtocol
from groupsim.eventloop.units import MS_US
from groupsim.members.behaviour import CommitPolicy
from groupsim.members.commit.attempt import BACKOFF, Attempt, CommitResult, Entries, Offsets, entries_of
from groupsim.members.commit.before_rebalance import CommitBefore
from groupsim.members.commit.before_reconciliation import CommitBeforeReconciliation
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import ClientState
from groupsim.members.member import Member
from groupsim.members.profiles.defects import Defect
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Handle

# Bound once for every commit: access to a member of an enumeration is slow.
_AUTO, _STABLE = CommitPolicy.AUTO, ClientState.STABLE


class Committer:
    """The commits of one member."""

    __slots__ = (
        "_again_us",
        "_answerless",
        "_before",
        "_held",
        "_in_flight",
        "_interval_us",
        "_member",
        "_never_looks_up",
        "_pending",
        "_reconciling",
        "_revoking",
        "_timer",
        "blocking",
        "committed",
        "forsaken",
        "owed",
        "processed",
    )

    def __init__(self, member: Member) -> None:
        settings = member.settings
        self._member = member
        self._interval_us = settings.auto_commit_interval_ms * MS_US
        self._never_looks_up = Defect.KAFKA_6362 in member.profile.defects
        self._again_us = 0
        self._timer: Handle | None = None
        self.owed = False  #: an auto-commit waits for the application to call `poll`
        #: The last committed offsets of owned partitions.
        self.committed: dict[TopicPartition, int] = {}
        self._pending = 0  # asynchronous commits without an answer
        self.blocking = False  #: a commitSync waits for its answer
        self._before: CommitBefore | None = None  # the last commit before a rebalance
        self._reconciling: CommitBeforeReconciliation | None = None  # the last commit before a reconciliation
        self._revoking: Entries = ()  # librdkafka: commit after the revoked callback
        self._answerless = False  # an auto-commit in flight keeps the next one from being sent
        self._in_flight = 0  # librdkafka: commits that the next join waits for
        self._held = False  # librdkafka: the join waits for them
        #: Partition → the offset after the last record the handler has finished.
        self.processed: dict[TopicPartition, int] = {}
        #: Partitions given up while a batch runs: records of them that finish later are not committed.
        self.forsaken: dict[TopicPartition, None] = {}

    @property
    def auto(self) -> bool:
        """Whether the client commits by itself: enable.auto.commit, unless the application has its own policy."""
        return self._member.settings.enable_auto_commit and self._member.behaviour.commit is _AUTO

    # -- auto-commit --------------------------------------------------------------------------------------------

    def restart_interval(self) -> None:
        """Restart the auto-commit interval for a new assignment, and forget offsets of partitions given up."""
        owned = self._member.ownership.owned
        if self.committed:
            self.committed = {partition: at for partition, at in self.committed.items() if partition in owned}
        if self.processed:
            self.processed = {partition: at for partition, at in self.processed.items() if partition in owned}
        if self.auto:
            self._arm(self._interval_us)

    def stop(self) -> None:
        """Stop auto-commits at intervals."""
        self.owed = False
        timer, self._timer = self._timer, None
        if timer is not None:
            self._member.host.cancel(timer)

    def _arm(self, wait_us: int) -> None:
        self.stop()
        self._timer = self._member.host.call_at(self._member.loop.now_us + wait_us, self._due)

    def _due(self, _: Any) -> None:
        """Commit at the end of the interval; outside `poll` the commit waits for the application."""
        self._timer = None
        if not self.auto:
            return
        if self._member.membership.in_poll or self._member.pace.rebalances_in_task:
            self._auto_commit()
        else:
            self.owed = True

    def polled(self) -> None:
        """Commit if the interval has ended: the application has called `poll`."""
        if self.owed:
            self._auto_commit()

    def _auto_commit(self) -> None:
        member = self._member
        if not member.ownership.owned:
            self.owed = False
            return
        if member.group_comes_first:
            self.owed = True  # `ConsumerCoordinator.poll` returns before its auto-commit while a rebalance is pending
            return
        if self._reconciling is not None and self._reconciling.pending:
            self.owed = True  # `AutoCommitState.shouldAutoCommit`: one auto-commit is in flight
            return
        if self._answerless:
            self.owed = True
            return
        if self._waits_for_coordinator():
            self.owed = True  # `ConsumerCoordinator.poll` returns before its auto-commit without a coordinator
            return
        self._arm(self._interval_us)
        # Up to 1.0 an auto-commit without a coordinator did not look for one (KAFKA-6362).
        if self._never_looks_up and not member.coordinator.known:
            self._arm(member.settings.retry_backoff_ms * MS_US)
            return
        self._in_flight += member.pace.commits_after_revoked
        self._answerless = member.profile.commits.in_turn
        attempt = Attempt(self._member, self.positions(), self._auto_committed, auto=True).go
        if member.coordinator.known:
            attempt()
        else:
            member.coordinator.look_up(attempt)

    def _waits_for_coordinator(self) -> bool:
        """Whether `ConsumerCoordinator.poll` looks the coordinator up first: then one commit is due when it is found,
        however long that takes.
        """
        member, pace = self._member, self._member.pace
        in_poll = pace.poll_begins_with_group and not (pace.rebalances_in_task or self._never_looks_up)
        return in_poll and member.subscription.assigned is None and not member.coordinator.known

    def _auto_committed(self, result: CommitResult) -> None:
        if self._member.pace.commits_after_revoked:
            self._one_less(result)
        if self._answerless:
            self._answerless = False
            if self.owed and self._member.membership.in_poll:
                self._auto_commit()
        elif result.error and result.retriable and self._member.ownership.owned:
            self._arm(self._member.settings.retry_backoff_ms * MS_US)

    def positions(self) -> Offsets:
        """Return the positions to commit; libraries other than Java leave out unchanged ones."""
        member = self._member
        positions = member.fetcher.positions
        if member.profile.commits.unchanged:
            return dict(positions)
        if member.profile.commits.delivered_only:
            positions = self._given()
        return {partition: at for partition, at in positions.items() if self.committed.get(partition) != at}

    def _given(self) -> dict[TopicPartition, int]:
        """Return the positions of partitions whose records the application has received."""
        fetcher = self._member.fetcher
        return {partition: at for partition, at in fetcher.positions.items() if fetcher.begun.get(partition) != at}

    # -- before a rebalance -------------------------------------------------------------------------------------

    @property
    def before_rebalance_pending(self) -> bool:
        """Whether a join waits for a commit."""
        return self._held or (self._before is not None and self._before.pending)

    def holds_join(self) -> bool:
        """Return the same at a turn of `poll`, and send a failed commit again."""
        if self._before is not None and self._before.pending:
            self._before.polled()
        return self.before_rebalance_pending

    def before_rebalance(self) -> None:
        """Commit before partitions are given up, until it succeeds or the rebalance timeout has passed."""
        if Defect.KAFKA_14024 not in self._member.profile.defects:
            self._begin_before()

    def _begin_before(self) -> None:
        member = self._member
        if not self.auto:
            return
        # `onJoinPrepare` marks eager partitions as pending revocation, so that no record is returned after its
        # position was committed; 3.2.0 to 3.2.2 did not (KAFKA-14196).
        if member.ownership.protocol is RebalanceProtocol.EAGER and Defect.KAFKA_14196 not in member.profile.defects:
            member.fetcher.stop_delivering(list(member.ownership.owned))
        if not member.pace.commits_after_revoked and member.fetcher.positions:
            self._before = CommitBefore(member)
            self._before.send()

    def restart_before_rebalance(self) -> bool:
        """Restart the commit before a rebalance; True if a request was sent (KAFKA-14024)."""
        if Defect.KAFKA_14024 not in self._member.profile.defects:
            return False
        self._before = None
        self._begin_before()
        return self.before_rebalance_pending

    def giving_up(self, partitions: Collection[TopicPartition]) -> None:
        """Store the offsets that librdkafka commits when the revoked callback has returned (`rdkafka_assignment.c`)."""
        member = self._member
        in_order = member.state is _STABLE or member.profile.consumer_protocol.commits_revoked
        if self.auto and member.pace.commits_after_revoked and in_order:
            given = {partition: at for partition, at in self._given().items() if partition in partitions}
            self._revoking = entries_of(member, given)

    def revoked(self) -> None:
        """Commit what librdkafka commits after the revoked callback; its join waits for commits in flight."""
        entries, self._revoking = self._revoking, ()
        if entries or self._in_flight:
            self._held = True
            self._in_flight += 1
            offsets = {entry.partition: entry.offset for entry in entries}
            Attempt(self._member, offsets, self._one_less, auto=True, entries=entries).go()

    def _one_less(self, _: CommitResult) -> None:
        self._in_flight -= 1
        if self._held and not self._in_flight:
            self._held = False
            self._member.wake.set()
            self._member.membership.go_on()

    def before_reconciliation(self, done: Callable[[], None]) -> None:
        """Commit all positions, until that succeeds or max.poll.interval.ms has passed; then call `done`."""
        self._reconciling = CommitBeforeReconciliation(self._member, done)
        self._reconciling.send()

    # -- finished records ---------------------------------------------------------------------------------------

    def given_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget finished records of these partitions: another owner may commit further before they return.

        As aiokafka's commit() and franz-go's CommitUncommittedOffsets, which have no offsets of an earlier ownership.
        """
        for partition in partitions:
            self.processed.pop(partition, None)
            if not self._member.membership.in_poll:
                self.forsaken[partition] = None

    def finish(self, partition: TopicPartition, end: int) -> None:
        """Record that the handler has finished a partition's records up to an offset, the next one to read."""
        if partition not in self.forsaken:
            self.processed[partition] = end

    # -- manual commits -----------------------------------------------------------------------------------------

    async def after_batch(self) -> None:
        """Commit by the application's policy after a batch.

        Raises ClientFailure from commitSync if it is fatal, or if the application does not catch it.
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
        elif self.auto and self._member.profile.commits.after_batch:
            Attempt(self._member, self.positions(), _ignore, auto=True).go()

    async def on_revoke(self) -> None:
        """Run commitSync in the revoked callback, which swallows its failure."""
        policy = self._member.behaviour.commit
        if policy in (CommitPolicy.ON_REVOKE, CommitPolicy.SYNC_AFTER_BATCH, CommitPolicy.ASYNC_AFTER_BATCH):
            try:
                await self.commit_sync(self._finished())
            except ClientFailure:
                return  # already emitted

    def commit_async(self, offsets: Offsets) -> None:
        """Send once, without a retry (`commitOffsetsAsync`); without a coordinator, when the next look-up finds one."""
        self._pending += bool(offsets)
        coordinator = self._member.coordinator
        attempt = Attempt(self._member, offsets, self._async_done).go
        if not offsets or self._member.pace.keeps_coordinator or coordinator.known:
            attempt()
        else:
            coordinator.look_up(attempt)

    def _async_done(self, result: CommitResult) -> None:
        self._pending = max(self._pending - 1, 0)
        if self._member.closing:
            self._member.wake.set()

    async def commit_sync(self, offsets: Offsets, *, auto: bool = False, timeout_us: int | None = None) -> None:
        """Commit and wait; retry until default.api.timeout.ms (`commitOffsetsSync`). Raises ClientFailure."""
        member = self._member
        if timeout_us is None:
            timeout_us = member.settings.default_api_timeout_ms * MS_US
        deadline = member.now_us + timeout_us
        member.succeeded(BACKOFF)
        while offsets:
            await self._wait_for_coordinator(deadline)
            result = await self._attempt_and_wait(offsets, auto=auto, until_us=deadline)
            if result.error is None:
                return
            if not result.retriable:
                error = "CommitFailedException" if result.stale else result.error
                raise ClientFailure(error, "commitSync failed", fatal=result.fatal)
            wait = member.backoff(BACKOFF).next_us()
            if member.now_us + wait >= deadline:
                raise ClientFailure("TimeoutException", f"commitSync timed out; the last error was {result.error}")
            await member.host.sleep(wait)

    async def _wait_for_coordinator(self, until_us: int) -> None:
        """Look the coordinator up for a commitSync, within its timeout."""
        member = self._member
        while not member.coordinator.known and member.now_us < until_us:
            member.coordinator.awaited = True
            member.coordinator.ensure()
            member.wake.clear()
            with member.loop.timeout(until_us - member.now_us):
                await member.wake.wait()
        member.coordinator.awaited = False

    async def on_close(self, timeout_us: int) -> None:
        """Run the last auto-commit, whose errors are swallowed, then wait for asynchronous commits."""
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
                offsets = self._given() if member.profile.commits.delivered_only else self.positions()
                await self.commit_sync(offsets, auto=True, timeout_us=timeout_us)
            except ClientFailure:
                return

    def _finished(self) -> Offsets:
        """Return offsets that the handler has finished since the last commit, of partitions still owned."""
        after = self._member.fetcher.after
        finished = {partition: after(partition, at) for partition, at in self.processed.items()}
        return {partition: at for partition, at in finished.items() if self.committed.get(partition) != at}

    # -- attempts -----------------------------------------------------------------------------------------------

    async def _attempt_and_wait(self, offsets: Offsets, *, auto: bool, until_us: int) -> CommitResult:
        member = self._member
        arrived = member.loop.event()
        box: list[CommitResult] = []

        def store(result: CommitResult) -> None:
            box.append(result)
            arrived.set()

        self.blocking = True
        Attempt(member, offsets, store, auto=auto).go()
        with member.loop.timeout(max(until_us - member.now_us, 0)):
            await arrived.wait()
        self.blocking = False
        return box[0] if box else CommitResult("TimeoutException", retriable=True)

    def in_order(self, again_us: int) -> int:
        """Return when a repeated commit may be sent: no sooner than those before it."""
        self._again_us = max(self._again_us, again_us)
        return self._again_us


def _ignore(result: CommitResult) -> None:
    """Ignore the result of an asynchronous commit, which is emitted anyway."""
