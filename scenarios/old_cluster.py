"""The ZooKeeper beside the cluster, for members that need one: its brokers and topics as the cluster has them."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.cluster.zookeeper import ZooKeeperServer, add_zookeeper
from groupsim.cluster.zookeeper.kafka import register_brokers, write_topics
from groupsim.eventloop.events import Kind
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.units import MS_US, show_us

LOOK_EVERY_US = 500 * MS_US  # how soon a replicated cluster's new topics are in ZooKeeper


def open_zookeeper(loop: EventLoop, cluster: Cluster | ReplicatedCluster) -> ZooKeeperServer:
    """Put a ZooKeeper on the cluster's network; it follows the cluster's topics from now on."""
    server = add_zookeeper(loop, cluster.network)
    register_brokers(server, cluster.brokers)
    if isinstance(cluster, Cluster):
        topics = cluster.topics
        write_topics(server, topics)
        topics.watchers.append(lambda name: write_topics(server, topics))
    else:
        _follow(loop, server, cluster)
    return server


def _follow(loop: EventLoop, server: ZooKeeperServer, cluster: ReplicatedCluster) -> None:
    """A replicated cluster tells nobody of new topics: look now and then, as its controller's own writes would come."""
    metadata = next(iter(cluster.brokers.values())).metadata

    def look(_: Any) -> None:
        write_topics(server, metadata)
        loop.call_at(loop.now_us + LOOK_EVERY_US, look)

    look(None)


def freeze(loop: EventLoop, server: ZooKeeperServer, for_us: int) -> None:
    """Let ZooKeeper stand still for a while; the trace says from when to when."""
    trace, host = loop.trace, server.host
    words = f"{host.name} stands still for {show_us(for_us)}"
    span = trace.span()
    trace.begin(trace.emit(Kind.FAULT_BEGUN, host=host.name, reason=words, span=span, payload={"fault": words}))
    host.pause()

    def over(_: Any) -> None:
        host.resume()
        trace.emit(Kind.FAULT_ENDED, span=span)

    loop.call_at(loop.now_us + for_us, over)
