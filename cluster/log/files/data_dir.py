"""A broker's data directory: the logs of all its partitions, and the files that they share.

    meta.properties                       cluster id and node id
    .kafka_cleanshutdown                  exists between a clean shutdown and the next start
    .lock                                 locked by the process that uses the directory
    recovery-point-offset-checkpoint      one line per partition: offset below which the log is flushed
    replication-offset-checkpoint         the same for the high watermark
    log-start-offset-checkpoint           the same for the log's start offset
    cleaner-offset-checkpoint             the same for the end of the clean part
    orders-0/ …                           one log

A process that opens the directory locks it and removes the marker file. Without a marker file, that is after an unclean
shutdown, every log is recovered from its recovery point.

Source: `LogManager`, `OffsetCheckpointFile`, `CleanShutdownFileHandler`, `MetaProperties`, `PartitionMetadataFile`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any, Final

from groupsim.cluster.log.files.disk import sync_folder, write_atomically
from groupsim.cluster.log.files.store import RECOVERY_POINT, FileStore
from groupsim.protocol.basics import TopicPartition

CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
META_PROPERTIES: Final = "meta.properties"
PARTITION_METADATA: Final = "partition.metadata"
SHARED: Final = (
    RECOVERY_POINT,
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
"""The checkpoints that have one file for all logs."""

Offsets = dict[TopicPartition, int]


class DataDirRefused(Exception):
    """The directory is another broker's, is in use, or has an unreadable file; the message names the file."""


class DataDir:
    """A data directory, locked by this process until `close`."""

    def __init__(self, folder: Path, *, cluster_id: str, node: int, sync: bool = True) -> None:
        """Open or create it. Raises DataDirRefused and OSError."""
        self.folder = folder
        self._sync = sync
        self._stores: dict[TopicPartition, FileStore] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock()
        try:
            self._check_meta_properties(cluster_id, node)
            self._offsets = {name: self._read(name) for name in SHARED}
            self.clean = (folder / CLEAN_SHUTDOWN).exists()
            (folder / CLEAN_SHUTDOWN).unlink(missing_ok=True)
            if self.clean and sync:
                sync_folder(folder)
        except BaseException:
            os.close(self._lock)
            raise

    def _take_lock(self) -> int:
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise DataDirRefused(
                f"{self.folder / '.lock'}: another process uses this directory; end it first"
            ) from None
        return descriptor

    def _check_meta_properties(self, cluster_id: str, node: int) -> None:
        path = self.folder / META_PROPERTIES
        expected = {"cluster.id": cluster_id, "node.id": str(node)}
        if not path.exists():
            # The id of the directory need only differ from those of the cluster's other directories.
            directory = urlsafe_b64encode(f"groupsim{node:08d}".encode()).decode().rstrip("=")
            write_properties(path, {"version": "1", **expected, "directory.id": directory}, sync=self._sync)
            return
        found = read_properties(path)
        for key, value in expected.items():
            if found.get(key) != value:
                raise DataDirRefused(
                    f"{path}: {key} is {found.get(key)!r} and should be {value!r}; take another directory, or empty it"
                )

    # --- partitions --------------------------------------------------------------------------------------------------

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return the partitions with a log in the directory, sorted."""
        names = (path.name.rpartition("-") for path in self.folder.iterdir() if path.is_dir())
        return tuple(sorted(TopicPartition(topic, int(number)) for topic, _, number in names if number.isdigit()))

    def open(self, partition: TopicPartition, **settings: Any) -> FileStore:
        """Open the log of a partition; `settings` are `FileStore`'s. Raises DamagedLog and OSError."""
        store = FileStore(
            self.folder / str(partition),
            clean=self.clean,
            sync=self._sync,
            checkpoints=_Shared(self, partition),
            **settings,
        )
        self._stores[partition] = store
        return store

    def delete(self, partition: TopicPartition) -> None:
        """Delete a log; its folder is renamed first, so that a crash cannot leave a part of a log."""
        store = self._stores.pop(partition, None)
        if store is not None:
            store.close()
        folder = self.folder / str(partition)
        gone = folder.with_name(f"{folder.name}-delete")
        if folder.exists():
            folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        for name in SHARED:
            if self._offsets[name].pop(partition, None) is not None:
                self._write(name)

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def offset(self, name: str, partition: TopicPartition) -> int | None:
        """Return a partition's offset in a shared checkpoint."""
        return self._offsets[name].get(partition)

    def set_offset(self, name: str, partition: TopicPartition, offset: int) -> None:
        """Set a partition's offset; the file is written only if the offset changes."""
        if self._offsets[name].get(partition) != offset:
            self._offsets[name][partition] = offset
            self._write(name)

    def _read(self, name: str) -> Offsets:
        path = self.folder / name
        return parse_offsets(path, path.read_text("utf-8")) if path.exists() else {}

    def _write(self, name: str) -> None:
        write_atomically(self.folder / name, offsets_text(self._offsets[name]).encode(), sync=self._sync)

    # --- close -------------------------------------------------------------------------------------------------------

    def close(self, *, broker_epoch: int = -1) -> None:
        """Close every log and write the clean-shutdown file with the broker epoch (KIP-966)."""
        for store in self._stores.values():
            if store.segments:
                store.close()
        text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        write_atomically(self.folder / CLEAN_SHUTDOWN, text.encode(), sync=self._sync)
        os.close(self._lock)


