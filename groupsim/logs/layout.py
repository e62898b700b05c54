"""The date of virtual times, and the layout of Kafka's logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from groupsim.protocol.batch.batch import EPOCH_MS

START = datetime.fromtimestamp(EPOCH_MS / 1000, tz=UTC)  # the epoch of record timestamps too


def moment(t_us: int) -> datetime:
    """Convert a virtual time to a date, in UTC."""
    return START + timedelta(microseconds=t_us)


def millis(at: datetime) -> str:
    """Format the milliseconds of a date with three digits."""
    return f"{at.microsecond // 1000:03d}"


def epoch_ms(t_us: int) -> int:
    """Convert a virtual time to milliseconds since 1970."""
    return int(START.timestamp()) * 1000 + t_us // 1000


def stock(t_us: int, level: str, message: str, logger: str) -> str:
    """Format a line in Kafka's layout: `[2026-01-01 00:00:03,000] INFO message (logger)`."""
    at = moment(t_us)
    return f"[{at:%Y-%m-%d %H:%M:%S},{millis(at)}] {level} {message} ({logger})"
