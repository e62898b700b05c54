"""What clients have beside what the coordinator gave them, and when they give it up: C8, L4 and L10.

Source: consumer-protocol reference, 3.2, 3.6, 3.8 and 3.10.
"""

from __future__ import annotations

from typing import ClassVar

from groupsim.coordinator.consumer.state import ConsumerGroupState, GroupState
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.client.heartbeats import PROCESS_ENDS
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input, held, keys

_OWNERSHIP = (Kind.PARTITION_OWNED, Kind.PARTITION_RELEASED)


class ClientWithinCoordinator(Checker):
    """C8. A topic that is deleted and made again has another id: a partition counts as given by any id of its name."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset({*_OWNERSHIP, Kind.CLIENT_STATE, *PROCESS_ENDS})
    LEFT = ("LEAVING", "STALE", "UNSUBSCRIBED", "FENCED", "FATAL")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._shards: dict[str, Shard] = {}  # group → the partition that had its last input
        self._names: dict[str, str] = {}  # topic id → name
        self._owned: dict[str, dict[str, str]] = {}  # member → its partitions, with its process

    def event(self, event: TraceEvent) -> Found:
        """Compare a partition that a client begins to own with what the coordinator has for it."""
        member, where = event.member or "", f"{event.topic}-{event.partition}"
        if event.kind is Kind.PARTITION_OWNED:
            self._owned.setdefault(member, {})[where] = event.host or ""
            state = self._group(event.group or "")
            if state is not None and where not in (given := self._given(state, member) or {where: None}):
                what = f"{event.host} owns a partition that the coordinator has not given it; it has given {[*given]}"
                yield self.in_trace(event, what, partitions=(where,))
        elif event.kind is Kind.PARTITION_RELEASED:
            self._owned.get(member, {}).pop(where, None)
        elif event.kind is Kind.CLIENT_STATE:
            if event.to in self.LEFT:
                self._owned.pop(member, None)
        else:
            for owned in self._owned.values():
                for one in [one for one, host in owned.items() if host == event.host]:
                    del owned[one]

    def _group(self, group_id: str) -> GroupState | None:
        shard = self._shards.get(group_id)
        found = None if shard is None or shard.closed else shard.groups.get(group_id)
        return getattr(found, "data", None)

    def _given(self, state: GroupState, member_id: str) -> dict[str, None] | None:
        member = state.members.get(member_id)
        if member is None or member.classic is not None or member.member_epoch <= 0:
            return None
        return dict.fromkeys(f"{self._names.get(topic, topic)}-{number}" for topic, number in sorted(held(member)))

    def change(self, change: GroupChange) -> Found:
        """Compare what a member has no longer with what its client still owns."""
        self._shards[change.group_id] = change.step.shard
        self._learn(change.step, change.model)
        for member_id, (old, new) in change.members.items():
            owned = self._owned.get(member_id)
            if not owned or old is None or new is None or new.classic is not None or new.member_epoch <= 0:
                continue
            still = {(self._names.get(topic, topic), number) for topic, number in held(new)}
            lost = [
                key
                for key in held(old)
                if (name := self._names.get(key[0])) and f"{name}-{key[1]}" in owned and (name, key[1]) not in still
            ]
            if lost:
                what = "the coordinator takes a partition from a member whose client still owns it"
                epochs = {"member epoch": new.member_epoch}
                yield self.at(change.step, change.group_id, what, members=[member_id], partitions=lost, epochs=epochs)

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Go on with the partition that has loaded the group."""
        self._shards[model.group_id] = step.shard
        self._learn(step, model)
        return ()

    def _learn(self, step: Input, model: GroupModel) -> None:
        for topic_id in dict.fromkeys(topic for topic, _ in model.holders):
            if topic_id not in self._names:
                topic = step.shard.op.topics.topic_by_id(topic_id)
                if topic is not None:
                    self._names[topic_id] = topic.name


