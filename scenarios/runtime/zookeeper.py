"""The ZooKeeper beside the cluster, for members that need one, with the cluster's brokers and topics."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.broker.metadata import BrokerMetadata
from groupsim.cluster.cluster import Cluster
from groupsim.cluster.zookeeper import ZooKeeperServer, add_zookeeper
from groupsim.cluster.zookeeper.kafka import register_brokers, write_topics
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import show_us
from groupsim.protocol.messages.cluster import ClusterImage


def open_zookeeper(loop: EventLoop, cluster: Cluster) -> ZooKeeperServer:
    """Add a ZooKeeper to the cluster's network; the controller writes the cluster's topics to it from now on."""
    server = add_zookeeper(loop, cluster.network)
    register_brokers(server, cluster.brokers)
    metadata = BrokerMetadata()

    def write(image: ClusterImage) -> None:
        metadata.take(image)
        write_topics(server, metadata)

    write(cluster.image)
    cluster.watch(write)
    return server


def freeze(loop: EventLoop, server: ZooKeeperServer, for_us: int) -> None:
    """Pause ZooKeeper for a while, between two events of the trace."""
    trace, host = loop.trace, server.host
    words = f"{host.name} stands still for {show_us(for_us)}"
    span = trace.span()
    trace.begin(trace.emit(Kind.FAULT_BEGUN, host=host.name, reason=words, span=span, payload={"fault": words}))
    host.pause()

    def ended(_: Any) -> None:
        host.resume()
        trace.emit(Kind.FAULT_ENDED, span=span)

    loop.call_at(loop.now_us + for_us, ended)
