"""Structure plain data as the model, and collect every mistake with the path to it.

cattrs chooses the hook: one per value type (from `VALUE_TYPES`), one for optional values, lists and mappings, one for
all classes of the model. The shapes that are not plain classes (a step with its `do:`, an expectation with its single
key, the brokers' mixed settings) register their own (`scenarios/loading/converters.py`).
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Literal, get_args, get_origin

import attrs
from cattrs import Converter

from groupsim.members.behaviour import CommitPolicy, Stuck
from groupsim.members.profiles.profile import OnError
from groupsim.scenarios.language.keys import fields_of, required, short_key
from groupsim.scenarios.language.mistakes import Collector, Wrong
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.synonyms import suggest_word
from groupsim.scenarios.language.values import VALUE_TYPES, Brokers, in_quotes, quote

Hook = Callable[[Any, Any], Any]


def structure(data: Any, cls: Any) -> Any:
    """Structure data as a class or value type of the model. Raises `Wrong`, `Several` or another ValueError."""
    return converter().structure(data, cls)


@cache
def converter() -> Converter:
    """Return the one converter. cattrs asks the hooks that were registered last first."""
    made = Converter()
    made.register_structure_hook_func(attrs.has, section)
    made.register_structure_hook_func(_is_mapping, _mapping)
    made.register_structure_hook_func(_is_tuple, _tuple)
    made.register_structure_hook_func(_is_union, _union)
    made.register_structure_hook_func(lambda cls: _origin(cls) is Literal, _literal)
    for plain, words in ((str, "text"), (int, "a whole number"), (bool, "true or false")):
        made.register_structure_hook(plain, _strict(plain, words))  # cattrs's own hooks convert silently
    made.register_structure_hook_func(_same(Any), _anything)
    for enum in (CommitPolicy, OnError, Stuck):
        made.register_structure_hook(enum, _enum)
    for value_type, row in VALUE_TYPES.items():
        if value_type is Brokers:  # a class: cattrs would choose the hook of its base `int`
            made.register_structure_hook(Brokers, _reader(row.read))
        else:
            made.register_structure_hook_func(_same(value_type), _reader(row.read))
    return made


def _same(wanted: Any) -> Callable[[Any], bool]:
    return lambda cls: bool(cls is wanted)


def _origin(cls: Any) -> Any:
    return get_origin(cls)


def _is_union(cls: Any) -> bool:
    return get_origin(cls) in (types.UnionType, typing.Union)


def _is_tuple(cls: Any) -> bool:
    return _origin(cls) is tuple


def _is_mapping(cls: Any) -> bool:
    return _origin(cls) is collections.abc.Mapping


def _reader(read: Callable[[object], Any]) -> Hook:
    return lambda data, _: read(data)


def _strict(plain: type, words: str) -> Hook:
    def hook(data: Any, _: Any) -> Any:
        if plain is str and isinstance(data, (int, float)) and not isinstance(data, bool):
            return str(getattr(data, "text", data))
        if not isinstance(data, plain) or (plain is int and isinstance(data, bool)):
            raise Wrong(f"expected {words}, found {quote(data)}", in_quotes(data) if plain is str else "")
        return data

    return hook


def _enum(data: Any, cls: type[Enum]) -> Any:
    names = [str(one.value) for one in cls]
    if data not in names:
        raise Wrong(f"{quote(data)} is not allowed here", suggest(str(data), names, "allowed"))
    return cls(data)


def _anything(data: Any, _: Any) -> Any:
    return data


def _literal(data: Any, cls: Any) -> Any:
    allowed = get_args(cls)
    if not any(data == one and type(data) is type(one) for one in allowed):
        raise Wrong(f"{quote(data)} is not allowed here", suggest(str(data), map(str, allowed), "allowed"))
    return data


def _union(data: Any, cls: Any) -> Any:
    """Structure `X | None` or `X | Literal[…]`: a value of the literal stays, any other is read as X."""
    choices = get_args(cls)
    if data is None and type(None) in choices:
        raise Wrong("the value is missing", "write a value, or remove the key")
    for choice in choices:
        if get_origin(choice) is Literal and data in get_args(choice):
            return data
    rest = [choice for choice in choices if choice is not type(None) and get_origin(choice) is not Literal]
    return structure(data, rest[0] if rest else choices[0])


def _tuple(data: Any, cls: Any) -> Any:
    if not isinstance(data, list):
        raise Wrong(f"expected a list, found {quote(data)}", "begin each item with `- `, or write [a, b]")
    inner = get_args(cls)[0]
    collector = Collector()
    result = tuple(collector.attempt((index,), structure, item, inner) for index, item in enumerate(data))
    collector.done()
    return result


def _mapping(data: Any, cls: Any) -> Any:
    if not isinstance(data, dict):
        raise Wrong(f"expected a mapping of names, found {quote(data)}", "write `name:` and, below it, its settings")
    outer, inner = get_args(cls)
    collector = Collector()
    result: dict[str, Any] = {}
    for name, value in data.items():
        if outer is not str:
            collector.attempt((name,), structure, name, outer)
        result[name] = collector.attempt((name,), structure, value, inner)
    collector.done()
    return result


def section(data: Any, cls: type) -> Any:
    """Structure a class of the model from a mapping, from the value of its short key alone, or from nothing."""
    fields = fields_of(cls)
    data = _spelt_out(data, cls)
    collector = Collector()
    found: dict[str, Any] = {}
    for name, value in data.items():
        if name not in fields:
            collector.add(
                Wrong(f"unknown key `{name}`", suggest_word(str(name), fields, "keys here"), below=(name,), at_key=True)
            )
            continue
        found[fields[name].alias or name] = collector.attempt((name,), structure, value, fields[name].type)
    for name in required(cls):
        if name not in data:
            collector.add(Wrong(f"the key `{name}` is missing", f"{name}: {fields[name].metadata['doc']}"))
    collector.done()
    return cls(**found)


def _spelt_out(data: Any, cls: type) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    if data is None and not required(cls):
        return {}
    short = short_key(cls)
    if short is not None and data is not None:
        return {short: data}
    keys = ", ".join(fields_of(cls)) or "none"
    raise Wrong(f"expected a mapping, found {quote(data)}", f"its keys: {keys}")
