"""The documents of `groupsim assign`: JSON or JSON Lines, checked key by key before the first run.

A document describes one group as its leader knows it; tests/data/vectors/README.md shows the format. Every error names
the file, the line of the document, the path of the value in it, and the expected value.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from attrs import evolve

from groupsim.cli.exits import Trouble
from groupsim.protocol.embedded.assignment import MemberSubscription, TopicMetadata
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

MOST_PARTITIONS = 10_000_000
_INT32 = range(-(2**31), 2**31)
_SHAPE = (
    'a document is an object such as {"topics": {"t": {"partitions": 3}}, "members": [{"id": "c1", "topics": ["t"]}]}'
)

_ROUND_KEYS = ("topics", "members", "steps", "id", "assignor", "expect", "change", "topic_ids", "subscription_type")
_TYPES = {None: None, "homogeneous": True, "heterogeneous": False}
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_TOPIC_KEYS = ("partitions", "racks")
_MEMBER_KEYS = ("id", "topics", "instance_id", "rack", "owned", "generation", "field_generation")


class DocumentError(Trouble):
    """An invalid document: the place, the fact, and the expected value."""


@frozen
class Claimant:
    """One member of a document: `subscription` without user data, and the generation of its claims."""

    subscription: MemberSubscription
    claims_anything: bool
    generation: int | None


@frozen
class Round:
    """The input of one round. `topic_ids` and `homogeneous` are for assignors of the coordinator (`assign_server`)."""

    topics: dict[str, TopicMetadata]
    members: tuple[Claimant, ...]
    change: str | None = None
    topic_ids: Mapping[str, str] = {}
    homogeneous: bool | None = None


@frozen
class Document:
    """One group over one or more rounds; `place` is the file and the line of the document."""

    place: str
    id: str | None
    assignor: str | None
    rounds: tuple[Round, ...]


def read_documents(path: str) -> list[Document]:
    """Read all documents of a file, or of standard input for `-`. Raises DocumentError."""
    name = "standard input" if path == "-" else path
    documents = [parse_document(value, f"{name}:{line}") for line, value in _values(_text(path, name), name)]
    if not documents:
        raise DocumentError(f"{name}: no document", _SHAPE)
    return documents


def parse_document(value: object, place: str = "document") -> Document:
    """Check one decoded document. Raises DocumentError, whose message begins with `place`."""
    at = _At(place, "")
    fields = at.fields(value, _ROUND_KEYS, _SHAPE)
    rounds = [_round(at, fields)]
    for number, step in enumerate(at.optional_list(fields, "steps")):
        inside = at.inside(f"steps[{number}]")
        rounds.append(_round(inside, inside.fields(step, _ROUND_KEYS, "an object with topics and members")))
    name, assignor = (at.optional_text(fields, key) for key in ("id", "assignor"))
    return Document(place, name, assignor, tuple(rounds))


# --- text to values ----------------------------------------------------------------------------------------------


def _text(path: str, name: str) -> str:
    if path == "-" and sys.stdin is None:
        raise DocumentError(f"{name} is closed", "name a JSON or JSON Lines file")
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as problem:
        remedy = "name a JSON or JSON Lines file, or - for standard input"
        raise DocumentError(f"{name}: {problem.strerror or problem}", remedy) from problem
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DocumentError(f"{name}: byte {problem.start} is not UTF-8", "save the file as UTF-8") from problem


def _values(text: str, name: str) -> Iterator[tuple[int, object]]:
    """Yield the consecutive JSON values of a text with their lines; of a list, its elements."""
    decoder = json.JSONDecoder()
    at = _skip_blanks(text, 0)
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as problem:
            where = f"{name}:{problem.lineno}:{problem.colno}"
            raise DocumentError(f"{where}: not JSON: {problem.msg}", "write JSON, or JSON Lines") from None
        except (RecursionError, ValueError) as problem:
            raise DocumentError(f"{name}:{line}: unusable JSON: {problem}", _SHAPE) from None
        yield from ((line, element) for element in (value if isinstance(value, list) else [value]))
        at = _skip_blanks(text, end)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


# --- values to rounds ----------------------------------------------------------------------------------------------


def _round(at: _At, fields: Mapping[str, object]) -> Round:
    topics_at = at.inside("topics")
    topics = {
        name: _topic(topics_at.inside(name), name, topic)
        for name, topic in topics_at.fields(at.required(fields, "topics"), (), "an object of topics by name").items()
    }
    total = sum(topic.partitions for topic in topics.values())
    if total > MOST_PARTITIONS:
        raise topics_at.error(f"{total} partitions in all", f"at most {MOST_PARTITIONS} are permitted")
    members = tuple(
        _member(at.inside(f"members[{number}]"), member)
        for number, member in enumerate(at.items(at.required(fields, "members"), "members"))
    )
    _check_ids(at, members)
    return Round(topics, members, at.optional_text(fields, "change"), _topic_ids(at, fields), _homogeneous(at, fields))


def _topic_ids(at: _At, fields: Mapping[str, object]) -> dict[str, str]:
    inside = at.inside("topic_ids")
    given = inside.fields(fields.get("topic_ids", {}), (), "an object of topic ids by name")
    ids = {name: inside.inside(name).text(topic_id) for name, topic_id in given.items()}
    for name, topic_id in ids.items():
        if not _TOPIC_ID.fullmatch(topic_id):
            raise inside.inside(name).error(f"found {_show(topic_id)}", "22 characters of URL-safe base64")
    return ids


def _homogeneous(at: _At, fields: Mapping[str, object]) -> bool | None:
    stated = at.optional_text(fields, "subscription_type")
    if stated not in _TYPES:
        raise at.inside("subscription_type").error(f"found {_show(stated)}", "homogeneous or heterogeneous")
    return _TYPES[stated]


def _check_ids(at: _At, members: tuple[Claimant, ...]) -> None:
    seen: set[str] = set()
    for number, member in enumerate(members):
        member_id = member.subscription.member_id
        if member_id in seen:
            raise at.inside(f"members[{number}].id").error(f"a second member {member_id!r}", "ids are unique")
        seen.add(member_id)


def _topic(at: _At, name: str, value: object) -> TopicMetadata:
    fields = at.fields(value, _TOPIC_KEYS, 'an object such as {"partitions": 3}')
    partitions = at.inside("partitions").number(at.required(fields, "partitions"), range(MOST_PARTITIONS + 1))
    racks = tuple(
        at.inside(f"racks[{number}]").racks(replicas)
        for number, replicas in enumerate(at.optional_list(fields, "racks"))
    )
    if len(racks) > partitions:
        raise at.inside("racks").error(
            f"{len(racks)} entries", f"one list of racks for each of {partitions} partitions"
        )
    return TopicMetadata(name, partitions, racks)


def _member(at: _At, value: object) -> Claimant:
    fields = at.fields(value, _MEMBER_KEYS, 'an object such as {"id": "c1", "topics": ["t"]}')
    wanted = at.items(at.required(fields, "topics"), "topics")
    owned = [
        at.inside(f"owned[{number}]").partition(claim) for number, claim in enumerate(at.optional_list(fields, "owned"))
    ]
    generation = at.optional_number(fields, "generation")
    field = at.optional_number(fields, "field_generation") if "field_generation" in fields else generation
    subscription = MemberSubscription(
        member_id=at.inside("id").text(at.required(fields, "id")),
        topics=tuple(at.inside(f"topics[{number}]").text(topic) for number, topic in enumerate(wanted)),
        owned=tuple(owned),
        generation=field if field is None or field >= 0 else None,
        rack=at.optional_text(fields, "rack"),
        instance_id=at.optional_text(fields, "instance_id"),
    )
    return Claimant(subscription, "owned" in fields or generation is not None, generation)


@frozen
class _At:
    """A place in a document; its methods check the value there."""

    place: str
    path: str

    def inside(self, key: str) -> _At:
        return evolve(self, path=f"{self.path}.{key}" if self.path else key)

    def error(self, found: str, expected: str) -> DocumentError:
        return DocumentError(f"{self.place}: {self.path}{': ' if self.path else ''}{found}", expected)

    def fields(self, value: object, keys: tuple[str, ...], expected: str) -> dict[str, object]:
        """Check an object. A key similar to one of `keys` is an error; other unknown keys are ignored."""
        if not isinstance(value, dict):
            raise self.error(f"found {_show(value)}", expected)
        for key in value:
            near = get_close_matches(key, keys, n=1, cutoff=0.75) if keys and key not in keys else []
            if near and near[0] not in value:
                raise self.inside(key).error("no such key", f"did you mean {near[0]!r}?")
        return value

    def required(self, fields: Mapping[str, object], key: str) -> object:
        if key not in fields:
            raise self.error(f"the key {key!r} is missing", _SHAPE)
        return fields[key]

    def items(self, value: object, what: str) -> list[object]:
        if not isinstance(value, list):
            raise self.inside(what).error(f"found {_show(value)}", "a list")
        return value

    def optional_list(self, fields: Mapping[str, object], key: str) -> list[object]:
        value = fields.get(key)
        return [] if value is None else self.items(value, key)

    def text(self, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise self.error(f"found {_show(value)}", "a non-empty text")
        return value

    def optional_text(self, fields: Mapping[str, object], key: str) -> str | None:
        value = fields.get(key)
        if value is not None and not isinstance(value, str):
            raise self.inside(key).error(f"found {_show(value)}", "a text, or leave the key out")
        return value

    def number(self, value: object, allowed: range) -> int:
        if type(value) is not int or value not in allowed:
            raise self.error(f"found {_show(value)}", f"a whole number from {allowed[0]} to {allowed[-1]}")
        return value

    def optional_number(self, fields: Mapping[str, object], key: str) -> int | None:
        value = fields.get(key)
        return None if value is None else self.inside(key).number(value, _INT32)

    def partition(self, value: object) -> TopicPartition:
        if not isinstance(value, list) or len(value) != 2:
            raise self.error(f"found {_show(value)}", 'a partition such as ["t", 0]')
        return TopicPartition(self.inside("[0]").text(value[0]), self.inside("[1]").number(value[1], _INT32))

    def racks(self, value: object) -> tuple[str, ...]:
        """Check the racks of a partition's replicas; null is an unknown rack, of all replicas or of one."""
        if value is None:
            return ()
        if not isinstance(value, list) or not all(rack is None or isinstance(rack, str) for rack in value):
            raise self.error(f"found {_show(value)}", 'a list of racks such as ["a", "b"]')
        return tuple(rack for rack in value if rack is not None)


def _show(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:60] + "…"
