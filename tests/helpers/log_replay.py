"""A coordinator's log as bytes, compacted or not, and what a coordinator that reads it must know.

`everything(shard)` is all it knows after a load; `offsets_held` and `group_held` are the parts of a running one that a
log can hold. A simple group of which no offset is left is in no log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from groupsim.coordinator.base.records import Loaded, Producer, TransactionEnd
from groupsim.coordinator.base.serde import NEWEST, Form, decode, encode
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.partition.offset_view import OffsetView
from groupsim.coordinator.shard import Shard


@frozen
class Entry:
    """One record in a log: its bytes, its producer when it is in a transaction; or the end of one."""

    key: bytes = b""
    value: bytes | None = None
    producer: Producer | None = None
    end: TransactionEnd | None = None


def encoded(records: Iterable[Loaded], form: Form = NEWEST) -> list[Entry]:
    """The records as a log of bytes."""
    entries = []
    for record in records:
        if isinstance(record, TransactionEnd):
            entries.append(Entry(end=record))
        else:
            producer = getattr(record, "producer", None)
            entries.append(Entry(*encode(record, form), producer))  # type: ignore[arg-type]
    return entries


def decoded(entries: Iterable[Entry]) -> list[Loaded]:
    """What a coordinator reads."""
    return [entry.end or decode(entry.key, entry.value, entry.producer) for entry in entries]


def compacted(entries: Sequence[Entry], *, drop_tombstones: bool) -> list[Entry]:
    """The log after compaction: below the first open transaction the last value of each key, nothing that was aborted.

    A second, independent account of what `cluster.log.compaction` does.
    """
    stable, aborted = _decided(entries)
    last: dict[bytes, int] = {}
    for place, entry in enumerate(entries[:stable]):
        if entry.end is None and place not in aborted:
            last[entry.key] = place
    kept = [
        entry
        for place, entry in enumerate(entries[:stable])
        if entry.end is not None
        or (place == last.get(entry.key) and not (drop_tombstones and entry.value is None and place not in aborted))
    ]
    return kept + list(entries[stable:])


def _decided(entries: Sequence[Entry]) -> tuple[int, set[int]]:
    """Where the first open transaction begins, and which places belong to aborted ones."""
    begun: dict[int, list[int]] = {}
    aborted: set[int] = set()
    for place, entry in enumerate(entries):
        if entry.end is not None:
            places = begun.pop(entry.end.producer.producer_id, [])
            aborted |= set() if entry.end.committed else set(places)
        elif entry.producer is not None:
            begun.setdefault(entry.producer.producer_id, []).append(place)
    return min((places[0] for places in begun.values()), default=len(entries)), aborted


def offsets_held(view: OffsetView) -> dict[str, Any]:
    """Committed and pending offsets of every group that has some."""
    return {group: (dict(view.of(group)), list(view.pending(group))) for group in view.groups()}


def group_held(group: ClassicGroup) -> dict[str, Any]:
    """What a record says of a group. That of a Stable one was written in the state before, and has its time."""
    return {
        "state": group.state,
        "since": group.state_us if not group.members else None,
        "generation": group.generation,
        "protocol type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "subscribed": group.subscribed,
        "members": [
            (
                one.member_id,
                one.instance_id,
                one.client_id,
                one.client_host,
                one.rebalance_timeout_ms,
                one.session_timeout_ms,
                one.metadata(group.protocol) if group.protocol else b"",
                one.assignment,
            )
            for one in group.members.values()
        ],
    }


def everything(shard: Shard) -> dict[str, Any]:
    """All that a shard knows after a load: each group's whole snapshot, deadlines included, and all offsets.

    A simple group is left out when its offsets are gone: it is there as long as compaction has left one of its commits.
    """
    offsets = set(shard.partition.offsets.view.groups())
    ids = sorted(group.group_id for group in shard.groups if group.protocol_type or group.group_id in offsets)
    return {
        "groups": {group_id: shard.snapshot(group_id) for group_id in ids},
        "offsets": offsets_held(shard.partition.offsets.view),
        "committed": offsets_held(shard.partition.offsets.committed_view),
    }
