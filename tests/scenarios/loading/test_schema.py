"""The JSON Schema for editors accepts what the loader accepts, and refuses structural mistakes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from groupsim.scenarios.language.document import parse_document, read_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.registry import CHECKS, step_actions
from groupsim.scenarios.loading.catalogue import library, names
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.loading.schema import scenario_schema


@cache
def validator() -> Any:
    """A validator of the schema, made once."""
    return jsonschema.Draft202012Validator(scenario_schema())


def accepts(text: str) -> bool:
    """Whether the schema accepts a file."""
    return bool(validator().is_valid(parse_document(text).data))


def test_the_schema_is_a_schema() -> None:
    """It is valid draft 2020-12, and plain JSON."""
    jsonschema.Draft202012Validator.check_schema(scenario_schema())
    assert json.loads(json.dumps(scenario_schema()))["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("name", names())
def test_every_library_file_is_valid(name: str) -> None:
    """Editors show no mistake in the library."""
    data = read_document(Path(library()) / f"{name}.yaml").data
    assert [error.message[:200] for error in validator().iter_errors(data)] == []


BASE = """\
run-for: 60s
broker: {version: "3.9"}
topics: {t: {partitions: 3, rate: 10/s}}
groups: {g: {client: java-3.9, members: {c: {count: 2, start: 1s}}}}
timeline: [{at: 30s, do: crash, member: c-1}]
expect: [{generations: 2}]
"""
GOOD = [
    ("run-for: 60s", "run-for: 1m30s"),
    ("{partitions: 3, rate: 10/s}", "4"),
    ("rate: 10/s", "rate: 0.5/min"),
    ("{count: 2, start: 1s}", "2"),
    ("start: 1s", "start: never"),
    ("start: 1s", "processing: 'lognormal(median=1ms, p95=3ms)'"),
    ("client: java-3.9", "properties: 'session.timeout.ms=10000'"),
    ("client: java-3.9", "properties: {session.timeout.ms: 10000, some.key: [a]}"),
    ("do: crash, member: c-1", "do: rolling-restart, surge: 30%"),
    ("do: crash, member: c-1", "do: lose-response, to: the third Heartbeat of c-1"),
    ("{generations: 2}", "no-two-owners"),
    ("{generations: 2}", "order"),
    ("{generations: 2}", "{order: {topic: t}}"),
    ("{generations: 2}", "{every-partition-owned: true}"),
    ("{generations: 2}", "{generations: '<= 4', because: reasons}"),
    ("{generations: 2}", "{stopped: '2.5s..3s'}"),
]
BAD = [
    ("run-for: 60s", "run-for: 60"),
    ("run-for: 60s", "run-fro: 60s"),
    ("run-for: 60s", "run-for: soon"),
    ('version: "3.9"', "version: new"),
    ('version: "3.9"', "group.max.sise: 3"),
    ("partitions: 3", "partitions: 0"),
    ("rate: 10/s", "rate: 10"),
    ("rate: 10/s", "speed: 10/s"),
    ("java-3.9", "jawa-3.9"),
    ("count: 2", "count: -1"),
    ("count: 2", "count: two"),
    ("count: 2", "count: 10001"),
    ("start: 1s", "start: later"),
    ("start: 1s", "stuck: [asleep]"),
    ("at: 30s, ", ""),
    ("at: 30s", "at: 30"),
    ("do: crash", "do: crush"),
    (", member: c-1", ""),
    ("member: c-1", "member: c-1, leave: true"),
    ("do: crash, member: c-1", "do: pause, member: c-1, for: 3"),
    ("do: crash, member: c-1", "do: stall, member: c-1, for: 3s, direction: up"),
    ("{generations: 2}", "{generation: 2}"),
    ("{generations: 2}", "{generations: many}"),
    ("{generations: 2}", "{state: Stabel}"),
    ("{generations: 2}", "{error: {is: ILEGAL}}"),
    ("{generations: 2}", "{error: {is: ILLEGAL_GENERATION, api: offsetcommit}}"),
    ("{generations: 2}", "{event: {kind: nothing.such}}"),
    ("{generations: 2}", "{owner: {partition: t, is: c-1}}"),
    ("{generations: 2}", "{generations: 2, because: 3s, also: 1}"),
    ("expect: [{generations: 2}]", "expect: {generations: 2}"),
]


@pytest.mark.parametrize(("old", "new"), GOOD)
def test_loader_and_schema_accept_the_same(old: str, new: str) -> None:
    """An editor does not mark a valid file."""
    text = BASE.replace(old, new, 1)
    assert text != BASE
    load_text(text)
    assert accepts(text)


@pytest.mark.parametrize(("old", "new"), BAD)
def test_loader_and_schema_refuse_the_same(old: str, new: str) -> None:
    """A file that the loader refuses for its structure is marked."""
    text = BASE.replace(old, new, 1)
    assert text != BASE
    with pytest.raises(ScenarioError):
        load_text(text)
    assert not accepts(text)


def test_every_action_fault_and_check_is_described() -> None:
    """Each name of the registries stands in the schema with a sentence; so does each of its keys."""
    text = json.dumps(scenario_schema())
    for name in (*step_actions(), *CHECKS):
        assert f'"title": "{name}"' in text
    for described in _properties(scenario_schema()):
        assert described.get("description") or "const" in described, described


def _properties(schema: Any) -> list[dict[str, Any]]:
    """Every property of every object in a schema."""
    found: list[dict[str, Any]] = []
    if isinstance(schema, dict):
        if "additionalProperties" in schema:
            found += schema.get("properties", {}).values()
        found += [one for value in schema.values() for one in _properties(value)]
    elif isinstance(schema, list):
        found += [one for value in schema for one in _properties(value)]
    return found


def test_the_schema_does_not_depend_on_what_was_imported() -> None:
    """Actions and expectations stand in the order of their names, whatever module a process imported first."""
    schema = scenario_schema()
    for name in ("Step", "Expectation"):
        definition = schema["$defs"][name]
        titles = [one["title"] for one in (definition.get("oneOf") or definition["anyOf"][1]["oneOf"])]
        assert len(titles) > 20
        assert titles == sorted(titles)
