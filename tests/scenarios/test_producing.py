"""Producers of a scenario beside their traffic: files, pauses, supervisors, and notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.language.problems import NOTE, ScenarioError
from groupsim.scenarios.lint import lint_scenario
from groupsim.scenarios.loading.canonical import canonical_json, scenario_from_json
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import Run, run_scenario

HEAD = """
run-for: 40s
broker: {version: "4.4", group.initial.rebalance.delay.ms: 0}
cluster: {logs: replicated, brokers: 3}
topics: {t: {partitions: 1, replication: 3}}
groups: {g: {subscribe: t, members: {c: 1}}}
"""


def written(folder: Path, producers: str, more: str = "") -> Path:
    """A scenario file with these producers."""
    path = folder / "s.yaml"
    path.write_text(f"{HEAD}producers: {{{producers}}}\n{more}", "utf-8")
    return path


def times(run: Run, kind: Kind, host: str) -> list[int]:
    """When a process had events of a kind, in µs."""
    return [event.t_us for event in run.events if event.kind is kind and event.host == host]


def test_a_producer_reads_a_properties_file(tmp_path: Path) -> None:
    """The file is beside the scenario; the scenario's settings override it, and secrets are dropped."""
    (tmp_path / "p.properties").write_text("acks=1\nlinger.ms=20\nsasl.jaas.config=hunter2\n")
    path = written(tmp_path, "p: {topic: t, rate: 5/s, properties-file: p.properties, properties: {linger.ms: 7}}")
    run = run_scenario(load_file(path), seed=1)
    (started,) = [one for one in run.events if one.kind is Kind.PROCESS_STARTED and one.host == "p"]
    assert (started.payload or {})["config"] == {"acks": "1", "linger.ms": 7, "client.id": "p"}
    text = canonical_json(read_document(path), "s")
    assert "hunter2" not in text
    again = run_scenario(scenario_from_json(text), seed=1)
    assert [str(event) for event in again.events[5:]] == [str(event) for event in run.events[5:]]


def test_a_properties_file_that_is_not_there_is_an_error_at_its_place(tmp_path: Path) -> None:
    """The error has the file's name and place."""
    with pytest.raises(ScenarioError) as caught:
        load_file(written(tmp_path, "p: {topic: t, properties-file: nowhere.properties}"))
    (problem,) = caught.value.problems
    assert problem.message == "`nowhere.properties` cannot be read: no such file or directory"
    assert problem.place.line == 7


def test_lint_reads_the_properties_file_of_a_producer(tmp_path: Path) -> None:
    """A setting of the file is a finding at its line there."""
    (tmp_path / "p.properties").write_text("# ours\nacks=1\n")
    path = written(tmp_path, "p: {topic: t, rate: 5/s, properties-file: p.properties}")
    found = {one.rule: str(one.place) for one in lint_scenario(read_document(path))}
    assert found["idempotence-switched-off"] == f"{tmp_path / 'p.properties'}:2:1"


def test_a_producer_pauses_again_and_again(tmp_path: Path) -> None:
    """Pauses come at their interval, after each start; no record is sent in one."""
    path = written(tmp_path, "p: {topic: t, rate: 50/s, pauses: {every: 8s, length: 3s}}")
    run = run_scenario(load_file(path), seed=1)
    assert times(run, Kind.PROCESS_PAUSED, "p") == [8_000_000, 19_000_000, 30_000_000]
    acknowledged = times(run, Kind.RECORDS_ACKNOWLEDGED, "p")
    assert not [at for at in acknowledged if 8_000_000 < at < 11_000_000]
    assert [at for at in acknowledged if 11_000_000 <= at < 12_000_000]


def test_a_supervisor_starts_a_producer_again_that_failed(tmp_path: Path) -> None:
    """Two with one transactional.id: the fenced one fails and is restarted later; a crashed one is not."""
    one = "topic: t, rate: 5/s, transactional-id: same, commit-every: 1s"
    path = written(tmp_path, f"a: {{{one}, restart-after: 60s}}, b: {{{one}, start: 10s}}")
    run = run_scenario(load_file(path), seed=1)
    (failed,) = times(run, Kind.PROCESS_FAILED, "a")
    assert 10_000_000 < failed < 14_000_000
    path = written(tmp_path, f"a: {{{one}, restart-after: 5s}}, b: {{{one}, start: 10s}}")
    run = run_scenario(load_file(path), seed=1)
    assert times(run, Kind.PROCESS_STARTED, "a") == [0, times(run, Kind.PROCESS_FAILED, "a")[0] + 5_000_000]
    path = written(tmp_path, f"a: {{{one}, restart-after: 5s}}", "timeline: [{at: 9s, do: crash, member: a}]\n")
    assert times(run_scenario(load_file(path), seed=1), Kind.PROCESS_STARTED, "a") == [0]


