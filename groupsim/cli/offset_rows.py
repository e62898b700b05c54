"""The records of a partition of `__consumer_offsets` as rows, each with its state.

    live         the last record of its key
    superseded   a later record has the same key; `superseded_by` is its offset
    tombstone    the last record of its key, and it deletes
    pending      in an open transaction
    aborted      in an aborted transaction
    marker       the end of a transaction
    foreign      of another kind of group, or unknown: the coordinator skips it

A record of a committed transaction counts from its own offset, not from that of the marker. Source:
`OffsetMetadataManager.replay`; classic-protocol reference, 1.7 and 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import field

from groupsim.cluster.broker.offset_batches import placed_records
from groupsim.coordinator.base.consumer_records import (
    CurrentRecord,
    CurrentValue,
    EpochRecord,
    MemberRecord,
    MemberValue,
    RegexRecord,
    SubscribedTopic,
    Target,
    TargetEpochRecord,
    TargetRecord,
    TopicsRecord,
)
from groupsim.coordinator.base.consumer_serde import key_end, type_name
from groupsim.coordinator.base.records import ForeignRecord, GroupRecord, Loaded, OffsetRecord, TransactionEnd
from groupsim.protocol.batch.batch import DELETE_HORIZON, EPOCH_MS, Batch
from groupsim.protocol.values import define, frozen
from groupsim.scenarios.story.words import count

LIVE, SUPERSEDED, TOMBSTONE, PENDING, ABORTED, MARKER, FOREIGN = (
    "live",
    "superseded",
    "tombstone",
    "pending",
    "aborted",
    "marker",
    "foreign",
)
STATES = (LIVE, TOMBSTONE, PENDING, SUPERSEDED, ABORTED, MARKER, FOREIGN)
COUNTS = (LIVE, PENDING)
"""The states that `--live` shows."""


@define
class OffsetRow:
    """One record: partition, offset, the time of its batch in ms since 1970, content and state."""

    partition: int
    offset: int
    timestamp_ms: int
    record: Loaded = field(repr=False)
    state: str = LIVE
    superseded_by: int | None = None

    @property
    def type(self) -> str:
        """The type of the record: offset, group, marker, or Kafka's name of any other type."""
        record = self.record
        if isinstance(record, ForeignRecord):
            return record.name
        if isinstance(record, TransactionEnd):
            return "marker"
        if isinstance(record, OffsetRecord):
            return "offset"
        return "group" if isinstance(record, GroupRecord) else type_name(record)

    @property
    def group(self) -> str | None:
        """The group in the record's key; None for a marker."""
        return getattr(self.record, "group_id", None)

    @property
    def topic(self) -> str | None:
        """The topic of an offset record; None for other records."""
        return self.record.partition.topic if isinstance(self.record, OffsetRecord) else None

    @property
    def key(self) -> str:
        """The key as a short text."""
        record = self.record
        if isinstance(record, TransactionEnd):
            return f"producer {record.producer.producer_id}"
        if isinstance(record, OffsetRecord):
            return f"{record.group_id} {record.partition}"
        if isinstance(record, GroupRecord | ForeignRecord):
            return record.group_id or "?"
        return f"{record.group_id} {key_end(record)}".rstrip()

    @property
    def value(self) -> str:
        """The value as a short text."""
        record = self.record
        if isinstance(record, TransactionEnd):
            return "committed" if record.committed else "aborted"
        if isinstance(record, ForeignRecord):
            return "not decoded"
        if record.value is None:
            return "deleted"
        if isinstance(record, OffsetRecord):
            return _offset_words(record)
        return _group_words(record) if isinstance(record, GroupRecord) else _WORDS[type(record)](record.value)


def _offset_words(record: OffsetRecord) -> str:
    value = record.value
    assert value is not None
    words = [str(value.offset)]
    if value.leader_epoch >= 0:
        words.append(f"epoch {value.leader_epoch}")
    if value.metadata:
        words.append(repr(value.metadata))
    if value.expire_us is not None:
        words.append(f"expires {(value.expire_us - value.commit_us) // 1_000} ms later")
    if record.producer is not None:
        words.append(f"producer {record.producer.producer_id}")
    return ", ".join(words)


def _group_words(record: GroupRecord) -> str:
    value = record.value
    assert value is not None
    protocol = f", {value.protocol}" if value.protocol else ""
    return f"generation {value.generation}{protocol}, {count(len(value.members), 'member')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _topic_words(value: tuple[SubscribedTopic, ...]) -> str:
    return ", ".join(f"{topic.name} with {_count(topic.partitions, 'partition')}" for topic in value)


