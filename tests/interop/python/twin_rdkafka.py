"""Consumers of librdkafka as a library alone, of any release: python twin_rdkafka.py LIBRARY

The lines of JSON are those of `java/Twin.java`. Old releases have Python bindings for old Pythons only; the C functions
used here are in all of them. An application polls, and that is all it does.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

from twin_line import obey, say

CONSUMER, CONF_OK = 1, 0
ASSIGN = -175  # RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS
ANY_PARTITION = -1
POLL_MS = 50


class Partition(ctypes.Structure):
    """`rd_kafka_topic_partition_t`."""

    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("partition", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("metadata", ctypes.c_void_p),
        ("metadata_size", ctypes.c_size_t),
        ("opaque", ctypes.c_void_p),
        ("err", ctypes.c_int),
        ("private", ctypes.c_void_p),
    )


class Partitions(ctypes.Structure):
    """`rd_kafka_topic_partition_list_t`."""

    _fields_ = (("count", ctypes.c_int), ("size", ctypes.c_int), ("elements", ctypes.POINTER(Partition)))

    def __iter__(self) -> Iterator[Partition]:
        return (self.elements[at] for at in range(self.count))


Listing = ctypes.POINTER(Partitions)
Rebalance = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, Listing, ctypes.c_void_p)

LIBRARY = ctypes.CDLL(sys.argv[1])


def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    """A function of the library."""
    found = getattr(LIBRARY, f"rd_kafka_{name}")
    found.restype, found.argtypes = result, parameters
    return found


conf_new = function("conf_new", ctypes.c_void_p)
conf_set = function(
    "conf_set", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t
)
conf_set_rebalance_cb = function("conf_set_rebalance_cb", None, ctypes.c_void_p, Rebalance)
new = function("new", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
poll_set_consumer = function("poll_set_consumer", ctypes.c_int, ctypes.c_void_p)
list_new = function("topic_partition_list_new", Listing, ctypes.c_int)
list_add = function("topic_partition_list_add", ctypes.c_void_p, Listing, ctypes.c_char_p, ctypes.c_int32)
subscribe = function("subscribe", ctypes.c_int, ctypes.c_void_p, Listing)
assign = function("assign", ctypes.c_int, ctypes.c_void_p, Listing)
consumer_poll = function("consumer_poll", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
message_destroy = function("message_destroy", None, ctypes.c_void_p)


class Application:
    """One consumer and its thread."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._name = name
        self._config = config
        self._called = Rebalance(self._rebalanced)
        threading.Thread(target=self._run, daemon=True).start()

    def tell(self, command: dict[str, Any]) -> None:
        """A command from outside."""
        self._told.put(command)

    def _run(self) -> None:
        try:
            consumer = self._made()
            topics = list_new(len(self._config["topics"]))
            for topic in self._config["topics"]:
                list_add(topics, topic.encode(), ANY_PARTITION)
            subscribe(consumer, topics)
            while not self._is_over():
                message = consumer_poll(consumer, POLL_MS)
                if message:
                    message_destroy(message)
        except Exception as error:
            say(self._name, f"error {error!r}")

    def _made(self) -> int:
        why = ctypes.create_string_buffer(512)
        settings = conf_new()
        for name, value in self._config["settings"].items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if conf_set(settings, name.encode(), text.encode(), why, len(why)) != CONF_OK:
                raise ValueError(why.value.decode())
        conf_set_rebalance_cb(settings, self._called)
        consumer: int | None = new(CONSUMER, settings, why, len(why))
        if consumer is None:
            raise ValueError(why.value.decode())
        poll_set_consumer(consumer)
        return consumer

    def _is_over(self) -> bool:
        try:
            return bool(self._told.get_nowait()["do"] == "end")
        except Empty:
            return False

    def _rebalanced(self, consumer: int, what: int, partitions: Any, _: int) -> None:
        named = sorted(f"{one.topic.decode()}-{one.partition}" for one in partitions.contents)
        say(self._name, " ".join(["assigned" if what == ASSIGN else "revoked", *named]))
        assign(consumer, partitions if what == ASSIGN else None)


if __name__ == "__main__":
    obey(Application)
