"""aiokafka's usual loop: get a batch, process it for a while, commit what was consumed; until the process is killed."""

from __future__ import annotations

import asyncio
import json
import sys

from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import CommitFailedError


async def main(config: dict[str, object]) -> None:
    """Consume as the one argument says, in JSON. The event loop turns while a batch is processed."""
    consumer = AIOKafkaConsumer(
        *config["topics"],
        bootstrap_servers=config["bootstrap"],
        client_id=config["client_id"],
        group_id=config["group"],
        partition_assignment_strategy=(RangePartitionAssignor,),
        session_timeout_ms=config["session_timeout_ms"],
        heartbeat_interval_ms=config["heartbeat_interval_ms"],
        max_poll_interval_ms=config["rebalance_timeout_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    while True:
        if await consumer.getmany(timeout_ms=100, max_records=config["max_records"]):
            await asyncio.sleep(config["takes_ms"] / 1000)
            try:
                await consumer.commit()
            except CommitFailedError:
                continue


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
