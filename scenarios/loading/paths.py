"""Follow paths into a scenario: keys joined by dots, as in `groups.orders.properties.session.timeout.ms`.

A path leads to a value of the file, or to one that the model allows. Kafka's own names have dots too, and
so may groups and topics: at each step the longest matching key wins, and below `properties` and `broker` the rest is
one key. A number selects an item of a list. An invalid path is refused, with the nearest valid path as remedy.
"""

from __future__ import annotations

import collections.abc
import copy
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, get_args, get_origin

from attrs import has

from groupsim.members.keys import CONSUMER_KEYS
from groupsim.members.profiles import ClientProfile
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.clients import simulated
from groupsim.scenarios.language.data_values import SETTINGS, BrokerProperties
from groupsim.scenarios.language.keys import fields_of, short_key
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import BrokerRelease, BrokerSettings, Expectation, Scenario, Step
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import nearest, suggest
from groupsim.scenarios.language.properties import parse_properties
from groupsim.scenarios.language.raw_requests import FIELD_NAMES, RawFields
from groupsim.scenarios.language.registry import CHECKS, step_actions
from groupsim.scenarios.language.values import API_NAMES, VALUE_TYPES, ApiName, Properties
from groupsim.scenarios.loading.converters import Timing
from groupsim.scenarios.plans.members import DEFAULT_CLIENT

MOST_PROPOSED = 20_000  # candidates for the nearest path

_LEAF = None


@frozen
class _Spot:
    """A position on the path: its data, its type in the model, and the client whose settings lie below."""

    data: Any
    wanted: Any
    client: str = DEFAULT_CLIENT

    @property
    def profile(self) -> ClientProfile:
        """Return the client's profile, or the default client's if the client is unknown."""
        try:
            return simulated(self.client)
        except ValueError:
            return simulated(DEFAULT_CLIENT)


def put(data: dict[str, Any], path: str, value: Any) -> Path_:
    """Put a value at a path of a scenario's data, in place; return the path as single keys.

    A short form on the way (`orders: 12`) becomes a mapping first, and so do pasted properties. Raises `Wrong`
    with the nearest valid path as remedy if this one is invalid.
    """
    try:
        return _put(data, path, value)
    except _InvalidStep as problem:
        remedy = _proposal(data, path) or problem.remedy
        raise Wrong(f"`{path}` is not a valid path: {problem.message}", remedy) from None


class _InvalidStep(Wrong):
    """A step of a path that does not exist; a whole path may be proposed instead."""


def _put(data: dict[str, Any], path: str, value: Any) -> Path_:
    spot, left = _Spot(data, Scenario), path.split(".")
    done: Path_ = ()
    while True:
        key, left, wanted = _step(spot, left, done)
        done = (*done, key)
        if not left:
            spot.data[key] = value
            return done
        there = spot.data.get(key) if isinstance(spot.data, dict) else spot.data[key]
        spot.data[key] = _spelt_out(there, wanted)
        spot = _spot_below(spot, key, wanted)


def _step(spot: _Spot, parts: list[str], done: Path_) -> tuple[Any, list[str], Any]:
    """Return the next key, the rest of the path, and the type of the value there."""
    if isinstance(spot.data, list):
        return _item(spot, parts, done)
    known = _children(spot)
    if spot.wanted in (Properties, BrokerSettings, *SETTINGS):
        if spot.wanted is BrokerSettings and parts[0] in ("properties", "brokers"):
            return parts[0], parts[1:], known[parts[0]]
        name = ".".join(parts)
        if name in known:
            return name, [], _LEAF
        raise _unknown_setting(spot, name, known)
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        if key in known:
            return key, parts[length:], known[key]
    if spot.wanted is Any or (get_origin(spot.wanted) is collections.abc.Mapping and get_args(spot.wanted)[1] is Any):
        return parts[0], parts[1:], Any
    raise _no_key(parts[0], known, done)


def _item(spot: _Spot, parts: list[str], done: Path_) -> tuple[int, list[str], Any]:
    if not parts[0].isdecimal() or int(parts[0]) >= len(spot.data):
        where = f" in `{_dotted(done)}`"
        raise Wrong(f"{parts[0]!r} is not an item of the {len(spot.data)}{where}", "write a number; items count from 0")
    return int(parts[0]), parts[1:], _inside(spot.wanted)


def _no_key(part: str, known: Mapping[str, Any], done: Path_) -> _InvalidStep:
    if not known:
        return _InvalidStep(f"`{_dotted(done)}` has no keys", "end the path there")
    where = f"below `{_dotted(done)}`" if done else "in a scenario"
    return _InvalidStep(f"there is no `{part}` {where}", suggest(part, known, f"known {where}"))


def _unknown_setting(spot: _Spot, name: str, known: Mapping[str, Any]) -> _InvalidStep:
    if spot.wanted in SETTINGS and spot.wanted is not BrokerProperties:
        what = spot.wanted.__name__.removesuffix("Properties").lower()
        return _InvalidStep(f"unknown setting `{name}` of a {what}", suggest(name, known, "known"))
    if spot.wanted in (BrokerSettings, BrokerProperties):
        return _InvalidStep(f"unknown setting `{name}` of a broker", suggest(name, known, "known"))
    message = f"unknown setting `{name}` of Kafka's consumer and of {spot.profile.name}"
    return _InvalidStep(message, suggest(name, known, "known"))


