"""Stand-ins for what the coordinator needs from the floors above, for tests of the service alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, field

from groupsim.coordinator.base.records import Record
from groupsim.eventloop.interface import EventLoop, Order
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response


@define(eq=False)
class FakeCall:
    """A call of a test. `responses` holds every answer; more than one is a bug."""

    request: Request
    client_id: str = "client"
    client_host: str = "/127.0.0.1"
    correlation: int = 0
    responses: list[Response] = field(factory=list)

    def answer(self, response: Response) -> None:
        self.responses.append(response)

    @property
    def response(self) -> Response:
        """The one answer; AssertionError when there is none yet, or more than one."""
        assert len(self.responses) == 1, f"{len(self.responses)} answers to {self.request}"
        return self.responses[0]


class MemoryLog:
    """A log that commits everything after `latency_us`, or fails it with `error` as long as that is set."""

    def __init__(self, loop: EventLoop, latency_us: int = 1_000) -> None:
        self.latency_us = latency_us
        self.error: ErrorCode | None = None
        self._loop = loop
        self._records: dict[int, list[Record]] = {}

    def append(
        self,
        partition: int,
        records: Sequence[Record],
        done: Callable[[ErrorCode | None], None],
        within_ms: int | None = None,
    ) -> None:
        """Append; `done` is called after the latency, whatever `within_ms`."""
        error = self.error
        if error is None:
            self._records.setdefault(partition, []).extend(records)
        when_us = self._loop.now_us + self.latency_us
        self._loop.call_at(when_us, lambda _: done(error), None, order=Order.APPEND)

    def read(self, partition: int) -> Sequence[Record]:
        """Everything appended, committed or not."""
        return tuple(self._records.get(partition, ()))


@define
class Topics:
    """Topics and their partition counts."""

    counts: dict[str, int] = field(factory=dict)

    def partition_count(self, topic: str) -> int | None:
        return self.counts.get(topic)
