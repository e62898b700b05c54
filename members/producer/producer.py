"""A simulated producer process: the object that scenarios and users hold.

`Producer` survives restarts: `start` begins a process, `close`, `crash` or a fatal error ends it, and the next `start`
begins a process without state on the same host. Everything runs as events: a turn of the sender when a batch is ready,
an answer, a check of a load whose next batch would have lingered. A quiet producer costs nothing.

    settings, keys            Kafka's properties
    load, sources             what the application sends, and when
    partitioners              to which partition
    accumulator, sizes        batches and buffer memory
    sender, reactions         requests, retries, errors
    identity, transactions    producer id, sequences, transactions
    failures                  records that fail
    topics, wires             metadata, connections
    process                   one process with all of these

While buffer memory is exhausted or a topic is unknown, the application waits in `send`: after `max.block.ms` that
record fails, and it tries the next one. Records that came meanwhile are sent afterwards, late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import show_us
from groupsim.members.producer.load import Load
from groupsim.members.producer.process import Process
from groupsim.members.producer.settings import ProducerSettings
from groupsim.members.producer.transactions import Transaction
from groupsim.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.interfaces import Transport

NOT_STARTED, RUNNING, CLOSING, STOPPED, CRASHED, FAILED = (
    "NOT_STARTED",
    "RUNNING",
    "CLOSING",
    "STOPPED",
    "CRASHED",
    "FAILED",
)


class Producer:
    """One producer process on one host. Its methods are called from outside the host."""

    def __init__(
        self,
        loop: EventLoop,
        host_name: str,
        settings: ProducerSettings,
        transport: Transport,
        loads: Sequence[Load] = (),
        *,
        commit_every_us: int | None = None,
    ) -> None:
        self.loop = loop
        self.host = loop.host(host_name)
        self.settings = settings
        self.loads = tuple(loads)
        #: How often the application commits, with a transactional id; None: never.
        self.commit_every_us = commit_every_us
        self._transport = transport
        self._process: Process | None = None
        self._on_end: Callable[[], None] | None = None
        self._end_state = NOT_STARTED
        self._ended = loop.event()
        self._ended.set()
        self._totals = {"acknowledged": 0, "failed": 0, "requests": 0}
        #: The error that ended the process, if one did.
        self.failed: ErrorCode | None = None

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether a process runs (it may be paused, or closing)."""
        return self._process is not None

    @property
    def state(self) -> str:
        """RUNNING, CLOSING, NOT_STARTED, STOPPED, CRASHED or FAILED."""
        if self._process is None:
            return self._end_state
        return CLOSING if self._process.closing else RUNNING

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers of records acknowledged and failed, and of Produce requests, over all starts."""
        process = self._process
        return dict(self._totals) if process is None else self._with(process)

    @property
    def process(self) -> Process:
        """The running process. Raises RuntimeError without one."""
        if self._process is None:
            raise RuntimeError(f"producer {self.host.name} does not run ({self.state}): start it first")
        return self._process

    @property
    def transaction(self) -> Transaction:
        """The transactions of the running process. Raises RuntimeError without `transactional.id`."""
        identity = self.process.identity
        if not isinstance(identity, Transaction):
            raise RuntimeError(f"producer {self.host.name} has no transactional.id: set one")
        return identity

    def _with(self, process: Process) -> dict[str, int]:
        return {
            "acknowledged": self._totals["acknowledged"] + process.acknowledged,
            "failed": self._totals["failed"] + process.failures.count,
            "requests": self._totals["requests"] + process.sender.requests,
        }

    # -- process ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a process. Raises RuntimeError when one runs."""
        if self._process is not None:
            raise RuntimeError(f"producer {self.host.name} runs already")
        self.host.start()
        self.failed = None
        self._ended.clear()
        trace = self.loop.trace
        before = trace.cause
        trace.begin(trace.emit(Kind.PROCESS_STARTED, host=self.host.name, payload=self._start_payload()))
        self._process = Process(
            self.loop, self.host, self.settings, self._transport, self.loads, self._over, self.commit_every_us
        )
        self._process.start()
        trace.cause = before  # several processes that start at once do not cause each other

    def _start_payload(self) -> dict[str, object]:
        settings = self.settings
        return {
            "client_id": settings.client_id,
            "profile": "java-producer",
            "transactional_id": settings.transactional_id,
            "config": dict(settings.changed),
            "topics": list(dict.fromkeys(load.topic for load in self.loads)),
        }

    def begin_close(self, timeout_us: int | None = None) -> None:
        """Ask the process to close after its records are settled, for `timeout_us` at most (None: no limit)."""
        if self._process is not None:
            self._process.close(timeout_us)

    async def close(self, timeout_us: int | None = None) -> None:
        """Close, and wait for the end."""
        self.begin_close(timeout_us)
        await self._ended.wait()

    async def ended(self) -> None:
        """Wait until no process runs."""
        await self._ended.wait()

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Call `callback` at the end of this process; it replaces an earlier callback."""
        self._on_end = callback

    def crash(self, reason: str = "killed") -> None:
        """Kill the process: unacknowledged records are lost."""
        if self._process is None:
            return
        trace = self.loop.trace
        trace.begin(trace.emit(Kind.PROCESS_CRASHED, host=self.host.name, reason=reason))
        self._end(CRASHED)

    def _over(self, error: ErrorCode | None, reason: str) -> None:
        """Handle the end of the process by itself."""
        self.failed = error
        trace, host = self.loop.trace, self.host.name
        if error is None:
            trace.emit(Kind.PROCESS_STOPPED, host=host, reason="closed")
        else:
            trace.emit(Kind.PROCESS_FAILED, host=host, error=error.name, reason=reason)
        self._end(STOPPED if error is None else FAILED)

    def _end(self, state: str) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._totals = self._with(process)
            process.end()
        self._end_state = state
        self._ended.set()
        callback, self._on_end = self._on_end, None
        if callback is not None:
            callback()
        self.host.crash()  # cancels the timers of the process

    def pause(self, us: int) -> None:
        """Pause the whole process for `us` (a long garbage collection)."""
        if self._process is None or self.host.paused:
            return
        reason = f"standing still for {show_us(us)}"
        self.loop.trace.emit(Kind.PROCESS_PAUSED, host=self.host.name, payload={"pause_us": us}, reason=reason)
        self.host.pause()
        self.loop.call_at(self.loop.now_us + us, self._resume, self.host.incarnation)

    def _resume(self, incarnation: int) -> None:
        if self._process is not None and self.host.paused and self.host.incarnation == incarnation:
            trace = self.loop.trace
            trace.begin(trace.emit(Kind.PROCESS_RESUMED, host=self.host.name))
            self.host.resume()

    # -- the application ----------------------------------------------------------------------------------------

    def set_rate(self, topic: str, rate: int) -> None:
        """Change the rate for a topic (records per 10⁶ s). Raises KeyError without such a load."""
        self.process.set_rate(topic, rate)

    def burst(self, topic: str, records: int) -> None:
        """Send so many records at once. Raises KeyError without such a load."""
        self.process.burst(topic, records)

    def send(
        self,
        topic: str,
        value_length: int,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        value: bytes | None = None,
        on_settled: Callable[[ErrorCode | None, int], None] | None = None,
    ) -> None:
        """Send one record, with content if `value` is given; `on_settled` gets error and offset of its batch."""
        self.process.send(topic, value_length, key, partition, value, on_settled)

    def flush(self, on_done: Callable[[], None]) -> None:
        """Send without lingering; `on_done` is called when all records are settled."""
        self.process.flush(on_done)

    def __repr__(self) -> str:
        return f"<producer {self.host.name} {self.state}>"
