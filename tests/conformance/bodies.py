"""Requests and responses as plain values: a dict with the field names of Kafka's schemas, to bytes and back.

This is a raw client of its own, made of kio's schemas and nothing of `protocol/wire`, so that the codec under test is
not asked about itself. What a version does not have is left out of the request; a name no version has is an error.
Durations are integers of milliseconds, error codes are their names, bytes are text where they can be.
"""

from __future__ import annotations

import dataclasses
import datetime
import io
import types
import typing
import uuid
from functools import lru_cache
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

Body = dict[str, Any]

KEYS = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "DeleteRecords": 21,
    "InitProducerId": 22,
    "OffsetForLeaderEpoch": 23,
    "AddPartitionsToTxn": 24,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "WriteTxnMarkers": 27,
    "TxnOffsetCommit": 28,
    "DescribeAcls": 29,
    "CreateAcls": 30,
    "DeleteAcls": 31,
    "DescribeConfigs": 32,
    "AlterConfigs": 33,
    "DescribeLogDirs": 35,
    "CreatePartitions": 37,
    "DeleteGroups": 42,
    "ElectLeaders": 43,
    "IncrementalAlterConfigs": 44,
    "AlterPartitionReassignments": 45,
    "ListPartitionReassignments": 46,
    "OffsetDelete": 47,
    "DescribeQuorum": 55,
    "UpdateFeatures": 57,
    "DescribeCluster": 60,
    "DescribeProducers": 61,
    "DescribeTransactions": 65,
    "ListTransactions": 66,
    "ConsumerGroupHeartbeat": 68,
    "ConsumerGroupDescribe": 69,
    "ListConfigResources": 74,
    "DescribeTopicPartitions": 75,
    "ShareGroupHeartbeat": 76,
}
_NAMES = {name: "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)[1:] for name in KEYS}


def newest(api: str) -> int:
    """The newest version that the schemas have."""
    return int(max(schema_name_map[_NAMES[api]]))


def encode(api: str, version: int, correlation: int, client_id: str | None, body: Body) -> bytes:
    """A request's frame, without the length before it. Raises KeyError for a field no version of the API has."""
    for name in body:
        if name not in _fields_of(api):
            raise KeyError(f"{api} has no field {name!r}; it has {', '.join(sorted(_fields_of(api)))}")
    schema = load_request_schema(KEYS[api], version)
    out = io.BytesIO()
    header = schema.__header_schema__
    fields: Body = {
        "request_api_key": KEYS[api],
        "request_api_version": version,
        "correlation_id": correlation,
        "client_id": client_id,
    }
    entity_writer(header)(out, _entity(header, fields))
    entity_writer(schema)(out, _entity(schema, body))
    return out.getvalue()


def decode(api: str, version: int, frame: bytes) -> tuple[int, Body]:
    """Correlation id and body of a response."""
    schema = load_response_schema(KEYS[api], version)
    header, size = entity_reader(schema.__header_schema__)(frame, 0)
    entity, more = entity_reader(schema)(frame, size)
    if size + more != len(frame):
        raise ValueError(f"{api} {version}: {len(frame) - size - more} bytes left over")
    return header.correlation_id, _plain(entity)


@lru_cache
def _fields_of(api: str) -> frozenset[str]:
    """Every field that some version of the request has."""
    names: set[str] = set()
    for version, kinds in schema_name_map[_NAMES[api]].items():
        if EntityType.request in kinds:
            names.update(field.name for field in dataclasses.fields(load_request_schema(KEYS[api], version)))
    return frozenset(names)


@lru_cache
def hints_of(schema: type) -> dict[str, Any]:
    """The type of each field of a schema."""
    return typing.get_type_hints(schema)


def _entity(schema: Any, body: Body) -> Any:
    hints = hints_of(schema)
    values = {}
    for field in dataclasses.fields(schema):
        if field.name in body:
            values[field.name] = _value(hints[field.name], body[field.name], field.metadata.get("kafka_type", ""))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise KeyError(f"{schema.__name__} {schema.__version__} needs {field.name!r}")
    return schema(**values)


def _value(hint: Any, value: Any, kind: str) -> Any:
    if value is None:
        return None
    options = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        hint = next(option for option in options if option is not type(None))
        options = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return tuple(_value(options[0], item, kind) for item in value)
    if dataclasses.is_dataclass(hint):
        return _entity(hint, value)
    if kind.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if kind == "uuid":
        return uuid.UUID(value)
    if kind == "bytes" and isinstance(value, str):
        return value.encode()
    return value


def _plain(value: Any) -> Any:
    """What was read, as values that JSON has."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, ErrorCode):
        return value.name.upper()
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(milliseconds=1))
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1_000)
    if isinstance(value, bytes):
        return as_text(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    return int(value)


def as_bytes(told: str | None) -> bytes:
    """The bytes that a response's text stands for."""
    text = told or ""
    return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()


def as_text(data: bytes) -> str:
    """Bytes as text where they are UTF-8, else as hexadecimal digits."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
