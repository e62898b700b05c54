"""The served cluster's log, a structlog logger: short lines for people, or JSON lines for programs.

A few kinds of trace events (a group's state, a fault, a broker's start and stop) are written to the log, too;
everything else is in the trace. structlog is not configured globally.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.scenarios.language.printable import visible

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=EPOCH_MS)

LOGGED_KINDS: Final = (
    Kind.GROUP_STATE,
    Kind.GROUP_DELETED,
    Kind.GROUP_CONVERTED,
    Kind.MEMBER_REMOVED,
    Kind.FAULT_BEGUN,
    Kind.FAULT_ENDED,
    Kind.ACTION,
    Kind.ACTION_REFUSED,
    Kind.PROCESS_CRASHED,
    Kind.WARNING,
)
"""Kinds of trace events that are written to the log."""


def server_log(file: TextIO, now_us: Callable[[], int], *, as_json: bool = False) -> FilteringBoundLogger:
    """Return a logger that writes to `file`; `now_us` is the loop's time since `EPOCH_MS`, in microseconds."""
    for_programs = (_exception_as_error, structlog.processors.JSONRenderer(default=str))
    processors: list[Processor] = [_stamped(now_us), structlog.processors.ExceptionRenderer()]
    processors += for_programs if as_json else (_for_people,)
    every_level = structlog.make_filtering_bound_logger(0)
    logger: FilteringBoundLogger = structlog.wrap_logger(_Lines(file), processors, every_level)
    return logger


class _Lines:
    """The logger below structlog's: writes and flushes each line."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def info(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a closed terminal is no reason to stop serving
            self._file.write(line + "\n")
            self._file.flush()

    warning = error = info


def _stamped(now_us: Callable[[], int]) -> Processor:
    """Return a processor that puts the loop's time, level and event before the values."""

    def stamp(_logger: WrappedLogger, level: str, values: EventDict) -> EventDict:
        when = _EPOCH + timedelta(microseconds=now_us())
        return {"time": when.isoformat(), "level": level, "event": values.pop("event"), **values}

    return stamp


def _exception_as_error(_logger: WrappedLogger, _level: str, values: EventDict) -> EventDict:
    """Name the traceback `error`, as readers of the JSON lines know it (structlog processor)."""
    if "exception" in values:
        values["error"] = values.pop("exception")
    return values


def _for_people(_logger: WrappedLogger, level: str, values: EventDict) -> str:
    """Render one line, and below it the traceback of an exception (structlog processor)."""
    time, event = datetime.fromisoformat(values.pop("time")), values.pop("event")
    traceback = values.pop("exception", None)
    shown = ", ".join(f"{name} {value}" for name, value in values.items() if name not in ("level", "seq"))
    mark = "" if level == "info" else f"{level}: "
    line = visible(f"{time:%H:%M:%S} {mark}{event}" + (f" ({shown})" if shown else ""))
    return line if traceback is None else f"{line}\n{traceback}"


class EventLog:
    """Writes trace events of `LOGGED_KINDS` to a log."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._faults: dict[int, str] = {}

    def write(self, event: TraceEvent) -> None:
        """Write a line for one event; the end of a fault repeats the words of its begin."""
        line = _words(event)
        if event.kind is Kind.FAULT_BEGUN and event.span:
            self._faults[event.span] = event.reason or ""
        elif event.kind is Kind.FAULT_ENDED:
            begun = self._faults.pop(event.span or 0, "")
            line = f"fault over: {begun}" + (f" ({event.reason})" if event.reason else "")
        write = self._log.warning if event.kind in (Kind.WARNING, Kind.ACTION_REFUSED) else self._log.info
        write(line, seq=event.seq)


def _words(event: TraceEvent) -> str:
    if event.kind is Kind.GROUP_STATE:
        members = (event.payload or {}).get("members")
        size = f", {members} members" if isinstance(members, int) else ""
        return f"group {event.group} is {event.to}, generation {event.generation}{size}: {event.reason}"
    if event.kind is Kind.GROUP_CONVERTED:
        return f"group {event.group} goes from the {event.from_} to the {event.to} protocol: {event.reason}"
    if event.kind is Kind.FAULT_BEGUN:
        return f"fault: {event.reason}"
    if event.kind is Kind.GROUP_DELETED:
        return f"group {event.group} is gone: {event.reason}"
    if event.kind is Kind.ACTION:
        return f"action: {event.reason}"
    if event.kind is Kind.ACTION_REFUSED:
        return f"action refused: {(event.payload or {}).get('action')}: {event.reason}"
    if event.kind is Kind.MEMBER_REMOVED:
        return f"group {event.group} lost {event.member}: {event.reason}"
    return f"{event.kind.value} {event.host or ''}: {event.reason or ''}".strip()
