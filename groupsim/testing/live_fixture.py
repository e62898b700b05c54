"""Served clusters for one test, and their last events: the parts of the fixtures `kafka_lab` and `kafka_labs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from groupsim.control import Control, ControlError, Served, Unreachable

LAST_EVENTS = 60
KINDS = (
    "request.received",
    "request.parked",
    "request.dropped",
    "response.sent",
    "group.state",
    "member.added",
    "member.removed",
    "member.fenced",
    "leader.elected",
    "timer.fired",
    "fault.begun",
    "fault.ended",
    "action",
    "action.refused",
    "warning",
)
# The start of a served cluster's time.
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Labs:
    """A factory of served clusters for one test; `stop` stops all."""

    def __init__(self) -> None:
        self.started: list[Served] = []

    def __call__(
        self,
        scenario: str | None = None,
        *,
        brokers: int | None = None,
        topics: Mapping[str, int] | Sequence[str] = (),
        broker: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> Served:
        """Start a cluster, and return it when it is ready for clients.

        `topics` are partitions by name, or texts as for `--topic`; `broker` are settings by Kafka's names; `options`
        are further options of `groupsim serve`. `group.initial.rebalance.delay.ms` is 0 unless `broker` sets it. Raises
        ServeFailed.
        """
        settings = {"group.initial.rebalance.delay.ms": 0, **(broker or {})}
        wanted = [f"{name}:{count}" for name, count in topics.items()] if isinstance(topics, Mapping) else topics
        arguments = [*([scenario] if scenario is not None else []), *options]
        arguments += ["--brokers", str(brokers)] if brokers is not None else []
        arguments += [part for name, value in settings.items() for part in ("--broker", f"{name}={value}")]
        arguments += [part for topic in wanted for part in ("--topic", topic)]
        self.started.append(Served(*arguments))
        return self.started[-1]

    def stop(self) -> None:
        """Stop all clusters."""
        while self.started:
            self.started.pop().stop()

    def story(self) -> str:
        """Return the last coordinator events of each cluster."""
        return "\n".join(story(lab.control) for lab in self.started)


def story(control: Control) -> str:
    """Format the last events of a cluster's coordinators, a line each."""
    with suppress(ControlError, Unreachable):
        events = list(control.trace(last=LAST_EVENTS, kinds=KINDS))
        return "\n".join([f"{control.bootstrap}: the last {len(events)} events", *map(line, events)])
    return f"no answer from {control.url}"


def line(event: Mapping[str, Any]) -> str:
    """Format one event as a line: time, kind, names, reason."""
    when = _EPOCH + timedelta(microseconds=event["t_us"])
    to = f"{event.get('from')} → {event['to']}" if "to" in event else None
    who = [event.get(key) for key in ("host", "group", "member", "api", "error")]
    words = [str(part) for part in (*who, to, event.get("reason")) if part is not None]
    return f"  {when:%H:%M:%S.%f} {event['kind']:<17} {' '.join(words)}"
