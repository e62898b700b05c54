"""A member program with aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import line
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.codec import has_lz4, has_snappy, has_zstd
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
CODECS = {"none": True, "gzip": True, "snappy": has_snappy(), "lz4": has_lz4(), "zstd": has_zstd()}


async def next_command(told: Any) -> dict[str, Any]:
    """The next command, without stopping the loop."""
    while told.empty():
        await asyncio.sleep(0.02)
    command: dict[str, Any] = told.get()
    return command


class Reader(ConsumerRebalanceListener):
    """The consumer's story."""

    def __init__(self, config: dict[str, Any]) -> None:
        if config.get("assignor", "range") not in ASSIGNORS:
            raise line.Unsupported(config["assignor"])
        self.topics = config["topics"]
        self.owned = line.Owned()
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=config["bootstrap"],
            client_id=config["client_id"],
            group_id=config["group"],
            group_instance_id=config.get("instance_id"),
            partition_assignment_strategy=(ASSIGNORS[config.get("assignor", "range")],),
            session_timeout_ms=config.get("session_timeout_ms", 6000),
            heartbeat_interval_ms=config.get("heartbeat_interval_ms", 500),
            max_poll_interval_ms=config.get("rebalance_timeout_ms", 30000),
            isolation_level=config.get("isolation", "read_uncommitted"),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        lost = [tuple(one) for one in revoked]
        try:
            await self.commit(self.owned.to_commit(lost))
        except KafkaError as failed:
            line.error(failed)
        self.owned.revoked(lost)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.owned.assigned([tuple(one) for one in assigned])

    async def commit(self, positions: dict[line.Place, int]) -> None:
        if positions:
            await self.consumer.commit({TopicPartition(*place): offset for place, offset in positions.items()})

    async def read(self) -> None:
        while True:
            try:
                message = await self.consumer.getone()
            except KafkaError as failed:
                line.error(failed)
                continue
            place = (message.topic, message.partition)
            line.consumed(*place, message.offset, message.key, message.value, message.headers, message.timestamp)
            self.owned.positions[place] = message.offset + 1

    async def run(self) -> None:
        told = line.commands()
        line.say("ready")
        self.consumer.subscribe(self.topics, listener=self)
        await self.consumer.start()
        reading = asyncio.create_task(self.read())
        while True:
            command = await next_command(told)
            positions = self.owned.to_commit()
            try:
                await self.commit(positions)
            except KafkaError as failed:
                line.error(failed, command["do"] if command["do"] == "commit" else None)
            else:
                if command["do"] == "commit":
                    line.say("committed", positions=line.rows(positions))
            if command["do"] == "close":
                reading.cancel()
                await self.consumer.stop()
                line.say("closed")
                return


class Writer:
    """The producer's story."""

    def __init__(self, config: dict[str, Any]) -> None:
        codec = config.get("codec", "none")
        if not CODECS[codec]:
            raise line.Unsupported(f"{codec} without cramjam")
        self.transactional = bool(config.get("transactional_id"))
        self.producer = AIOKafkaProducer(
            bootstrap_servers=config["bootstrap"],
            client_id=config["client_id"],
            compression_type=None if codec == "none" else codec,
            enable_idempotence=bool(config.get("idempotent") or self.transactional),
            transactional_id=config.get("transactional_id"),
            acks="all",
            linger_ms=5,
        )

    async def send(self, records: list[dict[str, Any]]) -> list[list[Any]]:
        waiting = [
            await self.producer.send(
                record["topic"],
                value=line.data(record["value"]),
                key=line.data(record["key"]),
                partition=record.get("partition"),
                timestamp_ms=record.get("timestamp"),
                headers=line.headers_of(record),
            )
            for record in records
        ]
        done = await asyncio.gather(*waiting)
        return [[one.topic, one.partition, one.offset] for one in done]

    async def obey(self, command: dict[str, Any]) -> None:
        do = command["do"]
        if do == "send":
            line.say("sent", positions=await self.send(command["records"]))
        elif do == "begin":
            await self.producer.begin_transaction()
            line.say("begun")
        elif do == "commit":
            await self.producer.commit_transaction()
            line.say("committed")
        elif do == "abort":
            await self.producer.abort_transaction()
            line.say("aborted")
        elif do == "send_offsets":
            offsets = {TopicPartition(topic, part): offset for topic, part, offset in command["positions"]}
            await self.producer.send_offsets_to_transaction(offsets, command["group"])
            line.say("offsets_sent")

    async def run(self) -> None:
        told = line.commands()
        await self.producer.start()
        line.say("ready")
        while True:
            command = await next_command(told)
            if command["do"] == "close":
                await self.producer.stop()
                line.say("closed")
                return
            try:
                await self.obey(command)
            except (KafkaError, ValueError) as failed:
                line.error(failed, command["do"])


async def consume(config: dict[str, Any]) -> None:
    """The whole life of a consumer; aiokafka wants its objects made inside the loop."""
    await Reader(config).run()


async def produce(config: dict[str, Any]) -> None:
    """The whole life of a producer."""
    await Writer(config).run()


if __name__ == "__main__":
    line.main(lambda config: asyncio.run(consume(config)), lambda config: asyncio.run(produce(config)))
