"""Historical bugs of what a coordinator stores and takes over, each as the smallest change that puts it back."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from groupsim.coordinator import offsets, retention, shard
from groupsim.coordinator.classic import ClassicGroup
from groupsim.coordinator.interfaces import LoadFailed
from groupsim.coordinator.leadership import Leadership
from groupsim.coordinator.member import Member
from groupsim.coordinator.offset_store import OffsetStore
from groupsim.coordinator.offset_view import OffsetView
from groupsim.coordinator.partition import Partition
from groupsim.coordinator.records import GroupRecord, OffsetRecord
from groupsim.coordinator.runtime import CoordinatorRuntime
from groupsim.coordinator.service import GroupCoordinator
from groupsim.coordinator.states import State
from groupsim.protocol.errors import ErrorCode

# --- what is stored ----------------------------------------------------------------------------------------------


def pending_commit_leak(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-16371: every partition of a commit counts as under way, and a refused one stays so for ever."""
    write, in_flight = offsets.write, OffsetStore.in_flight
    leaked: dict[tuple[str, Any], None] = {}

    def mutant(partition: Any, group_id: str, *args: Any, **kwargs: Any) -> Any:
        results = write(partition, group_id, *args, **kwargs)
        leaked.update(dict.fromkeys((group_id, where) for where, error in results if error))
        return results

    patch.setattr(offsets, "write", mutant)
    patch.setattr(OffsetStore, "in_flight", lambda self, *key: key in leaked or in_flight(self, *key))


def txn_commit_order(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-5247: the end of a transaction counts, not where in the log its offsets stand."""
    end = OffsetView._end

    def mutant(self: OffsetView, producer_id: int, committed: bool) -> None:
        self._later.clear()
        end(self, producer_id, committed)

    patch.setattr(OffsetView, "_end", mutant)


def delete_group_with_open_txn(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-19163: a group without committed offsets has nothing, though a transaction may bring it some."""
    look = retention.look

    def mutant(partition: Partition) -> None:
        with pytest.MonkeyPatch.context() as blind:
            blind.setattr(OffsetView, "held", lambda self, group_id: {})
            look(partition)

    patch.setattr(retention, "look", mutant)


def txn_rebalance_code(patch: pytest.MonkeyPatch) -> None:
    """Redpanda a666c9b4: offsets in a transaction are refused during a rebalance, as others are."""
    error = ClassicGroup.txn_commit_error

    def mutant(group: Any, turn: Any, request: Any) -> ErrorCode | None:
        rebalancing = group.state in (State.PREPARING_REBALANCE, State.AWAITING_SYNC)
        return error(group, turn, request) or (ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else None)

    patch.setattr(ClassicGroup, "txn_commit_error", mutant)


# --- fail-over ---------------------------------------------------------------------------------------------------


def dead_means_unknown_member(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-8386: a group that has been given up answers its members that it does not know them."""
    unavailable = GroupCoordinator._unavailable

    def mutant(self: GroupCoordinator, *args: Any) -> ErrorCode | None:
        error = unavailable(self, *args)
        return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.NOT_COORDINATOR else error

    patch.setattr(GroupCoordinator, "_unavailable", mutant)


def stale_election_event(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-10614: a resignation is carried out whenever it comes, whatever has happened since."""
    patch.setattr(CoordinatorRuntime, "resign", lambda self, partition, epoch: self._give_up(partition, epoch))


def stale_state_merged(patch: pytest.MonkeyPatch) -> None:
    """Redpanda 3ed7492f: a coordinator that leads again replays the log on top of the groups that it had."""
    load, unload = Leadership.load, Leadership.unload
    left: dict[tuple[str, str], list[Member]] = {}

    def unloading(self: Leadership) -> None:
        left.update(((self._host.name, group.group_id), list(group.lookup.values())) for group in self.shard.groups)
        unload(self)

    def loading(self: Leadership) -> None:
        load(self)
        for group in self.shard.groups:
            for member in left.get((self._host.name, group.group_id), ()):
                if member.member_id not in group.lookup:
                    group.add(evolve(member, session=None), None)

    patch.setattr(Leadership, "unload", unloading)
    patch.setattr(Leadership, "load", loading)


def tombstone_then_offsets(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-4704: a group that has been deleted and has offsets again is taken for a log that cannot be."""
    replay_all = shard.replay

    def mutant(partition: Partition, records: Any) -> None:
        every = list(records)
        deleted = {one.group_id for one in every if isinstance(one, GroupRecord) and one.value is None}
        for one in every:
            if isinstance(one, OffsetRecord) and one.value is not None and one.group_id in deleted:
                raise LoadFailed(f"the deleted group {one.group_id} has offsets")
        replay_all(partition, every)

    patch.setattr(shard, "replay", mutant)


def unmapped_write_error(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-4362: that there is no log here any more is an error that nobody thought of."""
    unavailable = GroupCoordinator._unavailable

    def mutant(self: GroupCoordinator, *args: Any) -> ErrorCode | None:
        error = unavailable(self, *args)
        return ErrorCode.UNKNOWN_SERVER_ERROR if error is ErrorCode.NOT_COORDINATOR else error

    patch.setattr(GroupCoordinator, "_unavailable", mutant)


def load_while_offline(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-16030: a load goes on, and takes the partition over, though its broker leads it no more."""
    resign = CoordinatorRuntime.resign

    def mutant(self: CoordinatorRuntime, partition: int, epoch: int) -> None:
        led = self._led.get(partition)
        if led is None or led.active:
            resign(self, partition, epoch)

    patch.setattr(CoordinatorRuntime, "resign", mutant)
