"""What a broker's replicas go by, under Kafka's names; defaults of the baseline.

Source: `ReplicationConfigs`, `ServerLogConfigs`, `CleanerConfig`.
"""

from __future__ import annotations

from typing import Final

from attrs import field, frozen

from groupsim.cluster.config.log import LogConfig

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The one `replica.selector.class` there is; without it every consumer reads from the leader."""


@frozen
class ReplicaConfig:
    """Settings of one broker. Times in ms, sizes in bytes; `log` holds for what a topic does not say itself.

    `replica_selector_class` is RACK_AWARE, or None: consumers read from leaders only (KIP-392). `min_isr_commits` since
    3.7 (KAFKA-15583): while fewer than `min.insync.replicas` are in sync nothing is committed, and where that asks for
    more replicas than there are, all will do. Before, it was asked of appends with acks=all alone, and in vain there.
    The brokers' own topics (`__consumer_offsets`, `__transaction_state`) are held to it in any case. With
    `storage_failure_ends_run` a log that cannot be opened, read or written raises OSError out of the run: its files lie
    on the user's disk, no part of what is simulated. Without it the partition answers KAFKA_STORAGE_ERROR.
    """

    replica_lag_time_max_ms: int = 30_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_backoff_ms: int = 1_000
    replica_socket_timeout_ms: int = 30_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    replica_selector_class: str | None = None
    min_isr_commits: bool = True
    storage_failure_ends_run: bool = False
    log: LogConfig = field(factory=LogConfig)

    @property
    def lag_us(self) -> int:
        """`replica.lag.time.max.ms` in microseconds."""
        return self.replica_lag_time_max_ms * 1_000
