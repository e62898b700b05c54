"""How long each partition was without an owner, from what its owners reported."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

Partition = tuple[str, int]


@frozen
class Change:
    """A partition came to a pod (`gained`) or went from it, at that second."""

    at: float
    pod: str
    partition: Partition
    gained: bool


@frozen
class Gap:
    """A partition had no owner from the release by a pod until the next one was assigned."""

    partition: Partition
    released_by: str
    began: float
    seconds: float


def gaps(changes: Iterable[Change], end: float) -> list[Gap]:
    """The times without an owner, longest first; one that is still open ends at `end`.

    Two processes of one pod count as one owner, since the second starts when the first has closed.
    """
    owners: dict[Partition, set[str]] = {}
    free: dict[Partition, Change] = {}
    found = []
    for change in sorted(changes, key=lambda one: (one.at, one.gained)):
        holders = owners.setdefault(change.partition, set())
        if change.gained:
            holders.add(change.pod)
            last = free.pop(change.partition, None)
            if last is not None:
                found.append(_gap(last, change.at))
        elif change.pod in holders:
            holders.discard(change.pod)
            if not holders:
                free[change.partition] = change
    found += [_gap(last, end) for last in free.values()]
    return sorted(found, key=lambda one: -one.seconds)


def _gap(last: Change, until: float) -> Gap:
    return Gap(last.partition, last.pod, last.at, until - last.at)


def longest(found: Iterable[Gap], since: float, pods: Iterable[str]) -> float:
    """The longest gap that began at `since` or later and that one of these pods released; 0.0 for none."""
    among = set(pods)
    return max((one.seconds for one in found if one.began >= since and one.released_by in among), default=0.0)


def total(found: Iterable[Gap], since: float) -> float:
    """The length of all gaps together that began at `since` or later."""
    return sum(one.seconds for one in found if one.began >= since)
