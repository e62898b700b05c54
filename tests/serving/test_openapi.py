"""The OpenAPI document: kept in docs, valid, and true of the routes there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from groupsim.serving.api import ROUTES
from groupsim.serving.live_actions import live_actions, live_faults
from groupsim.serving.openapi import document

KEPT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def test_the_kept_document_is_the_one_that_is_served() -> None:
    """docs/openapi.json is the document that is served; tools/openapi_document.py writes it."""
    assert json.loads(KEPT.read_text("utf-8")) == json.loads(json.dumps(document()))


def test_every_route_is_described_and_every_description_is_a_route() -> None:
    """Paths and methods are the same in both."""
    routes = {(method.lower(), path.replace(":path", "")) for method, path, _ in ROUTES}
    described = {(method, path) for path, item in document()["paths"].items() for method in item}
    assert routes == described


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    """No dangling `$ref`; each schema is valid JSON Schema of the draft that OpenAPI 3.1 uses."""
    whole = document()
    for schema in whole["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for target in references(whole):
        here = whole
        for part in target.removeprefix("#/").split("/"):
            here = here[part]


def references(value: object) -> list[str]:
    """Every `$ref` in a document."""
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for item in value.values() for found in references(item)]


def test_every_action_and_fault_has_a_schema_of_its_own() -> None:
    """By the names that the port reads."""
    schemas = document()["components"]["schemas"]
    assert {f"do.{name}" for name in live_actions()} | {f"fault.{name}" for name in live_faults()} <= set(schemas)


def test_the_examples_are_valid_and_a_wrong_key_is_not() -> None:
    """What the document shows, it allows."""
    whole = document()
    for path, name in (("/actions", "Action"), ("/faults", "Fault")):
        example = whole["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]
        validator = Draft202012Validator({**whole, "$ref": f"#/components/schemas/{name}"})
        validator.validate(example)
        with pytest.raises(ValidationError):
            validator.validate({**example, "gruop": "g"})
