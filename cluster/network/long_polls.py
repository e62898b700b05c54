"""A Fetch that stands for a series of long polls without records.

In Kafka a consumer's Fetch without records is answered after `fetch.max.wait.ms`, and sent again. Without faults one
Fetch that waits has the same effects and costs nothing: it has no deadline, and the broker has no timer for it. `renew`
answers it at the end of the current long poll. With the first fault that a real long poll would notice, the Fetch
becomes the current long poll, with its deadline (`time_long_poll`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.cluster.network.sockets import ConnectionTimes
from groupsim.protocol.messages.data import FetchRequest, FetchResponse, PartitionData
from groupsim.protocol.messages.group import Request, Response

if TYPE_CHECKING:
    from groupsim.cluster.network.network import Network
    from groupsim.eventloop.interface import EventLoop, Host

NEVER = 1 << 62


class LongPoll:
    """The long polls of one Fetch on a connection, counted from `sent_us` on."""

    __slots__ = ("_connection", "_ends", "_period_us", "_sent_us", "_timeout_us", "correlation", "deadline_us")

    def __init__(
        self, connection: Polling, correlation: int, sent_us: int, request: FetchRequest, timeout_us: int
    ) -> None:
        self._connection = connection
        self.correlation = correlation
        self.deadline_us = NEVER
        self._sent_us = sent_us
        self._period_us = request.max_wait_ms * 1_000
        self._timeout_us = timeout_us
        self._ends = False  # at the end of the current long poll

    def _next_us(self, now_us: int) -> int:
        """Return the end of the current long poll."""
        return self._sent_us + ((now_us - self._sent_us) // self._period_us + 1) * self._period_us

    def completed(self, now_us: int) -> int:
        """Return the number of completed long polls."""
        broken = self.deadline_us < NEVER
        until_us = self.deadline_us - self._timeout_us if broken else now_us
        return (until_us - self._sent_us) // self._period_us

    def renew(self, now_us: int) -> None:
        """Answer the Fetch at the end of the current long poll."""
        if not self._ends:
            self._ends = True
            self._connection.broker_host.call_at(self._next_us(now_us), self._answer_empty)

    def set_deadline(self, now_us: int) -> None:
        """Turn the Fetch into the current long poll, with its deadline."""
        self.deadline_us = self._next_us(now_us) - self._period_us + self._timeout_us
        self.renew(now_us)

    def _answer_empty(self, _: object) -> None:
        """Answer the Fetch without records, if the broker still has it."""
        connection = self._connection
        if connection.is_current(self) and connection.give_up is not None:
            give_up, connection.give_up = connection.give_up, None
            give_up()
            request = connection.request
            assert isinstance(request, FetchRequest)
            empty = tuple([PartitionData(item.partition) for item in request.partitions])
            connection.answer(FetchResponse(partitions=empty))


class Polling(ConnectionTimes):
    """The part of a connection for a Fetch that stands for long polls.

    It is a base class because a connection has to be one object: a run may have ten thousand.
    """

    __slots__ = (
        "_busy",
        "_check_us",
        "_long_poll",
        "_loop",
        "_network",
        "broker_host",
        "correlation",
        "give_up",
        "request",
    )

    broker_host: Host
    request: Request
    correlation: int
    give_up: Callable[[], None] | None
    _busy: bool
    _check_us: int
    _long_poll: LongPoll | None
    _loop: EventLoop
    _network: Network

    if TYPE_CHECKING:

        def _arm(self, deadline: int) -> None: ...
        def answer(self, response: Response) -> None: ...

    @property
    def renew(self) -> Callable[[], None] | None:
        """See `members.interfaces.Renewing`; None while the network is `clocked`."""
        return None if self._network.clocked else self._renew

    def _renew(self) -> None:
        if self._long_poll is not None:
            self._long_poll.renew(self._loop.now_us)

    def long_polls(self) -> int:
        poll = self._long_poll
        return 0 if poll is None else poll.completed(self._loop.now_us)

    def time_long_poll(self) -> None:
        """Turn a Fetch that stands for long polls into the current one, with its deadline."""
        poll = self._long_poll
        if poll is not None:
            poll.set_deadline(self._loop.now_us)
            if poll.deadline_us < self._check_us:
                self._arm(poll.deadline_us)

    def is_current(self, poll: LongPoll) -> bool:
        """Whether the broker's unanswered request is the Fetch of these long polls."""
        return self._long_poll is poll and self._busy and self.correlation == poll.correlation
