"""Partitions whose process ended after the last rebalance of its group: they stand still until the trace ends.

A session outlives the trace, or a static member is waited for. No rebalance is to blame: the last one had ended in a
stable group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groupsim.scenarios.story.facts import Facts
from groupsim.scenarios.story.model import Generation, Outcome, Standstill, Unanswered

_WORDS = {"crashed": "crashed", "stopped": "stopped without leaving", "failed": "failed"}


def unanswered(facts: Facts, told: Sequence[Generation], still: Iterable[Standstill]) -> Iterator[Unanswered]:
    """The standstills of a group that began with the end of a process which no rebalance answered, in order."""
    if not told or told[-1].outcome is not Outcome.STABLE:
        return
    for one in still:
        ends = facts.host(one.origin).ended
        if one.open and ends and ends[-1].began_us >= one.began_us >= told[-1].ended_us:
            yield Unanswered(one, _WORDS[ends[-1].what], ends[-1].began_us)
