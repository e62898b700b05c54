"""Where the logs of a cluster's brokers lie: in memory, or in the files of a folder.

A log that is deleted, because its topic is or its replica has moved, is renamed (`….<uuid>-delete`) and removed when
`log.segment.delete.delay.ms` have passed; what a process left behind by then is removed when the next one begins.

In a folder that is kept, a log's own folder has the id of its topic (`partition.metadata`). A folder of another topic,
or of one that is no more, which a process that was killed left behind, is not opened: it is put aside when the cluster
begins as `….<id>-stray`, or deleted when it is empty.

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
    """The logs of all brokers. `topic(node, name)` is a topic as that broker knows it; `opened` are those in files."""

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
        """Before any log is opened: remove what an earlier process had deleted, put aside what is none of the topics'.

        Raises OSError, and DataDirRefused for a file in the way that says nothing.
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
        """Opens the logs of one broker; what is flushed need not survive the machine, so nobody waits for its disk."""
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
        """A log is deleted: its name is free at once, its files go later."""
        from groupsim.cluster.log.files.deletion import rename_for_deletion

        self._discarded += 1
        luck = self._loop.stream("deleted-log", folder.name, self._discarded)
        while True:
            unique = f"{luck.word():016x}{luck.word():016x}"
            if not any(folder.parent.glob(f"*.{unique}-*")):  # the luck of an earlier process may have been the same
                break
        gone = rename_for_deletion(folder, unique)
        self.opened.pop(folder, None)
        self._loop.call_at(self._loop.now_us + after_ms * 1_000, lambda _: shutil.rmtree(gone, ignore_errors=True))

    def close(self) -> None:
        """Let go of every file."""
        for store in self.opened.values():
            store.close()
        self.opened.clear()


def disk_of(storage: Path | None, broker: str) -> tuple[str, int, int]:
    """The folder of a broker's logs, and the bytes of its disk, all and free; -1 for logs in memory."""
    if storage is None:
        return f"memory:/{broker}", -1, -1
    used = shutil.disk_usage(storage)
    return str((storage / broker).absolute()), used.total, used.free


def _set_aside(folder: Path) -> None:
    """Clear the way for another topic's log: a folder with records gets another name, one without goes."""
    from groupsim.cluster.log.files.data_dir import read_topic_id
    from groupsim.cluster.log.files.deletion import STRAY

    if not any(path.stat().st_size for path in folder.glob("*.log")):
        shutil.rmtree(folder)
        return
    stray = folder.with_name(f"{folder.name}.{read_topic_id(folder) or 'unknown'}{STRAY}")
    shutil.rmtree(stray, ignore_errors=True)
    folder.rename(stray)
