"""What a consumer needs from the floors above it, as small protocols of its own.

`cluster/` implements them; tests use fakes. A consumer never learns what stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from groupsim.eventloop.interface import Handle
from groupsim.protocol.batch import Batch, LogRecord
from groupsim.protocol.messages import HeartbeatRequest, Request, Response, TopicPartition
from groupsim.protocol.values import value

REFUSED: Final = "connection refused"
NO_BROKER: Final = "no broker can be connected to yet"


@value
class Disconnected:
    """A request's fate is unknown: the connection broke, was refused, or the request timed out on it."""

    reason: str
    timed_out: bool = False

    @property
    def unreachable(self) -> bool:
        """Whether no connection came to be."""
        return self.reason in (REFUSED, NO_BROKER)


Outcome: TypeAlias = Response | Disconnected
"""None of them has subclasses: what one is, is asked by `type(outcome) is …`, which is sooner said than isinstance."""


class Repeater(Protocol):
    """Who sends a heartbeat again and again, and has its connection do it while all is well."""

    def due(self) -> None:
        """A heartbeat is due, and the connection does not send it."""
        ...

    def resume(self, handle: Handle, sent_us: int, alive_us: int, answered: int, in_flight: bool) -> None:
        """The connection has stopped. `handle` is that of the next one that is due, on which `due` follows.

        The last was sent at `sent_us`; if it is in flight, its fate comes as that of anything that was sent. Of those
        before `answered` were answered without an error, the last of them at `alive_us`.
        """
        ...


class Rhythm(Protocol):
    """A heartbeat that goes by itself, every interval, for as long as all is well with it and with its connection."""

    @property
    def answered(self) -> int:
        """How many were answered since it began; 0 when it has ended."""
        ...

    @property
    def sent_us(self) -> int:
        """When it last sent one; 0 before it does."""
        ...

    def begin(self) -> bool:
        """Send one, and go on so; False, with nothing done, where each has to be sent and looked at by itself.

        Only when a heartbeat is due and none is in flight. Whatever is out of the ordinary ends it.
        """
        ...

    def end(self) -> None:
        """Stop, if it has begun; the owner's `resume` is called before this returns."""
        ...


class Connection(Protocol):
    """One TCP connection from a client to a broker: in order, one request answered at a time."""

    @property
    def open(self) -> bool:
        """False once it is broken or closed; it never opens again."""
        ...

    @property
    def next_correlation(self) -> int:
        """The correlation id that the next `send` will return, so that a trace can name it before the message goes."""
        ...

    def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int:
        """Send; `on_done` is called exactly once, never from within `send`. Returns the correlation id.

        When `timeout_us` passes without an answer the connection is broken, as the Java client does: everything in
        flight on it ends in `Disconnected`.
        """
        ...

    def repeat(
        self,
        request: HeartbeatRequest,
        on_done: Callable[[Outcome], None],
        timeout_us: int,
        interval_us: int,
        owner: Repeater,
    ) -> Rhythm | None:
        """A heartbeat that may go by itself on this connection, every interval; what `send` takes, and who sends it.

        None where none does.
        """
        ...

    def close(self) -> None:
        """Close from this side; what is in flight ends silently (its `on_done` is not called)."""
        ...


class Renewing(Connection, Protocol):
    """A connection on which a Fetch may be parked without a timer, and stand for the long polls it would take.

    Such a Fetch has a negative `max_wait_ms`: minus the time after which each of the long polls it stands for would
    have been answered, empty, and sent again. What nobody can tell from the real thing is left out, and no more:

    * `renew` has it answered, with what there is, at the next multiple of that time since it was sent;
    * its timeout counts from the last long poll that could have gone out: while the connection moves and the broker's
      host is up and not paused it never expires; when either stands still, `timeout_us` after the last multiple of the
      waiting time before that.

    A connection without `renew` is never sent such a Fetch, nor one whose `renew` is None at the moment.
    """

    @property
    def renew(self) -> Callable[[], None] | None:
        """Call it to have the Fetch that is parked, or on its way, come back at the end of its present long poll."""
        ...

    @property
    def waited_us(self) -> int:
        """How long the last Fetch that was answered had waited at the broker, its long polls together."""
        ...

    def long_polls(self) -> int:
        """How many of the long polls that the last Fetch of this kind stands for are over by now."""
        ...


class Transport(Protocol):
    """The network as one client process sees it."""

    @property
    def bootstrap(self) -> tuple[int, ...]:
        """Node ids of the brokers the client was configured with."""
        ...

    @property
    def release(self) -> str:
        """The brokers' release, as the client concludes from their answer to ApiVersions."""
        ...

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> Connection:
        """Open a connection from the process `host` to a broker; `purpose` ("coordinator", "data") keeps them apart.

        It is usable at once: what is sent waits for the handshake. A refused connection breaks after one round trip.
        """
        ...


@value
class Fetched:
    """Records of one partition, as a range: offsets `base` … `base + count - 1`."""

    partition: TopicPartition
    base: int
    count: int


@value
class FetchFailed:
    """A fetch that came to nothing: the leader could not be reached."""

    reason: str


OnRecord: TypeAlias = Callable[[TopicPartition, int, Batch, LogRecord], Any]
"""Shown every record with a content that poll returns: partition, offset, the batch it stands in, the record itself."""


class Reader(Protocol):
    """The fetches of one client process, at most one at a time."""

    def fetch(self, positions: Mapping[TopicPartition, int]) -> None:
        """Wait for records from these positions on: one round trip, then as long as nothing is there.

        It waits without end, and costs no events while nothing arrives. `positions` is not copied: leave it as it is
        until the answer is there or the fetch given up.
        """
        ...

    def give_up(self) -> None:
        """Take the fetch back, if one is under way: it is never answered."""
        ...


class Data(Protocol):
    """The topics' data: a light stand-in for brokers' logs (log ends that grow at a rate)."""

    def reader(
        self, host: str, max_records: int, on_done: Callable[[tuple[Fetched, ...] | FetchFailed], None]
    ) -> Reader:
        """For the process that runs on `host`; `on_done` gets the answers, of at most so many records each."""
        ...

    def offsets(
        self,
        host: str,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[Mapping[TopicPartition, tuple[int, int]] | FetchFailed], None],
    ) -> None:
        """Log start and log end of partitions (ListOffsets), after one round trip."""
        ...
