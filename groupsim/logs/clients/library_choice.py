"""The choice of the log format for a client profile. A new library needs its table, and a row here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from groupsim.eventloop.trace.events import TraceEvent
from groupsim.logs.clients.brod import BROD
from groupsim.logs.clients.go import FRANZ_GO, SARAMA
from groupsim.logs.clients.java import JavaLog
from groupsim.logs.clients.java_consumer_groups import AsyncJavaLog
from groupsim.logs.clients.kafka_python import AIOKAFKA, KAFKA_PYTHON_1, KAFKA_PYTHON_2, KAFKA_PYTHON_2_3
from groupsim.logs.clients.kafkajs import KAFKAJS
from groupsim.logs.clients.known import Known
from groupsim.logs.clients.libraries import Library, LibraryLog
from groupsim.logs.clients.librdkafka import LibrdkafkaLog
from groupsim.logs.wording import version

# Prefix of a profile's name → its library; the first match counts.
LIBRARIES: tuple[tuple[str, Library], ...] = (
    ("kafka-python-1", KAFKA_PYTHON_1),
    ("kafka-python-2.3", KAFKA_PYTHON_2_3),
    ("kafka-python-3", KAFKA_PYTHON_2_3),  # the nearest known one: the logs of 3.x were not compared
    ("kafka-python", KAFKA_PYTHON_2),
    ("aiokafka", AIOKAFKA),
    ("franz-go", FRANZ_GO),
    ("sarama", SARAMA),
    ("kafkajs", KAFKAJS),
    ("brod", BROD),
)


class ClientLog(Protocol):
    """The log of one process."""

    def lines(self, event: TraceEvent) -> Iterable[str]:
        """The physical lines one event of this process makes."""


class Silent:
    """The empty log of a producer, and of a library whose messages were not compared."""

    def lines(self, event: TraceEvent) -> Iterable[str]:
        """Return no line."""
        return ()


def client_log(event: TraceEvent, known: Known) -> ClientLog:
    """Make the log of the process that an event starts."""
    payload = event.payload or {}
    if event.group is None:
        return Silent()
    group, client_id = event.group, str(payload.get("client_id") or event.host)
    profile, instance = str(payload.get("profile") or "java"), payload.get("instance_id")
    if profile.startswith("java"):
        asynchronous = (payload.get("config") or {}).get("group.protocol") == "consumer"
        kind = AsyncJavaLog if asynchronous else JavaLog
        return kind(group, client_id, instance, version(payload.get("release") or profile), known)
    if profile.startswith("librdkafka"):
        return LibrdkafkaLog.of(group, client_id, known)
    library = next((library for name, library in LIBRARIES if profile.startswith(name)), None)
    return Silent() if library is None else LibraryLog(library, group, client_id, instance, known)
