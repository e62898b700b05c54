"""Kafka's topic settings: read from text, defaults, ranges, and errors that help."""

from __future__ import annotations

import pytest

from groupsim.cluster.config.log import (
    BROKER_SETTINGS,
    TOPIC_SETTINGS,
    LogConfig,
    UnknownSetting,
    broker_defaults,
    topic_config,
)


def test_settings_fill_their_fields() -> None:
    """Values may be text, as in a properties file, or numbers."""
    config = topic_config(
        {
            "cleanup.policy": "compact, delete",
            "retention.ms": "-1",
            "segment.bytes": 2**20,
            "min.cleanable.dirty.ratio": "0.01",
            "unclean.leader.election.enable": "true",
            "message.timestamp.type": "LogAppendTime",
            "compression.type": "zstd",
        }
    )
    assert config == LogConfig(
        cleanup_policy=("compact", "delete"),
        retention_ms=-1,
        segment_bytes=2**20,
        min_cleanable_dirty_ratio=0.01,
        unclean_leader_election_enable=True,
        message_timestamp_type="LogAppendTime",
    )
    assert (config.compact, config.delete, config.log_append_time) == (True, True, True)


def test_a_topics_setting_beats_the_brokers_and_ms_beats_hours() -> None:
    """The broker gives the defaults; of two names for one thing the finer one counts."""
    defaults = broker_defaults({"log.retention.ms": 5, "log.retention.hours": 1, "log.roll.hours": 2, "other": 1})
    assert (defaults.retention_ms, defaults.segment_ms) == (5, 7_200_000)
    config = topic_config({"retention.ms": 9}, defaults)
    assert (config.retention_ms, config.segment_ms) == (9, 7_200_000)


def test_small_segments_have_a_name_of_their_own() -> None:
    """Kafka's smallest segment.bytes is 1 MiB (KIP-1030); internal.segment.bytes beats it, in whatever order."""
    assert topic_config({"internal.segment.bytes": 500, "segment.bytes": 2**20}).segment_bytes == 500


def test_a_topic_may_have_no_policy() -> None:
    """An empty cleanup.policy keeps everything (KIP-1161)."""
    config = topic_config({"cleanup.policy": ""})
    assert (config.cleanup_policy, config.delete, config.compact) == ((), False, False)


def test_hours_of_minus_one_are_without_limit() -> None:
    """Not an hour less than nothing."""
    assert broker_defaults({"log.retention.hours": "-1"}).retention_ms == -1


def test_every_setting_fills_a_field() -> None:
    """No row of the tables points into the void."""
    for row in [*TOPIC_SETTINGS.values(), *BROKER_SETTINGS.values()]:
        assert hasattr(LogConfig(), row.field)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("retention.mss", 1, r"unknown topic setting retention.mss; did you mean retention.ms\?"),
        ("log.retention.ms", 1, "broker's setting; a topic's is called retention.ms"),
        ("xyzzy", 1, "known are segment.bytes"),
        ("retention.ms", -2, "retention.ms: expected a number of at least -1, found -2"),
        ("segment.bytes", 1000, "segment.bytes: expected a number from 1048576 to 2147483647, found 1000"),
        ("segment.ms", "7d", "segment.ms: expected a whole number, found '7d'"),
        ("segment.ms", True, "segment.ms: expected a whole number, found True"),
        ("cleanup.policy", "compacted", "cleanup.policy: expected delete, compact or delete,compact"),
        ("min.cleanable.dirty.ratio", "x", "min.cleanable.dirty.ratio: expected a number from 0 to 1"),
        ("min.cleanable.dirty.ratio", 2, "min.cleanable.dirty.ratio: expected a number from 0 to 1"),
        ("unclean.leader.election.enable", "yes", "expected true or false, found 'yes'"),
        ("message.timestamp.type", "Create", "expected CreateTime or LogAppendTime"),
    ],
)
def test_a_wrong_setting_is_named_with_what_would_do(name: str, value: object, message: str) -> None:
    """The name, the reason, and the nearest name or the range."""
    with pytest.raises(ValueError, match=message):
        topic_config({name: value})


def test_unknown_names_have_an_error_of_their_own() -> None:
    """So that a caller can add file and line."""
    with pytest.raises(UnknownSetting):
        topic_config({"nonsense": 1})


def test_a_compacted_topic_rolls_within_max_compaction_lag() -> None:
    """What is in the active segment cannot be cleaned."""
    settings = {"segment.ms": 100, "max.compaction.lag.ms": 50}
    assert topic_config(settings).max_segment_ms == 100
    assert topic_config({**settings, "cleanup.policy": "compact"}).max_segment_ms == 50
