"""aiokafka's consumers, many in one event loop; their applications are those of `java/Twin.java`.

The same lines of JSON, in both directions. An application that is away awaits something else: one that keeps the loop
from turning stops its heartbeats, and those of all others here.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError
from twin_line import say

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
#: None is cancelled to be left sooner: one that was cancelled counts as going on for ever (`fetch_context`), so that
#: max.poll.interval.ms is never over.
_POLL_MS = 20


def named(partitions: Iterable[TopicPartition]) -> str:
    """Partitions by topic and number."""
    return " ".join(f"{topic}-{number}" for topic, number in sorted(partitions))


class Application(ConsumerRebalanceListener):  # type: ignore[misc]
    """One consumer and its task."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.name = name
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._config = config
        self._finished: dict[TopicPartition, OffsetAndMetadata] = {}
        self._idle = False
        self._life = asyncio.create_task(self._run())

    def tell(self, command: dict[str, Any]) -> None:
        """A command from outside."""
        self._told.put_nowait(command)

    async def _run(self) -> None:
        try:
            settings = dict(self._config["settings"])
            names = settings.pop("partition_assignment_strategy").split(",")
            settings["partition_assignment_strategy"] = tuple(_ASSIGNORS[name] for name in names)
            settings["bootstrap_servers"] = settings.pop("bootstrap.servers").split(",")
            self._consumer = AIOKafkaConsumer(**settings)
            self._subscribe(self._config["topics"], self._config.get("pattern"))
            await self._live()
        except Exception as error:
            say(self.name, f"error {error!r}")

    def _subscribe(self, topics: list[str], pattern: str | None = None) -> None:
        if pattern is None:
            self._consumer.subscribe(topics, listener=self)
        else:
            self._consumer.subscribe(pattern=f"^{pattern}$", listener=self)

    async def _live(self) -> None:
        started = False
        while True:
            command = None if self._told.empty() else self._told.get_nowait()
            try:
                if command is not None and await self._carried_out(command):
                    return
                if self._idle:
                    await asyncio.sleep(0.02)
                elif not started:
                    started = True
                    await self._consumer.start()
                else:
                    await self._finish(await self._consumer.getmany(timeout_ms=_POLL_MS))
            except KafkaError as error:
                say(self.name, f"threw {type(error).__name__} # {error}")
                if not self._config["stubborn"]:
                    await self._close()
                    return
                await asyncio.sleep(self._config["error_pause_ms"] / 1000)

    async def _carried_out(self, command: dict[str, Any]) -> bool:
        what = command["do"]
        if what == "close":
            await self._close()
        elif what == "block":
            await asyncio.sleep(command["ms"] / 1000)
        elif what == "subscribe":
            self._subscribe(command["topics"])
            self._idle = False
        elif what == "unsubscribe":
            self._consumer.unsubscribe()
            self._idle = True
        elif what != "end":
            raise ValueError(what)
        return what in ("close", "end")

    async def _close(self) -> None:
        try:
            await self._consumer.stop()
        except KafkaError as error:
            say(self.name, f"close threw {type(error).__name__} # {error}")
        say(self.name, "closed")

    async def _finish(self, batches: dict[TopicPartition, list[Any]]) -> None:
        """The application has finished a batch: commit by its policy."""
        for partition, records in batches.items():
            self._finished[partition] = OffsetAndMetadata(records[-1].offset + 1, "")
        if not batches or not self._finished:
            return
        if self._config["policy"] == "sync-after-batch":
            await self._consumer.commit(dict(self._finished))
            self._finished.clear()
        elif self._config["policy"] == "async-after-batch":
            self._later = asyncio.create_task(self._committed(dict(self._finished)))

    async def _committed(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        try:
            await self._consumer.commit(offsets)
        except KafkaError:
            return
        self._finished = {place: at for place, at in self._finished.items() if offsets.get(place) != at}

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """In the callback, what was finished and could not be committed yet is committed."""
        if not revoked:
            return
        say(self.name, f"revoked {named(revoked)}")
        if self._config["policy"] != "auto" and self._finished:
            try:
                await self._consumer.commit(dict(self._finished))
                self._finished.clear()
            except KafkaError:
                pass  # the application swallows it

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """What it has now."""
        say(self.name, f"assigned {named(assigned)}")


async def main() -> None:
    """Carry out what is told until there is no more."""
    running: dict[str, Application] = {}
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        told = json.loads(line)
        if told["do"] == "start":
            running[told["name"]] = Application(told["name"], told)
        else:
            running[told["name"]].tell(told)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
