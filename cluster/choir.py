"""The heartbeats of many members that go by themselves: rows of numbers, and the instants at which something happens.

A quiet heartbeat is three events: it is due and goes out, it arrives at the broker, its answer arrives at the client.
Of ten thousand members nothing is in the processor's caches when its heartbeat comes, and each object that has to be
found is waited for. So here a member is a row: one number in each of a few columns, which together are small enough to
stay in the caches. No object of the member's, of the coordinator's or of the event loop's heap is touched.

A choir is for rhythms (`beating.Rhythm`) that have all but their numbers in common: a group in its present era and a
session timeout (`Steady`), the broker's life, the interval, and what the broker takes for a request. So what is the
same for all is looked at once, when a run begins. What will happen to the rows lies in two queues:

* `dues`: all have one interval, so whoever was due first is due first again. It is a queue of instants, each with the
  rows that are due then; their order never changes.
* `_arrivals`: the rows to which something arrives at an instant, in the order it was sent; with a heap of the instants.

In the event loop's heap the choir has one event, in the place of its first (`_post`). When that runs, `sing` has one
event after the other carried out (`_running`), for as long as none of the heap's comes in between. All of them are
quiet: they put nothing into the heap, say nothing in the trace, and nobody else does anything meanwhile. So the order
is the one that it would be if each lay in the heap; that is what the tickets are kept for.

Mostly not even that order has to be kept. What is quiet concerns no other row: a heartbeat whose answer arrives before
the heap's first, and before any can be due that is not quiet, is carried out from end to end when it goes out
(`_going_out`), with the latencies and the times that its three events would have had. Their tickets are other numbers
then, but decide only between events of one instant and class, and those have the order of going out in either case.

The first that is not quiet (an unanswered heartbeat when the next is due, a group that rebalances, a broker that stands
still) ends the run and its rhythm, and so does everything else that ends a rhythm, at any time: the row is given up
(`leave`), after what it had under way was set in the heap, in the place it had here. The queues know rows only, so a
row that was given up is not used again until its instants have come.

A session that is kept here needs no alarm of its own: `_watch` wakes up when the first of all would run out.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import takewhile
from typing import TYPE_CHECKING

from groupsim.cluster.latency import BLOCK
from groupsim.eventloop.heap import FREE, MESSAGE_RANK, NEVER_US, TIMER_RANK

if TYPE_CHECKING:
    from groupsim.cluster.beating import Rhythm
    from groupsim.cluster.sockets import Correlations
    from groupsim.coordinator.steady import Steady
    from groupsim.eventloop.interface import EventLoop, Handle, Life

# The stage of a row; once it was given up, what of it is still in the queues.
ANSWERED, OUT, BACK, LEFT_DUE, LEFT_ARRIVAL, LEFT_BOTH = range(6)
NOBODY = -1  # the stage of no row

_LAST = BLOCK - 1
_NO_LATENCIES = array("Q", [0] * BLOCK)
_AT_ONCE = 200  # rows in one run, at most: a turn of the loop is a thousand runs, and ctrl-C comes between turns


class Columns:
    """What is kept of each row, in arrays of the same length.

    `stage`; `sent_us`, when the last heartbeat went out; `asked`, the ticket that it has, and the timer of the next;
    `ids`, its correlation id; `judged_us` and `judged`, when the last one arrived, and the ticket that its answer and
    the session have since; `alive_us`, when the last answer arrived; `latencies`, `BLOCK` each, and `at`, how many of
    these are used up; `clients`, where `last_ids` has the client's last correlation id.
    """

    __slots__ = (
        "alive_us",
        "asked",
        "at",
        "clients",
        "ids",
        "judged",
        "judged_us",
        "last_ids",
        "latencies",
        "rhythms",
        "sent_us",
        "stage",
    )

    def __init__(self, last_ids: array[int]) -> None:
        self.stage, self.at = bytearray(), bytearray()
        self.sent_us, self.judged_us, self.alive_us = array("Q"), array("Q"), array("Q")
        self.asked, self.judged, self.ids = array("Q"), array("Q"), array("Q")
        self.latencies = array("Q")
        self.clients: list[int] = []
        self.rhythms: list[Rhythm] = []
        self.last_ids = last_ids

    def append(self, rhythm: Rhythm, ids: Correlations) -> int:
        """One row more; returns which."""
        self.stage.append(ANSWERED)
        self.at.append(0)
        for column in (self.sent_us, self.judged_us, self.alive_us, self.asked, self.judged, self.ids):
            column.append(0)
        self.latencies.extend(_NO_LATENCIES)
        self.clients.append(ids.at)
        self.rhythms.append(rhythm)
        return len(self.rhythms) - 1

    def take_latencies(self, row: int) -> None:
        """Those that the connection has drawn."""
        connection = self.rhythms[row].connection
        self.at[row] = connection._at
        self.latencies[row * BLOCK : (row + 1) * BLOCK] = connection._latencies

    def refill(self, row: int) -> int:
        """Have the connection draw the next ones; returns how many of them are used up: none, but once."""
        connection = self.rhythms[row].connection
        connection._at = connection._refill()
        self.take_latencies(row)
        return self.at[row]


class Choir(Columns):
    """Rows, and when something happens to them."""

    __slots__ = (
        "_arrivals",
        "_free",
        "_handle",
        "_loop",
        "_place",
        "_run",
        "_steady",
        "_times",
        "_watch_handle",
        "_watch_us",
        "doubtful_us",
        "dues",
        "go_out",
        "interval_us",
        "life",
        "processing_us",
        "rows",
        "session_us",
    )

    def __init__(
        self,
        loop: EventLoop,
        steady: Steady,
        life: Life,
        interval_us: int,
        processing_us: int,
        last_ids: array[int],
    ) -> None:
        super().__init__(last_ids)
        self._loop = loop
        self._steady = steady
        self.life = life  # the broker's
        self.interval_us = interval_us
        self.processing_us = processing_us
        self.session_us = steady.session_us
        self.rows = 0  # how many are in use
        self._free: list[int] = []
        self.dues: deque[tuple[int, list[int]]] = deque()
        self._arrivals: dict[int, list[int]] = {}
        self.doubtful_us = NEVER_US  # while something is on its way: from when on a due one may still be unanswered
        self._times = [NEVER_US]  # a heap of those of `_arrivals`, and the end
        self._handle: Handle | None = None
        self._place = NEVER_US, 0
        self._watch_handle: Handle | None = None
        self._watch_us = NEVER_US
        self.go_out = _going_out(self, loop.ticket, self._arrivals, self._times)
        self._run = _running(self, loop.ticket, self._arrivals, self._times)

    # --- rows ------------------------------------------------------------------------------------------------

    def enter(self, rhythm: Rhythm, ids: Correlations, judged_us: int, judged: int) -> int:
        """A row for a rhythm whose first heartbeat goes out now; returns which."""
        if self._free:
            row = self._free.pop()
            self.rhythms[row], self.clients[row] = rhythm, ids.at
        else:
            row = self.append(rhythm, ids)
        self.rows += 1
        self.stage[row] = ANSWERED
        self.judged_us[row], self.judged[row] = judged_us, judged
        self.take_latencies(row)
        now = self._loop.now_us
        self.go_out(now, [row], 0)
        self._post()
        return row

    def arrives_us(self, row: int) -> int:
        """When that arrives which is on its way."""
        latency = self.latencies[row * BLOCK + self.at[row] - 1]
        if self.stage[row] == OUT:
            return self.sent_us[row] + latency + self.processing_us
        return self.judged_us[row] + latency

    def leave(self, row: int) -> None:
        """Its rhythm has ended, and has set in the loop's heap what was under way."""
        self.stage[row] = LEFT_DUE if self.stage[row] == ANSWERED else LEFT_BOTH
        self.rows -= 1
        if self.rows == 0:
            self.dues.clear()
            self._arrivals.clear()
            self._times[:] = [NEVER_US]
            self._free = list(range(len(self.rhythms)))
            self._post()
            self._watch_from(NEVER_US)

    def _left(self, row: int, message: bool) -> bool:
        """Whether a row was given up; if so, one of its instants has come."""
        stage = self.stage
        if stage[row] < LEFT_DUE:
            return False
        if stage[row] == LEFT_BOTH:
            stage[row] = LEFT_DUE if message else LEFT_ARRIVAL
        else:
            self._free.append(row)
        return True

    # --- its place in the loop's heap ------------------------------------------------------------------------

    def _first(self) -> tuple[int, int, int]:
        """Time, rank and row of the first event."""
        due_us = self.dues[0][0] if self.dues else NEVER_US
        when = self._times[0]
        if when == due_us == NEVER_US:
            return NEVER_US, 0, 0
        if when <= due_us:
            row = self._arrivals[when][0]
            return when, self._rank(True, row), row
        row = self.dues[0][1][0]
        return due_us, self._rank(False, row), row

    def _rank(self, message: bool, row: int) -> int:
        """The rank of what is on its way, or of the timer."""
        if message:
            return MESSAGE_RANK + (self.asked if self.stage[row] == OUT else self.judged)[row]
        return TIMER_RANK + self.asked[row]

    def _post(self) -> None:
        """See that the loop's heap has an event where the first of ours is."""
        when, rank, row = self._first()
        if self._handle is not None:
            if (when, rank) == self._place:
                return
            self._loop.cancel(self._handle)
            self._handle = None
        if when < NEVER_US:
            self._place = when, rank
            self._handle = self._loop.set_in_place(when, rank, _sing, self, FREE, self.rhythms[row].cause)

    # --- a run -----------------------------------------------------------------------------------------------

    def sing(self) -> None:
        """Carry out what comes before everything else that the loop has to do."""
        self._handle = None
        loop = self._loop
        until_us, until_rank = clear_us, _ = loop.comes_next()
        most, well = _AT_ONCE, self._steady.ready and not self.life.held
        if loop.watched:
            most, clear_us = 1, 0
        if self._place[0] == until_us:
            until_us, most, clear_us = until_us + 1, self._before(until_rank, most), 0
        now, strange = self._run(loop.now_us, until_us, most, OUT if well else NOBODY, clear_us if well else 0)
        loop.come_to(now)
        if strange >= 0:
            loop.trace.cause = self.rhythms[strange].cause
            self.rhythms[strange].end()
        self._post()

    def _before(self, rank: int, most: int) -> int:
        """How many events of the first instant come before this rank; `most` at most."""
        due_us = self.dues[0][0] if self.dues else NEVER_US
        message = self._times[0] <= due_us
        rows = self._arrivals[self._times[0]] if message else self.dues[0][1]
        return len(list(takewhile(lambda row: self._rank(message, row) < rank, rows[:most])))

    def cut(self, message: bool, now: int, rows: list[int], end: int) -> list[int]:
        """The rows up to `end` (counted from the last, as in a slice); the others are put back."""
        self._put_back(message, now, rows[end:])
        return rows[:end]

    def _put_back(self, message: bool, now: int, rows: list[int]) -> None:
        """These are still to come at this instant, before what has been added to it since."""
        if not rows:
            return
        if not message:
            self.dues.appendleft((now, rows))
        elif now in self._arrivals:
            self._arrivals[now][:0] = rows
        else:
            self._arrivals[now] = rows
            heappush(self._times, now)

    def set_apart(self, message: bool, now: int, rows: list[int], strange: int) -> bool:
        """Put back a row with which nothing could be done, and those after it: they are still to come.

        False if there was nothing to be done because it has been given up: it is out now, as are such rows after it.
        """
        rest = rows[rows.index(strange) :]
        if gone := self.stage[strange] >= LEFT_DUE:
            rest = [row for row in rest if not self._left(row, message)]
        self._put_back(message, now, rest)
        return not gone

    # --- sessions --------------------------------------------------------------------------------------------

    def watch(self, row: int) -> None:
        """See to it from now on that this row's rhythm ends before its session does."""
        self._watch_from(min(self._watch_us, self.judged_us[row] + self.session_us))

    def _watch_from(self, when_us: int) -> None:
        if when_us == self._watch_us:
            return
        if self._watch_handle is not None:
            self._loop.cancel(self._watch_handle)
            self._watch_handle = None
        self._watch_us = when_us
        if when_us < NEVER_US:  # before all timers of that instant, of which the session's will be one
            self._watch_handle = self._loop.set_in_place(when_us, TIMER_RANK, _look, self, FREE, 0)

    def look(self) -> None:
        """End the rhythms whose sessions run out now, and wait for the next."""
        self._watch_handle, self._watch_us = None, NEVER_US
        oldest_us = self._loop.now_us - self.session_us
        judged_us, rhythms = self.judged_us, self.rhythms
        rows = [row for row, stage in enumerate(self.stage) if stage < LEFT_DUE]
        for row in rows:
            if judged_us[row] <= oldest_us:
                rhythms[row].end()
        if self.rows:
            self._watch_from(min(judged_us[row] for row in rows if self.stage[row] < LEFT_DUE) + self.session_us)


