"""What a sweep keeps of an experiment: everything, in JSON, with digests that tell one experiment from another."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from groupsim.cli.scenario_source import load as load_for_a_run
from groupsim.pipeline.experiment import from_json, load_experiment, to_json
from groupsim.pipeline.experiment.catalogue import names
from groupsim.pipeline.experiment.load import experiment_of
from groupsim.pipeline.experiment.model import Experiment, as_yaml
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.loading.catalogue import ALIASES
from groupsim.scenarios.loading.catalogue import names as scenario_names
from groupsim.scenarios.runtime.runner import run_scenario

TEXT = """\
title: "ü, 3.10 and ☃"
scenario: demo
set: {title: 3.10}
vary:
  initial delay: {path: broker.group.initial.rebalance.delay.ms, values: [0, 3000]}
  who: {values: {all: {}, named: {groups.g1.instance-id: "{name}", groups.g1.properties.max.poll.records: 10}}}
seeds: {from: 7, count: 3}
goals: [{minimise: detection_us, at-most: 60s}, {maximise: delivered, at-least: 1.5}]
"""


def load(text: str = TEXT) -> Experiment:
    """The experiment of a text."""
    return experiment_of(parse_document(text, "e.yaml"), "e")


def test_what_was_stored_comes_back() -> None:
    """Every field but the warnings, numbers with their text, and the same text again."""
    experiment = load()
    stored = to_json(experiment)
    back = from_json(stored)
    assert back == experiment
    assert back.common["title"].text == "3.10"
    assert to_json(back) == stored
    assert stored.isascii()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count: 3", "count: 300"),
        ("from: 7", "from: 0"),
        ('title: "ü', 'title: "u'),
        ("seeds:", "baseline: {who: named}\nseeds:"),
        ("seeds:", "given: [who]\nseeds:"),
        ("at-most: 60s", "at-most: 6s"),
        ("scenario: demo", "# nothing\nscenario:   demo"),
    ],
)
def test_what_decides_no_run_leaves_the_digest(old: str, new: str) -> None:
    """Seeds, words, baseline and goals may change between two sweeps into one directory."""
    assert load(TEXT.replace(old, new)).digest == load().digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3000]", "3001]"),
        ("3000]", "3000, 6000]"),
        ("[0, 3000]", "[3000, 0]"),
        ("all:", "everybody:"),
        ("who:", "whom:"),
        ("{title: 3.10}", "{title: 3.1}"),
        ("scenario: demo", "scenario: bounced-member-holds-rebalance-open\nskip: [{who: named}]"),
    ],
)
def test_what_decides_a_run_changes_the_digest(old: str, new: str) -> None:
    """Another value, another order, another label: the rows of the one are not the rows of the other."""
    assert old in TEXT
    assert load(TEXT.replace(old, new)).digest != load().digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"format":1', '"format":99', "was written in format 99, this version reads 1"),
        ('"labels":{"initial delay":"0"', '"labels":{"initial delay":"1"', "was changed since it was written"),
        ("run-for", "run-fur", "was changed since it was written"),
        ('"goals"', '"gaols"', "this is no stored experiment (KeyError: 'goals')"),
        ("]}\n", "", "this is no stored experiment"),
    ],
)
def test_a_damaged_store_is_refused(old: str, new: str, message: str) -> None:
    """Whatever was cut off or edited is named as such, with the file."""
    stored = to_json(load())
    assert old in stored
    with pytest.raises(ScenarioError) as caught:
        from_json(stored.replace(old, new), "DIR/experiment.json")
    assert str(caught.value).startswith(f"DIR/experiment.json: error: {message}")


def test_no_secret_is_stored() -> None:
    """Neither in a cell's settings nor in its document, wherever it was written."""
    text = """\
scenario: demo
set: {groups.g1.properties.sasl.jaas.config: hunter2}
vary:
  a: {values: {x: {groups.g1.properties: {ssl.key.password: hunter2, max.poll.records: 1}}, y: {}}}
  b: {path: groups.g1.members.c1.properties, values: {z: "sasl.password=hunter2", w: {}}}
"""
    stored = to_json(load(text.replace("members.c1", f"members.{_member()}")))
    assert "hunter2" not in stored
    assert "[withheld]" in stored


def _member() -> str:
    data = json.loads(load("scenario: demo\n").cells[0].document)
    return str(next(iter(data["groups"]["g1"]["members"])))


def test_the_command_of_a_cell_runs_that_cell(tmp_path: Path) -> None:
    """What a failed run proposes makes the same scenario, through the shell's quoting and YAML's."""
    path = tmp_path / "my experiment.yaml"
    path.write_text(TEXT.replace("all: {}", "all: {title: 'it''s: ü'}"), encoding="utf-8")
    experiment = load_experiment(path)
    for cell in experiment.cells:
        words = shlex.split(experiment.repeat(cell))
        assert words[:3] == ["groupsim", "run", str(path)]
        again = load_for_a_run(words[2], words[4::2])
        of_cell = scenario_from_json(cell.document)
        assert run_scenario(again, seed=3).events == run_scenario(of_cell, seed=3).events


def test_text_is_quoted_for_yaml_where_it_must_be() -> None:
    """A word stays a word; what YAML would read as something else comes back as it was."""
    for value in (
        "range",
        "6s",
        "true",
        "1e3",
        "a: b",
        "",
        "{name}",
        "ü ☃ 😀",
        "null",
        "~",
        "- x",
        3,
        0,
        False,
        [1, "2"],
    ):
        assert parse_document(f"x: {as_yaml(value)}").data["x"] == value
    assert [as_yaml(value) for value in ("range", "6s", "12/s", "true")] == ["range", "6s", "12/s", '"true"']


@pytest.mark.parametrize("name", names())
def test_the_library_loads_without_a_warning(name: str) -> None:
    """Each experiment that comes along is judged, asks a question, and names where it comes from."""
    experiment = load_experiment(name)
    assert experiment.warnings == ()
    assert experiment.question.endswith("?")
    assert experiment.source
    assert experiment.notes
    assert experiment.repeat(experiment.cells[0]).startswith(f"groupsim run {name}")


def test_no_name_means_two_things() -> None:
    """`groupsim run NAME` finds scenarios and experiments."""
    assert [name for name in names() if name in (*scenario_names(), *ALIASES)] == []


def test_a_stored_experiment_needs_no_yaml() -> None:
    """Where only JSON is read (an executor, the report of a directory) ruamel.yaml may be missing."""
    program = """
import sys
sys.modules["ruamel"] = sys.modules["ruamel.yaml"] = None
from groupsim.pipeline.experiment import from_json
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.runtime.runner import run_scenario
cell = from_json(sys.stdin.read()).cells[1]
print(len(run_scenario(scenario_from_json(cell.document), seed=5).events))
"""
    experiment = load()
    done = subprocess.run(
        [sys.executable, "-c", program], input=to_json(experiment), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    events = run_scenario(scenario_from_json(experiment.cells[1].document), seed=5).events
    assert int(done.stdout) == len(events)
