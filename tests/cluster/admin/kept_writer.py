"""A process that keeps a cluster in a folder and says what was acknowledged, until it is killed.

    python kept_writer.py FOLDER

prints one line of JSON for every answer that was not an error: `["produced", partition, offset, value]`,
`["committed", offset]`, `["id", producer id, epoch]`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.cluster.replicated_config import ReplicatedConfig
from groupsim.coordinator.config import CoordinatorConfig
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.batch import HEADER_BYTES, Batch, LogRecord
from groupsim.protocol.batch_sizes import record_size
from groupsim.protocol.data_messages import ProduceRequest
from groupsim.protocol.messages import FindCoordinatorRequest, OffsetCommitRequest, OffsetToCommit
from groupsim.protocol.txn_messages import InitProducerIdRequest

SECOND = 1_000_000


def config(folder: Path) -> ReplicatedConfig:
    """A small cluster that is kept in a folder."""
    coordinator = CoordinatorConfig(offsets_topic_num_partitions=4)
    return ReplicatedConfig(storage=folder, kept=True, coordinator=coordinator)


class Client:
    """Asks brokers one thing after the other."""

    def __init__(self, loop: Any, cluster: ReplicatedCluster) -> None:
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
    cluster = ReplicatedCluster(loop, config(folder))
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


if __name__ == "__main__":
    run_virtual(lambda loop: write(loop, Path(sys.argv[1])), seed=7)
