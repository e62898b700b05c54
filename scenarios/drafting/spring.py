"""Read Spring for Apache Kafka's settings of a consumer: its commits, its polls, and the consumers of a pod.

| setting | default | here |
| --- | --- | --- |
| `enable-auto-commit` | false, set by Spring since 2.3 | the container commits |
| `listener.ack-mode` | BATCH: after the records of a poll, with commitSync | `commit: sync-after-batch` |
| `listener.poll-timeout` | 5 s | `poll-timeout` |
| `listener.idle-between-polls` | 0 | `poll-gap` |
| `listener.concurrency` | 1 | as many members for each pod |

Source: Spring for Apache Kafka, ContainerProperties and ConcurrentMessageListenerContainer.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.eventloop.units import parse_duration
from groupsim.scenarios.drafting.applications import Consumer
from groupsim.scenarios.drafting.facts import Fact

POLL_TIMEOUT = "5s"
_EXACT = ("BATCH",)
_LATER = ("MANUAL", "MANUAL_IMMEDIATE")


def commit_of(consumer: Consumer) -> tuple[str, str]:
    """Return the scenario's `commit`, and the reason; two empty texts with the client's auto-commit."""
    auto = consumer.settings.get("enable.auto.commit")
    if auto is not None and auto.value.lower() == "true":
        return "", ""
    mode = consumer.listener.get("ack-mode")
    if mode is None:
        return "sync-after-batch", "Spring's default: ack-mode BATCH"
    name = mode.value.upper().replace("-", "_")
    words = mode.source
    if name in _LATER:
        words += ": the application acknowledges; nearest: after each batch"
    elif name not in _EXACT:
        words += f": {name}; nearest: after each batch"
    return "sync-after-batch", words


def polls_of(consumer: Consumer) -> Iterator[tuple[str, str, Fact[str] | str]]:
    """Yield the group's keys for `poll`: its timeout, and the time between two polls."""
    timeout = consumer.listener.get("poll-timeout")
    text = _duration(timeout) if timeout is not None else None
    yield ("poll-timeout", text, timeout) if text and timeout else ("poll-timeout", POLL_TIMEOUT, "Spring's default")
    idle = consumer.listener.get("idle-between-polls")
    if idle is not None and (text := _duration(idle)) is not None:
        yield "poll-gap", text, idle


def concurrency_of(consumer: Consumer) -> Fact[int] | None:
    """Return the number of consumers of each pod, if the settings have it."""
    fact = consumer.listener.get("concurrency")
    if fact is None or not fact.value.strip().isdecimal() or not int(fact.value):
        return None
    return Fact(int(fact.value), fact.place, fact.name)


def _duration(fact: Fact[str]) -> str | None:
    """Read a duration as Spring Boot does, a bare number as milliseconds; None for other texts."""
    text = fact.value.strip().lower().removeprefix("pt")
    text = f"{text}ms" if text.isdecimal() else text
    try:
        return text if parse_duration(text) > 0 else None
    except ValueError:
        return None
