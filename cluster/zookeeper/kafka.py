"""Kafka 0.8's nodes in ZooKeeper, and their events in the trace.

Broker ids, and topics with their partitions and replicas, are under `/brokers`. They are written here for brokers and
controller, at once and without a session: a crashed broker keeps its id, which consumers of 0.8 read only to find out
whether there is a broker at all.

A consumer is a member of its group while its node under `/consumers/<group>/ids` exists. The host "zookeeper" emits
`member.added` and `member.removed` for these nodes, as a coordinator does.

Source: Kafka 0.8.2, `ZkUtils`, `ZookeeperConsumerConnector`; "Consumer and consumer group registration" in the
documentation of 0.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Protocol

from groupsim.cluster.network.network import Network
from groupsim.cluster.zookeeper.server import ZooKeeperServer
from groupsim.cluster.zookeeper.sessions import Session
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import MetadataResponse
from groupsim.protocol.messages.zookeeper import ZOOKEEPER_NODE

BROKER_IDS, BROKER_TOPICS = "/brokers/ids", "/brokers/topics"
OFFSETS_TOPIC = "__consumer_offsets"
_MEMBER = re.compile(r"/consumers/(?P<group>[^/]+)/ids/(?P<id>[^/]+)")


class TopicMetadata(Protocol):
    """A broker's answers to Metadata."""

    def describe(self, names: tuple[str, ...] | None) -> MetadataResponse: ...


def add_zookeeper(loop: EventLoop, network: Network) -> ZooKeeperServer:
    """Add a ZooKeeper server to the network, with the root nodes of Kafka."""
    server = ZooKeeperServer(loop)
    for path in ("/consumers", "/brokers", BROKER_IDS, BROKER_TOPICS):
        server.create(path, "")
    _Membership(loop, server)
    network.add_endpoint(ZOOKEEPER_NODE, server)
    return server


def register_brokers(server: ZooKeeperServer, nodes: Iterable[int]) -> None:
    """Create the nodes of the broker ids."""
    for node in nodes:
        data = {"host": f"broker-{node}", "port": 9092, "version": 1}
        server.create(f"{BROKER_IDS}/{node}", json.dumps(data, sort_keys=True))


def write_topics(server: ZooKeeperServer, topics: TopicMetadata) -> None:
    """Update the nodes of the topics; unchanged nodes are not written, because a write fires watches."""
    wanted: dict[str, str] = {}
    for topic in topics.describe(None).topics:
        if not topic.error and topic.name != OFFSETS_TOPIC:
            replicas = {str(part.partition): list(part.replicas) for part in topic.partitions}
            wanted[topic.name] = json.dumps({"partitions": replicas, "version": 1}, sort_keys=True)
    for name in server.tree.children(BROKER_TOPICS):
        if name not in wanted:
            server.delete(f"{BROKER_TOPICS}/{name}")
    for name, data in wanted.items():
        node = server.tree.find(f"{BROKER_TOPICS}/{name}")
        if node is None:
            server.create(f"{BROKER_TOPICS}/{name}", data)
        elif node.data != data:
            server.set_data(f"{BROKER_TOPICS}/{name}", data)


class _Membership:
    """Emits the trace events for members that join and leave a group."""

    def __init__(self, loop: EventLoop, server: ZooKeeperServer) -> None:
        self._trace = loop.trace
        self._host = server.host.name
        server.on_created.append(self._created)
        server.on_removed.append(self._removed)

    def _created(self, path: str, data: str, session: Session) -> None:
        found = _MEMBER.fullmatch(path)
        if found is None or not self._trace.wants(Kind.MEMBER_ADDED):
            return
        seq = self._trace.emit(
            Kind.MEMBER_ADDED,
            host=self._host,
            group=found["group"],
            member=found["id"],
            payload={
                "client_host": f"/{session.client}",
                "session_timeout_ms": session.timeout_ms,
                "known_id": False,
            },
        )
        self._trace.begin(seq)

    def _removed(self, path: str, reason: str, session: Session) -> None:
        found = _MEMBER.fullmatch(path)
        if found is None or not self._trace.wants(Kind.MEMBER_REMOVED):
            return
        seq = self._trace.emit(
            Kind.MEMBER_REMOVED, host=self._host, group=found["group"], member=found["id"], reason=reason
        )
        self._trace.begin(seq)
