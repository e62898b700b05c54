"""Fetched offsets: N29.

Source: consumer-protocol reference, 1.21 and 3.1.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from attrs import field

from groupsim.coordinator.base.records import OffsetRecord
from groupsim.protocol.messages.group import OffsetFetchRequest, TopicPartition
from groupsim.protocol.values import define
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupModel, Input


@define
class _Offsets:
    """The committed offset of one partition, and those under way, oldest first. None: it is deleted, or unknown."""

    committed: int | None = None
    under_way: deque[tuple[int, int | None]] = field(factory=deque)

    def least(self) -> int | None:
        """Return the least offset that a fetch may return; None when any may."""
        offsets = [self.committed, *(offset for _, offset in self.under_way)]
        known = [offset for offset in offsets if offset is not None]
        return min(known) if len(known) == len(offsets) else None


class FetchedOffsetsCurrent(Checker):
    """N29. Offsets in transactions are left out: they count later than their append."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._offsets: dict[tuple[str, TopicPartition], _Offsets] = {}
        self._transactional: dict[tuple[str, TopicPartition], None] = {}
        self._asked: dict[int, tuple[Any, str, dict[TopicPartition, int]]] = {}

    def step(self, step: Input, model: GroupModel | None) -> Found:
        """Note commits and their ends; compare what a member fetches with its epoch and with what was committed."""
        request = step.request
        if isinstance(request, OffsetFetchRequest) and step.arrival is not None:
            if step.refusal is None and model is not None:
                yield from self._fenced(step, request, model)
            least = {}
            for one in request.partitions or ():
                known = self._offsets.get((request.group_id, one))
                if known is not None and (request.group_id, one) not in self._transactional:
                    offset = known.least()
                    if offset is not None:
                        least[one] = offset
            self._asked[id(step.arrival.call)] = (step.arrival.call, request.group_id, least)
        for call, response in step.answers:
            asked = self._asked.pop(id(call), None)
            if asked is not None and not response.error:
                yield from self._fetched(step, asked[1], asked[2], response)
        self._note(step)

    def _note(self, step: Input) -> None:
        for append in step.appends:
            for record in append.records:
                if not isinstance(record, OffsetRecord):
                    continue
                key = (record.group_id, record.partition)
                if record.producer is not None or not append.append_id:
                    self._transactional[key] = None
                    continue
                offset = None if record.value is None else record.value.offset
                self._offsets.setdefault(key, _Offsets()).under_way.append((append.append_id, offset))
        if step.ended:
            self._ended(step.ended, failed=step.error is not None)
        if step.loads or step.unloads:  # another coordinator may have committed since
            self._offsets.clear()
            self._asked.clear()

    def _ended(self, append_id: int, *, failed: bool) -> None:
        for known in self._offsets.values():
            if failed:
                known.under_way = deque(one for one in known.under_way if one[0] != append_id)
            while known.under_way and known.under_way[0][0] <= append_id:
                known.committed = known.under_way.popleft()[1]

    def _fenced(self, step: Input, request: OffsetFetchRequest, model: GroupModel) -> Found:
        if request.member_id is None:
            return
        state = step.group(request.group_id)
        views = [model.members.get(request.member_id)]
        if state is not None:
            views.append(state.committed().members.get(request.member_id))
        if not any(member is not None and member.member_epoch == request.member_epoch for member in views):
            yield self.at(
                step,
                request.group_id,
                "a member fetches offsets at an epoch that it does not have",
                members=[request.member_id],
                epochs={"received": request.member_epoch},
            )

    def _fetched(self, step: Input, group_id: str, least: dict[TopicPartition, int], response: Any) -> Found:
        for entry in response.offsets:
            bound = least.get(entry.partition)
            if bound is not None and not getattr(entry, "error", None) and entry.offset < bound:
                what = f"a fetch returns offset {entry.offset}, {bound} was acknowledged before"
                topic = step.shard.op.topics.topic(entry.partition.topic)
                key = (entry.partition.topic if topic is None else topic.topic_id, entry.partition.partition)
                yield self.at(step, group_id, what, partitions=[key])
