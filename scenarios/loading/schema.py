"""Generate the JSON Schema (draft 2020-12) of scenario files, for editors.

It comes from the model, the registries and the tables of settings, so that it allows what the loader allows. Only the
loader checks names that do not exist, and values that contradict each other.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from groupsim.coordinator.base.config import BROKER_KEYS
from groupsim.members.keys import CONSUMER_KEYS, ClientKey, KeyType
from groupsim.members.zookeeper.kinds import CLIENTS
from groupsim.scenarios.language.clients import LIBRARIES
from groupsim.scenarios.language.data_values import SETTINGS, BrokerProperties, GroupProperties, ProducerProperties
from groupsim.scenarios.language.defects import BrokerDefects
from groupsim.scenarios.language.keys import fields_of, required, sentence, short_key
from groupsim.scenarios.language.model import BrokerRelease, BrokerSettings, Expectation, MemberDefaults, Scenario, Step
from groupsim.scenarios.language.registry import CHECKS, step_actions
from groupsim.scenarios.language.values import VALUE_TYPES, Properties
from groupsim.scenarios.loading.converters import Timing

Schema = dict[str, Any]

SCHEMA_ID = "urn:groupsim:schema:scenario"
"""The `$id` of the schema that `groupsim schema` prints."""


def scenario_schema() -> Schema:
    """Return the whole schema, as plain data."""
    maker = SchemaMaker()
    return maker.document(SCHEMA_ID, "groupsim scenario", Scenario, maker.mapping(Scenario))


class SchemaMaker:
    """Makes schemas of classes and value types, and collects a definition for each class.

    `shapes` are further classes that are not plain mappings of their fields.
    """

    def __init__(self, shapes: Mapping[type, Callable[[], Schema]] | None = None) -> None:
        self.definitions: dict[str, Schema] = {}
        self._shapes: Mapping[type, Callable[[], Schema]] = {
            Step: self._step,
            Expectation: self._expectation,
            BrokerSettings: self._broker,
            **(shapes or {}),
        }

    def document(self, identity: str, title: str, cls: type, root: Schema) -> Schema:
        """Return a whole schema document for files of this class: a head, the root, the definitions."""
        head = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": identity,
            "title": title,
            "description": sentence(cls),
        }
        return {**head, **root, "$defs": dict(sorted(self.definitions.items()))}

    def of(self, wanted: Any) -> Schema:
        """Return the schema of a type."""
        if wanted is Any:
            return {}
        if wanted is Properties:
            return self._properties()
        if wanted in SETTINGS:
            return self._settings(wanted)
        if wanted in VALUE_TYPES:
            return dict(VALUE_TYPES[wanted].schema)
        if wanted in _PLAIN:
            return dict(_PLAIN[wanted])
        origin = get_origin(wanted)
        if origin is not None:
            return self._generic(wanted, origin)
        if isinstance(wanted, type) and issubclass(wanted, Enum):
            return {"enum": [str(one.value) for one in wanted]}
        return self._reference(wanted)

    def _generic(self, wanted: Any, origin: Any) -> Schema:
        arguments = get_args(wanted)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (types.UnionType, typing.Union):
            choices = [self.of(one) for one in arguments if one is not type(None)]
            return choices[0] if len(choices) == 1 else {"anyOf": choices}
        if origin is tuple:
            return {"type": "array", "items": self.of(arguments[0])}
        schema: Schema = {"type": "object", "additionalProperties": self.of(arguments[1])}
        names = self.of(arguments[0])
        return schema if arguments[0] is str else {**schema, "propertyNames": names}

    def _reference(self, cls: type) -> Schema:
        name = cls.__name__
        if name not in self.definitions:
            self.definitions[name] = {}
            shape = self._shapes.get(cls)
            self.definitions[name] = shape() if shape else self._section(cls)
        return {"$ref": f"#/$defs/{name}"}

    def _section(self, cls: type) -> Schema:
        """Return the schema of a mapping, of the value of its short key, and of an empty value."""
        choices = [{**self.mapping(cls), "description": sentence(cls)}]
        short = short_key(cls)
        if short is not None:
            choices.append(self.of(fields_of(cls)[short].type))
        if not required(cls):
            choices.append({"type": "null"})
        return choices[0] if len(choices) == 1 else {"anyOf": choices}

    def mapping(self, cls: type) -> Schema:
        """Return the schema of a class as an object with its keys."""
        properties = {name: self._field(cls, name) for name in fields_of(cls)}
        needed = list(required(cls))
        schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**schema, "required": needed} if needed else schema

    def _field(self, cls: type, name: str) -> Schema:
        field = fields_of(cls)[name]
        schema = self.of(field.type)
        if name == "client" and issubclass(cls, MemberDefaults):
            releases = {"type": "string", "pattern": rf"^({'|'.join(LIBRARIES)})[-_ @]?v?[0-9]"}
            schema = {"anyOf": [{"enum": sorted(CLIENTS)}, releases]}
        return {**schema, "description": field.metadata["doc"]}

    # --- the shapes that are not plain classes -----------------------------------------------------------------------

    def _step(self) -> Schema:
        return {
            "type": "object",
            "required": ["at", "do"],
            "oneOf": [self._action(name, cls) for name, cls in sorted(step_actions().items())],
        }

    def _action(self, name: str, cls: type) -> Schema:
        timing, own = self.mapping(Timing)["properties"], self.mapping(cls)
        properties = {"do": {"const": name, "description": sentence(cls)}, **timing, **own["properties"]}
        needed = ["do", "at", *own.get("required", [])]
        return {"title": name, "properties": properties, "required": needed, "additionalProperties": False}

    def _expectation(self) -> Schema:
        known = sorted(CHECKS.items())  # registered in the order of imports, which differs between processes
        bare = [name for name, cls in known if not required(cls)]
        because = {"type": "string", "description": fields_of(Expectation)["because"].metadata["doc"]}
        checks = [self._check(name, cls, because) for name, cls in known]
        return {"anyOf": [{"enum": bare}, {"type": "object", "oneOf": checks}]}

    def _check(self, name: str, cls: type, because: Schema) -> Schema:
        value = self._section(cls)
        if not required(cls):
            value = {"anyOf": [value, {"const": True}]}
        properties = {name: {**value, "description": sentence(cls)}, "because": because}
        return {"title": name, "properties": properties, "required": [name], "additionalProperties": False}

    def _broker(self) -> Schema:
        version = {
            **self.of(typing.get_type_hints(BrokerSettings, _names())["version"]),
            "description": "Kafka version.",
        }
        settings = {name: _plain_setting(name) for name in SETTINGS[BrokerProperties]}
        settings |= {
            name: {
                "type": ["integer", "string"] if row.is_number else ["string", "array"],
                "description": f"Kafka's {name}: {row.effect}.",
            }
            for name, row in BROKER_KEYS.items()
        }
        below = {**self._settings(BrokerProperties), "description": "More of these settings."}
        defects = {**self.of(BrokerDefects), "description": "Defects by name, beside those of the version."}
        releases = {
            "type": "object",
            "additionalProperties": self.of(BrokerRelease),
            "description": "Releases of single brokers, by number.",
        }
        known = {"version": version, "defects": defects, "brokers": releases, "properties": below, **settings}
        schema = {"type": "object", "properties": known, "additionalProperties": False}
        return {"anyOf": [{**schema, "description": sentence(BrokerSettings)}, {"type": "null"}]}

    def _settings(self, wanted: Any) -> Schema:
        """Return the schema of a broker's, topic's or producer's settings; only producers may have unknown ones."""
        name = wanted.__name__
        if name not in self.definitions:
            known = {one: _plain_setting(one) for one in SETTINGS[wanted]}
            if wanted is GroupProperties:
                known = {one: {**row, "type": [*row["type"], "null"]} for one, row in known.items()}
            others: Schema | bool = {"type": list(_ANY_SETTING)} if wanted is ProducerProperties else False
            mapping = {"type": "object", "properties": known, "additionalProperties": others}
            self.definitions[name] = {"anyOf": [{"type": "string"}, mapping]}
        return {"$ref": f"#/$defs/{name}"}

    def _properties(self) -> Schema:
        """Return the schema of a client's settings: keys with an effect are described, every other one is allowed."""
        if "Properties" not in self.definitions:
            known = {name: _setting(row) for name, row in CONSUMER_KEYS.items() if row.effect}
            value = {"type": ["string", "number", "boolean", "array", "null"]}
            mapping = {"type": "object", "properties": known, "additionalProperties": value}
            self.definitions["Properties"] = {"anyOf": [{"type": "string"}, mapping]}
        return {"$ref": "#/$defs/Properties"}


def _names() -> dict[str, Any]:
    from groupsim.scenarios.language import model

    return vars(model)


_ANY_SETTING = ("string", "number", "boolean", "array", "null")


def _plain_setting(name: str) -> Schema:
    return {"type": ["integer", "number", "string", "boolean", "array"], "description": f"Kafka's {name}."}


def _setting(row: ClientKey) -> Schema:
    default = "" if row.default is None else f" Default {row.default}."
    schema: Schema = {
        "type": [*_KEY_TYPES[row.type], "null"],  # null takes a setting back
        "description": f"Kafka's {row.name}, {row.type.value}.{default}",
    }
    return {**schema, "enum": [*row.choices, None]} if row.choices else schema


_KEY_TYPES: Mapping[KeyType, tuple[str, ...]] = {
    KeyType.MS: ("integer", "string"),
    KeyType.INT: ("integer", "string"),
    KeyType.NUMBER: ("number", "string"),
    KeyType.BOOL: ("boolean", "string"),
    KeyType.STRING: ("string", "integer"),
    KeyType.LIST: ("string", "array"),
}
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": ["string", "number"]},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
}
