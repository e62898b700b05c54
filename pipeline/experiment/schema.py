"""The JSON Schema (draft 2020-12) of experiment files, for editors; a scenario written in one is described too.

What only the loader can see (a path that leads nowhere, a label that is not there) is left to the loader.
"""

from __future__ import annotations

from typing import Any

from groupsim.pipeline.experiment.file import AxisSpec, ExperimentFile, GoalSpec
from groupsim.scenarios.language.keys import fields_of, sentence
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading.schema import Schema, SchemaMaker

SCHEMA_ID = "urn:groupsim:schema:experiment"
"""`groupsim schema --experiment` prints what this names."""

_LABEL: Schema = {"type": ["string", "number", "boolean"]}
_LABELS: Schema = {"type": "object", "additionalProperties": _LABEL}
_VALUES: Schema = {
    "anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}],
}
_BOUND: Schema = {"type": ["number", "string"]}


def experiment_schema() -> Schema:
    """The whole schema, as plain data."""
    maker = SchemaMaker({AxisSpec: _axis, GoalSpec: _goal})
    root = maker.mapping(ExperimentFile)
    free: dict[str, Schema] = {
        "scenario": {"anyOf": [{"type": "string", "minLength": 1}, maker.of(Scenario)]},
        "skip": {"type": "array", "items": _skipped()},
        "baseline": _LABELS,
    }
    for name, schema in free.items():
        root["properties"][name] = {**schema, "description": _doc(ExperimentFile, name)}
    return maker.document(SCHEMA_ID, "groupsim experiment", ExperimentFile, root)


def _axis() -> Schema:
    """A list of values, or a mapping with values and perhaps a path."""
    properties = {
        "values": {**_VALUES, "description": _doc(AxisSpec, "values")},
        "path": {"type": "string", "minLength": 1, "description": _doc(AxisSpec, "path")},
    }
    mapping = {
        "type": "object",
        "properties": properties,
        "required": ["values"],
        "additionalProperties": False,
        "description": sentence(AxisSpec),
    }
    return {"anyOf": [mapping, {"type": "array", "minItems": 1}]}


def _goal() -> Schema:
    """A mapping with exactly one metric."""
    kinds: dict[str, Schema] = {"minimise": {"type": "string"}, "maximise": {"type": "string"}}
    kinds |= {"at-most": _BOUND, "at-least": _BOUND}
    properties = {name: {**schema, "description": _doc(GoalSpec, name)} for name, schema in kinds.items()}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "oneOf": [{"required": ["minimise"]}, {"required": ["maximise"]}],
        "description": sentence(GoalSpec),
    }


def _skipped() -> Schema:
    """Labels by axis: one, or a list."""
    one_or_more = {"anyOf": [_LABEL, {"type": "array", "items": _LABEL, "minItems": 1}]}
    return {"type": "object", "minProperties": 1, "additionalProperties": one_or_more}


def _doc(cls: type, name: str) -> Any:
    return fields_of(cls)[name].metadata["doc"]
