"""The cluster at an instant of a run: the coordinator of each group, and the replicas of each partition.

It is read from the controller's image and from the brokers' logs while the run is paused. The log of a broker that is
down is closed, so its end is unknown; its replica is in the in-sync set until the controller fences the broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cluster.cluster import Cluster
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.runtime.stage import Stage


@frozen
class Coordinator:
    """The coordinator of a group: its partition of `__consumer_offsets`, and the leader of that, if any."""

    group: str
    partition: int
    broker: int | None


@frozen
class Replica:
    """One replica of a partition; `end` is its log end offset, None while its log is closed."""

    broker: int
    up: bool
    in_sync: bool
    end: int | None


@frozen
class PartitionView:
    """One partition: its leader (-1: none), its preferred leader, its replicas in their order, the high watermark."""

    partition: TopicPartition
    leader: int
    preferred: int
    replicas: tuple[Replica, ...]
    high_watermark: int | None
    groups: tuple[str, ...] = ()


@frozen
class ClusterView:
    """The coordinators of groups; with replicated logs also the partitions, internal ones only if a group uses them."""

    coordinators: tuple[Coordinator, ...]
    partitions: tuple[PartitionView, ...] = ()


def look(stage: Stage, groups: Iterable[str]) -> ClusterView:
    """Read the view from a paused stage."""
    cluster = stage.cluster
    coordinators = tuple(_coordinator(stage, group) for group in groups)
    if cluster.is_counted:
        return ClusterView(coordinators)
    of_groups: dict[int, list[str]] = {}
    for one in coordinators:
        of_groups.setdefault(one.partition, []).append(one.group)
    partitions = []
    for name, topic in sorted(cluster.controller.image.topics.items()):
        for number in range(len(topic.partitions)):
            mine = tuple(of_groups.get(number, ())) if name == OFFSETS_TOPIC else ()
            if mine or not topic.internal:
                partitions.append(_partition(cluster, TopicPartition(name, number), mine))
    return ClusterView(coordinators, tuple(partitions))


def _coordinator(stage: Stage, group: str) -> Coordinator:
    partition = partition_for(group, stage.cluster.config.offsets_partitions)
    try:
        node, _ = stage.cluster.coordinator_of(group)
    except LookupError:
        return Coordinator(group, partition, None)
    return Coordinator(group, partition, node)


def _partition(cluster: Cluster, where: TopicPartition, groups: tuple[str, ...]) -> PartitionView:
    state = cluster.controller.image.partition(where)
    assert state is not None
    logs = {node: cluster.brokers[node].replicas.log(where) for node in state.replicas}
    replicas = tuple(
        Replica(node, cluster.brokers[node].host.alive, node in state.isr, None if log is None else log.end_offset)
        for node, log in logs.items()
    )
    leading = logs.get(state.leader)
    watermark = None if leading is None else leading.high_watermark
    return PartitionView(where, state.leader, state.replicas[0], replicas, watermark, groups)


def document(view: ClusterView) -> list[dict[str, Any]]:
    """Return the partitions as JSON."""
    return [dict(as_json.plain(one)) for one in view.partitions]


def show(view: ClusterView, console: Console) -> None:
    """Print a row for each partition, those of coordinators last."""
    if not view.partitions:
        console.print(Text("counted logs have no replicas; --set cluster.logs=replicated shows them", "yellow"))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("partition", no_wrap=True)
    table.add_column("leader", no_wrap=True)
    table.add_column("replicas", no_wrap=True)
    table.add_column("in sync", no_wrap=True)
    table.add_column("log ends", overflow="fold", min_width=8)
    table.add_column("high\nwatermark", justify="right", no_wrap=True)
    for one in sorted(view.partitions, key=lambda one: bool(one.groups)):
        table.add_row(*(Text(cell) for cell in _cells(one)))
    console.print(table)
    console.print(
        Text("the first replica is the preferred leader; ! marks another leader; † a broker that is down", "dim")
    )


def _cells(one: PartitionView) -> tuple[str, ...]:
    leader = "none" if one.leader < 0 else f"{one.leader}" + ("" if one.leader == one.preferred else "!")
    replicas = " ".join(f"{replica.broker}" + ("" if replica.up else "†") for replica in one.replicas)
    in_sync = " ".join(str(replica.broker) for replica in one.replicas if replica.in_sync) or "none"
    ends = " ".join("–" if replica.end is None else f"{replica.end:,}" for replica in one.replicas)
    name = f"{one.partition}" + (f" ({', '.join(one.groups)})" if one.groups else "")
    return name, leader, replicas, in_sync, ends, "–" if one.high_watermark is None else f"{one.high_watermark:,}"
