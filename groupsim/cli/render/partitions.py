"""The text form of partitions: by topic, neighbours as a range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return the sorted numbers of each topic's partitions, sorted by topic."""
    found: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(number)
    return found


def in_ranges(numbers: Sequence[int]) -> str:
    """Format sorted numbers as `0-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][-1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
