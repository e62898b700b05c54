"""The serialiser against kio's own reader and writer, on every message that is served."""

from __future__ import annotations

import dataclasses
import io
from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer

from groupsim.protocol.basics import Api
from groupsim.protocol.wire import Unreadable, served
from groupsim.protocol.wire.schema import NEWER, Field, Shape, request_shape, response_shape
from groupsim.protocol.wire.serial import read_varint, reader, write_varint, writer

MESSAGES = [
    (api, version, kind)
    for api in served()
    for version in range(served()[api].oldest, served()[api].newest + 1)
    if version not in NEWER.get(api, {})  # kio lacks those
    for kind in ("request", "response")
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "timedelta_i32": (-(2**31), 2**31 - 1),
    "timedelta_i64": (-1, 2**40),
    "datetime_i64": (0, 2**41),
}
ERRORS = st.sampled_from([int(code) for code in KioErrorCode])
IDS = st.sampled_from([None, "AAAAAAAAAAAAAAAAAAAAAQ", "_-8AAAAAAAAAAAAAAAAAAA"])


def values(field: Field) -> st.SearchStrategy[Any]:
    """Values of a field, as the serialiser has them."""
    one = element(field)
    if not field.array:
        return st.none() | one if field.nullable and field.kind not in ("uuid", "datetime_i64") else one
    listed = st.lists(one, max_size=3)
    return st.none() | listed if field.nullable else listed


def element(field: Field) -> st.SearchStrategy[Any]:
    """Values of a field that is no array and not null."""
    if field.parts:
        return messages(field.parts)
    match field.kind:
        case "string":
            return st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
        case "bytes" | "records":
            return st.binary(max_size=5)
        case "bool":
            return st.booleans()
        case "error_code":
            return ERRORS
        case "uuid":
            return IDS
    return st.integers(*NUMBERS[field.kind])


def messages(shape: Shape) -> st.SearchStrategy[Any]:
    """Whole messages of a shape."""
    return st.fixed_dictionaries({field.name: values(field) for field in shape.fields})


def as_kio(entity: Any, shape: Shape, fields: dict[str, Any]) -> Any:
    """The same message as an entity of kio's."""
    types = {field.name: field.type for field in dataclasses.fields(entity)}
    return entity(**{field.name: value_for_kio(types[field.name], field, fields[field.name]) for field in shape.fields})


def value_for_kio(kind: Any, field: Field, value: Any) -> Any:
    """One value as kio has it: arrays are tuples, times timedeltas, ids UUIDs."""
    if value is None:
        return None
    if field.array:
        return tuple(one_for_kio(kind, field, each) for each in value)
    return one_for_kio(kind, field, value)


def one_for_kio(kind: Any, field: Field, value: Any) -> Any:
    """One element as kio has it."""
    if field.parts:
        inner = next(
            part
            for part in [kind, *get_args(kind), *[a for b in get_args(kind) for a in get_args(b)]]
            if dataclasses.is_dataclass(part)
        )
        return as_kio(inner, field.parts, value)
    match field.kind:
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return EPOCH + timedelta(milliseconds=value)
        case "uuid":
            return None if value is None else UUID(bytes=urlsafe_b64decode(value + "=="))
        case "error_code":
            return KioErrorCode(value)
    return value


def as_lists(value: Any) -> Any:
    """The same, with the empty tuple that an absent tagged array is read as made an empty list."""
    if isinstance(value, dict):
        return {name: as_lists(part) for name, part in value.items()}
    return [as_lists(part) for part in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("api", "version", "kind"), MESSAGES, ids=lambda value: getattr(value, "title", value))
@settings(max_examples=3, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])
@given(data=st.data())
def test_bytes_are_those_of_kio(api: Any, version: int, kind: str, data: st.DataObject) -> None:
    """What is written is what kio writes, and reading it gives back what was written and takes all of it."""
    shape = (request_shape if kind == "request" else response_shape)(api, version)
    entity = (load_request_schema if kind == "request" else load_response_schema)(api, version)
    fields = data.draw(messages(shape))
    mine = bytearray()
    writer(shape)(mine, fields)
    theirs = io.BytesIO()
    entity_writer(entity)(theirs, as_kio(entity, shape, fields))
    assert bytes(mine) == theirs.getvalue()
    found, end = reader(shape)(bytes(mine), 0)
    assert (as_lists(found), end) == (fields, len(mine))
    assert entity_reader(entity)(bytes(mine), 0)[1] == len(mine)


@given(st.integers(0, 2**35 - 1))
def test_numbers_of_seven_bits_a_byte_come_back(value: int) -> None:
    """A varint is read as it was written, whatever is around it."""
    out = bytearray(b"x")
    write_varint(out, value)
    assert read_varint(bytes(out) + b"x", 1) == (value, len(out))


METADATA = request_shape(Api.METADATA, 12)


def test_tagged_fields_that_nobody_knows_are_skipped() -> None:
    """A newer client may send more than the schema has (KIP-482)."""
    plain = b"\x01\x01\x00"  # no topics, creation allowed, no operations
    fields, end = reader(METADATA)(plain + b"\x00", 0)
    with_tags = plain + b"\x02\x05\x03abc\x63\x00"
    assert reader(METADATA)(with_tags, 0) == (fields, len(with_tags))
    assert end == 4


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xff\xff\xff\x07\x01\x00\x00", "MetadataRequest.topics at byte 0: claims 2147483646 elements"),
        (b"\xff\xff\xff\xff\xff\x01", "MetadataRequest.topics at byte 0: a number of more than five bytes"),
        (b"\x02" + bytes(16) + b"\x09ab", "MetadataRequestTopic.name at byte 17: claims 8 bytes, 2 are left"),
        (b"\x02" + bytes(16) + b"\x02\xff\x00\x01\x01\x00", "'utf-8' codec"),
        (b"\x01\x01", "MetadataRequest.include_topic_authorized_operations at byte 2: the message ends"),
        (b"\x01\x01\x00\x01\x05\x09", "tagged fields at byte 2: tag 5 claims 9 bytes of 0"),
    ],
)
def test_what_is_wrong_is_said_with_field_and_byte(data: bytes, says: str) -> None:
    """Bytes that are no message say where they stop being one."""
    with pytest.raises(Unreadable) as caught:
        reader(METADATA)(data, 0)
    assert says in str(caught.value)


def test_null_where_there_is_none_is_refused() -> None:
    """A null group id is no heartbeat, to read or to write."""
    shape = request_shape(Api.HEARTBEAT, 4)
    with pytest.raises(Unreadable, match="group_id at byte 0: null"):
        reader(shape)(b"\x00\x00\x00\x00\x00\x01\x00\x00", 0)
    with pytest.raises(ValueError, match="null"):
        writer(shape)(bytearray(), {"group_id": None, "generation_id": 1, "member_id": ""})


def test_a_required_field_that_is_missing_is_named() -> None:
    """A response that forgot a field is an error of ours, not bytes for a client."""
    with pytest.raises(KeyError, match=r"HeartbeatResponse\.error_code"):
        writer(response_shape(Api.HEARTBEAT, 0))(bytearray(), {"throttle_time": 0})
