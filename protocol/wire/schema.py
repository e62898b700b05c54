"""Kafka's message schemas from kio, as shapes that `serial` reads and writes by.

A shape is a list of fields in the order of the wire. A field has its kind, whether it is an array, whether it is
nullable, its tag if it is a tagged one (KIP-482) and its default. Shapes are made at their first use and stored:
importing all of Kafka's schemas would take seconds.

Kafka is ahead of kio: `NEWER` has the versions that kio lacks, each as a version that kio has with other fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from attrs import evolve
from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType, uuid_zero

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.releases import VersionRange
from groupsim.protocol.values import frozen

REQUIRED: Final = object()
"""The default of a field without one."""

_MS = timedelta(milliseconds=1)
_NOTHING = {"string": "", "bytes": b"", "bool": False, "uuid": None}  # without a default; else 0


@frozen(eq=False)
class Field:
    """One field: `kind` is Kafka's type (`int32`, `string`, …), or "entity" with the shape of its parts."""

    name: str
    kind: str
    array: bool
    nullable: bool
    tag: int | None
    default: Any
    parts: Shape | None = None


@frozen(eq=False)
class Shape:
    """One message, or a part of one, in one version; `flexible` ones end with tagged fields and have short lengths."""

    name: str
    flexible: bool
    fields: tuple[Field, ...]


@frozen
class Newer:
    """A version that kio lacks: like an older one, but for the fields that replace others at any depth, by name."""

    like: int
    replaced: Mapping[str, Field]


NEWER: Mapping[Api, Mapping[int, Newer]] = {
    # KIP-1319: topics by their ids.
    Api.TXN_OFFSET_COMMIT: {6: Newer(5, {"name": Field("topic_id", "uuid", False, False, None, REQUIRED)})},
}
"""API → version → the difference to a version of kio. A row is to be removed when kio has its version (0.6.5: none)."""


@cache
def request_shape(api: Api, version: int) -> Shape:
    """Return the request of an API in one version. Raises LookupError for a version outside `known_versions`."""
    newer = NEWER.get(api, {}).get(version)
    if newer is not None:
        return _revised(request_shape(api, newer.like), newer)
    return _shape(load_request_schema(api, version))


@cache
def response_shape(api: Api, version: int) -> Shape:
    """Return the response of an API in one version. Raises LookupError for a version outside `known_versions`."""
    newer = NEWER.get(api, {}).get(version)
    if newer is not None:
        return _revised(response_shape(api, newer.like), newer)
    return _shape(load_response_schema(api, version))


def _revised(shape: Shape, newer: Newer) -> Shape:
    """Return a shape with the replaced fields, in it and in its parts."""
    return evolve(shape, fields=tuple(newer.replaced.get(field.name) or _parts(field, newer) for field in shape.fields))


def _parts(field: Field, newer: Newer) -> Field:
    return field if field.parts is None else evolve(field, parts=_revised(field.parts, newer))


def known_versions(api: Api) -> VersionRange:
    """Return the versions of an API with a schema; Kafka itself dropped older ones in 4.0 (KIP-896)."""
    kinds = schema_name_map[api_key_map[api]]
    known = [version for version in kinds if EntityType.request in kinds[version]]
    return VersionRange(min(known), max([*known, *NEWER.get(api, ())]))


def _shape(entity: Any) -> Shape:
    return Shape(entity.__name__, entity.__flexible__, tuple(_field(field) for field in fields(entity)))


def _field(field: Any) -> Field:
    kind, nullable = _without_none(field.type)
    array = get_origin(kind) is tuple
    if array:
        kind = _without_none(get_args(kind)[0])[0]
    parts = _shape(kind) if is_dataclass(kind) else None
    name = "entity" if parts else field.metadata["kafka_type"]
    tag = field.metadata.get("tag")
    return Field(field.name, name, array, nullable, tag, _default(field, name, parts, tag), parts)


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Return a type without its None, and whether it had one."""
    if get_origin(kind) not in (UnionType, Union):
        return kind, False
    return next(part for part in get_args(kind) if part is not NoneType), True


def _default(field: Any, kind: str, parts: Shape | None, tag: int | None) -> Any:
    """Return the default in the form of `serial`: times as milliseconds, ids as text, parts as dicts."""
    if field.default is not MISSING:
        return _plain(field.default)
    if tag is None:
        return REQUIRED
    return {part.name: part.default for part in parts.fields} if parts else _NOTHING.get(kind, 0)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, timedelta):
        return value // _MS
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return None if value == uuid_zero else value
