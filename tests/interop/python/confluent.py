"""A member program with confluent-kafka (librdkafka)."""

from __future__ import annotations

import queue
from typing import Any

import line
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

ASSIGNORS = {"range", "roundrobin", "cooperative-sticky", "server:uniform", "server:range"}


def places(partitions: list[TopicPartition]) -> list[line.Place]:
    """Topic and partition of each."""
    return [(one.topic, one.partition) for one in partitions]


class Reader:
    """The consumer's story."""

    def __init__(self, config: dict[str, Any]) -> None:
        if config.get("assignor", "range") not in ASSIGNORS:
            raise line.Unsupported(config["assignor"])
        self.owned = line.Owned()
        self.consumer = Consumer(consumer_settings(config))
        pattern = config.get("pattern")  # what begins with ^ is one to librdkafka
        self.topics = [pattern] if pattern else config["topics"]
        self.held = bool(config.get("hold"))
        if self.held:
            self.consumer.list_topics(self.topics[0], timeout=30)
        else:
            self.subscribe()

    def subscribe(self) -> None:
        self.consumer.subscribe(
            self.topics,
            on_assign=self.on_assign,
            on_revoke=self.on_revoke,
            on_lost=self.on_lost,
        )

    def on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.owned.assigned(places(partitions))

    def on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            self.commit(self.owned.to_commit(places(partitions)))
        except KafkaException as failed:
            line.error(failed)
        self.owned.revoked(places(partitions))

    def on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.owned.revoked(places(partitions))

    def commit(self, positions: dict[line.Place, int]) -> None:
        if not positions:
            return
        offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in positions.items()]
        for one in self.consumer.commit(offsets=offsets, asynchronous=False) or ():
            if one.error is not None:
                raise KafkaException(one.error)

    def poll(self) -> None:
        message = self.consumer.poll(0.05)
        if message is None:
            return
        if message.error() is not None:
            line.error(message.error())
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        headers = message.headers() or ()
        line.consumed(topic, partition, offset, message.key(), message.value(), headers, message.timestamp()[1])
        self.owned.positions[topic, partition] = offset + 1

    def run(self) -> None:
        line.say("ready")
        told = line.commands()
        if self.held:
            while told.get()["do"] != "subscribe":
                pass
            self.subscribe()
        while True:
            self.poll()
            try:
                command = told.get_nowait()
            except queue.Empty:
                continue
            if command["do"] == "close":
                self.consumer.close()
                line.say("closed")
                return
            self.obey(command)

    def obey(self, command: dict[str, Any]) -> None:
        positions = self.owned.to_commit()
        try:
            self.commit(positions)
        except KafkaException as failed:
            line.error(failed, command["do"])
        else:
            line.say("committed", positions=line.rows(positions))


def consumer_settings(config: dict[str, Any]) -> dict[str, Any]:
    """librdkafka's names of what the config says."""
    settings = {
        "bootstrap.servers": config["bootstrap"],
        "client.id": config["client_id"],
        "group.id": config["group"],
        "max.poll.interval.ms": config.get("rebalance_timeout_ms", 30000),
        "isolation.level": config.get("isolation", "read_uncommitted"),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "error_cb": line.error,
        **membership(config),
    }
    if config.get("instance_id"):
        settings["group.instance.id"] = config["instance_id"]
    return settings


def membership(config: dict[str, Any]) -> dict[str, Any]:
    """The settings of the protocol; librdkafka refuses those of the classic one beside `group.protocol=consumer`."""
    place, _, name = config.get("assignor", "range").rpartition(":")
    if place == "server":
        return {"group.protocol": "consumer", "group.remote.assignor": name}
    return {
        "partition.assignment.strategy": name,
        "session.timeout.ms": config.get("session_timeout_ms", 6000),
        "heartbeat.interval.ms": config.get("heartbeat_interval_ms", 500),
    }


class Writer:
    """The producer's story."""

    def __init__(self, config: dict[str, Any]) -> None:
        settings = {
            "bootstrap.servers": config["bootstrap"],
            "client.id": config["client_id"],
            "compression.type": config.get("codec", "none"),
            "enable.idempotence": bool(config.get("idempotent") or config.get("transactional_id")),
            "acks": "all",
            "linger.ms": 5,
            "error_cb": line.error,
        }
        if config.get("transactional_id"):
            settings["transactional.id"] = config["transactional_id"]
        self.config = config
        self.producer = Producer(settings)
        if config.get("transactional_id"):
            self.producer.init_transactions(30)

    def send(self, records: list[dict[str, Any]]) -> list[list[Any]]:
        done: dict[int, Any] = {}
        for number, record in enumerate(records):

            def delivered(failed: KafkaError | None, message: Any, number: int = number) -> None:
                done[number] = failed or [message.topic(), message.partition(), message.offset()]

            place = {} if record.get("partition") is None else {"partition": record["partition"]}
            if record.get("timestamp") is not None:
                place["timestamp"] = record["timestamp"]
            self.producer.produce(
                record["topic"],
                value=line.data(record["value"]),
                key=line.data(record["key"]),
                headers=line.headers_of(record),
                on_delivery=delivered,
                **place,
            )
        self.producer.flush(60)
        for number in range(len(records)):
            if not isinstance(done.get(number), list):
                raise KafkaException(done.get(number, "not delivered within 60 s"))
        return [done[number] for number in range(len(records))]

    def offsets(self, command: dict[str, Any]) -> None:
        settings = {"bootstrap.servers": self.config["bootstrap"], "group.id": command["group"]}
        metadata = Consumer(settings).consumer_group_metadata()
        offsets = [TopicPartition(*position) for position in command["positions"]]
        self.producer.send_offsets_to_transaction(offsets, metadata, 30)

    def obey(self, command: dict[str, Any]) -> None:
        do = command["do"]
        if do == "send":
            line.say("sent", positions=self.send(command["records"]))
        elif do == "begin":
            self.producer.begin_transaction()
            line.say("begun")
        elif do == "commit":
            self.producer.commit_transaction(30)
            line.say("committed")
        elif do == "abort":
            self.producer.abort_transaction(30)
            line.say("aborted")
        elif do == "send_offsets":
            self.offsets(command)
            line.say("offsets_sent")

    def run(self) -> None:
        line.say("ready")
        told = line.commands()
        while True:
            try:
                command = told.get(timeout=0.1)
            except queue.Empty:
                self.producer.poll(0)
                continue
            if command["do"] == "close":
                self.producer.flush(10)
                line.say("closed")
                return
            try:
                self.obey(command)
            except KafkaException as failed:
                line.error(failed, command["do"])


if __name__ == "__main__":
    line.main(lambda config: Reader(config).run(), lambda config: Writer(config).run())
