"""A small ZooKeeper for the consumers of Kafka 0.8: one server with sessions, znodes and watches.

    tree        znodes: data, versions, sessions that own ephemeral nodes
    watches     one-shot watches, by path and connection
    sessions    sessions and their expiry
    connection  a connection over which the server can push events
    server      the host "zookeeper", at the other end of these connections
    kafka       Kafka's nodes, and the trace events of the groups' nodes

One server stands for the whole ensemble. The latency of a quorum, leader elections and reads from a lagging follower
are not modelled; an outage of the whole ensemble is (`freeze`).
"""

from __future__ import annotations

from groupsim.cluster.zookeeper.kafka import add_zookeeper
from groupsim.cluster.zookeeper.server import ZooKeeperServer

__all__ = ["ZooKeeperServer", "add_zookeeper"]
