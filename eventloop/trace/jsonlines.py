"""The structlog logger that writes one trace as JSON Lines.

A module of its own, because structlog takes a tenth of a second to import, and most runs write no file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

from groupsim.eventloop.trace.events import TraceEvent


class _Lines:
    """The logger below structlog's: writes lines, and leaves flushing to the file."""

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, line: str) -> None:
        self._write(line + "\n")


class _EventLogger(structlog.BoundLoggerBase):
    """A structlog logger with one method."""

    def write(self, event: TraceEvent) -> None:
        self._proxy_to_logger("write", event)  # type: ignore[arg-type]  # a processor makes a row of it


def event_writer(
    file: TextIO, row: Callable[[TraceEvent], dict[str, Any]], to_json: Callable[[Any], str]
) -> Callable[[TraceEvent], None]:
    """Return a function that writes events to `file` as rows of JSON, through a structlog logger of its own."""

    def row_of_event(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        return row(event_dict["event"])

    def serialize(columns: Any, **_options: Any) -> str:  # json.dumps would make a new encoder for every event
        return to_json(columns)

    processors = [row_of_event, structlog.processors.JSONRenderer(serializer=serialize)]
    return _EventLogger(_Lines(file), processors, {}).write  # type: ignore[arg-type]
