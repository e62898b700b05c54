"""The server's own log, kept short: whoever floods a server with nonsense must not fill its disk.

Of each kind of line so many are written in a second; those left out are counted, and told with the next that is.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.units import SECOND_US

PER_SECOND: Final = 10
_LONGEST: Final = 300


class Logger(Protocol):
    """What is needed of a logger; structlog's have it."""

    def warning(self, event: str, **values: Any) -> Any: ...
    def error(self, event: str, **values: Any) -> Any: ...


class Silence:
    """A log that nobody reads."""

    def warning(self, event: str, **values: Any) -> None: ...
    def error(self, event: str, **values: Any) -> None: ...


class _Kind:
    __slots__ = ("left_out", "second", "written")

    def __init__(self) -> None:
        self.second = -1
        self.written = 0
        self.left_out = 0


class Complaints:
    """Lines about clients and about ourselves; `Logger` gets at most `PER_SECOND` of each kind in a second."""

    def __init__(self, loop: EventLoop, log: Logger) -> None:
        self._loop = loop
        self._log = log
        self._kinds: dict[str, _Kind] = {}

    def warning(self, event: str, **values: Any) -> None:
        """Somebody did what he should not; the event's text is its kind."""
        if self._may(event, values):
            self._log.warning(event, **values)

    def error(self, event: str, error: Exception, **values: Any) -> None:
        """We did what we should not; with the traceback."""
        if self._may(event, values):
            self._log.error(event, exc_info=error, **values)

    def _may(self, event: str, values: dict[str, Any]) -> bool:
        """Whether a line of this kind may be written; then its values are cut to length, and the count is added."""
        kind = self._kinds.setdefault(event, _Kind())
        second = self._loop.now_us // SECOND_US
        if second != kind.second:
            kind.second, kind.written = second, 0
        if kind.written >= PER_SECOND:
            kind.left_out += 1
            return False
        kind.written += 1
        for name, value in values.items():
            if isinstance(value, str) and len(value) > _LONGEST:
                values[name] = value[:_LONGEST] + "…"
        if kind.left_out:
            values["left_out"], kind.left_out = kind.left_out, 0
        return True