# What the heap calls; and the two functions that are called for every instant, each with all it needs at hand.


def _sing(choir: Choir) -> None:
    choir.sing()


def _look(choir: Choir) -> None:
    choir.look()


def _going_out(
    choir: Choir, ticket: Callable[[], int], arrivals: dict[int, list[int]], times: list[int]
) -> Callable[[int, list[int], int], int]:
    """How heartbeats go out, which are due now, and an interval from now again.

    One that is answered before `clear_us` is carried out to its end: nothing can come in between, unless another is
    due by then and still unanswered. (If one that is not carried out to its end arrives at the same instant, neither
    is the next: their sessions run out in that order.) Returns the first of which the last one is unanswered, or -1.
    """
    stage, at, latencies, refill = choir.stage, choir.at, choir.latencies, choir.refill
    sent_us, asked, ids, clients, last_ids = choir.sent_us, choir.asked, choir.ids, choir.clients, choir.last_ids
    judged_us, judged, alive_us = choir.judged_us, choir.judged, choir.alive_us
    processing_us, interval_us, dues = choir.processing_us, choir.interval_us, choir.dues

    def go_out(now: int, rows: list[int], clear_us: int) -> int:
        done, strange = rows, -1
        again = now + interval_us
        if clear_us > again:
            clear_us = again
        if times[0] < NEVER_US and choir.doubtful_us < clear_us:
            clear_us = choir.doubtful_us
        for row in rows:
            if stage[row]:
                done, strange = rows[: rows.index(row)], row
                break
            sent_us[row] = now
            asked[row] = ticket()
            client = clients[row]
            ids[row] = last_ids[client] = last_ids[client] + 1
            drawn = at[row]
            if drawn == BLOCK:
                drawn = refill(row)
            there = row * BLOCK + drawn
            when = now + latencies[there] + processing_us
            if drawn < _LAST:
                back = when + latencies[there + 1]
                if back < clear_us and when not in arrivals:
                    at[row] = drawn + 2
                    judged_us[row] = when
                    judged[row] = ticket()
                    alive_us[row] = back
                    continue
            at[row] = drawn + 1
            stage[row] = OUT
            if times[0] == NEVER_US:
                choir.doubtful_us = again
            if when in arrivals:
                arrivals[when].append(row)
            else:
                arrivals[when] = [row]
                heappush(times, when)
        if dues and dues[-1][0] == again:
            dues[-1][1].extend(done)
        elif done:
            dues.append((again, done))
        return strange

    return go_out


