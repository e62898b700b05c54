"""Records that a producer could not send: an event with their number, partition and reason.

`send` itself throws for a record larger than `max.request.size` or than all of `buffer.memory`; no broker is asked. All
other records that fail had been accepted before.

Source: `KafkaProducer.ensureValidRecordSize`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.producer.settings import ProducerSettings

LATE_US = 1_000_000
"""Wait in `send` after which a warning is emitted, in µs."""
TOO_LARGE = "RecordTooLargeException"  # the producer's own exception, not an error code


class Failures:
    """The failed records of one process; `count` is their number."""

    def __init__(self, loop: EventLoop, host: str, settings: ProducerSettings) -> None:
        self.count = 0
        self._loop = loop
        self._host = host
        self._settings = settings
        self._late = False

    @property
    def largest(self) -> int:
        """Bytes of the largest record that `send` accepts, by `sizes.serialized_bytes`."""
        return min(self._settings.max_request_size, self._settings.buffer_memory)

    def emit(self, partition: TopicPartition, error: ErrorCode | str, count: int, reason: str | None) -> None:
        """Emit failed records; partition -1 means none."""
        self.count += count
        self._loop.trace.emit(
            Kind.PRODUCE_FAILED,
            host=self._host,
            topic=partition.topic,
            partition=partition.partition if partition.partition >= 0 else None,
            error=error if isinstance(error, str) else error.name,
            reason=reason,
            payload={"count": count},
        )

    def too_large(self, partition: TopicPartition, size: int, count: int) -> None:
        """Emit records of `size` bytes each that `send` refused."""
        setting, most = "max.request.size", self._settings.max_request_size
        if size <= most:
            setting, most = "buffer.memory", self._settings.buffer_memory
        self.emit(partition, TOO_LARGE, count, f"{size} bytes when serialized, more than {setting} ({most})")

    def late(self, since_us: int, held_us: int) -> None:
        """Warn once per process that `send` still waits (since `held_us`), so its rate is not kept."""
        if held_us == since_us and not self._late:
            self._late = True
            reason = "send has waited for 1 s, for buffer.memory or metadata: records leave later than their rate says"
            self._loop.trace.emit(Kind.WARNING, host=self._host, reason=reason, payload={"since_us": since_us})


def why_fatal(error: ErrorCode) -> str:
    """Return the explanation of an error that ends a producer."""
    if error is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        return "transaction.timeout.ms is above the brokers' transaction.max.timeout.ms"
    return "there is a newer producer with this transactional id, or the id is no longer known"
