"""What a consumer needs from the floors above it, as protocols.

`cluster/` implements them; tests use fakes.
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
    """A request without an answer: the connection broke or was refused, or the request timed out."""

    reason: str
    timed_out: bool = False

    @property
    def unreachable(self) -> bool:
        """Whether no connection was made."""
        return self.reason in (REFUSED, NO_BROKER)


Outcome: TypeAlias = Response | Disconnected
"""Neither has subclasses, so `type(outcome) is …` decides, which is faster than isinstance."""


class Connection(Protocol):
    """One TCP connection from a client to a broker, which answers its requests one at a time, in order."""

    @property
    def open(self) -> bool:
        """Whether it is open; a broken or closed connection never opens again."""

    @property
    def next_correlation(self) -> int:
        """The correlation id of the next `send`, for the trace event that precedes it."""

    def send(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> int:
        """Send a request, and return its correlation id. `on_done` is called exactly once, never from within `send`.

        After `timeout_us` without an answer the connection breaks, as in `NetworkClient.handleTimedOutRequests`: every
        request in flight on it ends in `Disconnected`.
        """

    def close(self) -> None:
        """Close from this side; `on_done` of requests in flight is not called."""


class Renewing(Connection, Protocol):
    """A connection on which a Fetch may be parked without a timer, and stand for several long polls.

    Such a Fetch is `renewed`: each long poll that it stands for would have been answered without records after
    `max_wait_ms`, and sent again. The results equal those of the single long polls:

    * `renew` has the Fetch answered, with the records there are, at the next multiple of `max_wait_ms` since it was
      sent;
    * its timeout counts from the last long poll that could have been sent. It never expires while the connection
      works and the broker's host is up and not paused; else it expires `timeout_us` after the last multiple of the
      waiting time before that.

    No such Fetch is sent on a connection without `renew`, or while `renew` is None.
    """

    @property
    def renew(self) -> Callable[[], None] | None:
        """A function that has the parked Fetch answered at the end of its current long poll."""

    @property
    def waited_us(self) -> int:
        """Time that the last answered Fetch waited at the broker, over all its long polls."""

    def long_polls(self) -> int:
        """Return how many long polls of the last such Fetch are over."""


class Pushing(Connection, Protocol):
    """A connection for pushed records: the broker continues without a new request. It carries nothing else."""

    def follow(self, request: Request, on_done: Callable[[Outcome], None], timeout_us: int) -> None:
        """Carry out a request at the broker as if the client had sent it.

        Its answer goes to `on_done` as for `send`. It does nothing once the connection or the client is gone.
        """

    @property
    def waited_us(self) -> int:
        """Time that the last answered Fetch waited at the broker."""


class Transport(Protocol):
    """The network of one client process."""

    @property
    def bootstrap(self) -> tuple[int, ...]:
        """Node ids of the configured bootstrap brokers."""

    @property
    def release(self) -> str:
        """The brokers' release, as the client infers it from ApiVersions."""

    def connect(self, host: str, client_id: str, node: int, purpose: str) -> Connection:
        """Open a connection from the process `host` to a broker; each `purpose` ("coordinator", "data") has its own.

        It is usable at once: requests wait for the handshake. A refused connection breaks after one round trip.
        """


@value
class Fetched:
    """A range of records of one partition: offsets `base` … `base + count - 1`."""

    partition: TopicPartition
    base: int
    count: int


@value
class FetchFailed:
    """A failed fetch: the leader could not be reached."""

    reason: str


class GroupMetadata(NamedTuple):
    """A consumer's membership as a producer sends it (`ConsumerGroupMetadata`); -1 and "" without one."""

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None


class Verdict(Enum):
    """What a consumer does after a transaction."""

    GO_ON = auto()  # committed: poll for the next records
    GO_BACK = auto()  # aborted: return to the committed offsets and read the records again
    END = auto()  # fenced: close


InTransaction: TypeAlias = Callable[[Sequence[Fetched], GroupMetadata], Awaitable[Verdict]]
"""Handles the records of one poll, and commits their offsets and its outputs in one transaction (`producer/eos.py`)."""

OnRecord: TypeAlias = Callable[[TopicPartition, int, Batch, LogRecord], Any]
"""Called for every record with content that poll returns: partition, offset, batch, record."""


class Reader(Protocol):
    """The fetches of one client process, at most one at a time."""

    def fetch(self, positions: Mapping[TopicPartition, int]) -> None:
        """Fetch records from these positions on: one round trip, then a wait until there are records.

        The wait has no timeout, and costs no events. `positions` is not copied: it must not change before the answer or
        `give_up`.
        """

    def give_up(self) -> None:
        """Cancel the fetch under way; it gets no answer."""


class Data(Protocol):
    """The topics' data on the light cluster: log ends that grow at a rate, in place of brokers' logs."""

    def reader(
        self, host: str, max_records: int, on_done: Callable[[tuple[Fetched, ...] | FetchFailed], None]
    ) -> Reader:
        """Make the reader of the process on `host`; `on_done` gets the answers, of at most `max_records` each."""

    def offsets(
        self,
        host: str,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[Mapping[TopicPartition, tuple[int, int]] | FetchFailed], None],
    ) -> None:
        """Look up log start and log end of partitions (ListOffsets); one round trip."""
