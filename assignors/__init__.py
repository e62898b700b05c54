"""Partition assignors: Kafka's four, one rack-aware example, and the way to a user's own.

Where to read:

    base                                   what all are made of: the interface, steps, errors, orders
    registry                               from a name to an assignor
    range, range_racks, roundrobin         Kafka's simple ones; `sticky/` has the other two
    rack_first                             an example of a custom one
    validate, blame                        running one for a group; the user's line that a defect comes from
    dealt                                  what range and roundrobin share
"""

from __future__ import annotations

from groupsim.assignors.base.errors import AssignorError, JavaFailure
from groupsim.assignors.base.interface import Assignor, RebalanceProtocol
from groupsim.assignors.base.steps import NO_STEPS, Step, Steps, replayed
from groupsim.assignors.blame import blame
from groupsim.assignors.rack_first import RackFirstAssignor
from groupsim.assignors.range import RangeAssignor
from groupsim.assignors.registry import is_kafkas, known_names, resolve
from groupsim.assignors.roundrobin import RoundRobinAssignor
from groupsim.assignors.sticky.cooperative import CooperativeStickyAssignor
from groupsim.assignors.sticky.sticky import StickyAssignor
from groupsim.assignors.validate import run_assignor

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
