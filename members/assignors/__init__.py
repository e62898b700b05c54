"""Partition assignors: Kafka's four, one rack-aware example, and the way to a user's own."""

from __future__ import annotations

from groupsim.members.assignors.blame import blame
from groupsim.members.assignors.cooperative_sticky import CooperativeStickyAssignor
from groupsim.members.assignors.errors import AssignorError, JavaFailure
from groupsim.members.assignors.interface import Assignor, RebalanceProtocol
from groupsim.members.assignors.rack_first import RackFirstAssignor
from groupsim.members.assignors.range import RangeAssignor
from groupsim.members.assignors.registry import is_kafkas, known_names, resolve
from groupsim.members.assignors.roundrobin import RoundRobinAssignor
from groupsim.members.assignors.steps import NO_STEPS, Step, Steps, replayed
from groupsim.members.assignors.sticky import StickyAssignor
from groupsim.members.assignors.validate import run_assignor

__all__ = [
    "NO_STEPS",
    "Assignor",
    "AssignorError",
    "CooperativeStickyAssignor",
    "JavaFailure",
    "RackFirstAssignor",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "Step",
    "Steps",
    "StickyAssignor",
    "blame",
    "is_kafkas",
    "known_names",
    "replayed",
    "resolve",
    "run_assignor",
]
