"""What a consumer needs from the floors above it, as small protocols of its own.

`cluster/` implements them; tests use fakes. A consumer never learns what stands behind them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.messages.group import NO_GENERATION, Request, Response, TopicPartition
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


class Connection(Protocol):
    """One TCP connection from a client to a broker: in order, one request answered at a time."""

    @property
    def open(self) -> bool:
        """False once it is broken or closed; it never opens again."""

    @property
    def next_correlation(self) -> int:
        """The correlation id that the next `send` will return, so that a trace can name it before the message goes."""

    def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int:
        """Send; `on_done` is called exactly once, never from within `send`. Returns the correlation id.

        When `timeout_us` passes without an answer the connection is broken, as the Java client does: everything in
        flight on it ends in `Disconnected`.
        """

    def close(self) -> None:
        """Close from this side; what is in flight ends silently (its `on_done` is not called)."""


class Renewing(Connection, Protocol):
    """A connection on which a Fetch may be parked without a timer, and stand for the long polls it would take.

    Such a Fetch is `renewed`: each of the long polls it stands for would have been answered, empty, after `max_wait_ms`
    and sent again. What nobody can tell from the real thing is left out, and no more:

    * `renew` has it answered, with what there is, at the next multiple of that time since it was sent;
    * its timeout counts from the last long poll that could have gone out: while the connection moves and the broker's
      host is up and not paused it never expires; when either stands still, `timeout_us` after the last multiple of the
      waiting time before that.

    A connection without `renew` is never sent such a Fetch, nor one whose `renew` is None at the moment.
    """

    @property
    def renew(self) -> Callable[[], None] | None:
        """Call it to have the Fetch that is parked, or on its way, come back at the end of its present long poll."""

    @property
    def waited_us(self) -> int:
        """How long the last Fetch that was answered had waited at the broker, its long polls together."""

    def long_polls(self) -> int:
        """How many of the long polls that the last Fetch of this kind stands for are over by now."""


class Pushing(Connection, Protocol):
    """A connection on which a broker that pushes goes on without being asked. It carries nothing else."""

    def follow(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> None:
        """At the broker's end: carry out a request as if the client had sent it, which it has not.

        It comes to its `on_done` as what is sent does. Nothing happens when the connection or the client is gone.
        """

    @property
    def waited_us(self) -> int:
        """How long the last Fetch that was answered had waited at the broker."""


class Transport(Protocol):
    """The network as one client process sees it."""

    @property
    def bootstrap(self) -> tuple[int, ...]:
        """Node ids of the brokers the client was configured with."""

    @property
    def release(self) -> str:
        """The brokers' release, as the client concludes from their answer to ApiVersions."""

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> Connection:
        """Open a connection from the process `host` to a broker; `purpose` ("coordinator", "data") keeps them apart.

        It is usable at once: what is sent waits for the handshake. A refused connection breaks after one round trip.
        """


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


class GroupMetadata(NamedTuple):
    """A consumer's membership as a producer proves it (`ConsumerGroupMetadata`); -1 and "" where there is none."""

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None


class Verdict(Enum):
    """What the consumer does next."""

    GO_ON = auto()  # committed: poll for the next records
    GO_BACK = auto()  # aborted: to the first offsets of these records, they come again
    END = auto()  # fenced: close


InTransaction: TypeAlias = Callable[[Sequence[Fetched], GroupMetadata], Awaitable[Verdict]]
"""Handles the records of one poll, and commits them with its outputs in one transaction (`producer/eos.py`)."""

OnRecord: TypeAlias = Callable[[TopicPartition, int, Batch, LogRecord], Any]
"""Shown every record with a content that poll returns: partition, offset, the batch it stands in, the record itself."""


class Reader(Protocol):
    """The fetches of one client process, at most one at a time."""

    def fetch(self, positions: Mapping[TopicPartition, int]) -> None:
        """Wait for records from these positions on: one round trip, then as long as nothing is there.

        It waits without end, and costs no events while nothing arrives. `positions` is not copied: leave it as it is
        until the answer is there or the fetch given up.
        """

    def give_up(self) -> None:
        """Take the fetch back, if one is under way: it is never answered."""


class Data(Protocol):
    """The topics' data: a light stand-in for brokers' logs (log ends that grow at a rate)."""

    def reader(
        self, host: str, max_records: int, on_done: Callable[[tuple[Fetched, ...] | FetchFailed], None]
    ) -> Reader:
        """For the process that runs on `host`; `on_done` gets the answers, of at most so many records each."""

    def offsets(
        self,
        host: str,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[Mapping[TopicPartition, tuple[int, int]] | FetchFailed], None],
    ) -> None:
        """Log start and log end of partitions (ListOffsets), after one round trip."""
