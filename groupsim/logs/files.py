"""The files: who says something has one, named after its host."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.logs.broker import BrokerLog
from groupsim.logs.broker_life import BrokerLife
from groupsim.logs.clients import ClientLog, client_log
from groupsim.logs.known import Known
from groupsim.logs.wording import version


def render(events: Sequence[TraceEvent]) -> dict[str, list[str]]:
    """File name → its lines, in the order of the trace; who says nothing has no file."""
    files: dict[str, list[str]] = {}
    started = next((event for event in events if event.kind is Kind.RUN_STARTED), None)
    spoken = version((started.payload or {}).get("broker") if started else None)
    life, groups = BrokerLife.of(spoken, events), BrokerLog(spoken)
    clients: dict[str, ClientLog] = {}
    known = Known()
    for event in events:
        known.note(event)
        if event.kind is Kind.PROCESS_STARTED and event.host:
            clients[event.host] = client_log(event, known)
        for host, line in life.lines(event):
            files.setdefault(_file(host), []).append(line)
        lines = list(clients.get(event.host or "", groups).lines(event))
        if lines and event.host not in life.hushed:
            files.setdefault(_file(event.host), []).extend(lines)
    return files


def _file(host: str | None) -> str:
    return re.sub(r"[^\w.@-]", "_", host or "unknown") + ".log"


def write_logs(events: Sequence[TraceEvent], directory: Path) -> list[Path]:
    """Write all log files below `directory` (made if need be), each one whole or not at all.

    Raises `OSError` when the directory cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, lines in sorted(render(events).items()):
        target = directory / name
        _write(lines, target)
        written.append(target)
    return written


def _write(lines: Iterable[str], target: Path) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
