"""What a cluster keeps of itself beside its logs, so that a later process goes on where this one stopped.

    DIR/.lock                       held by the process that uses the folder
        cluster-metadata            identity, topics, settings, in-sync sets, epochs, what was given out: an image
        cluster-metadata.changes    and what changed since (`journal` says how both are kept)
        broker-0/ …                 the logs of broker 0

**A change is in force when it is kept, not before.** The controller offers every change here first, producer ids are
kept before they are given out, and what cannot be kept, for want of room on the disk, is refused: the asker hears
KAFKA_STORAGE_ERROR, and nothing differs, here or on disk. (A KRaft controller that cannot write its log ends its
process.) A change costs what it is large: making a topic in a cluster of thousands writes that topic.

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

Sections of the journal: `cluster`, `incarnations`, `configs`, `groups`, `topics`, `partitions`, `reassignments` and
`acls` are written here. Whoever keeps something else takes another name (`Folder.journal`); it goes on from life to
life beside these.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import astuple, evolve, frozen

from groupsim.cluster.controller.elections import Reassignment
from groupsim.cluster.controller.image import Proposal
from groupsim.cluster.controller.journal import REMEDY, Journal, Sections
from groupsim.cluster.log.files.data_dir import DataDirRefused
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.messages.cluster import NO_LEADER, ClusterImage, PartitionState, TopicState

FILE: Final = "cluster-metadata"
LOCK: Final = ".lock"

Facts = dict[str, Any]


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(nodes)))


@frozen
class StoredCluster:
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

    def __init__(self, folder: Path, nodes: Sequence[int]) -> None:
        """Take the folder, or make it. Raises DataDirRefused: in use, damaged, of another format or size; OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        self._lock = _locked(folder / LOCK)
        try:
            self.journal = Journal(self._path, _of_format_1)
            self.kept = self._found(folder, nodes)
        except BaseException:
            os.close(self._lock)
            raise

    def _found(self, folder: Path, nodes: Sequence[int]) -> StoredCluster | None:
        if self.journal.new:
            logs = sorted(path.name for path in folder.glob("broker-*") if any(path.iterdir()))
            if logs:
                raise DataDirRefused(f"{self._path} is missing, and {', '.join(logs)} hold logs; {REMEDY}")
            return None
        kept = _kept(self.journal)
        if kept.brokers != len(nodes):
            raise DataDirRefused(
                f"{self._path}: the cluster kept here has {kept.brokers} brokers, and {len(nodes)} are asked for; "
                f"start it with {kept.brokers}, or take another folder"
            )
        if set(kept.incarnations) != set(nodes):
            raise DataDirRefused(
                f"{self._path}: the brokers kept here are {_listed(kept.incarnations)}, and {_listed(nodes)} are asked "
                f"for; start it with `cluster: {{brokers: [{_listed(kept.incarnations)}]}}`, or take another folder"
            )
        return kept

    def begin(self, kept: StoredCluster) -> None:
        """A life begins with this; before the first `change`. Raises OSError; the folder is then as it was."""
        self.journal.begin(_whole(kept))

    def change(self, proposal: Proposal | None = None, **others: Facts) -> None:
        """Keep a change of the image, and of what the sections named say. Raises OSError; nothing differs then."""
        change: dict[str, Facts] = {} if proposal is None else _changed(proposal)
        for section, facts in others.items():
            change[section] = {**change.get(section, {}), **facts}
        self.journal.append(change)

    def close(self) -> None:
        """Let go of the folder; a second time does nothing."""
        self.journal.close()
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


def read(folder: Path) -> StoredCluster:
    """What a folder keeps that nobody uses. Raises DataDirRefused naming file and remedy; OSError."""
    journal = Journal(folder / FILE, _of_format_1)
    journal.close()
    if journal.new:
        raise DataDirRefused(f"{folder / FILE}: there is no such file; {REMEDY}")
    return _kept(journal)


def _kept(journal: Journal) -> StoredCluster:
    cluster, configs = journal.section("cluster"), journal.section("configs")
    moves = {
        _partition(name): Reassignment(tuple(adding), tuple(removing))
        for name, (adding, removing) in journal.section("reassignments").items()
    }
    incarnations = {int(node): number for node, number in journal.section("incarnations").items()}
    acls = frozenset(Acl(*json.loads(acl)) for acl in journal.section("acls"))
    image = ClusterImage(cluster["version"], {}, _topics(journal), configs, acls, journal.section("groups"))
    return StoredCluster(
        cluster["id"], cluster["brokers"], cluster["lives"], image, moves, cluster["next_producer_id"], incarnations
    )


def _topics(journal: Journal) -> dict[str, TopicState]:
    rows = journal.section("partitions")
    found = {}
    for name, plain in journal.section("topics").items():
        states = tuple(_state(rows[f"{name}-{number}"]) for number in range(plain["partitions"]))
        found[name] = TopicState(name, plain["id"], states, plain["config"], plain["internal"])
    return found


