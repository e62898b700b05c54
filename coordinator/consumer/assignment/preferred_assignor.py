"""The assignor of a group: the one that most members name.

A member may name an assignor (`group.remote.assignor`); one that names none does not count. Ties follow from the order
of Java's maps, and two maps are asked:

* what ConsumerGroupDescribe shows, and what counts as the present choice, comes from the group's own map of votes;
* a heartbeat computes the next choice from a copy, without the vote of its member, to which the member's vote is then
  added. `HashMap.compute` puts a new entry at the head of its bucket, and `uniform` and `range` share a bucket. So with
  one vote for each, the choice is that of the member that asks; with more for each it is `uniform`.

Hence a defect of 4.4: with one vote for `range` and one for `uniform`, each heartbeat of the member that names `range`
finds a choice other than the present one, `uniform`, bumps the group epoch and computes a target, for ever.

Source: `ConsumerGroup.preferredServerAssignor`, `computePreferredServerAssignor`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.coordinator.consumer.assignment.timeline_order import timeline_order
from groupsim.protocol.javahash import java_spread

_INITIAL_TABLE = 16


def preferred_assignor(votes: Mapping[str, int]) -> str | None:
    """Return the present choice; None when no member names an assignor. `votes` are in the order of insertion."""
    return _first_with_most((name, votes[name]) for name in _shown_order(votes))


def next_preferred_assignor(votes: Mapping[str, int], old: str | None, new: str | None) -> str | None:
    """Return the choice once a member that named `old` names `new`; None without a vote, or for a new member."""
    counts = {name: votes[name] for name in _shown_order(votes)}
    table = 1 << (4 * len(counts) // 3).bit_length() if counts else _INITIAL_TABLE
    if old is not None:
        counts[old] -= 1
        if not counts[old]:
            del counts[old]
    if new is not None:
        counts = {new: 1, **counts} if new not in counts else {**counts, new: counts[new] + 1}
    order = sorted(counts, key=lambda name: java_spread(name) & (table - 1))
    return _first_with_most((name, counts[name]) for name in order)


def _shown_order(votes: Mapping[str, int]) -> list[str]:
    """Return the names in the order of the group's own map."""
    return timeline_order(votes, replaced=max(votes.values(), default=0) > 1)


def _first_with_most(votes: Iterable[tuple[str, int]]) -> str | None:
    """Return the first name with the most votes, as `Stream.max` does."""
    best: str | None = None
    most = 0
    for name, count in votes:
        if count > most:
            best, most = name, count
    return best
