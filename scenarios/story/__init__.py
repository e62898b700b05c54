"""The story told from a trace: who caused each generation, who held it open, what stood still.

`tell(events)` reads nothing but trace events, so it works on a run that has just ended, on a trace read from a file,
and on one rebuilt from logs alike.

Where to read:

    builder          `tell`: from events to a story
    model            the story as values
    causes           the closed list of causes
    index_events     one pass over the trace, each event to its readers
    facts            what the trace says, by whom it concerns
    rebalances       generations: who caused each, who was late, what stood still, who owns what
    records          what became of every record; lag
    lanes            what each process was doing
    lineage          which event brought another about
    headline         the line that people quote
    headline_extras  what it says behind the rebalances
    many_groups      many groups, summed up
    words            times and numbers as text
"""

from __future__ import annotations

from groupsim.scenarios.story.builder import tell
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.model import (
    Account,
    Eviction,
    EvictionCause,
    Gap,
    Generation,
    GroupAccount,
    GroupStory,
    Hindrance,
    Lag,
    Lane,
    LateMember,
    MemberName,
    Move,
    Outcome,
    Phase,
    PhaseSpan,
    Records,
    Rollout,
    Span,
    Standstill,
    Story,
)
from groupsim.scenarios.story.rebalances.partition_set import Assignment, MemberShare, PartitionSet, partition_set
from groupsim.scenarios.story.records.failed_produces import FailedProduce
from groupsim.scenarios.story.records.fetches import Fetches

__all__ = [
    "Account",
    "Assignment",
    "Cause",
    "Eviction",
    "EvictionCause",
    "FailedProduce",
    "Fetches",
    "Gap",
    "Generation",
    "GroupAccount",
    "GroupStory",
    "Hindrance",
    "Lag",
    "Lane",
    "LateMember",
    "MemberName",
    "MemberShare",
    "Move",
    "Outcome",
    "PartitionSet",
    "Phase",
    "PhaseSpan",
    "Records",
    "Rollout",
    "Span",
    "Standstill",
    "Story",
    "partition_set",
    "tell",
]
