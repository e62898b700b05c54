"""The stored metadata of a cluster, with which a later process continues the cluster.

    DIR/.lock                       locked by the process that uses the folder
        cluster-metadata            an image: identity, topics, settings, in-sync sets, epochs, producer ids
        cluster-metadata.changes    the changes since (see `journal`)
        broker-0/ …                 the logs of broker 0

**A change is in force when it is stored, not before.** The controller stores every change first, and producer ids are
stored before a broker gets them. A change that cannot be stored, on a full disk, is refused with KAFKA_STORAGE_ERROR,
and neither memory nor disk changes. (A KRaft controller that cannot write its log ends its process.) Writing a change
costs as much as the change, not as the cluster.

**The next life.** Versions, and so the brokers' epochs, continue from the last one. Every partition has the leader and
the in-sync set of before, one leader epoch later, so that leaders and followers compare their logs, coordinators load,
and requests with old epochs are fenced. All brokers are up, even those that were down at the end of the process. Kafka
differs when all its brokers are killed at once: it removes each from the in-sync sets as it restarts, since a machine
may have lost unflushed records. Here processes end and machines do not, and records acknowledged with acks=1 stay.

**A killed process.** Acknowledged records are in a log's file, at least in the memory of the operating system, which
outlives the process; a machine that loses power may lose unflushed records.

Drawn ids continue as well: each life of the cluster has random streams of its own (`lives`), and a broker's host begins
with a new incarnation (`incarnations`).

Sections of the journal: `cluster`, `incarnations`, `configs`, `groups`, `topics`, `partitions`, `reassignments` and
`acls` are written here. Other data uses other section names (`Folder.journal`), and is stored from life to life, too.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import astuple, evolve

from groupsim.cluster.controller.elections import Reassignment
from groupsim.cluster.controller.image import Proposal
from groupsim.cluster.controller.journal import REMEDY, Journal, Sections
from groupsim.cluster.log.files.data_dir import DataDirRefused
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.acl import Acl
from groupsim.protocol.messages.cluster import NO_LEADER, ClusterImage, PartitionState, TopicState
from groupsim.protocol.values import frozen

FILE: Final = "cluster-metadata"
LOCK: Final = ".lock"

Facts = dict[str, Any]


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(nodes)))


@frozen
class StoredCluster:
    """The metadata of a cluster at the end of its process."""

    cluster_id: str
    brokers: int
    lives: int
    image: ClusterImage
    reassignments: Mapping[TopicPartition, Reassignment]
    next_producer_id: int
    incarnations: Mapping[int, int]


class Folder:
    """A cluster's folder, locked until `close`. `kept` is the stored cluster, None for a new one."""

    def __init__(self, folder: Path, nodes: Sequence[int]) -> None:
        """Lock the folder, or create it. Raises DataDirRefused: in use, damaged, of another format or size; OSError."""
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
        """Store the beginning of a life, before the first `change`. Raises OSError; the folder is then unchanged."""
        self.journal.begin(_whole(kept))

    def change(self, proposal: Proposal | None = None, **others: Facts) -> None:
        """Store a change of the image and of other sections. Raises OSError; the folder is then unchanged."""
        change: dict[str, Facts] = {} if proposal is None else _changed(proposal)
        for section, facts in others.items():
            change[section] = {**change.get(section, {}), **facts}
        self.journal.append(change)

    def close(self) -> None:
        """Unlock the folder; without effect the second time."""
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
    """Read the stored cluster of an unlocked folder. Raises DataDirRefused naming file and remedy; OSError."""
    journal = Journal(folder / FILE, _of_format_1)
    journal.close()
    if journal.new:
        raise DataDirRefused(f"{folder / FILE}: there is no such file; {REMEDY}")
    return _kept(journal)


def _kept(journal: Journal) -> StoredCluster:
    cluster, configs = journal.section("cluster"), journal.section("configs")
    moves = {
        TopicPartition.parse(name): Reassignment(tuple(adding), tuple(removing))
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


def _of_format_1(plain: dict[str, Any]) -> Sections:
    """Return the sections of an image of format 1, which the first releases wrote as a whole at each change."""
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


def next_life(image: ClusterImage) -> ClusterImage:
    """Return the first image of the next life: no broker is registered, and each leader has the next epoch."""
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
    """Return the changes by section, without unchanged sections."""
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
    """Return an ACL as the key of an entry."""
    return json.dumps(astuple(acl), ensure_ascii=False)


def _same_topic(proposal: Proposal, name: str) -> bool:
    """Whether a topic differs in existing partitions at most."""
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
