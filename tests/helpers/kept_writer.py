"""A process that keeps a cluster in a folder and says what was acknowledged, until it is killed.

    python kept_writer.py FOLDER records
    python kept_writer.py FOLDER topics

prints one line of JSON for every answer that was not an error: `["produced", partition, offset, value]`,
`["committed", offset]`, `["id", producer id, epoch]`; or, of what the controller decided, `["topic", version, name,
id, partitions, retention.ms, leader, leader epoch, partition epoch]`, with nothing after the name for one that went.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.controller.controller import Controller
from groupsim.cluster.controller.journal import Journal
from groupsim.cluster.controller.placement import Refused
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch.batch import HEADER_BYTES, Batch, LogRecord
from groupsim.protocol.batch.sizes import record_size
from groupsim.protocol.messages.admin import DELETE, SET, TOPIC_RESOURCE, ConfigsToAlter, IncrementalAlterConfigsRequest
from groupsim.protocol.messages.data import ProduceRequest
from groupsim.protocol.messages.group import FindCoordinatorRequest, OffsetCommitRequest, OffsetToCommit
from groupsim.protocol.messages.transactions import InitProducerIdRequest

SECOND = 1_000_000


def config(folder: Path) -> ClusterConfig:
    """A small cluster that is kept in a folder."""
    coordinator = CoordinatorConfig(offsets_topic_num_partitions=4)
    return ClusterConfig(storage=folder, kept=True, coordinator=coordinator)


class Client:
    """AnsweredBy brokers one thing after the other."""

    def __init__(self, loop: Any, cluster: Cluster) -> None:
        self.loop = loop
        self.cluster = cluster

    async def ask(self, node: int, request: Any) -> Any:
        """The answer of a broker."""
        got: list[Any] = []
        connection = self.cluster.network.connect("client", "client", node, "data")
        connection.send(request, got.append, 30 * SECOND)
        await self.loop.until(lambda: bool(got), 60 * SECOND)
        connection.close()
        return got[0]

    async def coordinator(self, key: str, kind: int = 0) -> int:
        """Who coordinates a group or a transactional id."""
        while True:
            found = await self.ask(0, FindCoordinatorRequest(key, key_type=kind))
            if not found.error:
                return int(found.node)
            await self.loop.sleep(SECOND // 10)

    async def until_fine(self, node: int, request: Any) -> Any:
        """The first answer that is no error."""
        while (answer := await self.ask(node, request)).error:
            await self.loop.sleep(SECOND // 10)
        return answer

    def leader(self, where: TopicPartition) -> int:
        """Who leads a partition."""
        state = self.cluster.controller.image.partition(where)
        assert state is not None
        return state.leader


def batch(value: str) -> Batch:
    """A batch of one record."""
    record = LogRecord(0, None, value.encode())
    return Batch(0, 1, HEADER_BYTES + record_size(record), 0, 0, records=(record,))


def tell(*what: Any) -> None:
    """Say what was acknowledged."""
    print(json.dumps(what), flush=True)


async def write(loop: VirtualLoop, folder: Path) -> None:
    """Produce, commit and draw ids for ever."""
    cluster = Cluster(loop, config(folder))
    if "t" not in cluster.controller.image.topics:
        cluster.create_topic("t", 3, replication=3)
    await loop.sleep(SECOND)
    client = Client(loop, cluster)
    group, transactions = await client.coordinator("g"), await client.coordinator("tx", 1)
    for turn in range(1_000_000):
        where = TopicPartition("t", turn % 3)
        value = f"{folder.name}-{cluster.controller.image.version}-{turn}"
        request = ProduceRequest(-1 if turn % 2 else 1, 10_000, ((where, batch(value)),))
        (produced,) = (await client.ask(client.leader(where), request)).results
        assert not produced.error, produced
        tell("produced", where.partition, produced.base_offset, value)
        commit = OffsetCommitRequest("g", (OffsetToCommit(where, turn),))
        await client.until_fine(group, commit)
        tell("committed", where.partition, turn)
        if turn % 5 == 0:
            got = await client.until_fine(transactions, InitProducerIdRequest("tx"))
            tell("id", got.producer_id, got.producer_epoch)


def alter_topic(controller: Controller, name: str, settings: Mapping[str, str | None]) -> None:
    """Set settings of a topic, None for the default. Raises Refused."""
    changes = tuple((key, DELETE if value is None else SET, value) for key, value in settings.items())
    answers: list[Any] = []
    request = IncrementalAlterConfigsRequest((ConfigsToAlter(TOPIC_RESOURCE, name, changes),))
    controller.receive(SimpleNamespace(request=request, answer=answers.append))  # type: ignore[arg-type]
    [(_, _, error, message)] = answers[0].response.results
    if error:
        raise Refused(error, message or "")


async def decide(loop: VirtualLoop, folder: Path) -> None:
    """Make, change, grow, move and delete topics for ever."""
    Journal.MIN_COMPACTED_BYTES = 3_000
    cluster = Cluster(loop, config(folder))
    controller = cluster.controller
    await loop.sleep(SECOND)
    life = controller.image.version
    for turn in range(1_000_000):
        name = f"t{life}-{turn // 6}"
        if turn % 6 == 0:
            cluster.create_topic(name, 2, replication=3, config={"retention.ms": str(turn)})
        elif turn % 6 == 2:
            cluster.add_partitions(name, 5)
        elif turn % 6 == 5 and turn % 4 == 1:
            cluster.delete_topic(name)
        elif turn % 2:
            alter_topic(controller, name, {"retention.ms": str(turn)})
        else:
            state = controller.image.topics[name].partitions[0]
            controller.move_leader(TopicPartition(name, 0), state.replicas[1])
        topic = controller.image.topics.get(name)
        if topic is None:
            tell("topic", controller.image.version, name)
        else:
            first = topic.partitions[0]
            own = topic.topic_id, len(topic.partitions), topic.config["retention.ms"]
            epochs = first.leader, first.leader_epoch, first.partition_epoch
            tell("topic", controller.image.version, name, *own, *epochs)
        await loop.sleep(SECOND // 100)


if __name__ == "__main__":
    story = {"records": write, "topics": decide}[sys.argv[2]]
    run_virtual(lambda loop: story(loop, Path(sys.argv[1])), seed=7)
