"""An experiment asked differently on the command line: `--set` in every cell, `--only` some values of an axis."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from groupsim.cli.scenario_source import load as load_for_a_run
from groupsim.pipeline.experiment import Experiment, from_json, load_experiment, to_json
from groupsim.pipeline.experiment.asked import Asked
from groupsim.pipeline.sweep.repeat import repeat_command
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.canonical import scenario_from_json

NAME = "rolling-deploy"
TWELVE = "size=12 pods with 48 partitions"


def ask(*only: str, settings: tuple[str, ...] = (), name: str = NAME) -> Experiment:
    """The library's experiment, asked like this."""
    return load_experiment(name, 2, asked=Asked(settings, only))


def refused(*only: str, settings: tuple[str, ...] = ()) -> str:
    """What is said to that."""
    with pytest.raises(ScenarioError) as caught:
        ask(*only, settings=settings)
    return str(caught.value)


def test_what_is_set_holds_in_every_cell() -> None:
    """A setting of one's own is in each cell's scenario, and only there: the axes stay what they are."""
    plain, asked = load_experiment(NAME, 2), ask(settings=("groups.orders.properties.session.timeout.ms=10s",))
    assert [cell.labels for cell in asked.cells] == [cell.labels for cell in plain.cells]
    said = [json.loads(cell.document)["groups"]["orders"]["properties"] for cell in asked.cells]
    assert {properties["session.timeout.ms"] for properties in said} == {"10s"}
    assert asked.digest != plain.digest  # so that the results of both never share a directory


def test_some_values_of_an_axis_are_a_smaller_grid() -> None:
    """Labels with commas between, or the option again; in the order of the file, and `skip` goes on to hold."""
    asked = ask("assignor=cooperative-sticky,range", "rollout=Deployment", "rollout=StatefulSet")
    axes = {axis.name: axis.labels for axis in asked.axes}
    assert axes["assignor"] == ("range", "cooperative-sticky")
    assert axes["rollout"] == ("Deployment", "StatefulSet")
    assert not [c for c in asked.cells if (c.labels["membership"], c.labels["rollout"]) == ("static", "Deployment")]
    assert asked.given == ("size",)


def test_one_value_of_an_axis_is_a_circumstance_no_more() -> None:
    """It is no axis, so that no name, answer or table repeats it; what it sets is in every cell and can be set over."""
    asked = ask(TWELVE, settings=("topics.orders.partitions=60",))
    assert "size" not in [axis.name for axis in asked.axes]
    assert asked.given == ()
    documents = [json.loads(cell.document) for cell in asked.cells]
    assert {one["groups"]["orders"]["members"]["pod"]["count"] for one in documents} == {12}
    assert {one["topics"]["orders"]["partitions"] for one in documents} == {60}


def test_a_baseline_that_was_not_asked_for_gives_way_to_the_first_value() -> None:
    """The file's baseline is range; without range the first assignor left takes its place."""
    asked = ask(TWELVE, "assignor=sticky,cooperative-sticky")
    assert asked.cells[asked.baseline].labels["assignor"] == "sticky"


def test_a_baseline_that_skip_leaves_out_is_the_first_cell_when_the_file_s_was_not_asked_for() -> None:
    """Without the file's baseline (45 s) the first values would be it, which `skip` leaves out: nobody's mistake."""
    asked = ask("pauses=G1", "session=6s,20s", name="session-timeout")
    assert asked.baseline == 0
    assert asked.cells[0].labels == {"session": "6s", "heartbeat": "1s"}


def test_the_command_of_a_cell_has_what_the_command_line_set() -> None:
    """`groupsim run` with it is that cell, the axis that is none any more included; a stored one has it."""
    asked = ask(TWELVE, "assignor=range,sticky", settings=("groups.orders.properties.session.timeout.ms=10s",))
    cell = asked.cells[-1]
    for experiment in (asked, from_json(to_json(asked))):
        words = shlex.split(repeat_command(experiment, cell))
        assert words[:3] == ["groupsim", "run", NAME]
        again, of_cell = load_for_a_run(words[2], words[4::2]), scenario_from_json(cell.document)
        assert (again.groups, again.topics, again.run_for) == (of_cell.groups, of_cell.topics, of_cell.run_for)


