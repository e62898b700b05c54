"""A cluster's identity, and its stored state across processes.

A cluster without storage has only a cluster id, drawn from its seed. With `ClusterConfig.kept` the cluster locks its
folder, begins with the stored state, and stores changes before they take effect (see `controller.metadata_store`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.controller.topic_changes import topic_id
from groupsim.cluster.network.endpoint import broker_name
from groupsim.cluster.transactions.producer_ids import ProducerIdBlocks
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.eventloop.interface import EventLoop

if TYPE_CHECKING:
    from groupsim.cluster.controller.controller import Controller
    from groupsim.cluster.controller.image import Proposal
    from groupsim.cluster.controller.metadata_store import Folder, StoredCluster


class ClusterIdentity:
    """`cluster_id` is 22 characters of base64, as Kafka prints it; `blocks` allocates producer ids."""

    def __init__(self, loop: EventLoop, config: ClusterConfig) -> None:
        """Open the folder of a stored cluster. Raises DataDirRefused for an unusable folder, and OSError."""
        self._loop = loop
        self._config = config
        self._folder = _open_folder(config)
        found = None if self._folder is None else self._folder.kept
        self._hosts: dict[int, int] = {}
        self._starts = 0 if found is None else found.lives + 1
        self.blocks = ProducerIdBlocks(0 if found is None else found.next_producer_id)
        self.cluster_id = topic_id(loop.stream("cluster-id")) if found is None else found.cluster_id
        if found is not None:
            self._age_hosts(found)

    def _age_hosts(self, found: StoredCluster) -> None:
        """Start every broker with a new incarnation, so that no id is drawn twice."""
        for node, last in found.incarnations.items():
            host = self._loop.host(broker_name(node))
            while host.incarnation <= last:
                host.crash()
                host.start()

    def begin(self, controller: Controller) -> None:
        """Restore the controller's state, and store its decisions from now on. Raises OSError."""
        folder = self._folder
        if folder is None:
            return
        from groupsim.cluster.controller.metadata_store import StoredCluster, next_life

        found = folder.kept
        if found is not None:
            controller.resume(next_life(found.image), found.reassignments, self._starts)
        self._hosts = self._incarnations()
        folder.begin(
            StoredCluster(
                self.cluster_id,
                self._config.brokers,
                self._starts,
                controller.image,
                controller.reassignments,
                self.blocks.next_id,
                self._hosts,
            )
        )
        controller.keep = self._keep
        self.blocks.keep = lambda next_id: folder.change(cluster={"next_producer_id": next_id})

    def _incarnations(self) -> dict[int, int]:
        return {node: self._loop.host(broker_name(node)).incarnation for node in self._config.nodes}

    def _keep(self, proposal: Proposal) -> None:
        """Store a change of the image, and changed incarnations of the brokers' hosts. Raises OSError."""
        assert self._folder is not None
        hosts = self._incarnations()
        changed = {str(node): number for node, number in hosts.items() if self._hosts[node] != number}
        self._folder.change(proposal, **({"incarnations": changed} if changed else {}))
        self._hosts = hosts

    def close(self) -> None:
        """Close the folder."""
        if self._folder is not None:
            self._folder.close()


def _open_folder(config: ClusterConfig) -> Folder | None:
    """Open the folder of a stored cluster and check it. Raises DataDirRefused and OSError."""
    if not config.kept or config.storage is None:
        return None
    from groupsim.cluster.controller.metadata_store import FILE, Folder  # imported only for stored clusters
    from groupsim.cluster.log.files.data_dir import DataDirRefused

    folder = Folder(config.storage, config.nodes)
    topic = None if folder.kept is None else folder.kept.image.topics.get(OFFSETS_TOPIC)
    if topic is not None and len(topic.partitions) != config.offsets_partitions:
        folder.close()
        raise DataDirRefused(
            f"{config.storage / FILE}: {OFFSETS_TOPIC} has {len(topic.partitions)} partitions, and "
            f"offsets.topic.num.partitions is {config.offsets_partitions}; set it to {len(topic.partitions)}, "
            "or take another folder"
        )
    return folder
