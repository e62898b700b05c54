"""kafka-python's consumers, many in one process; their applications are those of `java/Twin.java`.

The same lines of JSON, in both directions. It runs with releases 2.x and 3.x of the client
(`tests/twins/kafka_python.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import Any

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from twin_line import obey, say

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
try:
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

    _ASSIGNORS["cooperative-sticky"] = CooperativeStickyAssignor
except ImportError:
    pass  # before 3.0
_EPOCH = (-1,) if len(OffsetAndMetadata._fields) > 2 else ()


def named(partitions: Iterable[TopicPartition]) -> str:
    """Partitions by topic and number."""
    return " ".join(f"{topic}-{number}" for topic, number in sorted(partitions))


class Told(Exception):
    """There is something else to be done than to poll on: what an application's signal handler would raise."""


class Consumer(KafkaConsumer):
    """A consumer whose poll is left between two rounds when its application was told something; no client of the 2.x
    has a wakeup that does so.
    """

    def __init__(self, told: SimpleQueue[dict[str, Any]], **settings: Any) -> None:
        self._told = told
        super().__init__(**settings)

    def _poll_once(self, *given: Any, **more: Any) -> Any:
        if not self._told.empty():
            raise Told
        return super()._poll_once(*given, **more)

    def wake(self) -> None:
        """Let a poll that waits for the network look up."""
        self._client.wakeup()


class Listener(ConsumerRebalanceListener):
    """Says what the application's callbacks are given; those that are given nothing to give back are left out."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        if revoked:
            self._application.revoked(revoked)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        say(self._application.name, f"lost {named(lost)}")

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        say(self._application.name, f"assigned {named(assigned)}")


class Application:
    """One consumer and its thread."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.name = name
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._config = config
        self._finished: dict[TopicPartition, OffsetAndMetadata] = {}
        self._idle = False
        self._consumer: Consumer | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def tell(self, command: dict[str, Any]) -> None:
        """A command from outside."""
        self._told.put(command)
        if self._consumer is not None:
            self._consumer.wake()

    def _run(self) -> None:
        try:
            settings = dict(self._config["settings"])
            names = settings.pop("partition_assignment_strategy").split(",")
            settings["partition_assignment_strategy"] = tuple(_ASSIGNORS[name] for name in names)
            settings["bootstrap_servers"] = settings.pop("bootstrap.servers").split(",")
            self._consumer = consumer = Consumer(self._told, **settings)
            if not kafka.__version__.startswith("3."):
                consumer.topics()  # else it may be made leader before it knows any, and assign nothing at first
            if self._config.get("pattern") is None:
                consumer.subscribe(self._config["topics"], listener=Listener(self))
            else:
                consumer.subscribe(pattern=f"^{self._config['pattern']}$", listener=Listener(self))
            if kafka.__version__.startswith("3."):
                for topic in self._config["topics"]:
                    consumer.partitions_for_topic(topic)
            self._live(consumer)
        except Exception as error:
            say(self.name, f"error {error!r}")

    def _live(self, consumer: Consumer) -> None:
        while True:
            try:
                command = self._told.get_nowait()
            except Empty:
                command = None
            try:
                if command is not None and self._carried_out(consumer, command):
                    return
                if self._idle:
                    time.sleep(0.02)
                else:
                    self._finish(consumer, consumer.poll(self._config["poll_ms"]))
            except Told:
                pass
            except KafkaError as error:
                say(self.name, f"threw {type(error).__name__} # {error}")
                if not self._config["stubborn"]:
                    self._close(consumer)
                    return
                time.sleep(self._config["error_pause_ms"] / 1000)

    def _carried_out(self, consumer: Consumer, command: dict[str, Any]) -> bool:
        what = command["do"]
        if what == "close":
            self._close(consumer)
        elif what == "block":
            time.sleep(command["ms"] / 1000)
        elif what == "subscribe":
            consumer.subscribe(command["topics"], listener=Listener(self))
            self._idle = False
        elif what == "unsubscribe":
            consumer.unsubscribe()
            self._idle = True
        elif what != "end":
            raise ValueError(what)
        return what in ("close", "end")

    def _close(self, consumer: Consumer) -> None:
        try:
            consumer.close()
        except KafkaError as error:
            say(self.name, f"close threw {type(error).__name__} # {error}")
        say(self.name, "closed")

    def _finish(self, consumer: Consumer, batches: dict[TopicPartition, list[Any]]) -> None:
        """The application has finished a batch: commit by its policy."""
        for partition, records in batches.items():
            self._finished[partition] = OffsetAndMetadata(records[-1].offset + 1, "", *_EPOCH)
        if not batches or not self._finished:
            return
        if self._config["policy"] == "sync-after-batch":
            consumer.commit(dict(self._finished))
            self._finished.clear()
        elif self._config["policy"] == "async-after-batch":
            consumer.commit_async(dict(self._finished), self._committed)

    def _committed(self, offsets: dict[TopicPartition, OffsetAndMetadata], result: object) -> None:
        if not isinstance(result, Exception):
            self._finished = {place: at for place, at in self._finished.items() if offsets.get(place) != at}

    def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """In the callback, what was finished and could not be committed yet is committed."""
        say(self.name, f"revoked {named(partitions)}")
        if self._config["policy"] != "auto" and self._finished and self._consumer is not None:
            try:
                self._consumer.commit(dict(self._finished))
                self._finished.clear()
            except KafkaError:
                pass  # the application swallows it


if __name__ == "__main__":
    obey(Application)