class _Shared:
    """The checkpoints of one log in the directory's shared files."""

    def __init__(self, data: DataDir, partition: TopicPartition) -> None:
        self._data = data
        self._partition = partition

    def read(self, name: str) -> str | None:
        """Return the text; None if there is none."""
        found = self._data.offset(name, self._partition) if name in SHARED else None
        return None if found is None else str(found)

    def write(self, name: str, text: str) -> bool:
        """Write it; return False for a checkpoint that belongs into the log's folder."""
        if name not in SHARED:
            return False
        self._data.set_offset(name, self._partition, int(text))
        return True


def offsets_text(offsets: Offsets) -> str:
    """Format a checkpoint as Kafka does: version, number of lines, then `topic partition offset` in each line."""
    lines = [f"{topic} {number} {offset}" for (topic, number), offset in sorted(offsets.items())]
    return "\n".join(["0", str(len(lines)), *lines, ""])


def parse_offsets(path: Path, text: str) -> Offsets:
    """Parse a checkpoint. Raises DataDirRefused that names file and line."""
    lines = text.splitlines()
    if not lines or lines[0] != "0":
        raise DataDirRefused(f"{path} line 1: expected version 0, found {lines[0] if lines else 'the end'!r}")
    offsets: Offsets = {}
    for number, line in enumerate(lines[2:], 3):
        parts = line.split(" ")
        if len(parts) != 3 or not parts[1].isdigit() or not parts[2].lstrip("-").isdigit():
            raise DataDirRefused(f"{path} line {number}: expected a topic, a partition and an offset, found {line!r}")
        offsets[TopicPartition(parts[0], int(parts[1]))] = int(parts[2])
    if lines[1:2] != [str(len(offsets))]:
        raise DataDirRefused(f"{path} line 2: expected {len(offsets)}, the number of lines that follow")
    return offsets


def write_properties(path: Path, values: dict[str, str], *, sync: bool = True) -> None:
    """Write a file of `key=value` lines, which Java's Properties can read."""
    write_atomically(path, "".join(f"{key}={value}\n" for key, value in values.items()).encode(), sync=sync)


def read_properties(path: Path) -> dict[str, str]:
    """Read the values; comments and blank lines are skipped. Raises DataDirRefused that names file and line."""
    values = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            key, equals, value = line.partition("=")
            if not equals:
                raise DataDirRefused(f"{path} line {number}: expected key=value, found {line!r}")
            values[key.strip()] = value.strip()
    return values


def write_topic_id(folder: Path, topic_id: str, *, sync: bool = True) -> None:
    """Write `partition.metadata` with the topic id as Kafka prints it (22 characters of base64)."""
    write_atomically(folder / PARTITION_METADATA, f"version: 0\ntopic_id: {topic_id}".encode(), sync=sync)


def read_topic_id(folder: Path) -> str | None:
    """Return the topic id in `partition.metadata`; None without the file. Raises DataDirRefused for other content."""
    path = folder / PARTITION_METADATA
    if not path.exists():
        return None
    values = dict(line.partition(": ")[::2] for line in path.read_text("utf-8").splitlines())
    if values.get("version") != "0" or not values.get("topic_id"):
        raise DataDirRefused(f"{path}: expected 'version: 0' and 'topic_id: …'; restore it, or delete the folder")
    return values["topic_id"]
