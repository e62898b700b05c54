"""Settings of a broker's replicas, under Kafka's names, with the defaults of 4.4.

Source: `ReplicationConfigs`, `ServerLogConfigs`, `CleanerConfig`.
"""

from __future__ import annotations

from typing import Final

from attrs import field

from groupsim.cluster.config.log import LogConfig
from groupsim.protocol.values import frozen

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The only modelled `replica.selector.class`; without it every consumer reads from the leader."""


@frozen
class ReplicaConfig:
    """Settings of one broker. Times in ms, sizes in bytes; `log` has the defaults of topics.

    `replica_selector_class` is RACK_AWARE (KIP-392), or None: consumers read from leaders only. `min_isr_commits`, from
    3.7 on (KAFKA-15583): while fewer than `min.insync.replicas` (at most the number of replicas) are in sync, the high
    watermark does not move. Before 3.7 only appends with acks=all were refused for it; the high watermark moved. The
    brokers' own topics (`__consumer_offsets`, `__transaction_state`) have the rule in every release. With
    `storage_failure_ends_run` a log that cannot be opened, read or written raises OSError out of the run, because its
    files are on the user's disk and not simulated. Without it the partition answers KAFKA_STORAGE_ERROR.
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