def _member_words(value: MemberValue) -> str:
    words = [", ".join(value.names) or "no topic by name"]
    if value.regex:
        words.append(f"regex {value.regex}")
    if value.classic is not None:
        words.append("classic protocol")
    return "; ".join(words)


def _target_words(value: Target) -> str:
    return _count(sum(map(len, value.values())), "partition")


def _current_words(value: CurrentValue) -> str:
    words = [f"epoch {value.member_epoch}", _count(sum(map(len, value.assigned.values())), "partition")]
    if value.pending:
        words.append(f"{sum(map(len, value.pending.values()))} to be revoked")
    return ", ".join(words)


_WORDS: Mapping[type[Any], Callable[[Any], str]] = {
    EpochRecord: lambda value: f"epoch {value.epoch}",
    TopicsRecord: _topic_words,
    MemberRecord: _member_words,
    TargetEpochRecord: lambda value: f"epoch {value.epoch}",
    TargetRecord: _target_words,
    CurrentRecord: _current_words,
    RegexRecord: lambda value: _count(len(value.topics), "topic"),
}
"""The values of the records of consumer groups as short texts."""


def rows_of(batches: Sequence[Batch], partition: int) -> list[OffsetRow]:
    """Return every record of a partition's batches, in offset order. Raises LoadFailed for undecodable bytes."""
    rows = [
        OffsetRow(partition, offset, _made_ms(batch), record)
        for batch in batches
        for offset, record in placed_records((batch,), partition)
    ]
    _judge_transactions(rows)
    latest: dict[object, OffsetRow] = {}
    for row in rows:
        if row.state == LIVE and not isinstance(row.record, TransactionEnd | ForeignRecord):
            _supersede(latest, row)
    for row in rows:
        if isinstance(row.record, TransactionEnd | ForeignRecord):
            row.state = MARKER if isinstance(row.record, TransactionEnd) else FOREIGN
    return rows


def _made_ms(batch: Batch) -> int:
    """Return the time of a batch in ms. Compaction stores the delete horizon in its base timestamp (KIP-534)."""
    return batch.max_timestamp_ms if batch.attributes & DELETE_HORIZON else batch.timestamp_ms


def _supersede(latest: dict[object, OffsetRow], row: OffsetRow) -> None:
    """Make the row the latest of its key, and mark the row before it as superseded."""
    record = row.record
    key = (record.group_id, record.partition) if isinstance(record, OffsetRecord) else (row.type, row.key)
    before = latest.get(key)
    if before is not None:
        before.state, before.superseded_by = SUPERSEDED, row.offset
    latest[key] = row
    if not isinstance(record, TransactionEnd | ForeignRecord) and record.value is None:
        row.state = TOMBSTONE


def _judge_transactions(rows: Iterable[OffsetRow]) -> None:
    """Set the state of transactional rows: pending or aborted. A tombstone outside removes pending rows of its key."""
    pending: dict[int, list[OffsetRow]] = {}
    for row in rows:
        record = row.record
        if isinstance(record, TransactionEnd):
            for one in pending.pop(record.producer.producer_id, []):
                if one.state == PENDING:
                    one.state = LIVE if record.committed else ABORTED
        elif isinstance(record, OffsetRecord) and record.producer is not None:
            row.state = PENDING
            pending.setdefault(record.producer.producer_id, []).append(row)
        elif isinstance(record, OffsetRecord) and record.value is None:
            _remove_pending(pending, row)


def _remove_pending(pending: dict[int, list[OffsetRow]], tombstone: OffsetRow) -> None:
    record = tombstone.record
    assert isinstance(record, OffsetRecord)
    for rows in pending.values():
        for row in rows:
            same = isinstance(row.record, OffsetRecord) and row.record.partition == record.partition
            if same and row.group == record.group_id and row.state == PENDING:
                row.state, row.superseded_by = SUPERSEDED, tombstone.offset


@frozen
class Summary:
    """The number of records in all and by state; `bytes` is the size of their batches."""

    partitions: int
    records: int
    states: dict[str, int]
    bytes: int


def summary_of(rows: Sequence[OffsetRow], size: int) -> Summary:
    """Count rows by state; `size` is that of their batches in bytes."""
    states = {state: sum(row.state == state for row in rows) for state in STATES}
    return Summary(len({row.partition for row in rows}), len(rows), {k: n for k, n in states.items() if n}, size)


def time_us(row: OffsetRow) -> int:
    """Return the row's time in virtual time, in microseconds."""
    return 1_000 * (row.timestamp_ms - EPOCH_MS)
