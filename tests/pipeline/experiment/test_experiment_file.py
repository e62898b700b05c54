"""Experiment files: everything that is wrong with one is said with its place and the remedy, before anything runs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.randomness import Stream
from groupsim.pipeline.experiment.load import experiment_of, load_experiment
from groupsim.pipeline.experiment.model import Experiment
from groupsim.scenarios.language.document import Document, parse_document
from groupsim.scenarios.language.problems import NOTE, WARNING, ScenarioError

GOOD = """\
title: sessions
question: which session?
scenario:
  run-for: 60s
  topics: {orders: 6}
  groups:
    g1:
      client: java-3.9
      properties: {heartbeat.interval.ms: 3s}
      members: {c: 3}
set: {cluster.brokers: 3}
vary:
  session: {path: groups.g1.properties.session.timeout.ms, values: [6s, 10s, 45s]}
  membership:
    values:
      dynamic: {}
      static: {groups.g1.instance-id: "{name}"}
skip:
  - {session: 6s, membership: static}
seeds: 4
baseline: {session: 45s}
goals:
  - {minimise: false_evictions, at-most: 0.5}
  - {minimise: detection_us, at-most: 60s}
"""


def load(text: str, seeds: int | None = None) -> Experiment:
    """The experiment of a text."""
    return experiment_of(parse_document(text, "e.yaml"), "e", seeds)


def wrong(text: str, seeds: int | None = None) -> str:
    """The report on a bad file."""
    with pytest.raises(ScenarioError) as caught:
        load(text, seeds)
    return str(caught.value)


def test_a_good_file_becomes_cells() -> None:
    """The product in the order of the file, the last axis fastest, without what is skipped, numbered from 0."""
    experiment = load(GOOD)
    assert [tuple(cell.labels.values()) for cell in experiment.cells] == [
        ("6s", "dynamic"),
        ("10s", "dynamic"),
        ("10s", "static"),
        ("45s", "dynamic"),
        ("45s", "static"),
    ]
    assert [cell.number for cell in experiment.cells] == [0, 1, 2, 3, 4]
    assert (experiment.baseline, experiment.seeds, experiment.runs) == (3, (0, 1, 2, 3), 20)
    assert experiment.cells[2].settings == {
        "groups.g1.properties.session.timeout.ms": "10s",
        "groups.g1.instance-id": "{name}",
    }


def test_goals_are_in_the_units_of_their_metrics() -> None:
    """Durations become microseconds; a mean of counts may be bounded by a fraction."""
    first, second = load(GOOD).goals
    assert (first.metric, first.direction, first.at_most) == ("false_evictions", "minimise", 0.5)
    assert (second.metric, second.at_most, second.at_least) == ("detection_us", 60_000_000, None)


# (what is replaced, by what, what the report says, the remedy, the line)
MISTAKES = [
    ("title:", "titel:", "unknown key `titel`", "did you mean `title`?", 1),
    ("scenario:\n  run-for: 60s", "scenario:\n  run-fro: 60s", "unknown key `run-fro`", "did you mean `run-for`?", 4),
    ("run-for: 60s", "run-for: 60", "a duration needs a unit", "", 4),
    ("{cluster.brokers: 3}", "{cluster.broker: 3}", "`cluster.broker` is not a valid path", "`cluster.brokers`", 11),
    ("{cluster.brokers: 3}", "{cluster.brokers: none}", "a whole number of at least 1", "", 11),
    ("{cluster.brokers: 3}", "[3]", "expected a mapping of names", "", 11),
    ("groups.g1.prop", "groups.g2.prop", "no `g2` below `groups`", "did you mean `groups.g1.properties.session", 13),
    ("session.timeout.ms,", "sesion.timeout.ms,", "of Kafka's consumer", "g1.properties.session.timeout.ms`?", 13),
    ("groups.g1.properties.session", "session", "is not a valid path", "`groups.g1.properties.session.timeout.ms`", 13),
    ("[6s, 10s, 45s]", "[6s, 10s, 6s]", "the value `6s` stands here twice", "keep one", 13),
    ("[6s, 10s, 45s]", "[]", "this axis has no values", "remove the axis", 13),
    ("[6s, 10s, 45s]", "6s", "expected values, found `6s`", "values: [6s, 10s]", 13),
    ("[6s, 10s, 45s]", "[{a: 1}]", "a mapping has no text that could be its label", "a label for each", 13),
    ("[6s, 10s, 45s]", "[null]", "nothing has no text", "a label for each", 13),
    ("values: [6s", "value: [6s", "unknown key `value`", "did you mean `values`?", 13),
    ("45s]}", "45s], path: x}", "the key `path` appears twice", "", 13),
    ("  session: {", "  ' ': {", "an axis needs a name", "", 13),
    ("dynamic: {}", "dynamic: range", "expected paths with their values, found `range`", "add `path:`", 16),
    ("dynamic: {}", "'': {}", "a label cannot be empty", "", 16),
    ("{groups.g1.instance-id", "{groups.g1.instance", "is not a valid path", "`groups.g1.instance-id`", 17),
    ("groups.g1.instance-id", "groups.g1.properties", "overwrites what the axis `session` sets", "one axis", 14),
    ("{session: 6s, membership", "{sessions: 6s, membership", "no axis `sessions`", "did you mean `session`?", 19),
    ("{session: 6s,", "{session: 7s,", "the axis `session` has no value `7s`", "values of `session`: 10s, 45s, 6s", 19),
    ("- {session: 6s, membership: static}", "- {}", "leaves out the whole grid", "labels by axis", 19),
    ("{session: 6s, membership: static}", "{session: [6s, 10s, 45s]}", "leaves out every cell", "", 19),
    ("seeds: 4", "seeds: 0", "a whole number of at least 1, found `0`", "", 20),
    ("seeds: 4", "seeds: -3", "a whole number of at least 1, found `-3`", "", 20),
    ("seeds: 4", "seeds: {from: -1, count: 2}", "a whole number of at least 0", "", 20),
    ("seeds: 4", "seeds: {form: 1, count: 2}", "unknown key `form`", "did you mean `from`?", 20),
    ("seeds: 4", "seeds: {from: 9223372036854775806}", "do not fit into 64 bits", "smaller", 20),
    ("seeds: 4", "seeds: 1_000_000_000", "1,000,000,000 seeds", "30 to 100 seeds", 20),
    ("baseline: {session: 45s}", "baseline: {session: 7s}", "no value `7s`", "values of `session`: 10s", 21),
    ("baseline: {session: 45s}", "baseline: {sesion: 45s}", "no axis `sesion`", "did you mean `session`?", 21),
    ("baseline: {session: 45s}", "baseline: {session: 6s, membership: static}", "leaves out the baseline", "", 21),
    ("seeds: 4", "given: [sesion]", "no axis `sesion`", "did you mean `session`?", 20),
    ("seeds: 4", "given: [session, membership]", "every axis is given", "leave one of them out", 20),
    ("false_evictions", "false_eviction", "no metric `false_eviction`", "did you mean `false_evictions`?", 23),
    ("minimise: false", "minimize: false", "unknown key `minimize`", "did you mean `minimise`?", 23),
    ("at-most: 0.5", "maximise: lost", "a goal has one metric", "", 23),
    ("at-most: 0.5", "at-most: 5s", "is no number", "", 23),
    ("at-most: 60s", "at-most: 60", "not a duration", "write a number with a unit", 24),
    ("at-most: 60s", "at-most: 1s, at-least: 2s", "at least that and at most this", "swap", 24),
    ("detection_us, at-most: 60s", "false_evictions", "is a goal already", "keep one", 24),
]


@pytest.mark.parametrize(("old", "new", "message", "remedy", "line"), MISTAKES)
def test_a_mistake_is_told_with_place_and_remedy(old: str, new: str, message: str, remedy: str, line: int) -> None:
    """One report names file and line, what was found, and what to write instead."""
    assert old in GOOD
    report = wrong(GOOD.replace(old, new, 1))
    assert message in report
    assert remedy in report
    assert f"e.yaml:{line}:" in report


def test_a_bad_value_is_told_with_the_cell_that_has_it() -> None:
    """A session no longer than the heartbeat is wrong in two cells of five: place, setting, and the first of them."""
    report = wrong(GOOD.replace("[6s, 10s, 45s]", "[6s, 2s, 45s]").replace("session: 6s", "session: 2s"))
    assert report.count("error:") == 1
    assert "e.yaml:9:" in report
    assert "not below session.timeout.ms = 2000 (in the cell session=2s, membership=dynamic)" in report


def test_a_bad_value_of_an_axis_is_told_where_it_stands() -> None:
    """Not in the scenario that it would have been put into."""
    report = wrong(GOOD.replace("[6s, 10s, 45s]", "[6s, 10s, soon, 45s]"))
    assert report.startswith("e.yaml:13:78: error: `session.timeout.ms` = soon: not a time")
    assert "(in the cell session=soon, membership=dynamic and 1 more)" in report


def test_a_cell_that_has_a_mistake_twice_is_counted_once() -> None:
    """Two unknown topics in one list are two mistakes at one place, in one cell."""
    report = wrong(GOOD.replace("dynamic: {}", "dynamic: {groups.g1.subscribe: [t1, t2]}"))
    assert report.count("there is no topic") == 1
    assert "(in the cell session=6s, membership=dynamic and 2 more)" in report


def test_what_is_wrong_everywhere_is_told_once() -> None:
    """A mistake of the scenario itself is no matter of cells."""
    report = wrong(GOOD.replace("client: java-3.9", "client: jawa-3.9"))
    assert report.count("error:") == 1
    assert "in the cell" not in report


def test_a_grid_of_a_billion_cells_is_refused_at_once() -> None:
    """The count is made by multiplication, the message has the sizes of the axes."""
    axes = "".join(f"  a{n}: {{path: cluster.brokers, values: {list(range(1, 11))}}}\n" for n in range(9))
    for n in range(9):
        axes = axes.replace("cluster.brokers", f"topics.t{n}.partitions", 1)
    report = wrong(f"scenario: demo\nvary:\n{axes}")
    assert "the grid has 1,000,000,000 combinations (a0 10 × a1 10 × a2 10" in report
    assert "the limit is 100,000" in report
    assert report.startswith("e.yaml:3:3: error:")


def test_a_grid_beyond_ten_thousand_cells_is_refused() -> None:
    """What `skip` leaves is counted before a cell is made."""
    numbers = list(range(1, 102))
    text = f"scenario: demo\nvary:\n  cluster.brokers: {numbers}\n  topics.t1.partitions: {numbers}\n"
    assert "10,201 cells" in wrong(text)


def test_too_many_seeds_are_refused_where_they_were_asked_for(tmp_path: Path) -> None:
    """Of --seeds the option is named, and not a line of the file, which says something else."""
    file = tmp_path / "e.yaml"
    file.write_text("seeds: 5\nscenario: demo\nvary: {cluster.brokers: [1, 3]}\n")
    with pytest.raises(ScenarioError) as caught:
        load_experiment(file, 1_000_000)
    report = str(caught.value)
    assert report.startswith("--seeds 1000000: error: 1,000,000 seeds for each cell; the limit is 100,000")
    assert str(file) not in report


def test_more_than_ten_million_runs_are_refused() -> None:
    """The message says how many seeds so many cells may have."""
    text = f"seeds: 90_000\nscenario: demo\nvary: {{cluster.brokers: {list(range(1, 201))}}}\n"
    report = wrong(text)
    assert "200 cells (cluster.brokers 200) with 90,000 seeds each are 18,000,000 runs" in report
    assert report.startswith("e.yaml:1:")
    assert "the limit is 10,000,000: at most 50,000 seeds for so many cells" in report


def test_an_axis_may_be_its_path() -> None:
    """`path: [values]` is the short form of an axis."""
    experiment = load("scenario: demo\nvary: {cluster.brokers: [1, 3]}\n")
    assert [cell.title for cell in experiment.cells] == ["cluster.brokers=1", "cluster.brokers=3"]
    assert experiment.axes[0].path == "cluster.brokers"


def test_labels_of_lists_and_numbers_are_their_text() -> None:
    """A version 3.10 is labelled 3.10, two assignors by both names."""
    axes = (
        "  title: [3.10, 7, plain]\n"
        "  assignor: {path: groups.g1.assignor, values: [[range, cooperative-sticky], range]}\n"
    )
    experiment = load(f"scenario: demo\nvary:\n{axes}")
    assert [axis.labels for axis in experiment.axes] == [("3.10", "7", "plain"), ("range,cooperative-sticky", "range")]
    assert '"title":3.10' in experiment.cells[0].document


def test_without_axes_there_is_one_cell() -> None:
    """A scenario over many seeds is an experiment too."""
    experiment = load("scenario: demo\nseeds: {from: 100, count: 3}\n")
    assert (len(experiment.cells), experiment.seeds) == (1, (100, 101, 102))
    assert experiment.cells[0].title == "the scenario as it is"


def test_the_command_line_has_the_last_word_on_seeds() -> None:
    """The number changes, the first seed stays; none at all is refused."""
    assert load("scenario: demo\nseeds: {from: 100, count: 3}\n", 2).seeds == (100, 101)
    assert wrong("scenario: demo\n", 0).startswith("--seeds 0: error: an experiment needs at least one seed")


def test_the_first_cell_is_the_baseline_when_the_first_values_are_left_out() -> None:
    """Nobody asked for a baseline, so none is missed."""
    skipped = GOOD.replace("baseline: {session: 45s}\n", "").replace("membership: static}\n", "membership: dynamic}\n")
    experiment = load(skipped)
    assert experiment.cells[experiment.baseline].title == "session=6s, membership=static"


def test_a_setting_without_effect_is_noted() -> None:
    """An axis that changes nothing would show no difference for a reason nobody sees."""
    text = "scenario: demo\nvary: {groups.g1.properties.fetch.min.bytes: [1, 1000]}\n"
    assert not [one for one in load(text).warnings if "fetch.min.bytes" in one.message]  # consumers pull
    warnings = load(f"{text}set: {{cluster.logs: counted}}\n").warnings
    assert [(one.place.line, one.severity) for one in warnings if "fetch.min.bytes" in one.message] == [(2, NOTE)] * 2


def test_cells_that_are_the_same_scenario_are_noted() -> None:
    """Two labels with nothing below them are one cell twice."""
    (warning,) = load("scenario: demo\nvary: {a: {values: {x: {}, y: {}}}}\n").warnings
    assert (warning.severity, "the cells a=x and a=y are the same scenario" in warning.message) == (WARNING, True)


def test_wrong_keys_metrics_paths_and_values_are_told_in_one_go() -> None:
    """A misspelt key hides neither a misspelt metric nor what is wrong in a cell; what is right is not blamed."""
    report = wrong(
        GOOD.replace("title:", "titel:")
        .replace("minimise: detection_us", "minimise: detektion_us")
        .replace("[6s, 10s, 45s]", "[6s, ten, 45s]")
    )
    lines = [line for line in report.splitlines() if ": error: " in line]
    assert [line.partition(": error: ")[0] for line in lines] == ["e.yaml:1:1", "e.yaml:13:73", "e.yaml:24:16"]


def test_an_axis_that_cannot_be_read_takes_what_names_it_along() -> None:
    """`skip` and `baseline` name the axis `session`: only the axis is wrong, and what is wrong besides."""
    report = wrong(GOOD.replace("values: [6s, 10s, 45s]", "values: []").replace("run-for: 60s", "run-for: 60"))
    lines = [line for line in report.splitlines() if ": error: " in line]
    assert len(lines) == 2
    assert "this axis has no values" in report
    assert "there is no axis" not in report


def test_a_scenario_is_no_experiment() -> None:
    """A scenario file in the wrong place is told as such, not key by key."""
    report = wrong("run-for: 5s\ngroups: {}\n")
    assert "this is no experiment: it has neither `scenario` nor `vary`" in report
    assert "groupsim run" in report


def test_a_scenario_that_is_not_there() -> None:
    """Misspelt names of the library, files beside the experiment, and nonsense are told at their line."""
    assert "did you mean `deploy-jvm-S-eager`?" in wrong("title: x\nscenario: deploy-jvm-S-eagre\n")
    assert wrong("title: x\nscenario: no/such.yaml\n").startswith("e.yaml:2:11: error: there is no file `no/such.yaml`")
    assert "expected a scenario, found a list" in wrong("scenario: [demo]\n")
    assert "the key `scenario` is missing" in wrong("vary: {a.b: [1]}\n")


def test_a_scenario_and_properties_beside_the_experiment(tmp_path: Path) -> None:
    """Both are looked for where the experiment's file is, whatever the working directory."""
    scenario = GOOD.partition("scenario:\n")[2].partition("set:")[0]
    (tmp_path / "base.yaml").write_text(scenario.replace("\n  ", "\n").removeprefix("  "), encoding="utf-8")
    (tmp_path / "slow.properties").write_text("session.timeout.ms=60000\n", encoding="utf-8")
    path = tmp_path / "e.yaml"
    path.write_text("scenario: base.yaml\nvary: {groups.g1.properties-file: [slow.properties]}\n", encoding="utf-8")
    experiment = load_experiment(path)
    assert '"session.timeout.ms":"60000"' in experiment.cells[0].document
    assert '"name":"base"' in experiment.cells[0].document