def test_mistakes_are_told_at_the_option_with_what_there_is() -> None:
    """No axis, no value, no setting of this name, one that an axis undoes, nothing left: each says what would do."""
    assert "--only siz=3: error: there is no axis `siz`\n    did you mean `size`?" in refused("siz=3")
    assert "the axis `size` has no value `12 pods`" in refused("size=12 pods")
    assert "the axes here: size, assignor, membership, rollout" in refused("size")
    assert "`skip` of the experiment leaves out all" in refused("membership=static", "rollout=Deployment")
    undone = refused(settings=("groups.orders.assignor=range",))
    assert "the axis `assignor` sets `groups.orders.assignor` in each cell" in undone
    assert "--only assignor=" in undone
    assert "`groups.orders.assignr` is not a valid path" in refused(settings=("groups.orders.assignr=range",))


def test_the_question_says_how_it_was_asked() -> None:
    """So that an answer, its page and its JSON are not taken for those of the file; secrets stay out of it."""
    secret = "groups.orders.properties.ssl.key.password=hidden"
    asked = ask(TWELVE, settings=("groups.orders.properties.session.timeout.ms=10s", secret))
    assert asked.question.startswith(load_experiment(NAME, 2).question)
    assert f"(asked with {TWELVE}; groups.orders.properties.session.timeout.ms=10s; " in asked.question
    assert "hidden" not in asked.question


def test_a_name_that_is_no_experiment_is_told_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario's name says how to run it, and a file's name without its ending is recognised."""
    with pytest.raises(ScenarioError, match="groupsim run demo"):
        load_experiment("demo")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("scenario: demo\n", "utf-8")
    with pytest.raises(ScenarioError, match=r"did you mean the file `mine\.yaml`"):
        load_experiment("mine")


def goals(*texts: str) -> list[tuple[str, str, int | float | None, int | float | None]]:
    """The goals of an experiment asked with these `--goal`."""
    asked = load_experiment("rolling-deploy-small", 2, asked=Asked(goals=texts))
    return [(one.metric, one.direction, one.at_most, one.at_least) for one in asked.goals]


def test_goals_of_the_command_line_take_the_place_of_the_file_s() -> None:
    """In their order, with the way that is better for each metric; `_us` may be left out, limits have units."""
    assert goals("lag_area", "stopped<=5s") == [
        ("lag_area", "minimise", None, None),
        ("stopped_us", "minimise", 5_000_000, None),
    ]
    assert goals("delivered >= 1000") == [("delivered", "maximise", None, 1000)]
    plain = load_experiment("rolling-deploy-small", 2)
    assert plain.goals[0].metric == "unserved_us"
    assert plain.digest == load_experiment("rolling-deploy-small", 2, asked=Asked(goals=("moved",))).digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unservd_us", "there is no metric `unservd_us`\n    did you mean `unserved_us`? the metrics: rebalances, "),
        ("lag_area<=soon", "'soon' is no number"),
        ("<=5", "this is no METRIC, METRIC<=LIMIT or METRIC>=LIMIT"),
    ],
)
def test_a_goal_that_is_none_is_refused_with_the_names(text: str, words: str) -> None:
    """Place, mistake and remedy; of a name that no metric has the nearest, and all that there are."""
    with pytest.raises(ScenarioError) as caught:
        goals(text)
    assert f"--goal {text}: " in str(caught.value)
    assert words in str(caught.value)


def test_one_metric_is_one_goal() -> None:
    """Named twice, under whichever name, it is refused."""
    with pytest.raises(ScenarioError, match="the metric `stopped_us` is a goal already"):
        goals("stopped", "stopped_us")
