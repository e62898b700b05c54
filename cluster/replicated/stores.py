"""The stores of the brokers' logs, in memory or in files.

The folder of a deleted log is renamed (`….<uuid>-delete`) and removed after `log.segment.delete.delay.ms`; folders that
a stopped process left are removed by the next one.

In a stored cluster, a log's folder has its topic id (`partition.metadata`). A folder of another or a deleted topic,
which a killed process may leave, is not opened: at the start it is renamed to `….<id>-stray`, or deleted if it has no
records.

Source: `LogManager.loadLog`, `LogManager.asyncDelete`, `UnifiedLog.logStrayDirName`, `PartitionMetadataFile`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from groupsim.cluster.config.log import LogConfig, topic_config
from groupsim.cluster.log.interfaces import SegmentStore
from groupsim.cluster.network.endpoint import broker_name
from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.cluster import TopicState

OpenStore = Callable[[TopicPartition], SegmentStore]
FindTopic = Callable[[int, str], TopicState | None]


class Stores:
    """The stores of all brokers. `topic(node, name)` is a topic in a broker's image; `opened` has the file stores."""

    def __init__(
        self, loop: EventLoop, folder: Path | None, defaults: LogConfig, topic: FindTopic, *, kept: bool
    ) -> None:
        self._loop = loop
        self._folder = folder
        self._defaults = defaults
        self._topic = topic
        self._kept = kept
        self._discarded = 0
        self.opened: dict[Path, SegmentStore] = {}

    def begin(self, topics: Mapping[str, TopicState]) -> None:
        """Remove deleted logs of an earlier process, and rename stray ones, before any log is opened.

        Raises OSError, and DataDirRefused for an unreadable `partition.metadata`.
        """
        if self._folder is None or not self._kept:
            return
        from groupsim.cluster.log.files.deletion import deleted_logs  # imported only for logs in files

        for broker in sorted(self._folder.glob("broker-*")):
            for gone in deleted_logs(broker):
                shutil.rmtree(gone)
            for log in sorted(path for path in broker.iterdir() if path.is_dir()):
                name, _, number = log.name.rpartition("-")
                topic = topics.get(name)
                if number.isdecimal() and (topic is None or int(number) >= len(topic.partitions)):
                    _set_aside(log)

    def of(self, node: int) -> OpenStore:
        """Return the function that opens the logs of one broker; flushes do not wait for the disk."""
        if self._folder is None:
            from groupsim.cluster.log.memory import MemoryStore

            return lambda _: MemoryStore()
        own = self._folder / broker_name(node)
        return lambda partition: self._open(own / str(partition), self._topic(node, partition.topic))

    def _open(self, folder: Path, topic: TopicState | None) -> SegmentStore:
        from groupsim.cluster.log.files.data_dir import read_topic_id, write_topic_id
        from groupsim.cluster.log.files.store import FileStore

        if topic is not None and self._kept and folder.exists() and read_topic_id(folder) != topic.topic_id:
            _set_aside(folder)
        config = self._defaults if topic is None else topic_config(topic.config, self._defaults)
        store = FileStore(
            folder,
            sync=False,
            index_interval_bytes=config.index_interval_bytes,
            max_index_bytes=config.segment_index_bytes,
            discard=self._discard,
        )
        if topic is not None and self._kept:
            write_topic_id(folder, topic.topic_id, sync=False)
        self.opened[folder] = store
        return store

    def _discard(self, folder: Path, after_ms: int) -> None:
        """Rename the folder of a deleted log, and remove it after `after_ms`."""
        from groupsim.cluster.log.files.deletion import rename_for_deletion

        self._discarded += 1
        stream = self._loop.stream("deleted-log", folder.name, self._discarded)
        while True:
            unique = f"{stream.word():016x}{stream.word():016x}"
            if not any(folder.parent.glob(f"*.{unique}-*")):  # an earlier process may have drawn the same
                break
        gone = rename_for_deletion(folder, unique)
        self.opened.pop(folder, None)
        self._loop.call_at(self._loop.now_us + after_ms * 1_000, lambda _: shutil.rmtree(gone, ignore_errors=True))

    def close(self) -> None:
        """Close every file store."""
        for store in self.opened.values():
            store.close()
        self.opened.clear()


def disk_of(storage: Path | None, broker: str) -> tuple[str, int, int]:
    """Return the folder of a broker's logs, and total and free bytes of its disk; -1 for logs in memory."""
    if storage is None:
        return f"memory:/{broker}", -1, -1
    used = shutil.disk_usage(storage)
    return str((storage / broker).absolute()), used.total, used.free


def _set_aside(folder: Path) -> None:
    """Rename a stray folder with records, and delete one without (`UnifiedLog.logStrayDirName`)."""
    from groupsim.cluster.log.files.data_dir import read_topic_id
    from groupsim.cluster.log.files.deletion import STRAY

    if not any(path.stat().st_size for path in folder.glob("*.log")):
        shutil.rmtree(folder)
        return
    stray = folder.with_name(f"{folder.name}.{read_topic_id(folder) or 'unknown'}{STRAY}")
    shutil.rmtree(stray, ignore_errors=True)
    folder.rename(stray)
