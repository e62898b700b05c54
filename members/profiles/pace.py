"""The pace of a library: what of the group it sees to by itself, and what waits for the application's `poll`.

    Pace         Java since 0.10.1 (KIP-62): a thread sends heartbeats; rebalances and commits are `poll`'s
    MainThread   librdkafka: a thread of its own sees to everything but callbacks, and looks around now and then
    AsyncTask    aiokafka, franz-go: a task of its own does everything, callbacks as well
    PollOnly     Java 0.9, kafka-python 1.3, kafkajs, ruby-kafka: nothing happens outside `poll`

A profile has one of them as its `pace`. Each is a value: the state of a run is in the parts of a client, which ask.
Sources: `AbstractCoordinator.HeartbeatThread`; `rdkafka_cgrp.c`, `rdkafka.c` (`rd_kafka_thread_main`);
`aiokafka/consumer/group_coordinator.py` (`_coordination_routine`).
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from groupsim.eventloop.units import MS_US


@frozen
class Pace:
    """As in the Java client: `poll` rebalances and commits, a thread of the library sends heartbeats."""

    #: Heartbeats go out while the application is away from `poll`.
    heartbeats_in_background: ClassVar[bool] = True
    #: A task of the library's own rebalances, calls back and commits, whether the application polls or not.
    rebalances_in_task: ClassVar[bool] = False
    #: A rebalance goes on while the application is away, as far as the next callback.
    rebalances_up_to_callbacks: ClassVar[bool] = False
    #: `poll` sees to a rebalance, and to a lost coordinator, before commits at intervals and positions.
    poll_begins_with_group: ClassVar[bool] = True
    #: The library looks for a lost coordinator by itself, and keeps to one it doubts until another is named.
    keeps_coordinator: ClassVar[bool] = False
    #: After an error that is fatal the client does nothing any more.
    ends_with_fatal_error: ClassVar[bool] = False
    #: Of positions only those are committed of which the application was given records; before a rebalance when the
    #: revoked callback has returned.
    commits_delivered_only: ClassVar[bool] = False
    #: One heartbeat is in flight at a time, and only with one is the poll limit looked at; a member that has left by it
    #: joins again when polled, its own pace kept.
    heartbeats_in_turn: ClassVar[bool] = False
    #: Every JoinGroup that is tried again waits for retry.backoff.ms first, but for the one with a given member id.
    joins_after_pause: ClassVar[bool] = False
    #: So often a request that may pass is sent again by itself, within the generation.
    retries: int = 0

    @property
    def heartbeats_between_batches(self) -> bool:
        """Whether heartbeats that are owed go out between the batches of one poll, too."""
        return False

    def timeout_ms(self, timeout_ms: int) -> int:
        """When a request without an answer is given up."""
        return timeout_ms

    def heartbeat_ms(self, interval_ms: int) -> int:
        """The time between two heartbeats."""
        return interval_ms

    def heartbeat_timeout_us(self, request_timeout_us: int, session_ms: int) -> int:
        """How long a heartbeat waits for its answer."""
        return request_timeout_us

    def next_join_us(self, started_us: int, now_us: int, tried_us: int, delay_ms: int) -> int:
        """When the next JoinGroup may go out, after one that was sent at `tried_us` and failed."""
        return now_us + delay_ms * MS_US

    def ask_us(self, started_us: int, now_us: int) -> int | None:
        """When the coordinator is asked for again, after a question that came to nothing; None: after the backoff."""
        return None


@frozen
class PollOnly(Pace):
    """Heartbeats, too, go out from within `poll` alone."""

    heartbeats_in_background: ClassVar[bool] = False

    between_batches: bool = False

    @property
    def heartbeats_between_batches(self) -> bool:
        return self.between_batches


@frozen
class AsyncTask(Pace):
    """A task of the library's own does everything of the group."""

    rebalances_in_task: ClassVar[bool] = True


@frozen
class TaskWithHeartbeats(AsyncTask):
    """The same, with a second task that sends heartbeats (aiokafka)."""

    heartbeats_in_turn: ClassVar[bool] = True
    joins_after_pause: ClassVar[bool] = True


@frozen
class MainThread(Pace):
    """A thread of the library's own sees to the group, and looks around now and then. Times are milliseconds."""

    rebalances_up_to_callbacks: ClassVar[bool] = True
    poll_begins_with_group: ClassVar[bool] = False
    keeps_coordinator: ClassVar[bool] = True
    ends_with_fatal_error: ClassVar[bool] = True
    commits_delivered_only: ClassVar[bool] = True

    looks_ms: int = 1_000  #: it looks around at least so often, counted from the start of the process
    heartbeat_step_ms: int = 500  #: heartbeats go out when it looks, in a group twice a second
    rejoin_ms: int = 2_000  #: between a JoinGroup that was refused and the look at which the next one goes out
    asks_ms: int = 500  #: between a question for the coordinator and the look at which the next one goes out
    timeout_step_ms: int = 1_000  #: it looks for requests that have timed out so often
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
        """The first look around at `at_us` or later, of a process that started then."""
        return started_us + _stepped(at_us - started_us, self.looks_ms * MS_US)

    def heartbeat_wait_us(self, started_us: int, now_us: int, due_us: int) -> int:
        """From an assignment until it looks and a heartbeat is due."""
        if due_us <= now_us:
            return 0
        in_turn = _stepped(due_us - now_us, self.heartbeat_step_ms * MS_US)
        return min(in_turn, self.look_us(started_us, due_us) - now_us)

    def after_late_us(self, started_us: int, now_us: int, interval_us: int) -> int:
        """From a heartbeat that had waited for the coordinator to the first look at which the next one is due."""
        return started_us + _stepped(now_us - started_us + interval_us, self.heartbeat_step_ms * MS_US) - now_us


HEARTBEAT_THREAD = Pace()


def _stepped(value: int, step: int) -> int:
    return -(-value // step) * step
