"""The runner: the result of a run, its exit code, and its files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from groupsim.assignors.base.interface import Assignor
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import JsonLinesSink
from groupsim.eventloop.trace.trace import FULL, NORMAL, OFF
from groupsim.eventloop.virtual import STANDSTILL_EVENTS, VirtualLoop
from groupsim.members.failures import PluginError
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.values import MOST_PROCESSES
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.runtime import runner
from groupsim.scenarios.runtime.runner import run_scenario


class Raising(Assignor):
    """An assignor with a defect."""

    name = "raising"

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Divide by zero."""
        raise ZeroDivisionError("no members left over")


class Nonsense(Assignor):
    """An assignor that gives every partition to every member."""

    name = "nonsense"

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        """Assign each partition twice."""
        from groupsim.protocol.messages.group import TopicPartition

        everything = tuple(TopicPartition(name, p) for name in sorted(topics) for p in range(topics[name].partitions))
        return GroupAssignment({member.member_id: everything for member in members})


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> str:
    """This module under a name that a scenario can write."""
    import sys

    monkeypatch.setitem(sys.modules, "own_assignors", sys.modules[__name__])
    return "own_assignors"


def base(**keys: object) -> Draft:
    """Two consumers, ten seconds."""
    return (
        scenario("runs", run_for="10s")
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=2, rate="5/s")
        .group("g", members=2, **keys)
    )


def test_a_run_gives_events_checks_and_a_code() -> None:
    """Exit code 0 when everything holds, 1 when one expectation does not; the failed one is named."""
    run = base().expect("state", "Stable").run(seed=5)
    assert (run.exit_code, run.seed, run.failed) == (0, 5, ())
    failed = base().expect("state", "Stable").expect("generations", 99, because="a test").run()
    assert failed.exit_code == 1
    assert str(failed.failed[0]).startswith("FAILED: generation: 99; found ")
    assert "[a test]" in str(failed.failed[0])


def test_a_run_begins_and_ends_in_the_trace() -> None:
    """The first event names the scenario and its seed, the last one counts the quiet heartbeats."""
    events = base().run(seed=7).events
    assert events[0].kind is Kind.RUN_STARTED
    assert events[0].payload is not None
    assert (events[0].payload["scenario"], events[0].payload["seed"]) == ("runs", 7)
    assert events[-1].kind is Kind.RUN_ENDED
    assert events[-1].t_us == 10_000_000
    assert events[-1].payload is not None
    assert events[-1].payload["heartbeats"]["c-1"] >= 2


def test_snapshots_show_what_the_trace_cannot() -> None:
    """Timers and members at an instant, for `describe`."""
    run = run_scenario(base().build(), snapshots_at=(5_000_000,))
    snapshot = run.snapshots[5_000_000]["g"]
    assert snapshot is not None
    assert (snapshot.state, len(snapshot.members)) == ("Stable", 2)


def test_looking_changes_nothing() -> None:
    """Trace off, trace full, snapshots: the same run, to the last commit."""
    plain = base().run()
    full = run_scenario(base().build(), trace_level=FULL, snapshots_at=(1_000_000, 5_000_000))
    routine = {"Heartbeat", "Fetch", "Produce", "BrokerHeartbeat", "MetadataLog"}
    assert routine <= {event.api for event in full.events}
    quiet = [e for e in full.events if e.api not in routine and e.kind is not Kind.HIGH_WATERMARK]
    times = [(e.t_us, e.kind, e.host) for e in plain.events if e.kind is not Kind.RUN_ENDED]
    assert [(e.t_us, e.kind, e.host) for e in quiet if e.kind is not Kind.RUN_ENDED] == times
    assert run_scenario(base().build(), trace_level=OFF).events == []


def test_looking_does_not_change_when_a_poll_limit_is_noticed() -> None:
    """The background thread checks every 100 ms after its last heartbeat, which may be delayed."""
    properties = {"heartbeat.interval.ms": 1_230, "max.poll.interval.ms": 4_000, "session.timeout.ms": 8_000}
    draft = base(properties=properties, processing="60s")
    runs = [run_scenario(draft.build(), trace_level=level) for level in (NORMAL, FULL)]
    quiet, full = ([e.t_us for e in run.events if e.kind is Kind.POLL_EXPIRED] for run in runs)
    assert quiet == full
    assert len(quiet) == 2


