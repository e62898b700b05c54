"""The settings of a topic's log, by Kafka's names."""

from __future__ import annotations

from attrs import frozen


@frozen
class LogConfig:
    """What a log goes by; -1 in a retention means without limit. Defaults of the baseline (`LogConfig`)."""

    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    delete: bool = True
    compact: bool = False
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 9_223_372_036_854_775_807
    delete_retention_ms: int = 86_400_000
    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    flush_messages: int = 9_223_372_036_854_775_807
    flush_ms: int = 9_223_372_036_854_775_807
