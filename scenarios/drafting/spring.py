"""What Spring for Apache Kafka adds to a consumer: when it commits, how long it polls, how many consumers a pod has.

| setting | default | here |
| --- | --- | --- |
| `enable-auto-commit` | false, set by Spring since 2.3 | the container commits |
| `listener.ack-mode` | BATCH: after the records of a poll, with commitSync | `commit: sync-after-batch` |
| `listener.poll-timeout` | 5 s | `poll-timeout` |
| `listener.idle-between-polls` | 0 | `poll-gap` |
| `listener.concurrency` | 1 | so many members for each pod |

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
    """The scenario's `commit`, and why; two empty texts where the client's own auto-commit is on."""
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
    """Keys of the group for `poll`: its timeout, and the time between two of them."""
    timeout = consumer.listener.get("poll-timeout")
    text = _duration(timeout) if timeout is not None else None
    yield ("poll-timeout", text, timeout) if text and timeout else ("poll-timeout", POLL_TIMEOUT, "Spring's default")
    idle = consumer.listener.get("idle-between-polls")
    if idle is not None and (text := _duration(idle)) is not None:
        yield "poll-gap", text, idle


def concurrency_of(consumer: Consumer) -> Fact[int] | None:
    """How many consumers each pod runs, where the settings say it."""
    fact = consumer.listener.get("concurrency")
    if fact is None or not fact.value.strip().isdecimal() or not int(fact.value):
        return None
    return Fact(int(fact.value), fact.place, fact.name)


def _duration(fact: Fact[str]) -> str | None:
    """A duration as Spring Boot reads it, a bare number being milliseconds; None for what is none."""
    text = fact.value.strip().lower().removeprefix("pt")
    text = f"{text}ms" if text.isdecimal() else text
    try:
        return text if parse_duration(text) > 0 else None
    except ValueError:
        return None
