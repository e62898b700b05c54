"""What the commands print with `--json`: the same facts as their tables, as plain data.

Every document carries `schema`, which goes up when a key changes its meaning. Times are microseconds (`_us`), as in
the trace; partitions are written `topic-number`. Here are the parts that several documents share; the document of a
command is made in the command's own module (`groupsim/cli/commands/run.py`).
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
#: Of documents with a file's problems (validate, lint, errors): what was `level` is `severity`, as in lint's findings.
SINCE_SEVERITY = 2
DERIVED: dict[type, tuple[str, ...]] = {
    GroupStory: ("moved",),
    Records: ("never",),
    Gap: ("length_us",),
    Rollout: ("took_us",),
}
#: Of stories and comparisons: standing still is unserved time, and `partition_stop_us` is `unserved_us`.
SINCE_UNSERVED = 2
_ESCAPED = {code: f"\\u{code:04x}" for code in range(127, 160)}


def plain(value: object) -> Any:
    """Any value of the rooms as JSON data."""
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


def story(told: Story) -> dict[str, Any]:
    """A story as a document."""
    document = {"schema": SINCE_UNSERVED, "headline": told.headline, **plain(told)}
    for group, source in zip(document["groups"], told.groups, strict=True):
        group["rebalances"] = len(source.rebalances)
    return document


def text(document: object) -> str:
    """Return the document as it is printed; the control characters that JSON may leave as they are are escaped, too."""
    return json.dumps(document, indent=2, ensure_ascii=False).translate(_ESCAPED)
