"""A Fetch that stands for all the long polls it would take, one after the other, as long as nothing comes.

In Kafka a consumer's Fetch that finds nothing is answered after `fetch.max.wait.ms`, and sent again, for ever. While
all is well nobody can tell that from one Fetch that waits, which costs nothing: it has no deadline, and the broker no
timer for it. It comes back at the end of the long poll that would be under way when somebody wants it to (`renew`),
and goes by the clock from the moment something breaks that a real long poll would notice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.cluster.network.sockets import Wire
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
        self._ends = False  # with the long poll under way

    def _next_us(self, now_us: int) -> int:
        """When the long poll that is under way is over."""
        return self._sent_us + ((now_us - self._sent_us) // self._period_us + 1) * self._period_us

    def over(self, now_us: int) -> int:
        """How many of the long polls it stands for are over by now."""
        broken = self.deadline_us < NEVER
        until_us = self.deadline_us - self._timeout_us if broken else now_us
        return (until_us - self._sent_us) // self._period_us

    def renew(self, now_us: int) -> None:
        """Let it come back at the end of the long poll under way."""
        if not self._ends:
            self._ends = True
            self._connection.broker_host.call_at(self._next_us(now_us), self._over)

    def go_by_the_clock(self, now_us: int) -> None:
        """Something is wrong: it is from now on the long poll that is under way, with that one's deadline."""
        self.deadline_us = self._next_us(now_us) - self._period_us + self._timeout_us
        self.renew(now_us)

    def _over(self, _: object) -> None:
        """The long poll is over: if it is still in the broker's hands it is answered, empty."""
        connection = self._connection
        if connection.in_hand(self) and connection.give_up is not None:
            give_up, connection.give_up = connection.give_up, None
            give_up()
            request = connection.request
            assert isinstance(request, FetchRequest)
            found = tuple([PartitionData(asked.partition) for asked in request.partitions])
            connection.answer(FetchResponse(partitions=found))


class Polling(Wire):
    """The part of a connection on which a Fetch may stand for its long polls.

    It is a base class, for a connection is to be one object: of ten thousand each has to be found.
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
        """See `members.interfaces.Renewing`; None while long polls go by the clock."""
        return None if self._network.clocked else self._renew

    def _renew(self) -> None:
        if self._long_poll is not None:
            self._long_poll.renew(self._loop.now_us)

    def long_polls(self) -> int:
        poll = self._long_poll
        return 0 if poll is None else poll.over(self._loop.now_us)

    def go_by_the_clock(self) -> None:
        """Something is wrong: a Fetch that stands for long polls is from now on the one that is under way."""
        poll = self._long_poll
        if poll is not None:
            poll.go_by_the_clock(self._loop.now_us)
            if poll.deadline_us < self._check_us:
                self._arm(poll.deadline_us)

    def in_hand(self, poll: LongPoll) -> bool:
        """Whether the far end has the Fetch in hand that stands for these long polls."""
        return self._long_poll is poll and self._busy and self.correlation == poll.correlation
