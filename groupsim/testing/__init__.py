"""Tools for tests: historical bugs that a test has to catch, a single coordinator, clusters for real clients.

    from groupsim.testing import caught, mutant

    @caught("KAFKA-12890")  # passes, and fails with the bug restored
    async def test_a_silent_leader_is_removed(sim): ...

    with mutant("KAFKA-12890"):  # for the runs in this block
        ...

`mutants` has the bugs as functions. `Bench` is a coordinator without clock and network, `Shard` is its core. The
fixture `kafka_lab` returns a `Served`, whose `control` is a `Control`.
"""

from typing import TYPE_CHECKING

from groupsim.testing.lazy import lazy

if TYPE_CHECKING:
    from groupsim.control import Control as Control
    from groupsim.control import ControlError as ControlError
    from groupsim.control import Served as Served
    from groupsim.control import ServeFailed as ServeFailed
    from groupsim.control import TimedOut as TimedOut
    from groupsim.control import Unreachable as Unreachable
    from groupsim.coordinator.base.config import CoordinatorConfig as CoordinatorConfig
    from groupsim.coordinator.base.effects import Append as Append
    from groupsim.coordinator.base.effects import CancelTimer as CancelTimer
    from groupsim.coordinator.base.effects import Drop as Drop
    from groupsim.coordinator.base.effects import Emit as Emit
    from groupsim.coordinator.base.effects import Park as Park
    from groupsim.coordinator.base.effects import SetTimer as SetTimer
    from groupsim.coordinator.base.interfaces import LoadFailed as LoadFailed
    from groupsim.coordinator.base.operation import Arrival as Arrival
    from groupsim.coordinator.base.records import GroupRecord as GroupRecord
    from groupsim.coordinator.base.records import GroupValue as GroupValue
    from groupsim.coordinator.base.records import OffsetRecord as OffsetRecord
    from groupsim.coordinator.base.records import OffsetValue as OffsetValue
    from groupsim.coordinator.base.records import StoredMember as StoredMember
    from groupsim.coordinator.base.records import TransactionEnd as TransactionEnd
    from groupsim.coordinator.shard import Shard as Shard
    from groupsim.coordinator.testing import Bench as Bench
    from groupsim.testing.mutation import caught as caught
    from groupsim.testing.mutation import mutant as mutant
    from groupsim.testing.patcher import Mutant as Mutant
    from groupsim.testing.patcher import Patcher as Patcher
else:
    __all__, __getattr__, __dir__ = lazy(
        __name__,
        {
            "groupsim.control": "Control ControlError ServeFailed Served TimedOut Unreachable",
            "groupsim.coordinator.base.config": "CoordinatorConfig",
            "groupsim.coordinator.base.effects": "Append CancelTimer Drop Emit Park SetTimer",
            "groupsim.coordinator.base.interfaces": "LoadFailed",
            "groupsim.coordinator.base.records": "GroupRecord GroupValue OffsetRecord OffsetValue StoredMember "
            "TransactionEnd",
            "groupsim.coordinator.shard": "Shard",
            "groupsim.coordinator.testing": "Bench",
            "groupsim.coordinator.base.operation": "Arrival",
            "groupsim.testing.mutation": "caught mutant",
            "groupsim.testing.patcher": "Mutant Patcher",
        },
    )
