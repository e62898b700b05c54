"""The server's own log with a limit on its rate, so that invalid requests cannot fill the disk.

Each kind of line has a maximum number per second. Omitted lines are counted, and the next line has the count.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.units import SECOND_US

PER_SECOND: Final = 10
_MAX_LENGTH: Final = 300


class Logger(Protocol):
    """The part of a structlog logger that is needed."""

    def warning(self, event: str, **values: Any) -> Any: ...
    def error(self, event: str, **values: Any) -> Any: ...


class NullLogger:
    """A logger that drops all lines."""

    def warning(self, event: str, **values: Any) -> None: ...
    def error(self, event: str, **values: Any) -> None: ...


class _Kind:
    __slots__ = ("left_out", "second", "written")

    def __init__(self) -> None:
        self.second = -1
        self.written = 0
        self.left_out = 0


class RateLimitedLog:
    """Log lines of the server; `Logger` gets at most `PER_SECOND` of each kind in a second."""

    def __init__(self, loop: EventLoop, log: Logger) -> None:
        self._loop = loop
        self._log = log
        self._kinds: dict[str, _Kind] = {}

    def warning(self, event: str, **values: Any) -> None:
        """Log a client's mistake; the event's text is its kind."""
        if self._may(event, values):
            self._log.warning(event, **values)

    def error(self, event: str, error: Exception, **values: Any) -> None:
        """Log a defect of the server, with the traceback."""
        if self._may(event, values):
            self._log.error(event, exc_info=error, **values)

    def _may(self, event: str, values: dict[str, Any]) -> bool:
        """Whether a line of this kind may be written; if so, cut its values and add the count of omitted lines."""
        kind = self._kinds.setdefault(event, _Kind())
        second = self._loop.now_us // SECOND_US
        if second != kind.second:
            kind.second, kind.written = second, 0
        if kind.written >= PER_SECOND:
            kind.left_out += 1
            return False
        kind.written += 1
        for name, value in values.items():
            if isinstance(value, str) and len(value) > _MAX_LENGTH:
                values[name] = value[:_MAX_LENGTH] + "…"
        if kind.left_out:
            values["left_out"], kind.left_out = kind.left_out, 0
        return True
