"""The task of one consumer process: poll, deliver, process, commit, and again, until it closes or fails.

Inside `poll` the application's thread does all its work for the group: steps of a rebalance with their callbacks,
overdue heartbeats and commits, records. It waits on one flag (`Member.wake`), which every event sets that needs the
task. In a quiet group no event does, so a single wait costs nothing. While the task waits, work that never waits runs
as events: checks that call no user code, and records of a quiet group (`rounds.py`).

Source: `ClassicKafkaConsumer.poll`, `ConsumerCoordinator.poll`; classic-protocol reference, section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.randomness import Stream
from groupsim.members.consumer.leave import unsubscribe
from groupsim.members.consumer.poll_events import PollEvents, poll_events_of
from groupsim.members.consumer.rounds import Found, Rounds
from groupsim.members.failures import ClientFailure
from groupsim.members.interfaces import Fetched, GroupMetadata, Verdict
from groupsim.members.member import Member
from groupsim.members.profiles.profile import OnError

LONG_PAUSE_US = 1_000_000


class PollLoop:
    """The application's thread."""

    __slots__ = ("_begun", "_blocked_us", "_draws", "_events", "_failures", "_member", "_rounds", "_until_us")

    def __init__(self, member: Member, rounds: Rounds) -> None:
        self._member = member
        self._rounds = rounds
        self._events = poll_events_of(member, rounds)
        self._begun = False  # the first poll has begun as an event
        self._blocked_us = 0
        self._until_us: int | None = None  # when the current poll times out; None: never
        self._failures = 0  # polls in a row that failed
        self._draws: dict[str, Stream] = {}

    def begin(self, start: Callable[[], None]) -> None:
        """Begin the first poll as an event; `start` is called when it needs the task, which continues with `run`."""
        self._plan_enforced_rebalance()
        self._begun = True
        self._member.membership.enter_poll()
        self._rounds.begin(self.look, start)

    async def run(self) -> None:
        """Poll until closing. Raises ClientFailure when the application ends, PluginError."""
        member = self._member
        if not self._begun:
            self._plan_enforced_rebalance()
        while self._begun or not member.closing:
            try:
                await self._once()
            except ClientFailure as failure:
                await self._after_error(failure)

    async def _once(self) -> None:
        records = await self.poll()
        self._failures = 0
        self._rounds.deliver(records)
        await self._wait_blocked()
        for found in records:
            await self._process(found)
        if records and self._member.behaviour.exactly_once is not None:
            await self._in_transaction(records)
        elif records:
            await self._member.commits.after_batch()
        if records or self._member.behaviour.poll_timeout:
            await self._gap()

    async def _in_transaction(self, records: tuple[Fetched, ...]) -> None:
        """Commit outputs and offsets in one transaction: then continue, return to the committed offsets, or end.

        The offsets carry the generation in which the records were read. A member expelled since then has no generation
        now, and the coordinator would accept its commit as one from outside the group (KIP-447).
        """
        member = self._member
        generation, exactly_once = member.joined, member.behaviour.exactly_once
        assert exactly_once is not None
        instance = member.settings.group_instance_id
        group = GroupMetadata(member.group, generation.id, generation.member_id, instance)
        verdict = await exactly_once(records, group)
        if verdict is Verdict.END:
            raise ClientFailure("PRODUCER_FENCED", "the transactional producer was fenced or has ended", fatal=True)
        if verdict is Verdict.GO_BACK:
            member.fetcher.go_back(dict.fromkeys(found.partition for found in records))

    def block(self, us: int) -> None:
        """Keep the application's thread away from poll for `us` microseconds, from now or from the end of its batch."""
        self._blocked_us += us
        self._member.wake.hurry()

    async def _wait_blocked(self) -> None:
        blocked_us, self._blocked_us = self._blocked_us, 0
        if blocked_us:
            await self._member.host.sleep(blocked_us)

    async def _after_error(self, failure: ClientFailure) -> None:
        """Handle an exception out of poll as a container does; raise it again when the process ends."""
        member = self._member
        behaviour, usual = member.behaviour, member.profile.error_loop
        on_error = behaviour.on_error or usual.policy
        if on_error is OnError.STOP or (failure.fatal and on_error is not OnError.RETRY_ALL):
            raise failure
        member.warn(f"poll threw {failure}; polling again")
        self._failures += 1
        pause_us = behaviour.error_pause_us
        if pause_us is None:
            pause_us = usual.pause_us(self._failures)
            if failure.fatal or failure.lasting:  # the next poll fails at once, too
                pause_us = max(pause_us, LONG_PAUSE_US)
        await member.host.sleep(pause_us)

    # -- poll ---------------------------------------------------------------------------------------------------

    async def poll(self) -> tuple[Fetched, ...]:
        """Return records as soon as there are any; () when closing, or at the timeout of poll.

        Raises ClientFailure, PluginError.
        """
        member = self._member
        if self._events is not None:
            return await self._poll_by_events(self._events)
        member.membership.enter_poll()
        begun, self._begun = self._begun, False
        self._until_us = None if begun else self._poll_ends_us()
        try:
            records = self._rounds.found() if begun else None
            while records is None:
                found = self.look()
                records = await found if isinstance(found, Coroutine) else found
                if records is None:
                    records = await self._rounds.rest(self.look)
            return records
        finally:
            member.membership.leave_poll()

    async def _poll_by_events(self, events: PollEvents) -> tuple[Fetched, ...]:
        """Do the same where the thread looks at its work at times (`poll_events.py`)."""
        member, first = self._member, True
        member.membership.enter_poll()
        self._until_us = until_us = member.now_us + self._draw_timeout()
        try:
            while True:
                member.wake.at_once = False
                if member.failure is not None:
                    events.failed()
                if member.failure is not None or member.closing or not member.subscription.active:
                    found = self.look()
                    records = await found if isinstance(found, Coroutine) else found
                    if records is not None:
                        return records
                else:
                    member.wake.up = False
                    records = await events.look(first=first, until_us=until_us)
                    if records or self._blocked_us or member.now_us >= until_us:
                        return records
                await events.wait(until_us)
                if member.now_us >= until_us:
                    return member.fetcher.take()
                first = False
        finally:
            member.membership.leave_poll()

    def look(self) -> Found | Coroutine[Any, Any, Found]:
        """Do all work that is due in `poll`; return its result, or None to continue the wait.

        Returns a coroutine for the rest where user code may take time. The task of the application's thread calls this,
        and an event in its place where nothing takes time (`rounds.py`). Raises ClientFailure, PluginError.
        """
        member = self._member
        member.wake.up = False
        if member.failure is not None:
            self._throw_what_was_stored(member.failure)
        membership = member.membership
        if membership.owes_heartbeat:
            membership.polled()
        if member.closing:
            return ()
        rest = None
        if member.subscription.active:
            rest = membership.poll()
        elif member.subscription.assigned is not None:
            member.ownership.choose(member.subscription.assigned)
        elif membership.in_group or member.ownership.owned:
            rest = unsubscribe(member)
        return self._take() if rest is None else self._take_after(rest)

    async def _take_after(self, rest: Coroutine[Any, Any, None]) -> Found:
        await rest
        return self._take()

    def _take(self) -> Found:
        """End a check: commit if the interval has ended, and take records."""
        member = self._member
        if member.commits.owed:
            member.commits.polled()
        records = member.fetcher.take()
        if records or self._blocked_us or (self._until_us is not None and member.now_us >= self._until_us):
            return records
        return None

    def _poll_ends_us(self) -> int | None:
        """Return when this poll times out; None: never."""
        distribution = self._member.behaviour.poll_timeout
        if not distribution:
            return None
        self._member.fetcher.poll_begins()
        until_us = self._member.now_us + self._draw("poll-timeout", distribution)
        self._member.wake_at(until_us)
        return until_us

    def _draw_timeout(self) -> int:
        distribution = self._member.behaviour.poll_timeout
        return self._draw("poll-timeout", distribution) if distribution else LONG_PAUSE_US

    def _throw_what_was_stored(self, failure: ClientFailure) -> None:
        if not failure.lasting:
            self._member.failure = None
        raise failure

    # -- the application ----------------------------------------------------------------------------------------

    async def _process(self, found: Fetched) -> None:
        rounds = self._rounds
        took = rounds.processing_us(found)
        if took:
            await self._member.host.sleep(took)
        rounds.finish(found)

    async def _gap(self) -> None:
        distribution = self._member.behaviour.poll_gap
        took = self._draw("poll-gap", distribution) if distribution else 0
        if took:
            await self._member.host.sleep(took)

    def _draw(self, purpose: str, distribution: Distribution) -> int:
        """Draw a duration; the stream belongs to the host over all starts, and is made at its first use."""
        if purpose not in self._draws:
            self._draws[purpose] = self._member.loop.stream(purpose, self._member.host.name)
        return distribution.draw(self._draws[purpose])

    # -- enforced rebalances ------------------------------------------------------------------------------------

    def _plan_enforced_rebalance(self) -> None:
        member = self._member
        distribution = member.behaviour.enforce_rebalance_every
        if distribution:
            member.host.call_at(member.now_us + max(self._draw("enforce-rebalance", distribution), 1), self._enforce)

    def _enforce(self, _: Any) -> None:
        member = self._member
        if not member.closing:
            if not member.membership.rejoin_needed:
                member.membership.request_rejoin("rebalance enforced by user")
            self._plan_enforced_rebalance()
