"""Build requests from the plain fields of a scenario file.

Fields are those of the message classes, in snake case. Lists become tuples, texts such as orders-0 partitions, mappings
parts of the message, and texts in place of bytes are encoded as UTF-8. Two stand-ins are resolved when the step runs:
`{member: c2}` in place of a text (c2's member id), and `current`, `previous` or `none` in place of a generation (the
group's). Everything else is checked when the file is loaded: the coordinator's core would not answer a field of the
wrong type with one of Kafka's errors, but raise an exception.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import NoneType
from typing import Any, Final, NewType, get_args, get_origin, get_type_hints

import attrs

from groupsim.protocol.messages import group as messages
from groupsim.protocol.messages.group import Api, Request, TopicPartition
from groupsim.scenarios.language.mistakes import Collector, Wrong
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.targets import partition_named
from groupsim.scenarios.language.values import VALUE_TYPES, ValueType, quote

REQUESTS: Final[dict[str, type[Any]]] = {
    api.title: getattr(messages, f"{api.title}Request") for api in Api if hasattr(messages, f"{api.title}Request")
}
FIELD_NAMES: Final = tuple(sorted({name for cls in REQUESTS.values() for name in attrs.fields_dict(cls)}))
RELATIVE: Final = ("current", "previous", "none")  # in place of a number: the group's generation, the one before, or -1

RawApi = NewType("RawApi", str)
"""An API whose requests a step can send."""
RawFields = NewType("RawFields", Mapping[str, Any])
"""The fields of a request that a step sends."""

_STAND_IN: Final = "member"
_LONG: Final = ("offset", "retention_time_ms")  # int64 in Kafka's messages; the other numbers are int32
_WORDS: Final = {str: "a text", bytes: "a text", int: "a whole number", bool: "true or false"}


def make_request(api: str, group: str, fields: Mapping[str, Any]) -> Request:
    """Build a request of that API from plain fields without stand-ins. Raises ValueError for a wrong field."""
    values = read_fields(api, fields)
    if "group_id" in _types(REQUESTS[api]):
        values.setdefault("group_id", group)
    elif api in ("DescribeGroups", "DeleteGroups"):
        values.setdefault("groups", (group,))
    request: Request = REQUESTS[api](**values)
    return request


def read_fields(api: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Read the fields as the message has them; stand-ins stay. Raises Several with the path to each mistake."""
    given = {"groups"} if api in ("DescribeGroups", "DeleteGroups") else set[str]()
    return _read(REQUESTS[api], api, fields, {"group_id", *given})


def members_in(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield the members that stand-ins name, each with the path to it."""
    if _is_stand_in(value):
        yield (*path, _STAND_IN), value[_STAND_IN]
    elif isinstance(value, Mapping | list):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from members_in(inner, (*path, key))


def _read(cls: type, title: str, data: Mapping[str, Any], given: Collection[str] = ()) -> dict[str, Any]:
    types, collector = _types(cls), Collector()
    values = {}
    for name, value in data.items():
        if name in types:
            values[name] = collector.attempt((name,), _one, name, types[name], value, title)
        else:
            remedy = suggest(str(name), types, "its fields")
            collector.add(Wrong(f"{title} has no field `{name}`", remedy, below=(name,), at_key=True))
    for name, field in attrs.fields_dict(cls).items():
        if field.default is attrs.NOTHING and name not in data and name not in given:
            collector.add(Wrong(f"{title} needs `{name}`", f"its fields: {', '.join(types)}"))
    collector.done()
    return values


def _one(name: str, wanted: Any, value: Any, title: str) -> Any:
    """Read one field of a message."""
    if name == "generation_id" and value in RELATIVE:
        return value
    found = _value(wanted, value)
    if wanted is int:
        _check_number(name, found, title)
    return found


def _check_number(name: str, found: int, title: str) -> None:
    if name == "version":
        newest: Any = attrs.fields_dict(REQUESTS[title])[name].default
        if not 0 <= found <= newest:
            raise Wrong(f"{title} has no version {found}", f"its versions are 0 to {newest}")
    bits = 63 if name in _LONG else 31
    if not -(2**bits) <= found < 2**bits:
        raise Wrong(f"{found} does not fit into its field of {(bits + 1) // 8} bytes", f"write at most {2**bits - 1}")


def _value(wanted: Any, value: Any) -> Any:
    """Read a value as that type."""
    choices = [choice for choice in get_args(wanted) if choice is not NoneType] if _optional(wanted) else [wanted]
    kind = choices[0]
    if value is None and kind is not wanted:
        return None
    if kind is str and _is_stand_in(value):
        return value
    if get_origin(kind) is tuple:
        return _several(get_args(kind)[0], value)
    if kind is TopicPartition:
        if not isinstance(value, str):
            raise Wrong(f"expected a partition, found {quote(value)}", "write topic-number, such as orders-0")
        return partition_named(value)
    if attrs.has(kind):
        return _part(kind, value)
    plain = _plain(kind, value)
    return plain.encode() if kind is bytes else plain


def _several(inner: Any, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise Wrong(f"expected a list, found {quote(value)}", "begin each item with `- `, or write [a, b]")
    collector = Collector()
    found = tuple(collector.attempt((index,), _value, inner, item) for index, item in enumerate(value))
    collector.done()
    return found


def _part(cls: type, value: Any) -> Any:
    """Read a part of a message from a mapping of its fields, or from the value of its first field alone."""
    first = next(iter(_types(cls)))
    data = value if isinstance(value, Mapping) and not _is_stand_in(value) else {first: value}
    return cls(**_read(cls, cls.__name__, data))


def _plain(kind: type, value: Any) -> Any:
    text = kind in (str, bytes)
    fits = isinstance(value, str) if text else isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if not fits:
        remedy = "write it in quotes" if text and isinstance(value, int) else ""
        raise Wrong(f"expected {_WORDS[kind]}, found {quote(value)}", remedy)
    return value


def _is_stand_in(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {_STAND_IN}


def _optional(wanted: Any) -> bool:
    return NoneType in get_args(wanted)


def _types(cls: type) -> dict[str, Any]:
    """Return the type of each field of a message."""
    hints = get_type_hints(cls)
    return {name: hints[name] for name in attrs.fields_dict(cls)}


def _read_api(found: object) -> str:
    if not isinstance(found, str) or found not in REQUESTS:
        raise ValueError(f"{quote(found)} is not a request that a step can send; {suggest(str(found), REQUESTS)}")
    return found


def _read_mapping(found: object) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"expected the request's fields, found {quote(found)}; write `{{member_id: {{member: c1}}}}`")
    return found


VALUE_TYPES.update(
    {
        RawApi: ValueType(_read_api, {"enum": sorted(REQUESTS)}),
        RawFields: ValueType(_read_mapping, {"type": "object"}),
    }
)
