"""The invariants of a run: its events and inputs, handed to the checkers, and the first violation of each.

    invariants = Invariants(["one-owner-per-partition"], trace, seed=0)
    ...                                              # the run
    invariants.end()
    invariants.first("one-owner-per-partition")      # a Violation, or None

`trace` hands each event and each input to a coordinator's partition as it happens. An input that was rolled back with
its append is not compared with later ones: the model of its group begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from attrs import evolve, field

from groupsim.coordinator.base.records import GroupRecord, OffsetRecord, TransactionEnd
from groupsim.coordinator.consumer.entry_points import ConsumerGroup
from groupsim.coordinator.shard import Shard
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import Trace
from groupsim.protocol.values import define
from groupsim.scenarios.invariants.checker import Checker
from groupsim.scenarios.invariants.steps import GroupModel, Input, make_change
from groupsim.scenarios.invariants.table import Invariant, chosen
from groupsim.scenarios.invariants.violation import Violation


def checker_of(invariant: Invariant) -> Checker:
    """Return a new checker of an invariant."""
    module, _, name = invariant.checker.partition(":")
    made: Checker = getattr(import_module(f"groupsim.scenarios.invariants.{module}"), name)(invariant.name)
    return made


@define(eq=False)
class Invariants:
    """The checkers of a run. `names` are invariants by name or code, or `all`; raises ValueError for another name.

    `violations` are the first of each invariant, by name, and `counts` how many there were.
    """

    names: Sequence[str]
    trace: Trace
    seed: int | None = None
    violations: dict[str, Violation] = field(factory=dict, init=False)
    counts: dict[str, int] = field(factory=dict, init=False)
    _checkers: list[Checker] = field(factory=list, init=False)
    _models: dict[Shard, dict[str, GroupModel]] = field(factory=dict, init=False)
    _ended: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._checkers = [checker_of(one) for one in chosen(self.names)]
        readers: dict[Kind, list[Callable[[TraceEvent], Iterable[Violation]]]] = {}
        for checker in self._checkers:
            for kind in checker.KINDS:
                readers.setdefault(kind, []).append(checker.event)
        if readers:
            self.trace.subscribe(self._reader(readers), readers)
        if any(_reads_inputs(checker) for checker in self._checkers):
            self.trace.inspector = self.inspect

    def _reader(self, readers: dict[Kind, list[Callable[[TraceEvent], Iterable[Violation]]]]) -> Any:
        def read(event: TraceEvent) -> None:
            for reader in readers[event.kind]:
                self._note(reader(event))

        return read

    def first(self, name: str) -> Violation | None:
        """Return the first violation of an invariant, by its name."""
        return self.violations.get(name)

    def _note(self, found: Iterable[Violation]) -> None:
        for violation in found:
            self.counts[violation.invariant] = self.counts.get(violation.invariant, 0) + 1
            if violation.invariant not in self.violations:
                self.violations[violation.invariant] = evolve(violation, seed=self.seed)

    def end(self) -> tuple[Violation, ...]:
        """End the run; return what `found` returns."""
        if not self._ended:
            self._ended = True
            for checker in self._checkers:
                self._note(checker.end(self.trace.now_us, self.trace.total))
        return self.found()

    def found(self) -> tuple[Violation, ...]:
        """Return the first violation of each invariant so far, the earliest one first."""
        return tuple(sorted(self.violations.values(), key=lambda one: (one.t_us, one.seq)))

    # --- inputs to the partitions of coordinators --------------------------------------------------------------------

    def inspect(self, host: str, shard: Shard, given: tuple[Any, ...], effects: Sequence[Any]) -> None:
        """Read one input to a partition, with its effects, before they are executed."""
        step = Input(self.trace.now_us, self.trace.total, host, shard, given, effects)
        models = self._models.get(shard)
        if models is None:
            models = self._models[shard] = {}
        asked = models.get(getattr(step.request, "group_id", ""))
        for checker in self._checkers:
            self._note(checker.step(step, asked))
        if step.loads:
            self._load(step, models)
        elif step.unloads:
            del self._models[shard]
        elif step.ended and step.error is not None:
            self._begin_again(shard, models)
        else:
            self._change(step, models)

    def _load(self, step: Input, models: dict[str, GroupModel]) -> None:
        for old in [one for one in self._models if one.closed]:
            del self._models[old]
        for group in step.shard.groups:
            if isinstance(group, ConsumerGroup):
                model = models[group.group_id] = GroupModel.of(group.data)
                for checker in self._checkers:
                    self._note(checker.loaded(step, model))

    def _begin_again(self, shard: Shard, models: dict[str, GroupModel]) -> None:
        """Read the groups again: a failed append took changes back."""
        models.clear()
        for group in shard.groups:
            if isinstance(group, ConsumerGroup):
                models[group.group_id] = GroupModel.of(group.data)

    def _change(self, step: Input, models: dict[str, GroupModel]) -> None:
        records: dict[str, list[Any]] = {}
        for append in step.appends:
            for record in append.records:
                if not isinstance(record, OffsetRecord | TransactionEnd):
                    records.setdefault(record.group_id, []).append(record)
        for group_id, own in records.items():
            before = models.get(group_id)
            change = make_change(step, before, own, group_id)
            if change is None:
                if before is not None:
                    del models[group_id]
                    for checker in self._checkers:
                        self._note(checker.gone(step, before))
                continue
            if before is None and all(isinstance(one, GroupRecord) for one in own):
                continue
            models[group_id] = change.model
            for checker in self._checkers:
                self._note(checker.change(change))


def _reads_inputs(checker: Checker) -> bool:
    own = type(checker)
    return any(getattr(own, name) is not getattr(Checker, name) for name in ("step", "change", "gone", "loaded"))
