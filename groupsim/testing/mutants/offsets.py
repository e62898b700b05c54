"""Historical bugs of stored offsets and of fail-over, each as the smallest change that restores it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from attrs import evolve

from groupsim.coordinator import shard
from groupsim.coordinator.base.interfaces import LoadFailed
from groupsim.coordinator.base.records import GroupRecord, OffsetRecord
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.member import Member
from groupsim.coordinator.classic.states import State
from groupsim.coordinator.offsets import requests, retention
from groupsim.coordinator.partition.offset_store import OffsetStore
from groupsim.coordinator.partition.offset_view import OffsetView
from groupsim.coordinator.partition.state import Partition
from groupsim.coordinator.partition_driver import PartitionDriver
from groupsim.coordinator.runtime import CoordinatorRuntime
from groupsim.coordinator.service import GroupCoordinator
from groupsim.protocol.errors import ErrorCode
from groupsim.testing.patcher import Patcher, Patches

# --- stored offsets ----------------------------------------------------------------------------------------------


def pending_commit_leak(patch: Patcher) -> None:
    """KAFKA-16371: every partition of a commit counts as pending, and a refused one stays pending."""
    write, in_flight = requests.write, OffsetStore.in_flight
    leaked: dict[tuple[str, Any], None] = {}

    def mutant(partition: Any, group_id: str, *args: Any, **kwargs: Any) -> Any:
        results = write(partition, group_id, *args, **kwargs)
        leaked.update(dict.fromkeys((group_id, where) for where, error in results if error))
        return results

    patch.setattr(requests, "write", mutant)
    patch.setattr(OffsetStore, "in_flight", lambda self, *key: key in leaked or in_flight(self, *key))


def txn_commit_order(patch: Patcher) -> None:
    """KAFKA-5247: the end of a transaction counts, not the position of its offsets in the log."""
    end = OffsetView._end

    def mutant(self: OffsetView, producer_id: int, committed: bool) -> None:
        self._later.clear()
        end(self, producer_id, committed)

    patch.setattr(OffsetView, "_end", mutant)


def delete_group_with_open_txn(patch: Patcher) -> None:
    """KAFKA-19163: a group whose only offsets are in an open transaction counts as one without offsets."""
    look = retention.cleanup

    def mutant(partition: Partition) -> None:
        with ExitStack() as undo:
            Patches(undo).setattr(OffsetView, "held", lambda self, group_id: {})
            look(partition)

    patch.setattr(retention, "cleanup", mutant)


def txn_rebalance_code(patch: Patcher) -> None:
    """Redpanda a666c9b4: offsets in a transaction are refused during a rebalance, as others are."""
    error = ClassicGroup.txn_commit_error

    def mutant(group: Any, op: Any, request: Any) -> ErrorCode | None:
        rebalancing = group.state in (State.PREPARING_REBALANCE, State.AWAITING_SYNC)
        return error(group, op, request) or (ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else None)

    patch.setattr(ClassicGroup, "txn_commit_error", mutant)


# --- fail-over ---------------------------------------------------------------------------------------------------


def dead_means_unknown_member(patch: Patcher) -> None:
    """KAFKA-8386: a coordinator that resigned answers UNKNOWN_MEMBER_ID."""
    unavailable = GroupCoordinator._unavailable

    def mutant(self: GroupCoordinator, *args: Any) -> ErrorCode | None:
        error = unavailable(self, *args)
        return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.NOT_COORDINATOR else error

    patch.setattr(GroupCoordinator, "_unavailable", mutant)


def stale_election_event(patch: Patcher) -> None:
    """KAFKA-10614: a resignation is carried out whatever its epoch."""
    patch.setattr(CoordinatorRuntime, "resign", lambda self, partition, epoch: self._give_up(partition, epoch))


def stale_state_merged(patch: Patcher) -> None:
    """Redpanda 3ed7492f: a coordinator that leads again replays the log on top of its former groups."""
    load, unload = PartitionDriver.load, PartitionDriver.unload
    left: dict[tuple[str, str], list[Member]] = {}

    def unloading(self: PartitionDriver) -> None:
        left.update(((self._host.name, group.group_id), list(group.lookup.values())) for group in self.shard.groups)
        unload(self)

    def loading(self: PartitionDriver) -> None:
        load(self)
        for group in self.shard.groups:
            for member in left.get((self._host.name, group.group_id), ()):
                if member.member_id not in group.lookup:
                    group.add(evolve(member, session=None), None)

    patch.setattr(PartitionDriver, "unload", unloading)
    patch.setattr(PartitionDriver, "load", loading)


def tombstone_then_offsets(patch: Patcher) -> None:
    """KAFKA-4704: offsets after a group's tombstone make the load fail."""
    replay_all = shard.replay

    def mutant(partition: Partition, records: Any) -> None:
        every = list(records)
        deleted = {one.group_id for one in every if isinstance(one, GroupRecord) and one.value is None}
        for one in every:
            if isinstance(one, OffsetRecord) and one.value is not None and one.group_id in deleted:
                raise LoadFailed(f"the deleted group {one.group_id} has offsets")
        replay_all(partition, every)

    patch.setattr(shard, "replay", mutant)


def unmapped_write_error(patch: Patcher) -> None:
    """KAFKA-4362: a coordinator that resigned answers UNKNOWN_SERVER_ERROR."""
    unavailable = GroupCoordinator._unavailable

    def mutant(self: GroupCoordinator, *args: Any) -> ErrorCode | None:
        error = unavailable(self, *args)
        return ErrorCode.UNKNOWN_SERVER_ERROR if error is ErrorCode.NOT_COORDINATOR else error

    patch.setattr(GroupCoordinator, "_unavailable", mutant)


def load_while_offline(patch: Patcher) -> None:
    """KAFKA-16030: a load goes on, and activates the partition, though its broker no longer leads it."""
    resign = CoordinatorRuntime.resign

    def mutant(self: CoordinatorRuntime, partition: int, epoch: int) -> None:
        led = self._drivers.get(partition)
        if led is None or led.active:
            resign(self, partition, epoch)

    patch.setattr(CoordinatorRuntime, "resign", mutant)