def test_a_sink_gets_every_event(tmp_path: Path) -> None:
    """As many lines as events, and the file is there when the run is over."""
    path = tmp_path / "trace.jsonl"
    run = base().run(sinks=[JsonLinesSink(path)])
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(run.events)


def test_an_assignor_that_raises_stops_the_run(plugin: str, tmp_path: Path) -> None:
    """The error names assignor, the user's own file and line, virtual time, generation, and how to repeat it."""
    path = tmp_path / "trace.jsonl"
    with pytest.raises(PluginError) as caught:
        base(assignor=f"{plugin}:Raising").run(seed=3, sinks=[JsonLinesSink(path)])
    error = caught.value
    assert error.assignor == "raising"
    assert error.where is not None
    assert "test_runner.py" in error.where
    assert error.generation == 1
    assert error.now_us > 0
    assert any("groupsim run" in note and "--seed 3" in note for note in error.__notes__)
    assert list(tmp_path.iterdir()) == [], "nothing half-written stays"


def test_an_assignor_that_returns_nonsense_stops_the_run(plugin: str) -> None:
    """A partition given twice is named."""
    with pytest.raises(PluginError, match="t-0"):
        base(assignor=f"{plugin}:Nonsense").run()


def test_as_kafka_lets_a_broken_assignor_run_on(plugin: str) -> None:
    """With `plugin-errors: as-kafka` the run ends at its end, with the defect in the trace."""
    draft = base(assignor=f"{plugin}:Raising", on_error="retry")
    run = Draft({**draft.data, "plugin-errors": "as-kafka"}).run()
    assert run.events[-1].kind is Kind.RUN_ENDED
    assert any(event.kind is Kind.PLUGIN_ERROR for event in run.events)


def test_a_text_sink_may_be_given() -> None:
    """Sinks may write to an open file, too."""
    text = io.StringIO()
    base().run(sinks=[JsonLinesSink(text)])
    assert text.getvalue().startswith('{"seq":1,')


def test_a_scenario_in_python_is_the_scenario_of_the_file() -> None:
    """The Python API and the file give the same trace."""
    from groupsim.scenarios.loading.load import load_text

    text = """\
name: runs
run-for: 10s
broker: {version: "3.9", group.initial.rebalance.delay.ms: 0}
topics: {t: {partitions: 2, rate: 5/s}}
groups: {g: {members: {c: {count: 2}}}}
timeline: [{at: 5s, do: crash, member: c-1}]
"""
    assert run_scenario(load_text(text)).events == base().at("5s").crash("c-1").run().events


def test_a_draft_is_never_changed() -> None:
    """Several scenarios can share a beginning."""
    first = base()
    first.at("5s").crash("c-1").expect("generations", 9)
    assert "timeline" not in first.data
    assert "expect" not in first.data


def test_mistakes_in_python_are_the_same_errors() -> None:
    """An unknown action is an AttributeError, any other mistake a ScenarioError."""
    with pytest.raises(AttributeError, match="unknown action or fault 'crahs'"):
        base().at("5s").crahs("c-1")
    with pytest.raises(ScenarioError, match="did you mean"):
        base().at("5s").crash("c-7").build()


@pytest.mark.parametrize("logs", ["counted", "replicated"])
def test_the_largest_group_of_a_file_is_no_standstill(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All join at one instant where nothing takes time: a fiftieth of them stays within a hundredth of the limit."""
    members, limit = MOST_PROCESSES // 50, STANDSTILL_EVENTS // 100
    monkeypatch.setattr(runner, "VirtualLoop", partial(VirtualLoop, standstill_events=limit))
    made = scenario("crowd", run_for="10s").cluster(logs=logs, latency=0, processing=0, append_latency=0)
    run = made.topic("t", partitions=members, rate="5/s").group("g", members=members).run()
    joined = {event.member for event in run.events if event.kind is Kind.CLIENT_STATE and event.to == "STABLE"}
    assert len(joined) == members
