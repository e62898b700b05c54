"""The served cluster's own log: short lines for people, or JSON lines for programs.

Lines of the trace that somebody in front of a terminal wants to see (a group's state, a fault, a broker's life) are
told too; everything else is in the trace.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TextIO

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.protocol.batch import EPOCH_MS
from groupsim.scenarios.printable import visible

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=EPOCH_MS)

TOLD = (
    Kind.GROUP_STATE,
    Kind.GROUP_DELETED,
    Kind.MEMBER_REMOVED,
    Kind.FAULT_BEGUN,
    Kind.FAULT_ENDED,
    Kind.ACTION,
    Kind.ACTION_REFUSED,
    Kind.PROCESS_CRASHED,
    Kind.WARNING,
)
"""Kinds of events that are told in the log, too."""


class ServeLog:
    """Writes lines. As a logger it has structlog's `info`, `warning` and `error`."""

    def __init__(self, file: TextIO, now_us: Callable[[], int], *, as_json: bool = False) -> None:
        self._file = file
        self._now_us = now_us
        self._as_json = as_json
        self._begun: dict[int, str] = {}

    def info(self, event: str, **values: Any) -> None:
        """Something worth a line."""
        self._write("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Somebody did what he should not, or something could not be done."""
        self._write("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        """A defect of ours; `exc_info` is the exception."""
        self._write("error", event, values)

    def tell(self, event: TraceEvent) -> None:
        """A line for an event of the trace."""
        warned = event.kind in (Kind.WARNING, Kind.ACTION_REFUSED)
        if event.kind is Kind.FAULT_BEGUN and event.span:
            self._begun[event.span] = event.reason or ""
        elif event.kind is Kind.FAULT_ENDED:
            words = f"fault over: {self._begun.pop(event.span or 0, '')}"
            self._write("info", words + (f" ({event.reason})" if event.reason else ""), {"seq": event.seq})
            return
        self._write("warning" if warned else "info", _words(event), {"seq": event.seq})

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        error = values.pop("exc_info", None)
        when = _EPOCH + timedelta(microseconds=self._now_us())
        try:
            self._file.write(self._line(level, event, values, when, error) + "\n")
            self._file.flush()
        except (OSError, ValueError):
            pass  # nobody reads: a closed terminal is no reason to stop serving

    def _line(self, level: str, event: str, values: dict[str, Any], when: datetime, error: object) -> str:
        if self._as_json:
            more = {"error": _trace_of(error)} if error is not None else {}
            return json.dumps({"time": when.isoformat(), "level": level, "event": event, **values, **more}, default=str)
        said = ", ".join(f"{name} {value}" for name, value in values.items() if name != "seq")
        mark = "" if level == "info" else f"{level}: "
        line = visible(f"{when:%H:%M:%S} {mark}{event}" + (f" ({said})" if said else ""))
        return line if error is None else f"{line}\n{_trace_of(error)}"


def _trace_of(error: object) -> str:
    return "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else str(error)


def _words(event: TraceEvent) -> str:
    if event.kind is Kind.GROUP_STATE:
        members = (event.payload or {}).get("members")
        size = f", {members} members" if isinstance(members, int) else ""
        return f"group {event.group} is {event.to}, generation {event.generation}{size}: {event.reason}"
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
