"""The settings of 0.8's consumer, by their own names."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.members.settings import SettingError
from groupsim.members.zookeeper.kinds import CLIENTS, ZOOKEEPER_0_8, client_settings, uses_zookeeper
from groupsim.members.zookeeper.settings import ZookeeperSettings


def settings(**properties: Any) -> tuple[ZookeeperSettings, list[tuple[str, str, str]]]:
    """Return settings and notes; underscores stand for dots."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    found, notes = client_settings(ZOOKEEPER_0_8, {"group.id": "g", **given})
    assert isinstance(found, ZookeeperSettings)
    return found, [(note.level, note.key, note.message) for note in notes]


def test_the_defaults_are_those_of_0_8() -> None:
    """Session 6 s, four attempts two seconds apart, commits every minute, range, from the end."""
    found, notes = settings()
    assert (found.zookeeper_session_timeout_ms, found.rebalance_max_retries, found.rebalance_backoff_ms) == (
        6_000,
        4,
        2_000,
    )
    assert (found.auto_commit, found.auto_commit_interval_ms, found.strategy) == (True, 60_000, "range")
    assert (found.auto_offset_reset, found.client_id, notes) == ("latest", "g", [])


def test_the_backoff_follows_the_sync_time() -> None:
    """rebalance.backoff.ms is zookeeper.sync.time.ms unless it is set."""
    assert settings(zookeeper_sync_time_ms=500)[0].rebalance_backoff_ms == 500
    assert settings(zookeeper_sync_time_ms=500, rebalance_backoff_ms=700)[0].rebalance_backoff_ms == 700


def test_smallest_and_largest_are_earliest_and_latest() -> None:
    """The reset policies have 0.8's names; later ones are refused."""
    assert settings(auto_offset_reset="smallest")[0].auto_offset_reset == "earliest"
    with pytest.raises(SettingError, match="smallest"):
        settings(auto_offset_reset="earliest")


def test_keys_of_later_consumers_are_warned_of() -> None:
    """A later key, a misspelt one and one without effect each get their own note."""
    _, notes = settings(session_timeout_ms=6_000, zookeeper_session_timeout="6s", zookeeper_connect="zk:2181")
    assert [(level, key) for level, key, _ in notes] == [
        ("warning", "session.timeout.ms"),
        ("warning", "zookeeper.session.timeout"),
        ("note", "zookeeper.connect"),
    ]
    assert "later consumers" in notes[0][2]
    assert "did you mean zookeeper.session.timeout.ms?" in notes[1][2]


def test_what_changed_is_named_by_0_8s_names() -> None:
    """The trace of a start has the settings that differ from the defaults."""
    assert dict(settings(auto_commit_enable="false")[0].changed) == {"group.id": "g", "auto.commit.enable": False}


def test_a_group_is_needed() -> None:
    """A consumer without a group is refused."""
    with pytest.raises(SettingError, match=r"group\.id"):
        client_settings(ZOOKEEPER_0_8, {})


def test_only_0_8_needs_zookeeper() -> None:
    """Exactly one client uses ZooKeeper."""
    assert [name for name, profile in CLIENTS.items() if uses_zookeeper(profile)] == ["zookeeper-0.8"]
