"""The log files: one for each host with a line, named after it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.broker import BrokerLog
from groupsim.logs.broker_life import BrokerLife
from groupsim.logs.clients.known import Known
from groupsim.logs.clients.library_choice import ClientLog, client_log
from groupsim.logs.wording import version

LISTED = ".groupsim-logs"
"""The file that lists the files of `write_logs`: the next run may replace them, and no others."""


def render(events: Sequence[TraceEvent]) -> dict[str, list[str]]:
    """Return the lines of each file, by file name, in the order of the trace; no file is empty."""
    files: dict[str, list[str]] = {}
    started = next((event for event in events if event.kind is Kind.RUN_STARTED), None)
    spoken = version((started.payload or {}).get("broker") if started else None)
    life, groups = BrokerLife.of(spoken, events), BrokerLog.of(spoken, events)
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


def foreign_files(directory: Path) -> list[str]:
    """Return the sorted names in a directory for logs that no earlier `write_logs` wrote."""
    if not directory.is_dir():
        return []
    return sorted({entry.name for entry in directory.iterdir()} - {LISTED} - set(_listed(directory)))


def _listed(directory: Path) -> list[str]:
    listed = directory / LISTED
    return listed.read_text("utf-8").splitlines() if listed.is_file() else []


def write_logs(events: Sequence[TraceEvent], directory: Path) -> list[Path]:
    """Write all log files below `directory`, which is made if necessary; each file is complete or absent.

    Further files of an earlier run are removed. Raises `OSError` if the directory is not writable.
    """
    directory.mkdir(parents=True, exist_ok=True)
    rendered = render(events)
    old = _listed(directory)
    _write(sorted({*old, *rendered}), directory / LISTED)
    try:
        for name, lines in sorted(rendered.items()):
            _write(lines, directory / name)
    except BaseException:
        for name in {*rendered, LISTED} if not old else ():
            (directory / name).unlink(missing_ok=True)
        raise
    for name in old:
        if name not in rendered:
            (directory / name).unlink(missing_ok=True)
    _write(sorted(rendered), directory / LISTED)
    return [directory / name for name in sorted(rendered)]


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
