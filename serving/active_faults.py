"""The faults that the control port began: each with an id, its counts, and whether it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.cluster.network.injection import FaultHandle
from groupsim.protocol.values import define
from groupsim.serving.problems import Problem
from groupsim.serving.stage import LiveStage
from groupsim.serving.steps import begin, read_fault

_KEPT = 1_000


@define(eq=False)
class LiveFault:
    """One fault. `handles` are its parts in the network; without any it has no counts, and ends by itself.

    Without a duration, too, nothing of it lasts that could be ended: it is over once it has begun.
    """

    id: str
    body: Mapping[str, Any]
    handles: list[FaultHandle]
    began_us: int
    until_us: int | None

    @property
    def seen(self) -> int | None:
        """The number of matched requests or connections; None without a count."""
        return sum(handle.seen for handle in self.handles) if self.handles else None

    @property
    def hits(self) -> int | None:
        """The number of those it affected; None without a count."""
        return sum(handle.hits for handle in self.handles) if self.handles else None

    def over(self, now_us: int) -> bool:
        """Whether it has ended."""
        if self.handles:
            return all(handle.over for handle in self.handles)
        return self.until_us is None or now_us >= self.until_us

    def document(self, now_us: int) -> dict[str, Any]:
        """Return the fault as a document of the control port."""
        return {
            "id": self.id,
            "fault": dict(self.body),
            "began_us": self.began_us,
            "seen": self.seen,
            "hits": self.hits,
            "over": self.over(now_us),
            "means": [str(handle.fault) for handle in self.handles],
        }


class ActiveFaults:
    """All faults; the oldest finished ones are dropped when there are many."""

    def __init__(self, stage: LiveStage) -> None:
        self._stage = stage
        self._faults: dict[str, LiveFault] = {}
        self._number = 0

    def begin(self, data: Mapping[str, Any]) -> LiveFault:
        """Begin the fault of a body. Raises Problem, ValueError or LookupError, and then nothing has begun."""
        stage = self._stage
        requested = read_fault(data, stage)
        stage.begun = []
        trace, before = stage.loop.trace, stage.loop.trace.cause
        trace.cause = 0
        try:
            begin(requested, stage)
        finally:
            trace.cause = before
        self._number += 1
        now = stage.loop.now_us
        for_us = getattr(requested.action, "for_", None)
        until = now + for_us if for_us is not None else None
        fault = LiveFault(f"f{self._number}", dict(data), stage.begun, now, until)
        self._faults[fault.id] = fault
        self._tidy(now)
        return fault

    def get(self, fault_id: str) -> LiveFault:
        """Return the fault of that id. Raises Problem (404)."""
        fault = self._faults.get(fault_id)
        if fault is None:
            raise Problem(404, f"there is no fault {fault_id!r}", remedy="GET /faults lists them")
        return fault

    def all(self) -> list[LiveFault]:
        """Return every fault, the oldest first."""
        return list(self._faults.values())

    def end(self, fault_id: str) -> LiveFault:
        """End a fault: held messages go on. Raises Problem for one that ends by itself."""
        fault = self.get(fault_id)
        if not fault.handles and not fault.over(self._stage.loop.now_us):
            raise Problem(409, f"fault {fault_id} cannot be ended", "it ends by itself, when its time is over")
        for handle in fault.handles:
            handle.end("ended on the control port")
        return fault

    def end_all(self) -> None:
        """End every fault that can be ended, so that held messages go out."""
        for fault in self._faults.values():
            for handle in fault.handles:
                handle.end("the cluster stops")

    def _tidy(self, now_us: int) -> None:
        over = [fault for fault in self._faults.values() if fault.over(now_us)]
        for fault in over[: max(0, len(self._faults) - _KEPT)]:
            del self._faults[fault.id]