class EachHasOneOwner(Checker):
    """L4. It is asked at the end, of groups whose clients have all been settled for a while."""

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {*_OWNERSHIP, Kind.CLIENT_STATE, Kind.FAULT_BEGUN, Kind.FAULT_ENDED, *PROCESS_ENDS}
    )
    SETTLED_US = 15_000_000

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._groups: dict[str, tuple[Input, GroupModel]] = {}
        self._owners: dict[tuple[str, str], dict[str, str]] = {}  # group, partition → process → member
        self._states: dict[str, tuple[str, int, str]] = {}  # member → the state of its client, since when, its process
        self._changed: dict[str, int] = {}  # group → its last change
        self._faults = 0

    def event(self, event: TraceEvent) -> Found:
        """Follow the owners, and the states of clients."""
        host, kind = event.host or "", event.kind
        if kind in _OWNERSHIP:
            owners = self._owners.setdefault((event.group or "", f"{event.topic}-{event.partition}"), {})
            owners.pop(host, None)
            if kind is Kind.PARTITION_OWNED:
                owners[host] = event.member or ""
        elif kind is Kind.CLIENT_STATE:
            self._states[event.member or ""] = (event.to or "", event.t_us, host)
        elif kind is Kind.FAULT_BEGUN:
            self._faults += 1
        elif kind is Kind.FAULT_ENDED:
            self._faults -= 1
        else:
            for owners in self._owners.values():
                owners.pop(host, None)
            self._states = {one: known for one, known in self._states.items() if known[2] != host}
        return ()

    def change(self, change: GroupChange) -> Found:
        """Keep the group, and when it changed."""
        self._groups[change.group_id] = (change.step, change.model)
        self._changed[change.group_id] = change.step.t_us
        return ()

    def loaded(self, step: Input, model: GroupModel) -> Found:
        """Keep the group, and when it was loaded."""
        self._groups[model.group_id] = (step, model)
        self._changed[model.group_id] = step.t_us
        return ()

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Forget a group."""
        self._groups.pop(model.group_id, None)
        return ()

    def end(self, t_us: int, seq: int) -> Found:
        """Compare the targets of settled groups with what their clients own."""
        for group_id, (step, model) in self._groups.items():
            state = None if step.shard.closed else step.group(group_id)
            settled = t_us - self._changed[group_id] > self.SETTLED_US and not self._faults
            if state is None or state.state is not ConsumerGroupState.STABLE or not settled:
                continue
            if not all(self._is_settled(one, t_us) for one in model.members):
                continue
            wrong = [
                key for key in sorted(self._expected(step, model)) if not self._has_one(step, group_id, key, model)
            ]
            if wrong:
                what = "partitions of a settled group have not exactly one owner"
                yield self.at(step, group_id, what, partitions=wrong, members=model.members)

    def _is_settled(self, member_id: str, t_us: int) -> bool:
        state, since, _ = self._states.get(member_id, ("", 0, ""))
        return state == "STABLE" and t_us - since > self.SETTLED_US

    @staticmethod
    def _expected(step: Input, model: GroupModel) -> set[tuple[str, int]]:
        topics = step.shard.op.topics
        return {
            key for target in model.targets.values() for key in keys(target) if topics.topic_by_id(key[0]) is not None
        }

    def _has_one(self, step: Input, group_id: str, key: tuple[str, int], model: GroupModel) -> bool:
        owners = self._owners.get((group_id, step.partition_name(key)), {})
        return sum(member in model.members for member in owners.values()) == 1


class RevokesInRebalances(Checker):
    """L10. A callback counts once the next assigned callback of the process follows: before a leave there is none.

    A member of the consumer protocol may be some epochs behind: it revokes for each of them that it has not reached.
    """

    KINDS: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.CALLBACK_BEGUN, Kind.EPOCH_BUMPED, Kind.GROUP_STATE, Kind.GROUP_LOADED, Kind.GROUP_CONVERTED}
        | {Kind.CLIENT_STATE, Kind.REJOIN_REQUESTED, *PROCESS_ENDS}
    )

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._epochs: dict[str, int] = {}  # group of the consumer protocol → its epoch
        self._rebalances: dict[str, int] = {}  # group → number of barriers
        self._reached: dict[str, tuple[int, int]] = {}  # process → both, as of its last assigned callback
        self._revoked: dict[str, TraceEvent] = {}  # process → a callback without a rebalance before it

    def event(self, event: TraceEvent) -> Found:
        """Compare the callbacks of a process with the rebalances of its group."""
        kind, host, group = event.kind, event.host or "", event.group or ""
        if kind is Kind.EPOCH_BUMPED:
            self._epochs[group] = int((event.payload or {})["epoch"])
        elif kind in (Kind.GROUP_LOADED, Kind.GROUP_CONVERTED):
            self._epochs.pop(group, None)
            self._reached.clear()
        elif kind is Kind.GROUP_STATE:
            if event.to == "PreparingRebalance":
                self._rebalances[group] = self._rebalances.get(group, 0) + 1
        elif kind is not Kind.CALLBACK_BEGUN:
            if kind is not Kind.CLIENT_STATE or event.to in ("JOINING", "FENCED", "LEAVING", "UNJOINED"):
                self._revoked.pop(host, None)
                self._reached.pop(host, None)
        elif event.reason == "assigned":
            revoked = self._revoked.pop(host, None)
            if revoked is not None and not self._is_behind(host, group):
                partitions = tuple((revoked.payload or {}).get("partitions", ()))
                yield self.in_trace(revoked, f"{host} revokes without a rebalance", partitions=partitions)
            self._reached[host] = (event.generation or 0, self._rebalances.get(group, 0))
        elif event.reason == "revoked" and host in self._reached and not self._is_behind(host, group):
            self._revoked[host] = event

    def _is_behind(self, host: str, group: str) -> bool:
        """Whether a process has not reached the last rebalance of its group."""
        epoch, rebalances = self._reached.get(host, (-1, -1))
        return self._epochs.get(group, -1) > epoch or self._rebalances.get(group, 0) > rebalances
