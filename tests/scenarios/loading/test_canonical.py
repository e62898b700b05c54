"""Canonical JSON: complete, and readable without YAML; in `tests/scenarios/library` its run is the same to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groupsim.scenarios.language.document import Document, parse_document, read_document
from groupsim.scenarios.language.plain_data import Decimalish
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.canonical import canonical_json, dump, parse, scenario_from_json
from groupsim.scenarios.loading.catalogue import find, names
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.plans.members import plans, properties_of


def test_the_text_of_a_text_is_itself() -> None:
    """Written again after reading, it is equal to the byte."""
    for name in names():
        text = canonical_json(read_document(find(name)), name)
        assert canonical_json(Document(name, parse(text), {}, {}), "another") == text


def test_order_is_kept() -> None:
    """Members start in the order of the file, so sorting would make another scenario."""
    text = canonical_json(parse_document("groups: {z: {members: {b: 1, a: 1}}}\nrun-for: 1s"), "n")
    assert text == '{"name":"n","groups":{"z":{"members":{"b":{"count":1},"a":{"count":1}}}},"run-for":"1s"}'


@pytest.mark.parametrize("number", ["3.10", "-0.50", "1e3", "1.5E-7", ".5", "+1.5", "5.", "1_000.5", "01.5"])
def test_a_number_keeps_its_text(number: str) -> None:
    """The text of YAML is kept, whether JSON can write the number or not."""
    value = parse_document(f"x: {number}").data["x"]
    assert isinstance(value, Decimalish)
    back = parse(dump({"x": value}))["x"]
    assert (back, back.text) == (value, number)


VALUES: list[Any] = [
    None,
    True,
    0,
    -(10**30),
    "",
    "ü \x00 \ud800 \u2028",
    [],
    {},
    {"a": [1, {"b": "$number"}]},
    ["1.0"],
]


@pytest.mark.parametrize("value", VALUES)
def test_other_values_are_plain_json(value: Any) -> None:
    """The text is ASCII, any JSON reader understands it, and nothing is lost."""
    text = dump(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert parse(text) == value


PROPERTIES = """\
run-for: 10s
topics: {t: 2}
groups:
  g:
    properties-file: group.properties
    properties: {max.poll.records: 7, ssl.key.password: hunter2}
    members:
      plain: 1
      none:
      own: {properties-file: own.properties, properties: "fetch.min.bytes=3\\nsasl.jaas.config=hunter2"}
"""


def test_properties_are_read_in_as_a_run_would(tmp_path: Path) -> None:
    """Each member has the settings of a run: its own file in place of the group's, overridden by the scenario's."""
    (tmp_path / "group.properties").write_text("session.timeout.ms=9000\nmax.poll.records=1\nsasl.password=hunter2\n")
    (tmp_path / "own.properties").write_text("heartbeat.interval.ms=1000\nmax.poll.records=2\n")
    document = parse_document(PROPERTIES, str(tmp_path / "s.yaml"))
    text = canonical_json(document, "s")
    assert "hunter2" not in text
    assert "properties-file" not in text
    from_yaml = [properties_of(plan, tmp_path) for plan in plans(scenario_of(document, "s"))]
    from_text = [properties_of(plan, Path("nowhere")) for plan in plans(scenario_from_json(text))]
    assert from_text == from_yaml
    assert [found.get("session.timeout.ms") for found in from_text] == ["9000", "9000", None]


def test_what_is_no_scenario_is_refused() -> None:
    """JSON with other content has the error of a file."""
    with pytest.raises(ScenarioError, match="a scenario must be a mapping"):
        scenario_from_json("[]")
    with pytest.raises(ScenarioError, match="did you mean `groups`"):
        scenario_from_json('{"name":"x","run-for":"1s","gruops":{}}')
