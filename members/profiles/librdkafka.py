"""librdkafka, the base of half of all Kafka clients: C, C++, Python, Go, .NET, Node, Rust, PHP, Ruby.

A row: the base profile (empty: the newest Java consumer), its title, and the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.profiles.pace import MainThread
from groupsim.members.profiles.profile import (
    ErrorLoop,
    OnError,
    ParkedBase,
    ParkedTimeout,
    ProfileRow,
    RequestBound,
    SettingName,
    defaults_of,
)
from groupsim.members.profiles.reactions import JAVA_UNTIL_4_1, LIBRDKAFKA, LIBRDKAFKA_CONSUMER
from groupsim.protocol.messages.group import Api

# Commits have epochs since 2.1, backoffs grow since 2.3 (KIP-580).
ROWS: Final[Mapping[str, ProfileRow]] = {
    "librdkafka-1.x": (
        "librdkafka-2.x",
        "librdkafka 1.0 to 1.6",
        {
            "defaults": defaults_of(
                "session.timeout.ms=10_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=range,roundrobin max.poll.records=1 request.timeout.ms=60_000"
            ),
            "subscription": {"version": 1},
            "retries": {"exponential": False},
        },
    ),
    "librdkafka-1.9": (
        "librdkafka-2.x",
        "librdkafka 1.7 to 2.0",
        {"subscription": {"version": 1}, "retries": {"exponential": False}, "commits": {"epochs": False}},
    ),
    "librdkafka-2.12": (
        "librdkafka-2.15",
        "librdkafka 2.12 to 2.14, with the consumer protocol",
        {"consumer_protocol": {"survives_unexpected": True}},
    ),
    "librdkafka-2.15": (
        "librdkafka-2.x",
        "librdkafka 2.15 to 2.x, with the consumer protocol",
        {
            "protocols": ("classic", "consumer"),
            "reactions": {
                **LIBRDKAFKA,
                Api.OFFSET_COMMIT: {
                    **LIBRDKAFKA[Api.OFFSET_COMMIT],
                    **JAVA_UNTIL_4_1[Api.OFFSET_COMMIT],
                    **LIBRDKAFKA_CONSUMER[Api.OFFSET_COMMIT],
                },
                Api.OFFSET_FETCH: {**LIBRDKAFKA[Api.OFFSET_FETCH], **LIBRDKAFKA_CONSUMER[Api.OFFSET_FETCH]},
            },
            "consumer_protocol": {
                "offsets_by_id": False,
                "regex_beside_topics": True,
                "patterns_to_broker": True,
                "instance_always": False,
                "leaves_in_full": False,
                "loses_when_fatal": False,
                "repeats": True,
                "awaits_partitions": True,
                "awaits_names": True,
                "leaves_when_joined": True,
                "commits_revoked": True,
                "leaves_when_polled": True,
                "quiet_while_leaving": True,
                "resends_topics": True,
                "finishes_rounds": True,
                "errors_in_order": True,
                "poll_events": False,
                "acknowledges_after_us": 300,
                "silent_ms": 5_000,
            },
        },
    ),
    # librdkafka returns one message per poll, and checks max.poll.interval.ms twice a second
    # (confluent-kafka-python #552: the member left 55 ms after the limit, with heartbeats flowing).
    "librdkafka-2.x": (
        "",
        "librdkafka 2.1 to 2.x (C, C++, Python, Go, .NET, Rust bindings), classic protocol",
        {
            "client_id": "rdkafka",
            "defaults": defaults_of(
                "session.timeout.ms=45_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=range,roundrobin max.poll.records=1 request.timeout.ms=60_000 "
                "isolation.level=read_committed"
            ),
            "subscription": {"eager_generation": False, "no_user_data": b"", "claims_in_user_data": True},
            "heartbeats": {"while_syncing": False},
            "pace": MainThread(),
            "error_loop": ErrorLoop(
                OnError.RETRY, "hands the error out like a message and joins again by itself", 0, 0
            ),
            # rdkafka_request.c: JoinGroup ignores socket.timeout.ms, SyncGroup has it as its upper bound
            "parked": {
                Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 3_000),
                Api.SYNC_GROUP: ParkedTimeout(ParkedBase.SESSION, 3_000, RequestBound.AT_MOST),
            },
            "poll_limit": {"check_ms": 500},
            "leaving": {"static_on_unsubscribe": True},
            # rdkafka_request.c rd_kafka_group_MemberState_consumer_write: rkgm_userdata goes into the assignment
            "leader": {"sticky_by_quotas": False, "static_first": False, "returns_user_data": True},
            "reports": {"consumer_errors": True},
            "commits": {"unchanged": False, "delivered_only": True},
            "reactions": LIBRDKAFKA,
            "setting_names": {
                "socket.timeout.ms": SettingName("request.timeout.ms"),
                "auto.offset.store": SettingName("enable.auto.offset.store"),
                "fetch.wait.max.ms": SettingName("fetch.max.wait.ms"),
                "fetch.message.max.bytes": SettingName("max.partition.fetch.bytes"),
            },
        },
    ),
}
