"""Settings of the transaction coordinator, under Kafka's names.

Source: `TransactionStateManagerConfig`, `TransactionLogConfig`, `TransactionStateManager.transactionTopicConfigs`.
"""

from __future__ import annotations

from attrs import field, validators

from groupsim.protocol.values import frozen

TRANSACTION_TOPIC = "__transaction_state"


@frozen
class TransactionConfig:
    """The first five are settings of `__transaction_state` (sizes in bytes). Times are in milliseconds.

    `first_block_ms`: the time that a new broker waits for its first block of producer ids.
    """

    num_partitions: int = field(default=50, validator=validators.ge(1))
    replication_factor: int = field(default=3, validator=validators.ge(1))
    min_isr: int = field(default=2, validator=validators.ge(1))
    segment_bytes: int = field(default=104_857_600, validator=validators.ge(1))
    load_buffer_bytes: int = field(default=5_242_880, validator=validators.ge(1))
    max_timeout_ms: int = field(default=900_000, validator=validators.ge(1))
    abort_check_interval_ms: int = field(default=10_000, validator=validators.ge(1))
    id_expiration_ms: int = field(default=604_800_000, validator=validators.ge(1))
    id_check_interval_ms: int = field(default=3_600_000, validator=validators.ge(1))
    marker_retry_ms: int = field(default=100, validator=validators.ge(1))
    request_timeout_ms: int = field(default=30_000, validator=validators.ge(1))
    first_block_ms: int = field(default=0, validator=validators.ge(0))

    def topic_settings(self, brokers: int) -> dict[str, str]:
        """Return the settings of a new `__transaction_state`, whose minimum in-sync set is one per broker at most."""
        return {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(min(self.min_isr, self.replication_factor, brokers)),
            "segment.bytes": str(self.segment_bytes),
        }


KEYS = {
    "transaction.state.log.num.partitions": "num_partitions",
    "transaction.state.log.replication.factor": "replication_factor",
    "transaction.state.log.min.isr": "min_isr",
    "transaction.state.log.segment.bytes": "segment_bytes",
    "transaction.state.log.load.buffer.size": "load_buffer_bytes",
    "transaction.max.timeout.ms": "max_timeout_ms",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "abort_check_interval_ms",
    "transactional.id.expiration.ms": "id_expiration_ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "id_check_interval_ms",
    "request.timeout.ms": "request_timeout_ms",
}
"""Kafka's name → field."""
