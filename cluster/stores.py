"""Where the logs of a cluster's brokers lie: in memory, or in the files of a folder.

In a folder that is kept, a log's own folder has the id of its topic (`partition.metadata`). A folder of another topic,
which was deleted before the process ended but not yet on disk, is not opened: it is put aside as `….<id>-stray`, or
deleted when it is empty.

Source: `LogManager.loadLog`, `UnifiedLog.logStrayDirName`, `PartitionMetadataFile`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from groupsim.cluster.broker import broker_name
from groupsim.cluster.log.config import LogConfig, topic_config
from groupsim.cluster.log.interfaces import SegmentStore
from groupsim.cluster.log.memory import MemoryStore
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.cluster_messages import TopicState

OpenStore = Callable[[TopicPartition], SegmentStore]
FindTopic = Callable[[int, str], TopicState | None]


class Stores:
    """The logs of all brokers. `topic(node, name)` is a topic as that broker knows it; `opened` are those in files."""

    def __init__(self, folder: Path | None, defaults: LogConfig, topic: FindTopic, *, kept: bool) -> None:
        self._folder = folder
        self._defaults = defaults
        self._topic = topic
        self._kept = kept
        self.opened: list[SegmentStore] = []

    def of(self, node: int) -> OpenStore:
        """Opens the logs of one broker; what is flushed need not survive the machine, so nobody waits for its disk."""
        if self._folder is None:
            return lambda _: MemoryStore()
        own = self._folder / broker_name(node)
        return lambda partition: self._open(own / str(partition), self._topic(node, partition.topic))

    def _open(self, folder: Path, topic: TopicState | None) -> SegmentStore:
        from groupsim.cluster.log.data_dir import write_topic_id  # only for who keeps logs in files
        from groupsim.cluster.log.files import FileStore

        if topic is not None and self._kept:
            _set_aside_unless(folder, topic.topic_id)
        config = self._defaults if topic is None else topic_config(topic.config, self._defaults)
        store = FileStore(
            folder,
            sync=False,
            index_interval_bytes=config.index_interval_bytes,
            max_index_bytes=config.segment_index_bytes,
        )
        if topic is not None and self._kept:
            write_topic_id(folder, topic.topic_id, sync=False)
        self.opened.append(store)
        return store

    def close(self) -> None:
        """Let go of every file."""
        for store in self.opened:
            store.close()
        self.opened.clear()


def _set_aside_unless(folder: Path, topic_id: str) -> None:
    """Clear the way for a topic's log: a folder that is there belongs to the topic, or goes."""
    from groupsim.cluster.log.data_dir import read_topic_id

    if not folder.exists():
        return
    there = read_topic_id(folder)
    if there == topic_id:
        return
    if not any(path.stat().st_size for path in folder.glob("*.log")):
        shutil.rmtree(folder)
        return
    stray = folder.with_name(f"{folder.name}.{there or 'unknown'}-stray")
    shutil.rmtree(stray, ignore_errors=True)
    folder.rename(stray)
