"""A member program with kafka-python."""

from __future__ import annotations

import queue
from collections.abc import Iterable
from typing import Any

import line
from kafka import (
    AsyncConsumerRebalanceListener,
    ConsumerGroupMetadata,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka.codec import has_lz4, has_snappy, has_zstd
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
CODECS = {"none": True, "gzip": True, "snappy": has_snappy(), "lz4": has_lz4(), "zstd": has_zstd()}


def positions_of(positions: dict[line.Place, int]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Positions as kafka-python wants them."""
    return {TopicPartition(*place): OffsetAndMetadata(offset, "", -1) for place, offset in positions.items()}


class Reader(AsyncConsumerRebalanceListener):
    """The consumer's story."""

    def __init__(self, config: dict[str, Any]) -> None:
        if config.get("assignor", "range") not in ASSIGNORS:
            raise line.Unsupported(config["assignor"])
        self.owned = line.Owned()
        self.closing = False
        self.consumer = KafkaConsumer(
            bootstrap_servers=config["bootstrap"].split(","),
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
        self.consumer.subscribe(config["topics"], listener=self)

    # These run in the loop of the client's own thread, where a blocking commit is refused.

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        lost = [tuple(one) for one in revoked]
        offsets = positions_of(self.owned.to_commit(lost))
        if offsets and not self.closing:
            try:
                await self.consumer.commit_async(offsets)
            except KafkaError as failed:
                line.error(failed)
        self.owned.revoked(lost)

    async def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self.owned.revoked([tuple(one) for one in lost])

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.owned.assigned([tuple(one) for one in assigned])

    def commit(self, positions: dict[line.Place, int]) -> None:
        if positions:
            self.consumer.commit(positions_of(positions), timeout_ms=20_000)

    def poll(self) -> None:
        for place, messages in self.consumer.poll(timeout_ms=50).items():
            for one in messages:
                line.consumed(*place, one.offset, one.key, one.value, one.headers, one.timestamp)
                self.owned.positions[tuple(place)] = one.offset + 1

    def run(self) -> None:
        line.say("ready")
        told = line.commands()
        while True:
            try:
                self.poll()
            except KafkaError as failed:
                line.error(failed)
            try:
                command = told.get_nowait()
            except queue.Empty:
                continue
            self.obey(command)
            if command["do"] == "close":
                self.closing = True
                self.consumer.close()
                line.say("closed")
                return

    def obey(self, command: dict[str, Any]) -> None:
        positions = self.owned.to_commit()
        named = command["do"] if command["do"] == "commit" else None
        try:
            self.commit(positions)
        except KafkaError as failed:
            line.error(failed, named)
        else:
            if named:
                line.say("committed", positions=line.rows(positions))


class Writer:
    """The producer's story."""

    def __init__(self, config: dict[str, Any]) -> None:
        codec = config.get("codec", "none")
        if not CODECS[codec]:
            raise line.Unsupported(f"{codec} without its library")
        self.producer = KafkaProducer(
            bootstrap_servers=config["bootstrap"].split(","),
            client_id=config["client_id"],
            compression_type=None if codec == "none" else codec,
            enable_idempotence=bool(config.get("idempotent") or config.get("transactional_id")),
            transactional_id=config.get("transactional_id"),
            acks="all",
            linger_ms=5,
        )
        if config.get("transactional_id"):
            self.producer.init_transactions()

    def send(self, records: list[dict[str, Any]]) -> list[list[Any]]:
        waiting = [
            self.producer.send(
                record["topic"],
                value=line.data(record["value"]),
                key=line.data(record["key"]),
                partition=record.get("partition"),
                timestamp_ms=record.get("timestamp"),
                headers=line.headers_of(record),
            )
            for record in records
        ]
        self.producer.flush(60)
        done = [future.get(timeout=60) for future in waiting]
        return [[one.topic, one.partition, one.offset] for one in done]

    def offsets(self, command: dict[str, Any]) -> None:
        offsets = positions_of({(topic, part): offset for topic, part, offset in command["positions"]})
        self.producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(command["group"], -1, "", None))

    def obey(self, command: dict[str, Any]) -> None:
        do = command["do"]
        if do == "send":
            line.say("sent", positions=self.send(command["records"]))
        elif do == "begin":
            self.producer.begin_transaction()
            line.say("begun")
        elif do == "commit":
            self.producer.commit_transaction()
            line.say("committed")
        elif do == "abort":
            self.producer.abort_transaction()
            line.say("aborted")
        elif do == "send_offsets":
            self.offsets(command)
            line.say("offsets_sent")

    def run(self) -> None:
        line.say("ready")
        told = line.commands()
        while True:
            command = told.get()
            if command["do"] == "close":
                self.producer.close()
                line.say("closed")
                return
            try:
                self.obey(command)
            except (KafkaError, ValueError) as failed:
                line.error(failed, command["do"])


if __name__ == "__main__":
    line.main(lambda config: Reader(config).run(), lambda config: Writer(config).run())
