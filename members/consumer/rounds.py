"""The work of a consumer that runs as events while its task waits inside `poll`: rounds of records, and checks.

Rounds: records arrive, are delivered and processed, and the application polls again. In a stable group a consumer does
nothing else, thousands of times between two rebalances, and needs no task: the events (arrival, end of processing)
follow each other at a fraction of the cost of a task switch. The rules:

* A round begins only while the task waits and no other work is pending: the flag is down, no rebalance is under way,
  every owned partition has its position, and the application neither commits after batches nor sleeps between polls.
  Otherwise the flag is raised and the task runs the round itself (`poll_loop.py`), with the same steps in order.
* All other work raises the flag. A round under way is finished first: the application's thread is busy with its
  batch, and calls `poll` afterwards.

        records_came ──> begin ──> poll ──> deliver ──> process … ──┐
                                    ^                               │ the batch is done
                                    └──── no other work? ───────────┤
                                                                    └──> the flag

Checks: most events that raise the flag are answers that lead to the next request of a rebalance, which takes no time.
Such a check (`PollLoop.look`) runs as an event, too, at the place in the order where the task would have woken. The
task is woken only where a check may have to wait (callbacks that take time or commit, the leader's assignor), or has
a result to return or an exception to raise.

So most processes have no task: their first poll begins as an event (`begin`), and the task starts within that poll when
it would be woken for the first time. Waking and starting a task take the same place in the order.
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
# Bound once for every record: access to a member of an enumeration is slow.
_DELIVERED, _PROCESSED = Kind.RECORDS_DELIVERED, Kind.RECORDS_PROCESSED
_TASK = Order.TASK

Found: TypeAlias = tuple[Fetched, ...] | None
"""Result of a check: what `poll` returns, or None to continue the wait."""
Look: TypeAlias = Callable[[], Found | Coroutine[Any, Any, Found]]
"""Do the work that is due in `poll` (`PollLoop.look`); returns a coroutine where it may take time."""


class Rounds:
    """The application's handling of records, and the checks in `poll`; as events where no task is needed."""

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
        # Bound once for every round.
        self._loop, self._host, self._wake = member.loop, member.host, member.wake
        self._membership, self._emit = member.membership, member.trace.emit_of_partition
        self._enter_poll, self._leave_poll = member.membership.enter_poll, member.membership.leave_poll
        self._times: ProcessingTimes | None = None  # made for the first record that takes time
        self._judged: Behaviour | None = None  # the behaviour that `_plain` and `_prompt` describe
        self._plain = self._prompt = False
        self._between_batches = member.pace.heartbeats_between_batches
        self._records: tuple[Fetched, ...] = ()
        self._next = 0
        self._resting = False  # the task waits inside poll
        self._planned = False
        self._busy_us = self._busy_until_us = 0
        self._under_way = False
        self._task_event: Event | None = None  # what the task waits for; most processes have no task
        self._start: Callable[[], None] | None = None  # starts the task, while there is none
        self._look: Look | None = None
        self._looking = False
        self._found: Found = None
        self._raised: Exception | None = None
        self.workers: StuckWorkers | None = None  #: stuck workers of the application
        member.wake.on_set = self._on_wake

    # -- the task -----------------------------------------------------------------------------------------------

    def begin(self, look: Look, start: Callable[[], None]) -> None:
        """Do the first check and wait, without a task; `start` starts the task within that wait."""
        self._look, self._start = look, start
        self._resting = self._wake.up = True
        self._look_around()

    async def rest(self, look: Look) -> Found:
        """Wait for an event that needs the task; `look` handles the others.

        Returns or raises the result of such a check; None where the task has to check itself.
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
        """Return or raise the result of the check for which the task was woken or started."""
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

    # -- checks -------------------------------------------------------------------------------------------------

    def _on_wake(self) -> None:
        """Plan a check when the flag is raised, if the task waits and no round is under way."""
        if not self._resting or self._under_way or self._looking:
            return
        if self.needs_task():
            self._wake_task()
        else:
            self._host.call_at(self._loop.now_us, _look, self, order=_TASK)

    def needs_task(self) -> bool:
        """Whether a check may have to wait, or has a result."""
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
        """Check, and check again if that raised the flag."""
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
        """Begin a round for records in the buffer, or set `wake`."""
        if self._under_way or self._planned:
            return
        if self._resting and not self._wake.up:
            self._planned = True
            self._host.call_at(self._loop.now_us, _begin, self, order=_TASK)
        else:
            self._wake.set()

    # -- rounds -------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._planned = False
        if self._resting and not self._wake.up:
            self._rounds()

    def _rounds(self) -> None:
        """Run rounds in a loop while none takes time: a backlog may be thousands of them."""
        while self._is_idle():
            if not (self._poll() and self._work() and self._return_to_poll()):
                return
        self._wake.set()

    def _is_idle(self) -> bool:
        """Whether a poll would only return records."""
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
        """Classify a behaviour: whether rounds may run as events, and whether checks take no time."""
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
        """Call `poll` for the application; True if it returned records."""
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
        """Send an overdue heartbeat and commit, which wait for `poll`."""
        member = self._member
        if self._membership.owes_heartbeat:
            self._membership.polled()
        if member.commits.owed:
            member.commits.polled()

    def _work(self) -> bool:
        """Process the batch up to the next record that takes time; True at its end."""
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
        if self._work() and self._return_to_poll():
            self._rounds()

    def _return_to_poll(self) -> bool:
        """Return to `poll`; True if another round follows at once."""
        self._enter_poll()
        if self._wake.up:
            self._on_wake()
            return False
        if self._member.fetcher.has_records():
            return True
        self._polled()
        return False

    # -- handling of records --------------------------------------------------------------------------------------

    def deliver(self, records: tuple[Fetched, ...]) -> None:
        """Emit the records that `poll` has returned."""
        self._member.commits.forsaken.clear()
        for found in records:
            self._emit_range(_DELIVERED, found)

    def processing_us(self, found: Fetched) -> int:
        """Return the processing time of a range of records."""
        if self.workers is not None and self.workers.are_for(found.partition):
            return 0  # handing records to a worker takes no time
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
        """Total time that the handler has worked; the rest of the current batch does not count yet."""
        return self._busy_us - max(0, self._busy_until_us - self._loop.now_us)

    def finish(self, found: Fetched) -> None:
        """Finish a range of records, or hand it to a stuck worker."""
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


# As plain functions, because a bound method would be one more object for every round.
_begin, _worked, _look = Rounds._begin, Rounds._worked, Rounds._look_around
