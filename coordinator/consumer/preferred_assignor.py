"""The assignor of a group: the one that most members name.

A member may name an assignor (`group.remote.assignor`); one that names none does not count. Ties follow from the order
of Java's maps, and two maps are asked:

* what ConsumerGroupDescribe shows, and what counts as the present choice, comes from the group's own map of votes;
* a heartbeat computes the next choice from a copy, without the vote of its member, to which the member's vote is then
  added. In that copy `uniform` and `range` share a bucket, and an assignor whose only vote was taken is added again at
  the end. So with one vote for each, the choice is that of the *other* member.

Hence a defect of 4.4: with one vote for `range` and one for `uniform`, each heartbeat of the second member finds a
choice other than the present one, bumps the group epoch and computes a target, for ever.

Source: `ConsumerGroup.preferredServerAssignor`, `computePreferredServerAssignor`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.coordinator.consumer.timeline_order import timeline_order
from groupsim.protocol.javahash import JavaHashMap


def preferred_assignor(votes: Mapping[str, int]) -> str | None:
    """Return the present choice; None when no member names an assignor. `votes` are in the order of insertion."""
    return _first_with_most((name, votes[name]) for name in timeline_order(votes))


def next_preferred_assignor(votes: Mapping[str, int], old: str | None, new: str | None) -> str | None:
    """Return the choice once a member that named `old` names `new`; None without a vote, or for a new member."""
    counts = _copied(votes)
    if old is not None:
        if counts[old] == 1:
            del counts[old]
        else:
            counts[old] -= 1
    if new is not None:
        counts[new] = counts.get(new, 0) + 1
    return _first_with_most(counts.items())


def _copied(votes: Mapping[str, int]) -> JavaHashMap[str, int]:
    """Return the copy `new HashMap<>(votes)`, whose table is as small as the votes allow."""
    entries = [(name, votes[name]) for name in timeline_order(votes)]
    if not entries:
        return JavaHashMap()
    needed = -(-4 * len(entries) // 3)
    return JavaHashMap(entries, capacity=1 << (needed - 1).bit_length())


def _first_with_most(votes: Iterable[tuple[str, int]]) -> str | None:
    """Return the first name with the most votes, as `Stream.max` does."""
    best: str | None = None
    most = 0
    for name, count in votes:
        if count > most:
            best, most = name, count
    return best
