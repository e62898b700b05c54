"""The story told from a trace: who caused each generation, who held it open, what stood still.

`tell(events)` reads nothing but trace events, so it works on a run that has just ended, on a trace read from a file,
and on one rebuilt from logs alike.
"""

from __future__ import annotations

from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.model import (
    Account,
    Eviction,
    Gap,
    Generation,
    GroupAccount,
    GroupStory,
    Hindrance,
    Lag,
    Lane,
    Late,
    Move,
    Outcome,
    Phase,
    PhaseSpan,
    Records,
    Rollout,
    Silence,
    Span,
    Standstill,
    Story,
    Who,
)
from groupsim.scenarios.story.rebalances.partition_set import Assignment, PartitionSet, Share, partition_set
from groupsim.scenarios.story.records.failed_produces import GivenUp
from groupsim.scenarios.story.records.fetches import Fetches
from groupsim.scenarios.story.telling import tell

__all__ = [
    "Account",
    "Assignment",
    "Cause",
    "Eviction",
    "Fetches",
    "Gap",
    "Generation",
    "GivenUp",
    "GroupAccount",
    "GroupStory",
    "Hindrance",
    "Lag",
    "Lane",
    "Late",
    "Move",
    "Outcome",
    "PartitionSet",
    "Phase",
    "PhaseSpan",
    "Records",
    "Rollout",
    "Share",
    "Silence",
    "Span",
    "Standstill",
    "Story",
    "Who",
    "partition_set",
    "tell",
]
