"""Broker and client logs of a run, in the shapes people know from grep.

`broker-N.log` has the stock layout `[time] LEVEL message (logger)`; a member's file, `<host>.log`, has the same for
Java clients, and each other library's own. Only what the trace says is written, in the words of the broker's and
the clients' versions. Virtual time 0 is `START`, in UTC. Source: log-formats reference.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from groupsim.coordinator.placement import OFFSETS_TOPIC
from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.logs_broker import BrokerLog
from groupsim.logs_client import JavaLog, Known
from groupsim.logs_librdkafka import LibrdkafkaLog
from groupsim.logs_others import OtherLog, family_of
from groupsim.logs_wording import version
from groupsim.protocol.batch import EPOCH_MS

ClientLog = JavaLog | LibrdkafkaLog | OtherLog
START = datetime.fromtimestamp(EPOCH_MS / 1000, tz=UTC)  # as the times of records, so that logs and offsets agree


def render(events: Sequence[TraceEvent]) -> dict[str, list[str]]:
    """File name → its lines, in the order of the trace; who says nothing has no file."""
    files: dict[str, list[str]] = {}
    started = next((event for event in events if event.kind is Kind.RUN_STARTED), None)
    broker = BrokerLog(version((started.payload or {}).get("broker") if started else None))
    clients: dict[str, ClientLog] = {}
    known = Known()
    for event in events:
        known.note(event)
        if event.kind is Kind.PROCESS_STARTED and event.host:
            clients[event.host] = _client(event, known)
        host, client = event.host, clients.get(event.host or "")
        if event.kind is Kind.PARTITION_LEADER:
            host = f"broker-{event.to}"
            lines = [layout(*line) for line in broker.takes_over(event)] if _moves(event) else []
        elif client is not None:
            lines = list(_client_lines(client, event))
        else:
            lines = [layout(*line) for line in broker.lines(event)]
        if lines:
            files.setdefault(_file(host), []).extend(lines)
    return files


def _moves(event: TraceEvent) -> bool:
    """Whether a partition of the offsets topic gets another leader; that it has one when it is made is no news."""
    return event.topic == OFFSETS_TOPIC and event.from_ != "-1" and event.to not in (None, "-1", event.from_)


def _client(event: TraceEvent, known: Known) -> ClientLog:
    payload = event.payload or {}
    group, client_id = event.group or "?", str(payload.get("client_id") or event.host)
    profile = str(payload.get("profile") or "java")
    if profile.startswith("librdkafka"):
        return LibrdkafkaLog(group, client_id, known)
    family = family_of(profile)
    if family is not None:
        return OtherLog(family, group, client_id, known.rounds, START)
    return JavaLog(group, client_id, payload.get("instance_id"), version(profile), known)


def _client_lines(client: ClientLog, event: TraceEvent) -> Iterable[str]:
    if isinstance(client, JavaLog):
        return [layout(*line) for line in client.lines(event)]
    if isinstance(client, OtherLog):
        return client.lines(event)
    return [
        f"%{level}|{epoch_ms(t_us) / 1000:.3f}|{facility}|{client.client_id}#consumer-1| [thrd:main]: {text}"
        for t_us, level, facility, text in client.lines(event)
    ]


def layout(t_us: int, level: str, message: str, logger: str) -> str:
    """The stock layout: `[2026-01-01 00:00:03,000] INFO message (logger)`."""
    moment = START + timedelta(microseconds=t_us)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}] {level} {message} ({logger})"


def epoch_ms(t_us: int) -> int:
    """Milliseconds since 1970."""
    return int(START.timestamp()) * 1000 + t_us // 1000


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