def _state(row: list[Any]) -> PartitionState:
    replicas, isr, leader, epoch, partition_epoch, elr, last, recovering = row
    return PartitionState(
        tuple(replicas), tuple(isr), leader, epoch, partition_epoch, tuple(elr), tuple(last), recovering
    )


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def _of_format_1(plain: dict[str, Any]) -> Sections:
    """The sections of an image as the first releases wrote it, whole at each change."""
    topics = plain["topics"]
    cluster = {"id": plain["cluster_id"], **{key: plain[key] for key in ("brokers", "lives", "version")}}
    return {
        "cluster": {**cluster, "next_producer_id": plain["next_producer_id"]},
        "incarnations": plain["incarnations"],
        "configs": plain["configs"],
        "topics": {topic["name"]: _plain_topic(topic | {"partitions": len(topic["partitions"])}) for topic in topics},
        "partitions": {f"{one['name']}-{n}": row for one in topics for n, row in enumerate(one["partitions"])},
        "reassignments": {f"{topic}-{n}": [adding, removing] for topic, n, adding, removing in plain["reassignments"]},
    }


def _plain_topic(topic: dict[str, Any]) -> Facts:
    return {key: topic[key] for key in ("id", "internal", "config", "partitions")}


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


def _whole(kept: StoredCluster) -> dict[str, Facts]:
    image = kept.image
    return {
        "cluster": {
            "id": kept.cluster_id,
            "brokers": kept.brokers,
            "lives": kept.lives,
            "version": image.version,
            "next_producer_id": kept.next_producer_id,
        },
        "incarnations": {str(node): number for node, number in kept.incarnations.items()},
        "configs": {name: dict(settings) for name, settings in image.configs.items()},
        "groups": {name: dict(settings) for name, settings in image.groups.items()},
        "acls": {_acl(acl): True for acl in sorted(image.acls)},
        "topics": {name: _topic(topic) for name, topic in image.topics.items()},
        "partitions": {
            f"{name}-{number}": _row(state)
            for name, topic in image.topics.items()
            for number, state in enumerate(topic.partitions)
        },
        "reassignments": _moves(kept.reassignments.items()),
    }


def _changed(proposal: Proposal) -> dict[str, Facts]:
    """What differs, by section; nothing is said of sections in which nothing does."""
    image = proposal.image
    topics = {name: None if name not in image.topics else _topic(image.topics[name]) for name in proposal.topics}
    change: dict[str, Facts] = {
        "cluster": {"version": image.version},
        "topics": {name: plain for name, plain in topics.items() if not _same_topic(proposal, name)},
        "partitions": _changed_rows(proposal),
        "configs": {name: dict(image.configs[name]) for name in proposal.configs},
        "groups": {name: dict(image.groups[name]) if name in image.groups else None for name in proposal.groups},
        "reassignments": _moves(proposal.reassignments.items()),
        "acls": _changed_acls(proposal.before.acls, image.acls),
    }
    return {section: facts for section, facts in change.items() if facts}


def _changed_acls(before: frozenset[Acl], after: frozenset[Acl]) -> Facts:
    if before is after:
        return {}
    return {_acl(acl): True if acl in after else None for acl in sorted(before ^ after)}


def _acl(acl: Acl) -> str:
    """An ACL as the key of a fact that is only there or not."""
    return json.dumps(astuple(acl), ensure_ascii=False)


def _same_topic(proposal: Proposal, name: str) -> bool:
    """Whether nothing but partitions that were there differ."""
    before, after = proposal.before.topics.get(name), proposal.image.topics.get(name)
    if before is None or after is None:
        return before is after
    return evolve(before, partitions=()) == evolve(after, partitions=()) and len(before.partitions) == len(
        after.partitions
    )


def _changed_rows(proposal: Proposal) -> Facts:
    rows: Facts = {}
    for name in proposal.topics:
        before, after = proposal.before.topics.get(name), proposal.image.topics.get(name)
        old = () if before is None else before.partitions
        new = () if after is None else after.partitions
        for number in range(max(len(old), len(new))):
            state = new[number] if number < len(new) else None
            if state is None or number >= len(old) or old[number] is not state:
                rows[f"{name}-{number}"] = None if state is None else _row(state)
    return rows


def _topic(topic: TopicState) -> Facts:
    own = {"id": topic.topic_id, "internal": topic.internal, "config": dict(topic.config)}
    return {**own, "partitions": len(topic.partitions)}


def _row(state: PartitionState) -> list[Any]:
    return [
        list(state.replicas),
        list(state.isr),
        state.leader,
        state.leader_epoch,
        state.partition_epoch,
        list(state.elr),
        list(state.last_known_elr),
        state.recovering,
    ]


def _moves(moves: Iterable[tuple[TopicPartition, Reassignment | None]]) -> Facts:
    return {str(where): None if one is None else [list(one.adding), list(one.removing)] for where, one in moves}
