"""Settings of the transaction coordinator, under Kafka's names.

Source: `TransactionStateManagerConfig`, `TransactionLogConfig`.
"""

from __future__ import annotations

from attrs import field, frozen, validators

TRANSACTION_TOPIC = "__transaction_state"


@frozen
class TransactionConfig:
    """`num_partitions` and `replication_factor` are those of `__transaction_state`. Times in milliseconds."""

    num_partitions: int = field(default=50, validator=validators.ge(1))
    replication_factor: int = field(default=3, validator=validators.ge(1))
    max_timeout_ms: int = field(default=900_000, validator=validators.ge(1))
    abort_check_interval_ms: int = field(default=10_000, validator=validators.ge(1))
    id_expiration_ms: int = field(default=604_800_000, validator=validators.ge(1))
    id_check_interval_ms: int = field(default=3_600_000, validator=validators.ge(1))
    marker_retry_ms: int = field(default=100, validator=validators.ge(1))
    request_timeout_ms: int = field(default=30_000, validator=validators.ge(1))


KEYS = {
    "transaction.state.log.num.partitions": "num_partitions",
    "transaction.state.log.replication.factor": "replication_factor",
    "transaction.max.timeout.ms": "max_timeout_ms",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "abort_check_interval_ms",
    "transactional.id.expiration.ms": "id_expiration_ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "id_check_interval_ms",
    "request.timeout.ms": "request_timeout_ms",
}
"""Kafka's name → field."""