def test_a_start_is_spread(tmp_path: Path) -> None:
    """Each process draws its own delay; the others keep their times."""
    path = written(tmp_path, "p: {topic: t, rate: 5/s, count: 3, start: 5s, start-spread: 'uniform(1s, 4s)'}")
    run = run_scenario(load_file(path), seed=1)
    starts = [times(run, Kind.PROCESS_STARTED, f"p-{number}")[0] for number in (1, 2, 3)]
    assert len(dict.fromkeys(starts)) == 3
    assert all(6_000_000 <= at <= 9_000_000 for at in starts)


@pytest.mark.parametrize(
    ("producers", "words"),
    [
        ("p: {topic: t, rate: 5/s, steps: [{at: 9s, rate: 5/s}]}", "the rate has this value already"),
        ("p: {topic: t, rate: 5/s, steps: [{at: 9s, rate: 300/min}]}", "the rate has this value already"),
        ("p: {topic: t, rate: 5/s, steps: [{at: 9s, rate: 6/s}, {at: 9s, rate: 7/s}]}", "and replaces it"),
        ("p: {topic: t, rate: 5/s, steps: [{at: 9s, rate: 6/s}, {at: 19s, rate: 5/s}]}", ""),
    ],
)
def test_a_step_without_effect_is_noted(tmp_path: Path, producers: str, words: str) -> None:
    """A step without effect has a note with the reason; others have none."""
    notes = [one for one in load_file(written(tmp_path, producers)).notes if "step without effect" in one.message]
    assert [words in one.remedy for one in notes] == ([True] if words else [])
    assert all(one.severity == NOTE for one in notes)


@pytest.mark.parametrize(
    ("producers", "expected"),
    [
        ("p: {topic: t, count: 3, transactional-id: one, commit-every: 1s}", 1),
        ("p: {topic: t, count: 3, transactional-id: '{name}', commit-every: 1s}", 0),
        (
            "a: {topic: t, transactional-id: x, commit-every: 1s}, b: {topic: t, properties: {transactional.id: x}}",
            1,
        ),
    ],
)
def test_two_producers_with_one_transactional_id_are_noted(tmp_path: Path, producers: str, expected: int) -> None:
    """The later start fences the other: one note per specification."""
    notes = [one for one in load_file(written(tmp_path, producers)).notes if "same transactional.id" in one.message]
    assert len(notes) == expected
    assert all(one.severity == NOTE for one in notes)


def test_commit_every_needs_a_transactional_id_which_a_file_may_give(tmp_path: Path) -> None:
    """The id may be in the properties file; without one it is an error."""
    (tmp_path / "p.properties").write_text("transactional.id=a\n")
    load_file(written(tmp_path, "p: {topic: t, properties-file: p.properties, commit-every: 1s}"))
    with pytest.raises(ScenarioError, match="needs a transactional producer"):
        load_file(written(tmp_path, "p: {topic: t, commit-every: 1s}"))


def test_a_transaction_timeout_the_brokers_refuse_is_named_as_such(tmp_path: Path) -> None:
    """The producer ends at once, with the two contradicting settings."""
    words = "transactional-id: a, commit-every: 1s, properties: {transaction.timeout.ms: 900001}"
    run = run_scenario(load_file(written(tmp_path, f"p: {{topic: t, rate: 5/s, {words}}}")), seed=1)
    (failed,) = [event for event in run.events if event.kind is Kind.PROCESS_FAILED]
    assert failed.error == "INVALID_TRANSACTION_TIMEOUT"
    assert failed.reason == "transaction.timeout.ms is above the brokers' transaction.max.timeout.ms"


def test_a_topics_own_producer_brings_nobody_else_about(tmp_path: Path) -> None:
    """Later starts and steps do not have the start of a topic's own producer as their cause."""
    path = tmp_path / "s.yaml"
    path.write_text(
        HEAD.replace("replication: 3}", "replication: 3, rate: 5/s}")
        + "timeline:\n  - {at: 9s, do: crash, member: c}\n"
    )
    events = run_scenario(load_file(path), seed=1).events
    begun = {event.host: event for event in events if event.kind is Kind.PROCESS_STARTED}
    (action,) = [event for event in events if event.kind is Kind.ACTION]
    assert begun["producer-t"].seq < begun["c"].seq
    assert (begun["c"].cause, action.cause) == (0, 0)


def test_members_that_one_step_starts_have_the_step_for_their_cause(tmp_path: Path) -> None:
    """Of several processes started at once none is the cause of the next."""
    path = tmp_path / "s.yaml"
    path.write_text(
        f"{HEAD}timeline:\n  - {{at: 9s, do: scale, group: g, to: 4}}\n".replace("{c: 1}", "{c: {count: 1}}")
    )
    events = run_scenario(load_file(path), seed=1).events
    (action,) = [event for event in events if event.kind is Kind.ACTION]
    later = [event for event in events if event.kind is Kind.PROCESS_STARTED and event.t_us >= action.t_us]
    assert [event.cause for event in later] == [action.seq] * 3
