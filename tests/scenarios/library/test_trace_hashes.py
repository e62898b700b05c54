"""The recorded hashes of traces: the tool that compares them, and its short form for cheap scenes."""

from __future__ import annotations

from pathlib import Path

import pytest
import trace_hashes
from trace_hashes import Digest, One

from groupsim.eventloop.trace.events import Kind, TraceEvent

# Cheap ones of different kinds; `make hashes` compares all of them with five seeds.
CHEAP = (
    "coordinator-moves",
    "experiment:session-timeout-small",
    "offsets-expire-over-the-weekend",  # counted logs
    "poll-loop-blocked-leaves",
    "static-restart-orphans-partitions",
    "textbook-sticky-leave",
    "three-ages-zookeeper-0.8",
)


def event(kind: Kind, reason: str) -> TraceEvent:
    """An event with a reason."""
    return TraceEvent(7, 1_000, kind, reason=reason)


@pytest.mark.parametrize("name", CHEAP)
def test_trace_is_as_recorded(name: str) -> None:
    """A cheap scene's trace with seed 0 has the recorded hash; `tools/trace_hashes.py --write` records a change."""
    one = One(name, 0)
    assert list(trace_hashes.differences(trace_hashes.read_recorded(), {one: trace_hashes.digest(one)})) == []


def test_every_scene_and_experiment_is_recorded_with_five_seeds() -> None:
    """A scene or experiment that is added, renamed or removed changes the recorded file, too; the file is sorted."""
    recorded = trace_hashes.read_recorded()
    wanted = {One(name, seed) for name in trace_hashes.known_names() for seed in trace_hashes.SEEDS}
    assert set(recorded) == wanted
    assert trace_hashes.text_of(recorded) == trace_hashes.RECORDED.read_text("utf-8")


@pytest.mark.parametrize("kind", [Kind.WARNING, Kind.PROCESS_FAILED, Kind.ACTION_REFUSED])
def test_free_text_is_left_out(kind: Kind) -> None:
    """The words of a message do not change the hash."""
    assert trace_hashes.normalised(event(kind, "a")) == trace_hashes.normalised(event(kind, "b"))


def test_everything_else_counts() -> None:
    """Any other reason and any other column change the line; `run.started`, which has the version, has no line."""
    assert trace_hashes.normalised(event(Kind.GROUP_STATE, "a")) != trace_hashes.normalised(
        event(Kind.GROUP_STATE, "b")
    )
    warning = event(Kind.WARNING, "a")
    assert trace_hashes.normalised(warning) != trace_hashes.normalised(warning._replace(t_us=1_001))
    assert trace_hashes.normalised(event(Kind.RUN_STARTED, "a")) is None


def test_a_difference_is_named() -> None:
    """Each run with another hash is reported with the difference, and a run without a recorded hash as well."""
    recorded = {One("a", 0): Digest(3, "x"), One("b", 0): Digest(3, "x"), One("c", 0): Digest(3, "x")}
    found = {
        One("a", 0): Digest(3, "x"),
        One("b", 0): Digest(4, "y"),
        One("c", 0): Digest(3, "y"),
        One("d", 1): Digest(1, "z"),
    }
    assert dict(trace_hashes.differences(recorded, found)) == {
        One("b", 0): "3 events recorded, 4 now",
        One("c", 0): "3 events, with other content",
        One("d", 1): "not recorded",
    }


def test_first_difference_is_shown_with_the_event_before() -> None:
    """Two traces are equal, differ in one event, or one of them ends first."""
    assert trace_hashes.first_difference(["a", "b"], ["a", "b"]) is None
    differing = trace_hashes.first_difference(["a", "b", "c"], ["a", "x", "c"])
    assert differing is not None
    assert [line.split() for line in differing.splitlines()] == [
        ["event", "2,", "after", "a"],
        ["here:", "b"],
        ["there:", "x"],
    ]
    shorter = trace_hashes.first_difference(["a"], ["a", "b"])
    assert shorter is not None
    assert "here:  (the end)" in shorter


def test_a_failing_run_has_a_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails is hashed up to its end, followed by the class of the error."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(trace_hashes, "run_scenario", fail)
    lines: list[str] = []
    trace_hashes.run_lines(trace_hashes.scenario_of("textbook-range"), 0, lines.append)
    assert lines == ['{"failed":"ZeroDivisionError"}']


def test_writing_some_keeps_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Recorded hashes of other scenes stay; lines of scenes that no longer exist are removed."""
    recorded = tmp_path / "hashes.txt"
    recorded.write_text("gone-scene 0 1 ff\ntextbook-range 3 1 ee\ntextbook-sticky 0 1 dd\n", "utf-8")
    monkeypatch.setattr(trace_hashes, "RECORDED", recorded)
    monkeypatch.setattr(trace_hashes, "digest", lambda one: Digest(one.seed + 5, "cc"))
    assert trace_hashes.main(["--write", "textbook-range", "--seeds", "3,4", "--jobs", "1"]) == 0
    assert recorded.read_text("utf-8").splitlines() == [
        "textbook-range 3 8 cc",
        "textbook-range 4 9 cc",
        "textbook-sticky 0 1 dd",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check", "no-such-scene"], "no-such-scene"),
        (["--show", "textbook-range"], "a name and a seed"),
        (["--check", "--seeds", "x"], "a seed is a number"),
        (["--check", "--against", "/nowhere"], "/nowhere"),
    ],
)
def test_bad_input_is_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad input ends with exit code 2 and names what is wrong."""
    with pytest.raises(SystemExit) as ended:
        trace_hashes.main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
