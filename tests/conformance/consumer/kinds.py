"""The settings of brokers that scripts of the consumer protocol are played on, by kind.

Sessions last 45 s but on `expiring`, so that a busy machine ends none. `group.consumer.regex.refresh.interval.ms` is
an internal setting of Kafka's.
"""

from __future__ import annotations

CONSUMER: dict[str, object] = {
    "group.consumer.max.size": 4,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.min.assignment.interval.ms": 0,
    "group.consumer.min.session.timeout.ms": 100,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.regex.refresh.interval.ms": 10_000,
}
"""What every one of them is started with, besides `player.SETTINGS`."""

KINDS: dict[str, dict[str, object]] = {
    "consumer": {},
    "expiring": {"group.consumer.session.timeout.ms": 1_000, "group.consumer.heartbeat.interval.ms": 300},
    "batched": {"group.consumer.assignment.interval.ms": 2_000},
    "policy-disabled": {"group.consumer.migration.policy": "disabled"},
    "policy-upgrade": {"group.consumer.migration.policy": "upgrade"},
    "policy-downgrade": {"group.consumer.migration.policy": "downgrade"},
    "classic-only": {"group.coordinator.rebalance.protocols": "classic"},
}
"""Kind → what it is started with besides `CONSUMER`."""
