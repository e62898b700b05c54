"""A model of the time that a coordinator takes to load a partition of its topic.

Each read, each byte and each record has a cost. Kafka's documentation gives no speed; the defaults stand for a log in
the page cache and a warm JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from attrs import field, validators

from groupsim.protocol.batch.batch import Batch
from groupsim.protocol.values import frozen


class LoadedLog(Protocol):
    """The part of a partition's log that loading reads."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    def batches(self, start: int, end: int, /) -> Iterator[Batch]: ...


def everything(log: LoadedLog) -> Iterator[Batch]:
    """Yield every batch of a log, over all segments, as a coordinator loads it."""
    return log.batches(log.start_offset, log.end_offset)


@frozen
class LoadingCost:
    """The cost of reading a partition and replaying its records.

    `buffer_bytes` is `offsets.load.buffer.size`. The other settings are not Kafka's: `read_us` for each read,
    `bytes_per_second` from storage, `records_per_second` decoded and replayed.
    """

    buffer_bytes: int = field(default=5_242_880, validator=validators.ge(1))
    read_us: int = field(default=500, validator=validators.ge(0))
    bytes_per_second: int = field(default=200_000_000, validator=validators.ge(1))
    records_per_second: int = field(default=500_000, validator=validators.ge(1))

    def us(self, size: int, records: int) -> int:
        """Return the time for a log of this many bytes and records, 0 for an empty log."""
        reads = -(-size // self.buffer_bytes)
        return (
            reads * self.read_us
            + size * 1_000_000 // self.bytes_per_second
            + records * 1_000_000 // self.records_per_second
        )

    def of(self, log: LoadedLog | None) -> int:
        """Return the time for a log in its present state."""
        if log is None or log.end_offset == log.start_offset:
            return 0
        size = records = 0
        for batch in everything(log):
            size += batch.size
            records += batch.count if batch.records is None else len(batch.records)
        return self.us(size, records)
