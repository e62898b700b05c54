"""librdkafka's consumers (confluent-kafka), many in one process; their applications are those of `java/Twin.java`.

The same lines of JSON, in both directions.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from twin_line import obey, say

#: What an application is told of and goes on.
TOLD = (KafkaError._MAX_POLL_EXCEEDED, KafkaError.UNKNOWN_TOPIC_OR_PART)
_SESSION_OVER = re.compile(r"session timed out .* after (\d+) ms .*\((broker -?\d+),")
COMMITS = ("sync-after-batch", "async-after-batch")


def named(partitions: list[TopicPartition]) -> str:
    """Partitions by topic and number."""
    return " ".join(sorted(f"{one.topic}-{one.partition}" for one in partitions))


class SessionLog(logging.Handler):
    """Says when librdkafka's log has a session that is over: after how long, as it measured it, and at which broker."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        found = _SESSION_OVER.search(record.getMessage())
        if found:
            say(self._name, f"session over after {int(found[1]) // 1000} s, {found[2]}")


class Application:
    """One consumer and its thread."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._name = name
        self._config = config
        self._finished: dict[tuple[str, int], TopicPartition] = {}
        threading.Thread(target=self._run, daemon=True).start()

    def tell(self, command: dict[str, Any]) -> None:
        """A command from outside."""
        self._told.put(command)

    def _run(self) -> None:
        try:
            log = logging.Logger(self._name)
            log.addHandler(SessionLog(self._name))
            self._consumer = Consumer(self._config["settings"], logger=log)
            pattern = self._config.get("pattern") or self._config.get("regex")
            self._subscribe(self._config["topics"] if pattern is None else [f"^{pattern}$"])
            self._live()
        except Exception as error:
            say(self._name, f"error {error!r}")

    def _subscribe(self, topics: list[str]) -> None:
        self._consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    def _live(self) -> None:
        while True:
            try:
                command = self._told.get_nowait()
            except Empty:
                command = None
            try:
                if command is None:
                    self._finish(self._consumer.poll(0.05))
                elif self._carried_out(command):
                    return
            except KafkaException as error:
                say(self._name, f"threw {error.args[0].name()}")
                if not self._config["stubborn"]:
                    self._close()
                    return
                time.sleep(self._config["error_pause_ms"] / 1000)

    def _carried_out(self, command: dict[str, Any]) -> bool:
        what = command["do"]
        if what == "close":
            self._close()
        elif what == "block":
            time.sleep(command["ms"] / 1000)
        elif what == "subscribe":
            self._subscribe(command["topics"])
        elif what == "unsubscribe":
            self._consumer.unsubscribe()
        elif what == "end":
            return True
        return what == "close"

    def _close(self) -> None:
        self._consumer.close()
        say(self._name, "closed")

    def _finish(self, message: Any) -> None:
        """The application has finished a message: commit by its policy."""
        if message is None:
            return
        error = message.error()
        if error is not None and error.code() in TOLD:
            say(self._name, f"threw {error.name()}")
            return
        if error is not None:
            raise KafkaException(error)
        policy = self._config["policy"]
        if policy in COMMITS:
            where = message.topic(), message.partition()
            self._finished[where] = TopicPartition(*where, message.offset() + 1, leader_epoch=message.leader_epoch())
            self._consumer.commit(offsets=list(self._finished.values()), asynchronous=policy == COMMITS[1])
            self._finished.clear()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        say(self._name, f"assigned {named(partitions)}")
        self._takes("set_up_ms")

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        say(self._name, f"revoked {named(partitions)}")
        self._takes("clean_up_ms")
        if self._finished:
            try:
                self._consumer.commit(offsets=list(self._finished.values()), asynchronous=False)
            except KafkaException:
                return  # the application swallows it
            self._finished.clear()

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        say(self._name, f"lost {named(partitions)}")
        self._takes("clean_up_ms")

    def _takes(self, setting: str) -> None:
        """Spend the time of a callback, where the story has it."""
        time.sleep(self._config.get(setting, 0) / 1000)


if __name__ == "__main__":
    obey(Application)
