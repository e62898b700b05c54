"""Draws whole requests field by field, as no client writes them: for walks that look into every corner of a schema.

A body is plain JSON with references in the place of what differs between two plays: `"@a"` is the member id that
connection a was given last, `"$g.2"` another group's name, `"$t"` and `"$t#"` the topic and its id, `["@a", 1]` that
connection's generation and one more, `["pid", 1]` and `["epoch", -1]` what the transactional producer has, and so many
more. Where a field's name says what would make sense, that is drawn most often; otherwise what its type allows, its
extremes among it. Durations stay short or long, as those of any walk, so that no timer ends beside a move.
"""

from __future__ import annotations

import dataclasses
import random
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kio.index import load_request_schema

from tests.conformance.basics import subscription
from tests.conformance.bodies import KEYS, Body, hints_of

VERSIONS: Mapping[str, Sequence[int]] = {
    "JoinGroup": range(10),
    "SyncGroup": range(6),
    "Heartbeat": range(5),
    "LeaveGroup": range(6),
    "OffsetCommit": range(2, 11),
    "OffsetFetch": range(1, 11),
    "OffsetDelete": range(1),
    "TxnOffsetCommit": range(5),
    "DescribeGroups": range(7),
    "ListGroups": range(6),
    "DeleteGroups": range(3),
    "FindCoordinator": range(7),
}
"""What is drawn, and at which versions."""

_WEIGHTS = {"JoinGroup": 4, "SyncGroup": 3, "OffsetCommit": 3, "OffsetFetch": 3, "LeaveGroup": 2, "TxnOffsetCommit": 2}
_GROUPS = ("$g", "$g", "$g", "$g", "$g", "$g", "$g.2")
_REFUSING = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetDelete", "TxnOffsetCommit")
"""Who refuses a group without a name; to others it is one, and that of all walks at once."""
_SESSIONS = (60_000, 60_000, 60_000, 450, 850, 99, 60_001, 0, -1, 2**31 - 1)
_REBALANCES = (60_000, 60_000, 520, 1_120, 2**31 - 1)
_PROTOCOLS = ("range", "range", "range", "roundrobin", "sticky", "", "Range")
_METADATA = ("r", "rr", "", subscription("walk-topic"), "\0\0\0\0\0\1", "x" * 300)
_INSTANCES = (None, None, None, "i", "j", "k")
_TYPES = ("consumer", "consumer", "consumer", "connect", "", None)
_OFFSETS = (0, 1, 5, 2**40, 2**63 - 1, -1, -2, -(2**63))
_TEXTS = (None, "", "m", "é\n", "x" * 4_096)
_STATES = ("Stable", "empty", " PreparingRebalance", "CompletingRebalance", "Dead", "", "nonsense")
_KINDS = ("classic", "Consumer", "share", "streams", "", "unknown")
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

Draw = Callable[[random.Random, Sequence[str]], Any]


def _of(*values: Any) -> Draw:
    return lambda dice, known: dice.choice(values)


def _member(dice: random.Random, known: Sequence[str]) -> str:
    draw = dice.random()
    return "" if draw < 0.15 or not known else "stranger" if draw < 0.25 else f"@{dice.choice(known)}"


def _generation(dice: random.Random, known: Sequence[str]) -> Any:
    of = [f"@{dice.choice(known)}", 0] if known else -1
    return dice.choice((of, of, of, of, [of[0], 1], [of[0], -1], -1, -1, 0, 1, -2)) if isinstance(of, list) else of


