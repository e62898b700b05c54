"""The format of times, numbers and lists of names in a story."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groupsim.scenarios.story.model import PRODUCER


def clock(us: int) -> str:
    """Format a point of virtual time as minutes and seconds: `0:31.204`, with hours from the first one on."""
    ms = (us + 500) // 1000
    minutes, ms = divmod(ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{ms // 1000:02d}.{ms % 1000:03d}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def span(us: int) -> str:
    """Format a length of time with about three figures: `850 µs`, `12 ms`, `3.1 s`, `12 min 5 s`, `2 h 5 min`."""
    if us < 1000:
        return f"{us} µs"
    if us < 999_500:
        return f"{(us + 500) // 1000} ms"
    if us < 119_950_000:
        return f"{tenths(us)} s"
    seconds = (us + 500_000) // 1_000_000
    if seconds < 7200:
        return f"{seconds // 60} min" + (f" {seconds % 60} s" if seconds % 60 else "")
    minutes = (seconds + 30) // 60
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def tenths(us: int) -> str:
    """Format microseconds as seconds with one decimal."""
    figure = (us + 50_000) // 100_000
    return f"{figure // 10}.{figure % 10}"


def count(number: int, noun: str) -> str:
    """Format a count: `1 rebalance`, `2 rebalances`, `no rebalances`."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def processes(profiles: Iterable[str | None]) -> str:
    """Format the number of processes by profile: `3 member processes`, `1 member process, 2 producers`."""
    known = list(profiles)
    producers = sum(profile == PRODUCER for profile in known)
    members = len(known) - producers
    text = f"{members} member process{'' if members == 1 else 'es'}"
    return f"{text}, {count(producers, 'producer')}" if producers else text


def listed(names: Sequence[str], most: int = 3) -> str:
    """Join names with commas; of more than `most`, the first ones and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