def test_a_large_grid_gives_up_soon_after_a_mistake() -> None:
    """Enough cells are judged to show more than one mistake, not all of them."""
    numbers = list(range(2001, 4001))
    text = f"scenario: demo\nvary: {{groups.g1.properties.session.timeout.ms: {numbers}}}\n"
    with pytest.raises(ScenarioError, match=r"and 50 more"):
        experiment_of(parse_document(text), "e")


def test_an_assignor_beside_the_scenario(tmp_path: Path) -> None:
    """`module:Class` is found in the folder of the scenario, which the experiment remembers."""
    module = "from groupsim.assignors import RangeAssignor\n\n\nclass Mine(RangeAssignor):\n    name = 'mine'\n"
    (tmp_path / "beside_the_scenario.py").write_text(module, encoding="utf-8")
    path = tmp_path / "e.yaml"
    values = "[range, 'beside_the_scenario:Mine', 'beside_the_scenario:Yours']"
    text = f"{GOOD.partition('set:')[0]}vary: {{groups.g1.assignor: {values}}}\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"has no 'Yours'"):
        load_experiment(path)
    path.write_text(text.replace(", 'beside_the_scenario:Yours'", ""), encoding="utf-8")
    experiment = load_experiment(path)
    assert experiment.folder == str(tmp_path.resolve())
    assert '"assignor":"beside_the_scenario:Mine"' in experiment.cells[1].document