_FIELDS: Mapping[str, Draw] = {
    "group_id": _of(*_GROUPS),
    **{f"{api}.group_id": _of(*_GROUPS, "") for api in _REFUSING},
    "groups_names": _of(*_GROUPS),
    "DescribeGroups.groups": _of(*_GROUPS),
    "coordinator_keys": _of(*_GROUPS, "$x"),
    "key": _of(*_GROUPS, "$x"),
    "key_type": _of(0, 0, 0, 1, 2, 3, -1, 127),
    "member_id": _member,
    "group_instance_id": _of(*_INSTANCES),
    "generation_id": _generation,
    "generation_id_or_member_epoch": _generation,
    "member_epoch": _generation,
    "session_timeout": _of(*_SESSIONS),
    "rebalance_timeout": _of(*_REBALANCES),
    "protocol_type": _of(*_TYPES),
    "protocol_name": _of(*_PROTOCOLS, None),
    "protocols.name": _of(*_PROTOCOLS),
    "metadata": _of(*_METADATA),
    "assignment": _of("", "all", "x" * 300),
    "reason": _of(None, "", "why", "x" * 300),
    "topics.name": _of("$t", "$t", "$t", "$none", ""),
    "topic_id": _of("$t#", "$t#", "$t#", "$none#", "00000000-0000-0000-0000-000000000000"),
    "partition_index": _of(0, 0, 1, 1, 2, -1, 2**31 - 1),
    "partition_indexes": _of(0, 0, 1, 1, 2, -1, 2**31 - 1),
    "committed_offset": _of(*_OFFSETS),
    "committed_leader_epoch": _of(-1, -1, 0, 3, -2, 2**31 - 1),
    "committed_metadata": _of(*_TEXTS),
    "retention_time": _of(-1, -1, -1, 0, 60_000, 10**14),
    "transactional_id": _of("$x", "$x", "$x", "$x", "$x", ""),
    "producer_id": _of(["pid", 0], ["pid", 0], ["pid", 0], ["pid", 0], ["pid", 1], -1),
    "producer_epoch": _of(["epoch", 0], ["epoch", 0], ["epoch", 0], ["epoch", 1], ["epoch", -1], -1),
    "states_filter": _of(*_STATES),
    "types_filter": _of(*_KINDS),
}
"""What is drawn for a field: by `api.field`, `list.field`, or `field`."""


def request(dice: random.Random, known: Sequence[str]) -> tuple[str, int, Body]:
    """An API, a version and a body; `known` are connections that have been given a member id."""
    api = dice.choices(list(VERSIONS), [_WEIGHTS.get(api, 1) for api in VERSIONS])[0]
    version = dice.choice(VERSIONS[api])
    return api, version, _Drawing(dice, known).body(load_request_schema(KEYS[api], version), api)


@dataclasses.dataclass
class _Drawing:
    dice: random.Random
    known: Sequence[str]

    def body(self, schema: Any, inside: str) -> Body:
        hints = hints_of(schema)
        fields = dataclasses.fields(schema)
        return {one.name: self._field(hints[one.name], one, inside) for one in fields}

    def _field(self, hint: Any, field: Any, inside: str) -> Any:
        optional = isinstance(hint, types.UnionType)
        if optional:
            hint = next(option for option in typing.get_args(hint) if option is not type(None))
        rule = next((_FIELDS[name] for name in (f"{inside}.{field.name}", field.name) if name in _FIELDS), None)
        if typing.get_origin(hint) is tuple:
            if optional and self.dice.random() < 0.2:
                return None
            inner = typing.get_args(hint)[0]
            count = self.dice.choice((0, 1, 1, 1, 2, 2, 3))
            return [self._one(inner, field, rule) for _ in range(count)]
        if rule is not None:
            drawn = rule(self.dice, self.known)
            return drawn if drawn is not None or optional else ""
        return self._one(hint, field, None)

    def _one(self, hint: Any, field: Any, rule: Draw | None) -> Any:
        if rule is not None:
            return rule(self.dice, self.known)
        if dataclasses.is_dataclass(hint):
            return self.body(hint, field.name)
        kind = field.metadata["kafka_type"]
        if kind == "bool":
            return self.dice.random() < 0.5
        bits = _BITS[kind]
        return self.dice.choice((0, 1, -1, 2, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))))
