"""Partition assignors: Kafka's four, a rack-aware example, and the interface of a user's own, of leader or coordinator.

Where to read:

    base                                   the interface, steps, errors and orders that all of them share
    registry                               from a name to an assignor
    range, range_racks, roundrobin         Kafka's simple ones; `sticky/` has the other two
    server                                 the assignors of the coordinator, for groups of the consumer protocol
    rack_first                             an example of a custom one
    validate                               running one for a group, with its result checked
    partition_slices                       the result type of range and roundrobin
"""

from groupsim.assignors.base.errors import AssignorError as AssignorError
from groupsim.assignors.base.errors import JavaFailure as JavaFailure
from groupsim.assignors.base.interface import Assignor as Assignor
from groupsim.assignors.base.interface import RebalanceProtocol as RebalanceProtocol
from groupsim.assignors.base.steps import NO_STEPS as NO_STEPS
from groupsim.assignors.base.steps import Step as Step
from groupsim.assignors.base.steps import Steps as Steps
from groupsim.assignors.rack_first import RackFirstAssignor as RackFirstAssignor
from groupsim.assignors.range import RangeAssignor as RangeAssignor
from groupsim.assignors.registry import resolve as resolve
from groupsim.assignors.roundrobin import RoundRobinAssignor as RoundRobinAssignor
from groupsim.assignors.server.interface import AssignmentFailed as AssignmentFailed
from groupsim.assignors.server.interface import ServerAssignor as ServerAssignor
from groupsim.assignors.server.interface import ServerGroup as ServerGroup
from groupsim.assignors.server.interface import ServerMember as ServerMember
from groupsim.assignors.sticky.cooperative import CooperativeStickyAssignor as CooperativeStickyAssignor
from groupsim.assignors.sticky.sticky import StickyAssignor as StickyAssignor
from groupsim.assignors.validate import run_assignor as run_assignor
from groupsim.protocol.embedded.assignment import GroupAssignment as GroupAssignment
from groupsim.protocol.embedded.assignment import MemberSubscription as MemberSubscription
from groupsim.protocol.embedded.assignment import TopicMetadata as TopicMetadata
