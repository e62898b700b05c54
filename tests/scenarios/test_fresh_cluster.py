"""A new cluster: `__consumer_offsets` is created at the first FindCoordinator request."""

from __future__ import annotations

import re

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.logs.files import render
from groupsim.scenarios.language.problems import NOTE, WARNING
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import Run, run_scenario

FRESH = """\
run-for: 20s
cluster: {{fresh: true, brokers: {brokers}}}
broker: {{version: "{version}"{more}}}
topics: {{orders: 2}}
groups: {{billing: {{members: {{c: {{count: 2, start: 1s}}}}}}}}
"""

# The order in which one real node logged "Scheduling loading", the same in 4.4.0 and in 3.9.1.
LOADED_BY_KAFKA = [
    *(13, 46, 9, 42, 21, 17, 30, 26, 5, 38, 1, 34, 16, 45, 12, 41, 24, 20, 49, 0, 29, 25, 8, 37, 4),
    *(33, 15, 48, 11, 44, 23, 19, 32, 28, 7, 40, 3, 36, 47, 14, 43, 10, 22, 18, 31, 27, 39, 6, 35, 2),
]


def fresh(brokers: int = 3, version: str = "4.4", more: str = "") -> Run:
    """A run on a fresh cluster."""
    return run_scenario(load_text(FRESH.format(brokers=brokers, version=version, more=more)))


def answers(run: Run) -> list[TraceEvent]:
    """Return the answers of FindCoordinator, in order."""
    return [event for event in run.events if event.kind is Kind.RESPONSE_SENT and event.api == "FindCoordinator"]


def test_the_first_find_coordinator_has_the_topic_created() -> None:
    """Until the broker knows of the topic the answer is COORDINATOR_NOT_AVAILABLE; then the group forms."""
    run = fresh()
    made = [event for event in run.events if event.kind is Kind.METADATA_CHANGED]
    (offsets,) = [event for event in made if event.topic == "__consumer_offsets"]
    before = [event for event in answers(run) if event.t_us < offsets.t_us]
    assert before
    assert {event.error for event in before} == {"COORDINATOR_NOT_AVAILABLE"}
    assert offsets.t_us - before[0].t_us < 10_000
    assert {event.error for event in answers(run) if event.t_us > offsets.t_us + 10_000} == {None}
    states = [event.to for event in run.events if event.kind is Kind.GROUP_STATE]
    assert states == ["PreparingRebalance", "CompletingRebalance", "Stable"]


def test_a_cluster_that_is_not_fresh_has_the_topic() -> None:
    """By default `__consumer_offsets` exists before the run; no client gets COORDINATOR_NOT_AVAILABLE."""
    run = run_scenario(load_text(FRESH.format(brokers=3, version="4.4", more="").replace("fresh: true, ", "")))
    made = [event.topic for event in run.events if event.kind is Kind.METADATA_CHANGED]
    assert made == ["orders"]
    assert {event.error for event in answers(run)} == {None}


@pytest.mark.parametrize("version", ["3.9", "4.4"])
def test_a_replication_factor_above_the_brokers_leaves_groups_without_a_coordinator(version: str) -> None:
    """One node of 4.4.0 and of 3.9.1 with the default factor of 3 answers COORDINATOR_NOT_AVAILABLE for ever."""
    text = FRESH.format(brokers=1, version=version, more="")
    scenario = load_text(text)
    run = run_scenario(scenario)
    assert len(answers(run)) > 20
    assert {event.error for event in answers(run)} == {"COORDINATOR_NOT_AVAILABLE"}
    (reported,) = [note for note in scenario.notes if note.severity == WARNING]
    assert "`__consumer_offsets` is never created" in reported.message
    assert not [note for note in load_text(text.replace("brokers: 1", "brokers: 3")).notes if note.severity == WARNING]


@pytest.mark.parametrize("version", ["3.9", "4.4"])
def test_partitions_load_in_the_order_of_a_real_broker(version: str) -> None:
    """A broker loads its partitions in the order of Java's HashMap, and logs it."""
    lines = "\n".join(render(fresh(1, version, ", offsets.topic.replication.factor: 1").events)["broker-0.log"])
    scheduled = re.findall(r"Scheduling loading of .* __consumer_offsets-(\d+)", lines)
    assert [int(partition) for partition in scheduled] == LOADED_BY_KAFKA


def test_counted_logs_have_no_topic_to_create() -> None:
    """`fresh` is noted as without effect where the logs are counted."""
    text = FRESH.format(brokers=3, version="4.4", more="").replace("fresh: true", "fresh: true, logs: counted")
    notes = [note.message for note in load_text(text).notes if note.severity == NOTE]
    assert "`fresh` has no effect here" in notes
