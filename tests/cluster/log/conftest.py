"""The storages that the tests of logs run on, and shorthand for batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.files.store import FileStore
from groupsim.cluster.log.interfaces import SegmentStore
from groupsim.cluster.log.log import PartitionLog
from groupsim.cluster.log.memory import MemoryStore
from groupsim.protocol.batch.batch import HEADER_BYTES, TRANSACTIONAL, Batch, LogRecord
from groupsim.protocol.batch.sizes import record_size

Content = tuple[str, str | None]
STORES: dict[str, Callable[[Path], SegmentStore]] = {
    "memory": lambda folder: MemoryStore(),
    "files": lambda folder: FileStore(folder, sync=False),
}
"""How to open a new store of each kind, in a folder of its own."""


class NewStore:
    """Opens one empty store after another; a test that opens many closes them in between, for files are scarce."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._made = 0
        self._open: list[SegmentStore] = []

    def __call__(self) -> SegmentStore:
        self._made += 1
        self._open.append(STORES[self._kind](self._folder / f"log-{self._made}"))
        return self._open[-1]

    def close(self) -> None:
        """Close what was opened so far."""
        while self._open:
            self._open.pop().close()


@pytest.fixture(params=sorted(STORES))
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewStore]:
    """Opens stores of one kind, and closes them in the end."""
    stores = NewStore(request.param, tmp_path)
    yield stores
    stores.close()


class Kit:
    """Batches and logs in few words; timestamps are ms."""

    def counted(self, count: int = 1, *, size: int = 100, at: int = 0, **fields: Any) -> Batch:
        """A batch of records that are only counted."""
        return Batch(0, count, size, at, at, **fields)

    def keyed(self, *content: Content, at: int = 0, **fields: Any) -> Batch:
        """A batch of records with these keys and values; None is a tombstone."""
        records = tuple(
            LogRecord(index, key.encode(), None if value is None else value.encode())
            for index, (key, value) in enumerate(content)
        )
        return Batch(0, len(records), HEADER_BYTES + sum(map(record_size, records)), at, at, records=records, **fields)

    def sent(self, producer: int, sequence: int, count: int = 1, *, epoch: int = 0, **fields: Any) -> Batch:
        """A counted batch of an idempotent producer."""
        return self.counted(count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, **fields)

    def in_txn(self, producer: int, *content: Content, epoch: int = 0, at: int = 0) -> Batch:
        """A transactional batch without sequence numbers, as coordinators write."""
        fields = {"producer_id": producer, "producer_epoch": epoch, "attributes": TRANSACTIONAL}
        return self.keyed(*content, at=at, **fields)

    def log(self, store: SegmentStore, now_ms: int = 0, **settings: Any) -> PartitionLog:
        """Open a log; its events are collected in this kit's `events`."""
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        return PartitionLog(
            store,
            LogConfig(**settings),
            now_ms=now_ms,
            emit=lambda kind, reason, payload: self.events.append((kind.value, reason, payload)),
        )

    def offsets(self, batches: Iterable[Batch]) -> list[int]:
        """Base offsets."""
        return [batch.base_offset for batch in batches]

    def contents(self, log: PartitionLog) -> list[tuple[int, str, str | None]]:
        """Offset, key and value of every record, in order."""
        return [
            (
                batch.base_offset + record.offset_delta,
                (record.key or b"").decode(),
                None if record.value is None else record.value.decode(),
            )
            for batch in log.batches(log.start_offset, log.end_offset)
            if not batch.is_control
            for record in batch.records or ()
        ]


@pytest.fixture
def kit() -> Kit:
    """Shorthand for batches and logs."""
    return Kit()
