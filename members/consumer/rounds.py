"""What a consumer does as events while its story rests inside `poll`: rounds of records, and looks around.

Rounds: records come, are delivered and processed, and the application polls again. In a stable group that is all a
consumer does, thousands of times between two rebalances, and nothing of it needs a story: there is one way on. So it
runs as events (arrival, end of processing), at a fraction of a wake-up's cost. The rules:

* A round begins only when the story rests and nothing waits for it: no flag is up, no rebalance under way, every owned
  partition has its position, and the application neither commits after batches nor sleeps between polls. Otherwise
  the flag is raised and the story does the round itself (`poll_loop.py`), with the same steps in the same order.
* Whatever has to be looked at raises the flag, as ever. A round under way is finished first: the application's thread
  is busy with its batch, and comes to `poll` when that is done.

        records_came ──> begin ──> poll ──> deliver ──> process … ──┐
                                    ^                               │ the batch is done
                                    └──────────── peace? ───────────┤
                                                                    └──> the flag, and whoever looks

Looks: most of what raises the flag is an answer that leads to the next request of a rebalance, and to see to that
takes no time. So such a look is an event, too, in the place where the wake-up of the story would have been: the poll
loop's own (`PollLoop.look`), run to its end. The story is woken where the look might have to wait (callbacks that take
time or commit, the leader's assignor) or would have something to return, and to return, or raise, what a look has
found.

So most processes have no story at all: their first poll begins as an event (`begin`), and the story starts, inside
that poll, when it would be woken for the first time. To wake one and to start one takes the same place in the order.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from groupsim.eventloop.immediate import run_without_waiting
from groupsim.eventloop.interface import Order
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour, CommitPolicy, ProcessingTimes
from groupsim.members.interfaces import Fetched
from groupsim.members.member import Member

if TYPE_CHECKING:
    from groupsim.eventloop.interface import Event
    from groupsim.members.consumer.workers import StuckWorkers

_COMMITS_AFTER_BATCH = frozenset({CommitPolicy.SYNC_AFTER_BATCH, CommitPolicy.ASYNC_AFTER_BATCH})
_COMMITS_ON_REVOKE = _COMMITS_AFTER_BATCH | {CommitPolicy.ON_REVOKE}
# Looked up once: members of an enumeration are found slowly, and these are for every record.
_DELIVERED, _PROCESSED = Kind.RECORDS_DELIVERED, Kind.RECORDS_PROCESSED
_TASK = Order.TASK

Found: TypeAlias = tuple[Fetched, ...] | None
"""What a look comes to: what `poll` returns with, or None when it goes on waiting."""
Look: TypeAlias = Callable[[], Found | Coroutine[Any, Any, Found]]
"""See to what is due in `poll` (`PollLoop.look`); what may take time is to be awaited."""


class Rounds:
    """What the application does with records, and what is seen to in `poll`; as events where no story is needed."""

    __slots__ = (
        "_between_batches",
        "_busy_until_us",
        "_busy_us",
        "_emit",
        "_enter_poll",
        "_found",
        "_host",
        "_judged",
        "_leave_poll",
        "_look",
        "_looking",
        "_loop",
        "_member",
        "_membership",
        "_next",
        "_plain",
        "_planned",
        "_prompt",
        "_raised",
        "_records",
        "_resting",
        "_start",
        "_task_event",
        "_times",
        "_under_way",
        "_wake",
        "workers",
    )

    def __init__(self, member: Member) -> None:
        self._member = member
        # Parts of the member that every round asks, at hand.
        self._loop, self._host, self._wake = member.loop, member.host, member.wake
        self._membership, self._emit = member.membership, member.trace.emit_of_partition
        self._enter_poll, self._leave_poll = member.membership.enter_poll, member.membership.leave_poll
        self._times: ProcessingTimes | None = None  # until a record takes time
        self._judged: Behaviour | None = None  # the behaviour that `_plain` and `_prompt` were found for
        self._plain = self._prompt = False
        self._between_batches = member.pace.heartbeats_between_batches
        self._records: tuple[Fetched, ...] = ()
        self._next = 0
        self._resting = False  # the story waits inside poll
        self._planned = False
        self._busy_us = self._busy_until_us = 0
        self._under_way = False
        self._task_event: Event | None = None  # what it waits for; most processes have no story
        self._start: Callable[[], None] | None = None  # of the story, while there is none
        self._look: Look | None = None
        self._looking = False
        self._found: Found = None
        self._raised: Exception | None = None
        self.workers: StuckWorkers | None = None  #: workers of the application that do not come back
        member.wake.on_set = self._on_wake

    # -- the story's side ---------------------------------------------------------------------------------------

    def begin(self, look: Look, start: Callable[[], None]) -> None:
        """Look around for the first time, and rest, without a story: `start` starts it in the middle of that rest."""
        self._look, self._start = look, start
        self._resting = self._wake.up = True
        self._look_around()

    async def rest(self, look: Look) -> Found:
        """Wait for what needs the story; what needs none is seen to by `look`, as an event.

        Returns what such a look has found, or None: the story has to look itself. Raises what a look has raised.
        """
        if self._wake.up:
            return None
        self._look = look
        self._resting = True
        task_event = self._task_event = self._task_event or self._loop.event()
        try:
            await task_event.wait()
        finally:
            self._resting = False
        task_event.clear()
        return self.found()

    def found(self) -> Found:
        """What the look has found for which the story was woken, or started; as `rest` returns, or raises, it."""
        found, self._found = self._found, None
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        return found

    def _wake_task(self) -> None:
        self._resting = False
        start, self._start = self._start, None
        if start is not None:
            start()
        elif self._task_event is not None:
            self._task_event.set()

    # -- looks --------------------------------------------------------------------------------------------------

    def _on_wake(self) -> None:
        """The flag was raised; when the story rests, and no round is under way, it is time for a look."""
        if not self._resting or self._under_way or self._looking:
            return
        if self.needs_task():
            self._wake_task()
        else:
            self._host.call_at(self._loop.now_us, _look, self, order=_TASK)

    def needs_task(self) -> bool:
        """Whether a look might have to wait, or would have something to return."""
        member = self._member
        if member.behaviour is not self._judged:
            self._judge(member.behaviour)
        return (
            not self._prompt
            or member.closing
            or member.failure is not None
            or not member.subscription.active
            or member.fetcher.has_records()
            or bool(member.ownership.blocks)
            or self._membership.assigns_next
        )

    def _look_around(self) -> None:
        """One look, and another when it has raised the flag itself."""
        while self._resting and self._wake.up:
            if self._look is None or self.needs_task():
                self._wake_task()
                return
            self._looking = True
            try:
                found = self._look()
                self._found = run_without_waiting(found) if isinstance(found, Coroutine) else found
            except Exception as raised:
                self._raised = raised
            self._looking = False
            if self._found is not None or self._raised is not None:
                self._wake_task()

    def records_came(self) -> None:
        """There is something in the buffer: begin a round, or tell the story."""
        if self._under_way or self._planned:
            return
        if self._resting and not self._wake.up:
            self._planned = True
            self._host.call_at(self._loop.now_us, _begin, self, order=_TASK)
        else:
            self._wake.set()

    # -- a round ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._planned = False
        if self._resting and not self._wake.up:
            self._rounds()

    def _rounds(self) -> None:
        """Round after round while none takes time, in a loop: a backlog may be thousands of them."""
        while self._is_peaceful():
            if not (self._poll() and self._work() and self._comes_back()):
                return
        self._wake.set()

    def _is_peaceful(self) -> bool:
        """Whether a poll would find nothing to do but to return records."""
        member = self._member
        if member.behaviour is not self._judged:
            self._judge(member.behaviour)
        return (
            self._plain
            and not self._membership.rebalances
            and len(member.fetcher.positions) == len(member.ownership.owned)
            and member.subscription.active
        )

    def _judge(self, behaviour: Behaviour) -> None:
        """Whether this application neither commits after batches nor sleeps between polls; and what looks may take."""
        self._judged = behaviour
        self._prompt = (
            behaviour.poll_timeout is None
            and behaviour.on_assigned is None
            and behaviour.on_revoked is None
            and behaviour.on_lost is None
            and behaviour.commit not in _COMMITS_ON_REVOKE
        )
        self._plain = (
            behaviour.poll_timeout is None
            and behaviour.poll_gap is None
            and behaviour.commit not in _COMMITS_AFTER_BATCH
            and behaviour.exactly_once is None
            and not self._member.profile.commits.after_batch
        )

    def _poll(self) -> bool:
        """The application calls `poll`; whether it returned records."""
        self._polled()
        records = self._member.fetcher.take()
        if records:
            self._leave_poll()
            self._member.commits.forsaken.clear()
            self._under_way = True
            self._records, self._next = records, 0
            for found in records:
                self._emit_range(_DELIVERED, found)
            return True
        return False

    def _polled(self) -> None:
        """The application has come to `poll`: what was owed to that goes out."""
        member = self._member
        if self._membership.owes_heartbeat:
            self._membership.polled()
        if member.commits.owed:
            member.commits.polled()

    def _work(self) -> bool:
        """Go on with the batch, up to the next record that takes time; True when all is done."""
        records = self._records
        while self._next < len(records):
            found = records[self._next]
            self._next += 1
            took = self.processing_us(found)
            if took:
                self._host.call_at(self._loop.now_us + took, _worked, self, order=_TASK)
                return False
            self.finish(found)
        self._under_way = False
        self._records = ()
        return True

    def _worked(self) -> None:
        self.finish(self._records[self._next - 1])
        if self._work() and self._comes_back():
            self._rounds()

    def _comes_back(self) -> bool:
        """The application has come back to `poll`; whether there is another round for it at once."""
        self._enter_poll()
        if self._wake.up:
            self._on_wake()
            return False
        if self._member.fetcher.has_records():
            return True
        self._polled()
        return False

    # -- what the application does with records, whoever has it done ----------------------------------------------

    def deliver(self, records: tuple[Fetched, ...]) -> None:
        """`poll` has returned these."""
        self._member.commits.forsaken.clear()
        for found in records:
            self._emit_range(_DELIVERED, found)

    def processing_us(self, found: Fetched) -> int:
        """How long the handler takes for a range of records."""
        if self.workers is not None and self.workers.are_for(found.partition):
            return 0  # handing it to a worker takes no time
        behaviour = self._member.behaviour
        took = 0
        times = self._times
        if times is None:
            times = self._times = ProcessingTimes(self._loop)
        if behaviour.processing is not None:
            took = times.records_us(behaviour.processing, found.partition, found.base, found.count)
        if behaviour.per_batch is not None:
            took += times.batch_us(behaviour.per_batch, found.partition, found.base)
        if took:
            self._busy_us += took
            self._busy_until_us = self._loop.now_us + took
        return took

    @property
    def busy_us(self) -> int:
        """How long the handler has worked until now, in all; the rest of a batch in hand is not counted yet."""
        return self._busy_us - max(0, self._busy_until_us - self._loop.now_us)

    def finish(self, found: Fetched) -> None:
        """The handler has finished a range of records, or handed it to a worker that is stuck."""
        member = self._member
        if self.workers is None or not self.workers.take(found):
            member.commits.finish(found.partition, found.base + found.count)
            self._emit_range(_PROCESSED, found)
        if self._between_batches:
            self._enter_poll()
            self._membership.polled()
            self._leave_poll()

    def _emit_range(self, kind: Kind, found: Fetched) -> None:
        member = self._member
        number, member_id, _ = member.generation
        payload, generation = {"base": found.base, "count": found.count}, number if number >= 0 else None
        self._emit(kind, self._host.name, member.group, member_id or None, generation, found.partition, payload)


# As plain functions: a bound method for every round would be one more object to make.
_begin, _worked, _look = Rounds._begin, Rounds._worked, Rounds._look_around
