"""When the application's thread of Java's asynchronous consumer looks, where it polls with a timeout.

Under the consumer protocol (KIP-848) `poll` waits for records, and looks at what the background thread has for it only
between two waits. A wait ends

    at the timeout of `poll`
    after retry.backoff.ms, or when the next heartbeat is due
    when a Fetch comes back, with or without records; a second look follows at once, for it wakes twice
    when the application is called for (`wakeup`)

With each look one event for the background thread (`AsyncPollEvent`) may be under way: it reconciles, commits at the
interval, restarts the poll limit, looks positions up and fetches. The next one follows when it is complete: at the next
`poll`, or within a long one at the second look. So callbacks, and positions of partitions whose callback has returned,
wait for a look or two. In a poll without a timeout the thread is taken to look at once.

Sources: `AsyncKafkaConsumer.poll`, `checkInflightPoll`, `pollForFetches`, `FetchBuffer.awaitWakeup`,
`ApplicationEventProcessor.process(AsyncPollEvent)` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from groupsim.eventloop.units import MS_US
from groupsim.members.consumer.rounds import Rounds
from groupsim.members.failures import ClientFailure
from groupsim.members.fetch.fetcher import PullFetcher
from groupsim.members.interfaces import Fetched
from groupsim.members.member import Member
from groupsim.members.settings import CLASSIC

if TYPE_CHECKING:
    from groupsim.members.consumer_protocol.membership import ConsumerMembership

#: A Fetch that comes back wakes the thread again while it looks: by its partitions, and by itself.
_AGAIN = 1
_PASS_US = 100  # from one such look to the next


def poll_events_of(member: Member, rounds: Rounds) -> PollEvents | None:
    """Return the events of a member's polls; None for libraries, protocols and fetchers without them."""
    fetcher = member.fetcher
    if member.settings.group_protocol == CLASSIC or type(fetcher) is not PullFetcher:
        return None
    has_events = member.profile.consumer_protocol.poll_events and member.behaviour.poll_timeout is not None
    membership = cast("ConsumerMembership", member.membership)
    return PollEvents(member, membership, fetcher, rounds) if has_events else None


class PollEvents:
    """The looks of one application's thread, and the event that is under way."""

    __slots__ = (
        "_again",
        "_deadline_us",
        "_fetch_us",
        "_fetch_wait_us",
        "_fetcher",
        "_is_complete",
        "_member",
        "_membership",
        "_retry_us",
        "_rounds",
        "_submitted_us",
        "_under_way",
    )

    def __init__(self, member: Member, membership: ConsumerMembership, fetcher: PullFetcher, rounds: Rounds) -> None:
        self._member = member
        self._membership = membership
        self._fetcher = fetcher
        self._rounds = rounds
        self._retry_us = member.settings.retry_backoff_ms * MS_US
        self._fetch_wait_us = member.settings.fetch_max_wait_ms * MS_US
        self._fetch_us = 0  # when the Fetch of the last event comes back
        self._again = 0  # looks that follow at once
        self._under_way = False
        self._is_complete = False
        self._submitted_us = self._deadline_us = 0
        fetcher.settles_apart = True

    # -- looks --------------------------------------------------------------------------------------------------

    async def look(self, *, first: bool, until_us: int) -> tuple[Fetched, ...]:
        """Look once, as the `first` of a poll or within it; return records. Raises ClientFailure."""
        callbacks = self._membership.callbacks
        if first and self._under_way and (self._is_complete or self._is_expired):
            self._under_way = False
        due = len(callbacks)
        is_new = not self._under_way
        if is_new:
            self._submit(until_us)
        if due:
            await self._call_back(callbacks.run(due))
        if (self._is_complete and self._member.loop.now_us > self._submitted_us) or (not is_new and self._is_expired):
            self._under_way = False
        records = self._fetcher.take()
        if records:
            self._fetch_us = self._member.loop.now_us + self._fetch_wait_us  # `sendPrefetches`
        return records

    def failed(self) -> None:
        """End the event: a look-up of it has failed, and `poll` throws."""
        self._under_way = False

    async def _call_back(self, callbacks: Coroutine[Any, Any, None]) -> None:
        try:
            await callbacks
        except ClientFailure:
            self._under_way = False
            raise

    async def wait(self, until_us: int) -> None:
        """Wait for the next look; meanwhile the background thread continues with the event."""
        member = self._member
        now_us = member.loop.now_us
        if self._again:
            self._again -= 1
            await member.host.sleep(_PASS_US)
            return
        when_us = min(until_us, now_us + min(self._retry_us, self._membership.longest_wait_us))
        if now_us < self._fetch_us < when_us:
            when_us = self._fetch_us
        timer = member.host.call_at(when_us, self._due)
        while not self._ends(when_us):
            member.wake.up = False
            self._continue()
            await self._rounds.rest(_nothing)
        member.host.cancel(timer)
        if self._fetch_us == when_us == member.loop.now_us:
            self._again = _AGAIN

    def _ends(self, when_us: int) -> bool:
        member = self._member
        return member.loop.now_us >= when_us or member.wake.at_once or member.closing or self._fetcher.has_pieces

    def _due(self, _: Any) -> None:
        self._member.wake.set()

    # -- the event ----------------------------------------------------------------------------------------------

    @property
    def _is_expired(self) -> bool:
        return self._member.loop.now_us >= self._deadline_us

    def _submit(self, until_us: int) -> None:
        """Hand an event to the background thread, which processes it at once."""
        self._under_way, self._is_complete = True, False
        self._submitted_us, self._deadline_us = self._member.loop.now_us, until_us
        self._membership.process_poll()
        if self._member.commits.owed and self._membership.epoch >= 0:
            self._member.commits.polled()
        self._continue()

    def _continue(self) -> None:
        """Look positions up; the event is complete when all are known, and fetches."""
        if not self._under_way or self._is_complete or self._member.failure is not None:
            return
        fetcher = self._fetcher
        if not fetcher.settle():
            return
        self._is_complete = True
        fetcher.poll_begins()  # a look-up that fails goes on over polls, with a backoff that grows
        now_us = self._member.loop.now_us
        if fetcher.positions and now_us >= self._fetch_us:
            self._fetch_us = now_us + self._fetch_wait_us


def _nothing() -> None:
    """Look at nothing: only the task does."""
