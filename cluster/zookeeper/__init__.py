"""A small ZooKeeper, for the consumers of Kafka 0.8: one server, sessions, znodes, watches.

    tree        znodes: data, versions, who owns an ephemeral one
    watches     one-shot watches, by path and connection
    sessions    sessions and when they expire
    connection  a connection over which the server may speak unasked
    server      the host "zookeeper", at the far end of such connections
    kafka       what Kafka itself keeps there, and what its groups' nodes mean in the trace

One server stands for the whole ensemble: what an ensemble adds (a quorum's latency, a leader's election, reads from a
follower that lags behind) is not modelled, an outage of all of it is (`freeze`).
"""

from __future__ import annotations

from groupsim.cluster.zookeeper.kafka import add_zookeeper
from groupsim.cluster.zookeeper.server import ZooKeeperServer

__all__ = ["ZooKeeperServer", "add_zookeeper"]