def _running(
    choir: Choir, ticket: Callable[[], int], arrivals: dict[int, list[int]], times: list[int]
) -> Callable[[int, int, int, int, int], tuple[int, int]]:
    """How instant after instant is carried out, before `until_us`, until something has happened to `left` rows.

    The stage `out` is that of a heartbeat which arrives at the broker and is quiet there; for `clear_us` see
    `_going_out`. Returns the time, and the first row that is not quiet, or -1.
    """
    stage, at, latencies, refill = choir.stage, choir.at, choir.latencies, choir.refill
    judged_us, judged, alive_us = choir.judged_us, choir.judged, choir.alive_us
    dues, go_out, cut, set_apart = choir.dues, choir.go_out, choir.cut, choir.set_apart

    def run(now: int, until_us: int, left: int, out: int, clear_us: int) -> tuple[int, int]:
        due_us = dues[0][0] if dues else NEVER_US
        while left > 0:
            when = times[0]
            if when > due_us:
                if due_us >= until_us:
                    break
                now, rows = dues.popleft()
                left -= len(rows)
                if left < 0:
                    rows = cut(False, now, rows, left)
                if (row := go_out(now, rows, clear_us)) >= 0 and set_apart(False, now, rows, row):
                    return now, row
                due_us = dues[0][0] if dues else NEVER_US
                continue
            if when >= until_us:
                break
            now = heappop(times)
            rows = arrivals.pop(now)
            left -= len(rows)
            if left < 0:
                rows = cut(True, now, rows, left)
            for row in rows:
                step = stage[row]
                if step == BACK:
                    stage[row] = ANSWERED
                    alive_us[row] = now
                elif step == out:
                    stage[row] = BACK
                    judged_us[row] = now
                    judged[row] = ticket()
                    drawn = at[row]
                    if drawn == BLOCK:
                        drawn = refill(row)
                    at[row] = drawn + 1
                    when = now + latencies[row * BLOCK + drawn]
                    if when in arrivals:
                        arrivals[when].append(row)
                    else:
                        arrivals[when] = [row]
                        heappush(times, when)
                elif set_apart(True, now, rows, row):
                    return now, row
                else:
                    break
        return now, -1

    return run