STRANGE: list[Any] = [
    *(None, True, 0, -1, 10**30, 1.5, "", "x", "6s", "\x00", "a.b", [], ["x", 1], [[]], {}, {"a": 1}, {"": {"": None}}),
    *({"run-for": "1s"}, {"values": [1, 2]}, {"minimise": "lost"}, {"path": "run-for", "values": {"a": "1s"}}),
]


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


@pytest.mark.parametrize("batch", range(4))
def test_whatever_goes_wrong_is_reported(batch: int) -> None:
    """Files with a random change load, or end in a ScenarioError that names the file."""
    luck = Stream(batch, "mutations")
    whole = parse_document(GOOD).data
    reports: list[ScenarioError] = []
    for _ in range(150):
        data = copy.deepcopy(whole)
        path = luck.choice(list(paths(data)))
        here = data
        for key in path[:-1]:
            here = here[key]
        here[path[-1]] = copy.deepcopy(luck.choice(STRANGE))
        try:
            experiment_of(Document("f.yaml", data, {}, {}), "f")
        except ScenarioError as error:
            reports.append(error)
    assert 50 <= len(reports) < 150
    assert all(str(problem).startswith("f.yaml") and problem.message for one in reports for problem in one.problems)


def test_mistakes_of_the_scenario_are_told_with_those_of_the_experiment() -> None:
    """A scenario written in the file is judged although the experiment around it cannot be read."""
    text = """\
scenario:
  run-for: 60s
  topics: {orders: 4}
  groups: {billing: {client: jaba, members: {c: 2}}}
  timeline: [{at: 10s, do: crush, member: c-1}]
vary: {session: {path: groups.billing.properties.session.timeout.ms, values: [6s, 10s]}}
seeds: many
"""
    with pytest.raises(ScenarioError) as caught:
        experiment_of(parse_document(text), "x")
    assert [(one.place.line, one.message.split(":")[0]) for one in caught.value.problems] == [
        (4, "`client`"),
        (5, "`timeline`"),
        (7, "`seeds`"),
    ]
