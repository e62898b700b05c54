"""Threads and timing of a library: what it does by itself, and what waits for the application's `poll`.

    Pace         Java since 0.10.1 (KIP-62): a thread sends heartbeats; `poll` rebalances and commits
    MainThread   librdkafka: its main thread does everything except callbacks, with periodic checks
    AsyncTask    aiokafka, franz-go: a task of the library does everything, with the callbacks
    BackgroundThread    Java under the consumer group protocol (KIP-848): `poll` calls back, commits and delivers
    PollOnly     Java 0.9, kafka-python 1.3, kafkajs, ruby-kafka: all work is done in `poll`

The `pace` of a profile is one of them. It has no state; the parts of a client call it.
Sources: `AbstractCoordinator.HeartbeatThread`; `rdkafka_cgrp.c`, `rdkafka.c` (`rd_kafka_thread_main`);
`aiokafka/consumer/group_coordinator.py` (`_coordination_routine`).
"""

from __future__ import annotations

from typing import ClassVar

from groupsim.eventloop.units import MS_US
from groupsim.protocol.values import frozen


@frozen
class Pace:
    """Java: `poll` rebalances and commits, a thread of the library sends heartbeats."""

    #: Heartbeats are sent while the application is away from `poll`.
    heartbeats_in_background: ClassVar[bool] = True
    #: A task of the library rebalances, calls back and commits, even while the application does not poll.
    rebalances_in_task: ClassVar[bool] = False
    #: A rebalance advances while the application is away, up to the next callback.
    rebalances_up_to_callbacks: ClassVar[bool] = False
    #: `poll` handles a rebalance, and a lost coordinator, before interval commits and positions.
    poll_begins_with_group: ClassVar[bool] = True
    #: The library looks a lost coordinator up by itself, and keeps one in doubt until another is named.
    keeps_coordinator: ClassVar[bool] = False
    #: A coordinator in doubt is asked on until another one is named.
    keeps_in_doubt: ClassVar[bool] = False
    #: After a fatal error the client does nothing any more.
    ends_with_fatal_error: ClassVar[bool] = False
    #: The commit before a rebalance is sent when the revoked callback has returned; a join waits for commits in flight.
    commits_after_revoked: ClassVar[bool] = False
    #: One heartbeat is in flight at a time, and the poll limit is checked with each; a member that left by the limit
    #: joins again when polled, on the schedule of the library's checks.
    heartbeats_in_turn: ClassVar[bool] = False
    #: Every repeated JoinGroup waits for retry.backoff.ms, except after MEMBER_ID_REQUIRED.
    joins_after_pause: ClassVar[bool] = False
    #: How often a retriable request is repeated by itself, within its generation.
    retries: int = 0

    @property
    def heartbeats_between_batches(self) -> bool:
        """Whether overdue heartbeats are also sent between the batches of one poll."""
        return False

    def timeout_ms(self, timeout_ms: int) -> int:
        """Return when a request without an answer times out."""
        return timeout_ms

    def heartbeat_ms(self, interval_ms: int) -> int:
        """Return the interval between two heartbeats."""
        return interval_ms

    def heartbeat_timeout_us(self, request_timeout_us: int, session_ms: int) -> int:
        """Return the timeout of a heartbeat."""
        return request_timeout_us

    def next_join_us(self, started_us: int, now_us: int, tried_us: int, delay_ms: int) -> int:
        """Return when the next JoinGroup may be sent, after one at `tried_us` failed."""
        return now_us + delay_ms * MS_US

    def ask_us(self, started_us: int, now_us: int) -> int | None:
        """Return when a failed look-up of the coordinator is repeated; None: after the backoff."""
        return None


@frozen
class PollOnly(Pace):
    """Heartbeats, too, are sent in `poll` only."""

    heartbeats_in_background: ClassVar[bool] = False

    between_batches: bool = False

    @property
    def heartbeats_between_batches(self) -> bool:
        return self.between_batches


@frozen
class AsyncTask(Pace):
    """A task of the library does all group work."""

    rebalances_in_task: ClassVar[bool] = True


@frozen
class TaskWithHeartbeats(AsyncTask):
    """The same, with a second task for heartbeats (aiokafka)."""

    heartbeats_in_turn: ClassVar[bool] = True
    joins_after_pause: ClassVar[bool] = True


@frozen
class MainThread(Pace):
    """A main thread does the group work, at periodic checks. Times are milliseconds."""

    rebalances_up_to_callbacks: ClassVar[bool] = True
    poll_begins_with_group: ClassVar[bool] = False
    keeps_coordinator: ClassVar[bool] = True
    keeps_in_doubt: ClassVar[bool] = True
    ends_with_fatal_error: ClassVar[bool] = True
    commits_after_revoked: ClassVar[bool] = True

    looks_ms: int = 1_000  #: period of the checks, from the start of the process
    heartbeat_step_ms: int = 500  #: period of the checks for heartbeats, in a group
    rejoin_ms: int = 2_000  #: wait after a refused JoinGroup; the next one follows at the first check after it
    asks_ms: int = 500  #: wait after FindCoordinator; the next one follows at the first check after it
    timeout_step_ms: int = 1_000  #: period of the checks for timed-out requests
    retries: int = 2

    def timeout_ms(self, timeout_ms: int) -> int:
        return _stepped(timeout_ms, self.timeout_step_ms)

    def heartbeat_ms(self, interval_ms: int) -> int:
        return _stepped(interval_ms, self.heartbeat_step_ms)

    def heartbeat_timeout_us(self, request_timeout_us: int, session_ms: int) -> int:
        return min(request_timeout_us, self.timeout_ms(session_ms) * MS_US)

    def next_join_us(self, started_us: int, now_us: int, tried_us: int, delay_ms: int) -> int:
        return self.look_us(started_us, tried_us + self.rejoin_ms * MS_US)

    def ask_us(self, started_us: int, now_us: int) -> int | None:
        return self.look_us(started_us, now_us + self.asks_ms * MS_US)

    def look_us(self, started_us: int, at_us: int) -> int:
        """Return the first check at `at_us` or later, for a process started at `started_us`."""
        return started_us + _stepped(at_us - started_us, self.looks_ms * MS_US)

    def heartbeat_wait_us(self, started_us: int, now_us: int, due_us: int) -> int:
        """Return the wait from an assignment to the first check at which a heartbeat is due."""
        if due_us <= now_us:
            return 0
        in_turn = _stepped(due_us - now_us, self.heartbeat_step_ms * MS_US)
        return min(in_turn, self.look_us(started_us, due_us) - now_us)

    def after_late_us(self, started_us: int, now_us: int, interval_us: int) -> int:
        """Return the wait from a late heartbeat to the first check at which the next one is due."""
        return started_us + _stepped(now_us - started_us + interval_us, self.heartbeat_step_ms * MS_US) - now_us


@frozen
class BackgroundThread(Pace):
    """Java under the consumer group protocol: a thread does the group work; `poll` calls back and delivers."""

    poll_begins_with_group: ClassVar[bool] = False


@frozen
class MainThreadOfConsumer(BackgroundThread):
    """librdkafka under the consumer group protocol: its main thread does the group work."""

    keeps_coordinator: ClassVar[bool] = True
    ends_with_fatal_error: ClassVar[bool] = True
    commits_after_revoked: ClassVar[bool] = True

    retries: int = 2


HEARTBEAT_THREAD = Pace()
BACKGROUND_THREAD = BackgroundThread()


def _stepped(value: int, step: int) -> int:
    return -(-value // step) * step
