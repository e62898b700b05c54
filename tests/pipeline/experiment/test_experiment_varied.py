"""A question about two settings asked without a file: `groupsim sweep SCENARIO --vary PATH=VALUE,VALUE`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from groupsim.cli.scenario_source import load as load_for_a_run
from groupsim.pipeline.experiment import Experiment, from_json, to_json
from groupsim.pipeline.experiment.asked import Asked
from groupsim.pipeline.experiment.varied import experiment_varying
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.canonical import scenario_from_json

SESSION = "groups.orders.properties.session.timeout.ms"
SCENARIO = """\
title: A pod is killed
run-for: 30s
topics: {orders: 4}
groups: {orders: {members: {pod: 2}}}
"""


def ask(folder: Path, *varied: str) -> Experiment:
    """The scenario above with this varied."""
    file = folder / "killed.yaml"
    file.write_text(SCENARIO)
    return experiment_varying(str(file), varied, 2)


def test_two_values_are_two_cells_named_by_kafka_s_name(tmp_path: Path) -> None:
    """The axis has the setting's own name, the first value is the baseline, and the question says what is asked."""
    asked = ask(tmp_path, f"{SESSION}=45s,10s")
    assert [cell.labels for cell in asked.cells] == [{"session.timeout.ms": "45s"}, {"session.timeout.ms": "10s"}]
    assert (asked.baseline, asked.question, asked.runs) == (0, "Which session.timeout.ms?", 4)


def test_several_paths_make_a_grid_and_patterns_and_commas_within_brackets_are_values(tmp_path: Path) -> None:
    """`as-is` changes nothing, `{name}` needs no quotes, a distribution's comma does not part it."""
    slow = "lognormal(median=2ms, p95=9ms)"
    asked = ask(tmp_path, "groups.orders.instance-id=as-is,{name}", f"groups.orders.processing=1ms,{slow}")
    assert len(asked.cells) == 4
    assert asked.cells[0].settings == {"groups.orders.processing": "1ms"}
    assert asked.cells[3].settings == {"groups.orders.instance-id": "{name}", "groups.orders.processing": slow}


def test_the_command_of_a_cell_runs_that_cell(tmp_path: Path) -> None:
    """A cell of the page can be looked at alone: its command names the scenario and the cell's settings."""
    asked = ask(tmp_path, f"{SESSION}=45s,10s")
    for experiment in (asked, from_json(to_json(asked))):
        cell = experiment.cells[1]
        _, run, source, *rest = shlex.split(experiment.repeat(cell))
        assert (run, rest) == ("run", ["--set", f"{SESSION}=10s"])
        again, of_cell = load_for_a_run(source, [rest[1]]), scenario_from_json(cell.document)
        assert (again.groups, again.topics, again.run_for) == (of_cell.groups, of_cell.topics, of_cell.run_for)


def test_a_scenario_of_the_library_keeps_its_name_in_a_cell_s_command() -> None:
    """What repeats a run is what its author typed, and no path of an installation."""
    asked = experiment_varying("deploy-jvm-S-eager", ["groups.orders.assignor=range,sticky"], 1)
    assert asked.repeat(asked.cells[0]).startswith("groupsim run deploy-jvm-S-eager ")


@pytest.mark.parametrize(
    ("varied", "said"),
    [
        ([SESSION], "this is no PATH=VALUE,VALUE"),
        ([f"{SESSION}=10s"], "this is no PATH=VALUE,VALUE"),
        ([f"{SESSION}=10s,10s"], "the value `10s` stands here twice"),
        ([f"{SESSION}=10s,20s", f"{SESSION}=30s,40s"], "this path is varied already"),
        (["session.timeout.ms=10s,45s"], f"did you mean `{SESSION}`?"),
        (["groups.orders.assignor=rang,sticky"], "did you mean 'range'?"),
    ],
)
def test_what_cannot_be_varied_is_told_at_the_option(tmp_path: Path, varied: list[str], said: str) -> None:
    """The text behind --vary is the place of the mistake, with the remedy."""
    with pytest.raises(ScenarioError) as caught:
        ask(tmp_path, *varied)
    assert said in str(caught.value)
    assert f"--vary {varied[-1]}: error" in str(caught.value)


def test_an_experiment_is_not_varied() -> None:
    """It has axes of its own; the remedy names --only."""
    with pytest.raises(ScenarioError, match="--only"):
        experiment_varying("rolling-deploy-small", ["groups.orders.assignor=range,sticky"])


def test_a_mistake_in_the_scenario_keeps_its_place_in_the_scenario_s_file(tmp_path: Path) -> None:
    """What is wrong in the file is told with its line, not as part of the question."""
    file = tmp_path / "wrong.yaml"
    file.write_text(SCENARIO.replace("members: {pod: 2}", "membrs: {pod: 2}"))
    with pytest.raises(ScenarioError) as caught:
        experiment_varying(str(file), [f"{SESSION}=10s,45s"])
    assert f"{file}:4:19: error" in str(caught.value)


def test_what_a_sweep_keeps_of_it_is_json(tmp_path: Path) -> None:
    """So that the same command takes an interrupted sweep up again."""
    asked = ask(tmp_path, f"{SESSION}=45s,10s")
    assert json.loads(json.dumps(to_json(asked)))
    assert asked.digest == ask(tmp_path, f"{SESSION}=45s,10s").digest


def test_the_steps_of_a_varied_scenario_are_out_of_phase(tmp_path: Path) -> None:
    """Seeds shift its steps, and the command of a run says so; not without a timeline, nor where somebody decided."""
    timed = SCENARIO + "timeline: [{at: 20s, do: crash, member: pod-1}]\n"
    file = tmp_path / "timed.yaml"
    for text, settings, expected in (
        (timed, (), True),
        (SCENARIO, (), None),
        (timed, ("shift-steps=false",), False),
        (timed + "shift-steps: false\n", (), False),
    ):
        file.write_text(text)
        asked = experiment_varying(str(file), [f"{SESSION}=45s,10s"], 2, asked=Asked(settings))
        assert [json.loads(cell.document).get("shift-steps") for cell in asked.cells] == [expected] * 2
        assert ("shift-steps=true" in asked.repeat(asked.cells[1])) == (expected is True)
