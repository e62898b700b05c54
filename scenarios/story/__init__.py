"""The story of a run, made from its trace: the cause of each generation, what held it open, which partitions stopped.

`tell(events)` reads trace events alone. So it takes the events of a run that has just ended, of a trace file, and of a
trace rebuilt from logs.

Where to read:

    builder          `tell`: from events to a story
    model            the story as values
    causes           the closed list of causes
    index_events     one pass over the trace, each event to the reader of its kind
    facts            the content of the trace, sorted by process and group
    rebalances       generations: their causes, late members, unserved partitions, owners
    records          the account of every record; lag
    lanes            the phases of each process
    lineage          the links from events to their causes
    headline         the first line of a report
    headline_extras  its part after the rebalances
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
