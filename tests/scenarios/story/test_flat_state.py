"""A run that goes on without a change keeps as much after twenty virtual minutes as after ten."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs
import pytest

from groupsim.cluster.counted import offsets
from groupsim.eventloop.trace.events import TraceEvent
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import index_events, lineage

SAWTOOTH = ("steps", "_numbers", "_causes", "_senders")
"""Containers that grow to a bound and are cut back, repeatedly."""
LIMIT = 500


def quiet(logs: str, minutes: int) -> Draft:
    """Return a scenario of four members that read and commit, without steps."""
    return (
        scenario("quiet", run_for=f"{minutes}m")
        .cluster(logs=logs)
        .topic("orders", partitions=8, rate="8/s")
        .group("g1", members=4)
        .expect("order")
        .expect("lag", is_="<= 20", at="2m")
        .expect("records", lost=0, delivered_again=0)
        .expect("error", is_="UNKNOWN_MEMBER_ID", count=0)
    )


def kept(value: Any, found: dict[int, int], name: str = "") -> int:
    """Return the number of entries in all containers reachable from an object, apart from those with a bound."""
    if id(value) in found or isinstance(value, type | str | bytes | int | float | Enum | TraceEvent) or value is None:
        return 0
    found[id(value)] = 1
    if name in SAWTOOTH:
        assert len(value) < 2 * LIMIT
        return 0
    if isinstance(value, Mapping):
        return len(value) + sum(kept(one, found) for one in value.values())
    if isinstance(value, list | tuple | set | frozenset | array):
        return len(value) + sum(kept(one, found) for one in value)
    names = [field.name for field in attrs.fields(type(value))] if attrs.has(type(value)) else []
    slots = [slot for cls in type(value).__mro__ for slot in getattr(cls, "__slots__", ())]
    every = {one: getattr(value, one, None) for one in (*names, *slots, *getattr(value, "__dict__", {}))}
    return sum(kept(one, found, name) for name, one in every.items() if not callable(one) or attrs.has(type(one)))


@pytest.mark.parametrize("logs", ["counted", "replicated"])
def test_the_story_keeps_as_much_after_twenty_minutes_as_after_ten(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The containers of story and expectations have the same number of entries, whichever logs the cluster has."""
    monkeypatch.setattr(index_events, "STEPS", LIMIT)
    monkeypatch.setattr(lineage, "LINKS", LIMIT)
    seen: list[Evidence] = []
    watching = Evidence.watching

    def noted(*args: Any) -> Evidence:
        seen.append(watching(*args))
        return seen[-1]

    monkeypatch.setattr(Evidence, "watching", noted)
    runs = [run_scenario(quiet(logs, minutes).build(), keep_events=False) for minutes in (10, 20)]
    assert all(not run.events and not run.failed for run in runs)
    sizes = [kept((one._builder.facts, one._states, one._watches, one._hosts, one._membership), {}) for one in seen]
    assert sizes[0] == sizes[1] > 100


@pytest.mark.parametrize("logs", ["counted", "replicated"])
def test_a_story_read_in_parts_equals_the_story_read_at_the_end(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lag, accounts and all else are the same whether steps are summed up while the run goes or when it is over."""
    draft = quiet(logs, 3).at("20s").crash("c-2").at("80s").start("c-2")
    whole = run_scenario(draft.build())
    monkeypatch.setattr(index_events, "STEPS", LIMIT)
    parts = run_scenario(draft.build(), keep_events=False)
    assert parts.story == whole.story
    assert list(map(str, parts.checks)) == list(map(str, whole.checks))
    assert whole.story.totals[0].lag is not None
    assert whole.story.totals[0].lag.most > 10


def test_counted_offsets_of_a_long_run_are_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that loads a compacted partition finds the same group, so that the run goes on as without."""
    draft = quiet("counted", 4).at("3m").do("move-coordinator", group="g1")
    whole = run_scenario(draft.build())
    monkeypatch.setattr(offsets, "TIDY", 100)
    compacted = run_scenario(draft.build())
    assert compacted.events == whole.events
