"""The documentation of settings in DescribeConfigs: a sentence for each, in this project's words.

Kafka's texts are longer and contain HTML. Settings without effect here share one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.cluster.config.setting_names import BROKER_TEXTS

WITHOUT_EFFECT: Final = "A setting of Apache Kafka that has no effect in this broker."

_TOPIC_ROWS = """
cleanup.policy: Whether old records are deleted, compacted by key, or both.
delete.retention.ms: How long a compacted log keeps the tombstone of a deleted key.
file.delete.delay.ms: How long the folder of a deleted log stays on disk.
flush.messages: After how many records a log is forced to disk.
flush.ms: After how long a log is forced to disk.
index.interval.bytes: After how many bytes of records an index gets an entry.
max.compaction.lag.ms: The longest time that a record stays out of compaction.
max.message.bytes: The largest batch of records that may be appended.
message.timestamp.after.max.ms: How far a record's timestamp may lie after the broker's clock.
message.timestamp.before.max.ms: How far a record's timestamp may lie before the broker's clock.
message.timestamp.type: Whether a record has the time of its creation or of its append.
min.cleanable.dirty.ratio: The share of a log that must be new before compaction begins.
min.compaction.lag.ms: The least time that a record stays out of compaction.
min.insync.replicas: How many replicas must be in sync for an append with acks=all.
retention.bytes: The size of a partition above which its oldest segments are deleted; -1 for no limit.
retention.ms: The age above which a segment is deleted; -1 for no limit.
segment.bytes: The size of a segment's file.
segment.index.bytes: The size of a segment's index file.
segment.ms: The age at which a segment is closed though it is not full.
unclean.leader.election.enable: Whether a replica that is not in sync may lead when no other can.
"""

_ADDRESS_ROWS = """
advertised.listeners: The address that clients connect to.
listeners: The address that the broker listens on.
"""

_GROUPS: Final = {
    "consumer.": "A setting of groups of the consumer protocol (KIP-848); a classic group ignores it.",
    "share.": "A setting of share groups (KIP-932); a classic group ignores it.",
    "streams.": "A setting of streams groups (KIP-1071); a classic group ignores it.",
}


def _read(rows: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in rows.strip().splitlines())


_TEXTS: Final[Mapping[str, str]] = {**BROKER_TEXTS, **_read(_ADDRESS_ROWS), **_read(_TOPIC_ROWS)}


def documentation_of(name: str, defaults_for: str = "") -> str:
    """Return a setting's documentation; `defaults_for` is the topic's setting whose default this setting is."""
    if name in _TEXTS:
        return _TEXTS[name]
    if defaults_for in _TEXTS:
        return f"For topics that do not set {defaults_for}: {_TEXTS[defaults_for]}"
    return next((text for prefix, text in _GROUPS.items() if name.startswith(prefix)), WITHOUT_EFFECT)
