"""Requests made by hand, from the plain fields of a scenario file.

Fields are those of the message classes, in snake case; lists become tuples, texts such as orders-0 partitions, mappings
the parts of the message, texts in place of bytes UTF-8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from groupsim.protocol import messages
from groupsim.protocol.messages import Api, Request
from groupsim.scenarios.targets import partition_named

REQUESTS: dict[str, type[Any]] = {
    api.title: getattr(messages, f"{api.title}Request") for api in Api if hasattr(messages, f"{api.title}Request")
}


def make_request(api: str, group: str, fields: Mapping[str, Any]) -> Request:
    """A request of that API from plain fields. Raises ValueError naming the fields there are."""
    cls = REQUESTS[api]
    known = attrs.fields_dict(cls)
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise ValueError(f"{api} has no field `{unknown[0]}`; its fields: {', '.join(known)}")
    values = {name: _typed(cls, name, value) for name, value in fields.items()}
    if "group_id" in known:
        values.setdefault("group_id", group)
    elif api in ("DescribeGroups", "DeleteGroups"):
        values.setdefault("groups", (group,))
    try:
        request: Request = cls(**values)
    except TypeError:
        needed = [name for name, field in known.items() if field.default is attrs.NOTHING and name not in values]
        raise ValueError(f"{api} needs the fields {', '.join(needed)}") from None
    return request


_PARTS: dict[tuple[str, str], str] = {
    ("JoinGroupRequest", "protocols"): "JoinProtocol",
    ("SyncGroupRequest", "assignments"): "SyncAssignment",
    ("LeaveGroupRequest", "members"): "LeavingMember",
    ("OffsetCommitRequest", "offsets"): "OffsetToCommit",
}


def _typed(cls: type, name: str, value: Any) -> Any:
    """Lists as tuples, texts such as orders-0 as partitions, mappings as the parts of the message."""
    part = _PARTS.get((cls.__name__, name))
    if part is not None and isinstance(value, list):
        return tuple(_part(part, item) for item in value)
    if name in ("partitions", "topics") and isinstance(value, list):
        return tuple(partition_named(item) if name == "partitions" else item for item in value)
    return tuple(value) if isinstance(value, list) else value


def _part(part: str, item: Any) -> Any:
    cls = getattr(messages, part)
    if not isinstance(item, dict):
        return cls(item)
    known = attrs.fields_dict(cls)
    strange = [key for key in item if key not in known]
    missing = [key for key, field in known.items() if field.default is attrs.NOTHING and key not in item]
    if strange or missing:
        wrong = f"has no field `{strange[0]}`" if strange else f"needs `{missing[0]}`"
        raise ValueError(f"{part} {wrong}; its fields: {', '.join(known)}")
    values = {
        key: partition_named(value) if key == "partition" else value.encode() if key in _BYTES else value
        for key, value in item.items()
    }
    return cls(**values)


_BYTES = ("metadata", "assignment")
