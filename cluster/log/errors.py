"""What a log refuses."""

from __future__ import annotations

from groupsim.protocol.errors import ErrorCode


class LogRefused(Exception):
    """An append that the log does not take; nothing of it was appended. `error` is the answer to whoever asked.

    `message` is for people here. What Kafka tells a producer is `told`, and of single `records` their number in the
    batch and words, where `{partition}` stands for the partition's name.
    """

    def __init__(
        self,
        error: ErrorCode,
        message: str,
        *,
        told: str | None = None,
        records: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__(f"{error.name}: {message}")
        self.error = error
        self.message = message
        self.told = told
        self.records = records


class OffsetOutOfRange(Exception):
    """An offset below the start of the log or beyond its end (for DeleteRecords: beyond its high watermark)."""

    def __init__(self, offset: int, start_offset: int, end_offset: int) -> None:
        super().__init__(f"offset {offset} is out of range: the log holds offsets from {start_offset} to {end_offset}")
        self.offset = offset
        self.start_offset = start_offset
        self.end_offset = end_offset
