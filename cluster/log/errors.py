"""Errors of a partition's log."""

from __future__ import annotations

from groupsim.protocol.errors import ErrorCode


class LogRefused(Exception):
    """An append was refused as a whole; `error` is the error code of the response.

    `message` is for the reader of a trace. `client_message` is Kafka's message to the producer. `records` has the index
    and Kafka's message of each refused record; `{partition}` in both stands for the partition's name.
    """

    def __init__(
        self,
        error: ErrorCode,
        message: str,
        *,
        client_message: str | None = None,
        records: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__(f"{error.name}: {message}")
        self.error = error
        self.message = message
        self.client_message = client_message
        self.records = records


class OffsetOutOfRange(Exception):
    """An offset below the log's start or above its end (for DeleteRecords: above the high watermark)."""

    def __init__(self, offset: int, start_offset: int, end_offset: int) -> None:
        super().__init__(f"offset {offset} is out of range: the log holds offsets from {start_offset} to {end_offset}")
        self.offset = offset
        self.start_offset = start_offset
        self.end_offset = end_offset
