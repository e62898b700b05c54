"""The bench of a coordinator with invariants that watch it, and records that no operation would write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groupsim.coordinator.base.effects import Emit
from groupsim.coordinator.testing import GROUP
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import Trace
from groupsim.scenarios.invariants.violation import Violation
from groupsim.scenarios.invariants.watch import Invariants
from tests.helpers.heartbeat_bench import HeartbeatBench


class _Clock:
    """The time of a bench, for the trace."""

    def __init__(self, bench: WatchedBench) -> None:
        self._bench = bench

    @property
    def now_us(self) -> int:
        return self._bench.now_us


class WatchedBench(HeartbeatBench):
    """A partition whose inputs are read by the invariants of these names, by default by all.

    `watch` continues the invariants of another bench, whose log this one has loaded.
    """

    def __init__(
        self, *args: Any, names: Sequence[str] = ("all",), watch: Invariants | None = None, **kwargs: Any
    ) -> None:
        self.watched = watch or Invariants(names, Trace(), seed=7)
        self.watched.trace.attach(_Clock(self))
        super().__init__(*args, **kwargs)
        shard = self.shard
        for name, given in _GIVEN.items():
            setattr(shard, name, self._inspected(getattr(shard, name), given))
        self.watched.inspect("broker-0", shard, ("load",), [])

    def _inspected(self, method: Callable[..., Any], given: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
        def inspected(*args: Any) -> Any:
            effects = method(*args)
            self.watched.inspect("broker-0", self.shard, given(*args), effects)
            return effects

        return inspected

    def tamper(self, *records: Any, event: Kind | None = None, **payload: Any) -> None:
        """Append records that no operation would write, with an event."""
        self.shard.partition.append(records)
        effects = self.shard.op.take()
        if event is not None:
            effects.append(Emit(event, GROUP, payload=payload))
        self.watched.inspect("broker-0", self.shard, (), effects)
        self.carry_out(effects)

    def after_failover(self, log: Sequence[Any] | None = None) -> WatchedBench:
        """Resign, and return a bench that has loaded the log, or another one."""
        self.shard.unload(self.now_us)
        records = [*self.log] if log is None else [*log]
        return WatchedBench(
            self.config, watch=self.watched, records=records, now_us=self.now_us, auto_commit=self.auto_commit
        )

    def found(self) -> dict[str, Violation]:
        """Return the first violation of each invariant, by its name."""
        return {one.invariant: one for one in self.watched.end()}


_GIVEN: dict[str, Callable[..., tuple[Any, ...]]] = {
    "handle": lambda arrival, request, _: (arrival, request),
    "fire": lambda timer, _: (timer,),
    "append_done": lambda append_id, error, _: (append_id, error),
    "unload": lambda _: ("unload",),
    "resolved": lambda *_: ("resolved",),
    "metadata_changed": lambda *_: ("metadata",),
}
