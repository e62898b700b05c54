"""Write a scenario in Python: for tests, and for scripts that vary it.

    from groupsim.scenarios.loading.python_api import scenario

    run = (
        scenario("crash", run_for="60s")
        .broker(version="3.9")
        .topic("orders", partitions=6, rate="10/s")
        .group("g1", members={"c": {"count": 3}}, properties={"session.timeout.ms": 10000})
        .at("30s").crash("c-2")
        .expect("generations", 2)
        .run(seed=1)
    )
    assert run.exit_code == 0

Names and values are those of the file, with underscores for dashes; a mistake raises the same ScenarioError, without
line numbers. A draft never changes: each call returns a new one, so that drafts can share a beginning.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, field

from groupsim.eventloop.trace.sinks import Sink
from groupsim.eventloop.trace.trace import NORMAL, Level
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of, key_of, required
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.registry import step_actions
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import Run, run_scenario


def scenario(name: str = "scenario", *, run_for: str, **keys: Any) -> Draft:
    """Begin a scenario; `keys` are other keys of the file's top level."""
    return Draft({"name": name, "run-for": run_for, **_keys(keys)})


@frozen
class Draft:
    """A scenario being written: the data of a file, not validated yet."""

    data: Mapping[str, Any] = field(factory=dict)

    def broker(self, **settings: Any) -> Draft:
        """Set the broker version and settings: `version="3.9"`, or `**{"group.max.size": 3}`."""
        return self._with("broker", {**self.data.get("broker", {}), **settings})

    def cluster(self, **keys: Any) -> Draft:
        """Set keys of `cluster`: brokers, racks, latency."""
        return self._with("cluster", {**self.data.get("cluster", {}), **_keys(keys)})

    def topic(self, name: str, partitions: int = 1, **keys: Any) -> Draft:
        """Add a topic."""
        return self._with("topics", {**self.data.get("topics", {}), name: {"partitions": partitions, **_keys(keys)}})

    def producer(self, name: str, topic: str, **keys: Any) -> Draft:
        """Add a process that produces: `.producer("shop", "orders", rate="50/s", properties={"acks": "all"})`.

        It needs logs to write to, so it excludes `.cluster(logs="counted")`.
        """
        return self._with("producers", {**self.data.get("producers", {}), name: {"topic": topic, **_keys(keys)}})

    def group(self, name: str, members: Mapping[str, Any] | int, **keys: Any) -> Draft:
        """Add a group with its members; a number adds as many equal ones, named c-1, c-2 …"""
        alike = {"c": {"count": members}} if isinstance(members, int) else members
        shown = {key: _keys(value) if isinstance(value, Mapping) else value for key, value in alike.items()}
        return self._with("groups", {**self.data.get("groups", {}), name: {"members": shown, **_keys(keys)}})

    def at(self, moment: str | int, *, every: str | None = None, times: int | None = None) -> At:
        """Set when the next step runs: `.at("30s").crash("c1")`."""
        timing = {"at": moment, "every": every, "times": times}
        return At(self, {name: value for name, value in timing.items() if value is not None})

    def expect(self, check: str, value: Any = True, *, because: str | None = None, **keys: Any) -> Draft:
        """Add an expectation: `.expect("generations", 3)`, `.expect("owner", partition="t-0", is_="c1")`."""
        item = {check.replace("_", "-"): _keys(keys) if keys else value}
        if because is not None:
            item["because"] = because
        return self._with("expect", [*self.data.get("expect", []), item])

    def build(self) -> Scenario:
        """Validate and return the scenario. Raises ScenarioError with every mistake."""
        name = str(self.data.get("name", "scenario"))
        return scenario_of(Document("<python>", copy.deepcopy(dict(self.data)), {}, {}), name)

    def run(self, *, seed: int = 0, sinks: Sequence[Sink] = (), trace_level: Level = NORMAL) -> Run:
        """Build and run the scenario."""
        return run_scenario(self.build(), seed=seed, sinks=sinks, trace_level=trace_level)

    def _with(self, part: str, value: Any) -> Draft:
        return evolve(self, data={**self.data, part: value})


@frozen
class At:
    """A step without its action: call the action by its name, underscores for dashes."""

    draft: Draft
    timing: Mapping[str, Any]

    def do(self, action: str, whom: Any = None, **keys: Any) -> Draft:
        """Add the step by its name in the file; `whom` is its first key (a member, a topic …)."""
        step = {**self.timing, "do": action, **_keys(keys)}
        if whom is not None:
            step[_first_key(action)] = list(whom) if isinstance(whom, tuple) else whom
        return self.draft._with("timeline", [*self.draft.data.get("timeline", []), step])

    def __getattr__(self, name: str) -> Callable[..., Draft]:
        action = name.rstrip("_").replace("_", "-")
        if action not in step_actions():
            raise AttributeError(f"unknown action or fault {action!r}; known: {', '.join(step_actions())}")
        return lambda whom=None, **keys: self.do(action, whom, **keys)


def _first_key(action: str) -> str:
    cls = step_actions().get(action)
    keys = (*required(cls), *fields_of(cls)) if cls is not None else ("member",)
    return next(
        (name for name in keys if name in ("member", "topic", "partition", "to", "broker", "group", "api")), keys[0]
    )


def _keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Write Python's names as the file's: `run_for` as `run-for`, `for_` as `for`."""
    return {key_of(name) if isinstance(name, str) else name: value for name, value in keys.items()}
