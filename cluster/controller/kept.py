"""What a cluster keeps of itself beside its logs, so that a later process goes on where this one stopped.

    DIR/.lock               held by the process that uses the folder
        cluster-metadata    this module's: identity, topics, settings, in-sync sets, epochs, what was given out
        broker-0/ …         the logs of broker 0

The file is written whole, flushed, and put in the place of the old one before anything that it tells of is told to
anybody: at every image of the controller and for every block of producer ids. Its first line has a checksum of the
rest, and a file that is not what it says is an error with a remedy: nothing is ever begun anew in silence.

**Going on.** Versions, and so the brokers' epochs, count on from the last one. Every partition has the leader and the
in-sync set it had, one leader epoch later, so that leaders and followers compare their logs, coordinators load anew,
and who speaks from the time before is fenced. All brokers are up, those too that were down when the process ended.
This is not what Kafka does when all its brokers are killed at once (it strikes each from the in-sync sets as it comes
back, since a machine may have lost what was not flushed): here processes end and the machine does not, and what was
acknowledged with acks=1 is to be there as well.

**What holds when the process is killed.** What was acknowledged is in a log's file, in the memory of the operating
system at least, and that outlives a killed process; a machine that loses power may lose what was not flushed.

Ids that are drawn go on as well: each life of the cluster has luck of its own (`lives`), and a broker's host begins
with an incarnation that it never had (`incarnations`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from groupsim.cluster.controller.elections import Reassignment
from groupsim.cluster.log.data_dir import DataDirRefused
from groupsim.cluster.log.disk import write_whole
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.cluster_messages import NO_LEADER, ClusterImage, PartitionState, TopicState

FILE: Final = "cluster-metadata"
LOCK: Final = ".lock"
_MAGIC: Final = "groupsim-cluster"
_FORMAT: Final = 1
_REMEDY: Final = "restore it from a copy, or empty the folder to begin a new cluster"


@frozen
class Kept:
    """A cluster as it was when its process ended."""

    cluster_id: str
    brokers: int
    lives: int
    image: ClusterImage
    reassignments: Mapping[TopicPartition, Reassignment]
    next_producer_id: int
    incarnations: Mapping[int, int]


class Folder:
    """A cluster's folder, which this process alone uses until `close`. `kept` is what was found, None for a new one."""

    def __init__(self, folder: Path, brokers: int) -> None:
        """Take the folder, or make it. Raises DataDirRefused: in use, damaged, of another format or size; OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        self._lock = _locked(folder / LOCK)
        try:
            self.kept = self._read(folder, brokers)
        except BaseException:
            os.close(self._lock)
            raise

    def _read(self, folder: Path, brokers: int) -> Kept | None:
        if not self._path.exists():
            logs = sorted(path.name for path in folder.glob("broker-*") if any(path.iterdir()))
            if logs:
                raise DataDirRefused(f"{self._path} is missing, and {', '.join(logs)} hold logs; {_REMEDY}")
            return None
        kept = read(self._path)
        if kept.brokers != brokers:
            raise DataDirRefused(
                f"{self._path}: the cluster kept here has {kept.brokers} brokers, and {brokers} are asked for; "
                f"start it with {kept.brokers}, or take another folder"
            )
        return kept

    def write(self, kept: Kept) -> None:
        """Keep this. Raises OSError; the file is then as it was."""
        body = json.dumps(_plain(kept), separators=(",", ":"), ensure_ascii=False).encode()
        digest = hashlib.sha256(body).hexdigest()
        write_whole(self._path, f"{_MAGIC} {_FORMAT} {digest}\n".encode() + body)

    def close(self) -> None:
        """Let go of the folder; a second time does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise DataDirRefused(f"{path}: another process uses this folder; end it first, or take another one") from None
    return descriptor


# --- reading -------------------------------------------------------------------------------------------------------


def read(path: Path) -> Kept:
    """What a file keeps. Raises DataDirRefused naming the file, what is wrong and what can be done; OSError."""
    head, _, body = path.read_bytes().partition(b"\n")
    words = head.decode("ascii", "replace").split(" ")
    if len(words) != 3 or words[0] != _MAGIC:
        raise DataDirRefused(f"{path} line 1: expected '{_MAGIC} {_FORMAT} <checksum>'; {_REMEDY}")
    if words[1] != str(_FORMAT):
        raise DataDirRefused(
            f"{path} line 1: format {words[1]}, and this release reads {_FORMAT}; "
            "use the release that wrote it, or another folder"
        )
    if hashlib.sha256(body).hexdigest() != words[2]:
        raise DataDirRefused(f"{path}: the checksum of its first line is not that of the rest; {_REMEDY}")
    return _kept(json.loads(body))


def _kept(plain: dict[str, Any]) -> Kept:
    topics = {topic["name"]: _topic(topic) for topic in plain["topics"]}
    moves = {
        TopicPartition(topic, number): Reassignment(tuple(adding), tuple(removing))
        for topic, number, adding, removing in plain["reassignments"]
    }
    image = ClusterImage(plain["version"], {}, topics, plain["configs"])
    incarnations = {int(node): number for node, number in plain["incarnations"].items()}
    return Kept(
        plain["cluster_id"], plain["brokers"], plain["lives"], image, moves, plain["next_producer_id"], incarnations
    )


def _topic(plain: dict[str, Any]) -> TopicState:
    states = tuple(
        PartitionState(tuple(replicas), tuple(isr), leader, epoch, partition_epoch, tuple(elr), tuple(last), recovering)
        for replicas, isr, leader, epoch, partition_epoch, elr, last, recovering in plain["partitions"]
    )
    return TopicState(plain["name"], plain["id"], states, plain["config"], plain["internal"])


def in_the_next_life(image: ClusterImage) -> ClusterImage:
    """The image to begin with: no broker has registered yet, and what has a leader has it one epoch later."""
    topics = {
        name: evolve(topic, partitions=tuple(_later(state) for state in topic.partitions))
        for name, topic in image.topics.items()
    }
    return evolve(image, brokers={}, topics=topics)


def _later(state: PartitionState) -> PartitionState:
    if state.leader == NO_LEADER:
        return state
    return evolve(state, leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)


# --- writing -------------------------------------------------------------------------------------------------------


def _plain(kept: Kept) -> dict[str, Any]:
    moves = kept.reassignments.items()
    return {
        "cluster_id": kept.cluster_id,
        "brokers": kept.brokers,
        "lives": kept.lives,
        "version": kept.image.version,
        "next_producer_id": kept.next_producer_id,
        "incarnations": {str(node): number for node, number in kept.incarnations.items()},
        "configs": {name: dict(settings) for name, settings in kept.image.configs.items()},
        "topics": [_plain_topic(topic) for topic in kept.image.topics.values()],
        "reassignments": [[*partition, list(one.adding), list(one.removing)] for partition, one in moves],
    }


def _plain_topic(topic: TopicState) -> dict[str, Any]:
    rows = [
        [
            list(state.replicas),
            list(state.isr),
            state.leader,
            state.leader_epoch,
            state.partition_epoch,
            list(state.elr),
            list(state.last_known_elr),
            state.recovering,
        ]
        for state in topic.partitions
    ]
    own = {"name": topic.name, "id": topic.topic_id, "internal": topic.internal, "config": dict(topic.config)}
    return {**own, "partitions": rows}