def _dotted(path: Path_) -> str:
    return ".".join(map(str, path))


# --- keys -----------------------------------------------------------------------------------------------------------


def _children(spot: _Spot) -> Mapping[str, Any]:
    """Return the keys that exist, or may exist, below a position, with their types."""
    wanted, data = spot.wanted, spot.data if isinstance(spot.data, dict) else {}
    if wanted is Any:
        return dict.fromkeys(data, Any)
    if wanted is RawFields:
        return dict.fromkeys(FIELD_NAMES, Any)
    if wanted is Properties:
        return dict.fromkeys([*data, *CONSUMER_KEYS, *spot.profile.setting_names], _LEAF)
    if wanted in SETTINGS:
        return dict.fromkeys([*data, *SETTINGS[wanted]], _LEAF)
    if wanted in VALUE_TYPES or wanted is _LEAF:
        return {}
    if get_origin(wanted) is collections.abc.Mapping:
        outer, inner = get_args(wanted)
        return dict.fromkeys(API_NAMES if outer is ApiName else data, _bare(inner))
    special = _SHAPES.get(wanted)
    if special is not None:
        return special(data)
    return _fields(wanted) if isinstance(wanted, type) and has(wanted) else {}


def _fields(cls: type) -> dict[str, Any]:
    return {name: _bare(field.type) for name, field in fields_of(cls).items()}


def _of_step(data: Mapping[str, Any]) -> dict[str, Any]:
    action = step_actions().get(str(data.get("do")))
    return {**_fields(Timing), "do": _LEAF, **(_fields(action) if action else {})}


def _of_expectation(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: CHECKS.get(name, _LEAF) for name in data}, "because": _LEAF}


def _of_broker(data: Mapping[str, Any]) -> dict[str, Any]:
    known = dict.fromkeys(["version", "defects", *SETTINGS[BrokerProperties], *data], _LEAF)
    return {**known, "properties": BrokerProperties, "brokers": Mapping[str, BrokerRelease]}


_SHAPES = {Step: _of_step, Expectation: _of_expectation, BrokerSettings: _of_broker}


def _bare(wanted: Any) -> Any:
    """Return `X` for `X | None` and for `X | Literal[…]`."""
    if get_origin(wanted) is None or get_origin(wanted) in (tuple, collections.abc.Mapping, Literal):
        return wanted
    rest = [one for one in get_args(wanted) if one is not type(None) and get_origin(one) is not Literal]
    return rest[0] if rest else _LEAF


def _inside(wanted: Any) -> Any:
    """Return the type of a list's items."""
    return _bare(get_args(wanted)[0]) if get_origin(wanted) is tuple else (Any if wanted is Any else _LEAF)


def _spelt_out(data: Any, wanted: Any) -> Any:
    """Return the value as a mapping or list, into which more can be put."""
    if isinstance(data, dict | list):
        return data
    if wanted in (Properties, *SETTINGS) and isinstance(data, str):
        return parse_properties(data)
    if wanted is Expectation and isinstance(data, str):
        return {data: None}
    short = short_key(wanted) if isinstance(wanted, type) and has(wanted) and wanted not in _SHAPES else None
    if short is not None and data is not None:
        return {short: data}
    return [] if get_origin(wanted) is tuple else {}


def _spot_below(spot: _Spot, key: Any, wanted: Any) -> _Spot:
    data = spot.data[key]
    client = data.get("client") if isinstance(data, dict) else None
    return _Spot(data, wanted, client if isinstance(client, str) else spot.client)


# --- the nearest path -----------------------------------------------------------------------------------------------


def _proposal(data: dict[str, Any], path: str) -> str | None:
    """Propose a path: one that ends in the written keys, or contains them in order, or the most similar one."""
    known = list(islice(_paths(_Spot(copy.deepcopy(data), Scenario), ()), MOST_PROPOSED))
    ending = (_dotted(one) for one in known if any(_dotted(one[first:]) == path for first in range(1, len(one))))
    passing = (_dotted(one) for one in known if _passes(path, _dotted(one)))
    found = next(ending, None) or next(passing, None) or nearest(path, map(_dotted, known))
    return f"did you mean `{found}`?" if found is not None else None


def _passes(path: str, known: str) -> bool:
    """Return whether a known path ends in the last key written and contains the others, in this order."""
    parts, on_the_way = path.split("."), iter(known.split("."))
    return known.endswith(f".{parts[-1]}") and all(part in on_the_way for part in parts)


def _paths(spot: _Spot, above: Path_) -> Iterator[Path_]:
    """Yield every path that exists, or may exist, below a position."""
    below: dict[Any, Any] = dict(_children(spot))
    if isinstance(spot.data, list):
        below = dict.fromkeys(range(len(spot.data)), _inside(spot.wanted))
    for key, wanted in below.items():
        yield (*above, key)
        if wanted in (Properties, *SETTINGS) or (wanted is not _LEAF and wanted not in VALUE_TYPES):
            there = spot.data[key] if isinstance(spot.data, list) else spot.data.get(key)
            spot.data[key] = _spelt_out(there, wanted)
            yield from _paths(_spot_below(spot, key, wanted), (*above, key))
