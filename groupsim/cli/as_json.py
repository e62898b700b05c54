"""The JSON documents of `--json`: the facts of the printed tables, as plain data.

Every document has `schema`, a number that rises when a key changes its meaning. Times are microseconds (`_us`), as in
the trace; partitions are written `topic-number`. This module has the parts that several documents share; each command's
module builds the document of the command (`groupsim/cli/commands/run.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.trace.sinks import COLUMNS
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Gap, GroupStory, PartitionSet, Records, Rollout, Story

SCHEMA = 1
#: Schema of documents with a file's problems (validate, lint, errors): `level` became `severity`, as in findings.
SINCE_SEVERITY = 2
DERIVED: dict[type, tuple[str, ...]] = {
    GroupStory: ("moved",),
    Records: ("never",),
    Gap: ("length_us",),
    Rollout: ("took_us",),
}
#: Schema of stories and comparisons: `partition_stop_us` became `unserved_us`.
SINCE_UNSERVED = 2
_ESCAPED = {code: f"\\u{code:04x}" for code in range(127, 160)}


def plain(value: object) -> Any:
    """Convert a value of any room to JSON data."""
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, PartitionSet):
        return [str(partition) for partition in value]
    if isinstance(value, TraceEvent):
        return {column: plain(getattr(value, name)) for column, name in COLUMNS.items()}
    if attrs.has(type(value)):
        return _fields(value)
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(str(plain(item)) for item in value)
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _fields(value: object) -> dict[str, Any]:
    names = [field.name for field in attrs.fields(type(value))]  # type: ignore[arg-type]
    names += DERIVED.get(type(value), ())
    return {name.rstrip("_"): plain(getattr(value, name)) for name in names}


def story(whole: Story) -> dict[str, Any]:
    """Build the document of a run's story."""
    document = {"schema": SINCE_UNSERVED, "headline": whole.headline, **plain(whole)}
    for group, source in zip(document["groups"], whole.groups, strict=True):
        group["rebalances"] = len(source.rebalances)
    return document


def text(document: object) -> str:
    """Return the document as printed text. Control characters from 127 on, which JSON permits, are escaped too."""
    return json.dumps(document, indent=2, ensure_ascii=False).translate(_ESCAPED)
