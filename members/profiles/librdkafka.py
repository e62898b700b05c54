"""librdkafka, under which half of all Kafka clients run: C, C++, Python, Go, .NET, Node, Rust, PHP, Ruby."""

from __future__ import annotations

from attrs import evolve

from groupsim.members.profiles.pace import MainThread
from groupsim.members.profiles.profile import (
    ClientProfile,
    ErrorLoop,
    OnError,
    ParkedBase,
    ParkedTimeout,
    RequestBound,
    SettingName,
    defaults_of,
    versions_of,
)
from groupsim.members.profiles.reactions import LIBRDKAFKA
from groupsim.protocol.messages.group import Api

# librdkafka hands out one message per poll and looks at max.poll.interval.ms twice a second
# (confluent-kafka-python #552: left 55 ms after the limit, heartbeats going on).
LIBRDKAFKA_2 = ClientProfile(
    name="librdkafka-2.x",
    title="librdkafka 2.1 to 2.x (C, C++, Python, Go, .NET, Rust bindings), classic protocol",
    client_id="rdkafka",
    defaults=defaults_of(
        45_000,
        3_000,
        "range,roundrobin",
        max_poll_records=1,
        request_timeout_ms=60_000,  # socket.timeout.ms
        isolation_level="read_committed",
    ),
    versions=versions_of(join=5, sync=3, heartbeat=3, leave=1, commit=9, fetch=9, find=2, metadata=12, data=(16, 7, 2)),
    subscription_version=3,
    eager_generation=False,
    no_user_data=b"",
    heartbeats_while_syncing=False,
    pace=MainThread(),
    error_loop=ErrorLoop(OnError.RETRY, "hands the error out like a message and joins again by itself", 0, 0),
    # rdkafka_request.c: JoinGroup regardless of socket.timeout.ms, SyncGroup not longer than that
    parked={
        Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 3_000),
        Api.SYNC_GROUP: ParkedTimeout(ParkedBase.SESSION, 3_000, RequestBound.AT_MOST),
    },
    poll_check_ms=500,
    static_leaves_on_unsubscribe=True,
    claims_in_user_data=True,
    sticky_by_quotas=False,
    static_first=False,
    tells_more=True,
    commits_unchanged=False,
    reactions=LIBRDKAFKA,
    setting_names={
        "socket.timeout.ms": SettingName("request.timeout.ms"),
        "auto.offset.store": SettingName("enable.auto.offset.store"),
        "fetch.wait.max.ms": SettingName("fetch.max.wait.ms"),
        "fetch.message.max.bytes": SettingName("max.partition.fetch.bytes"),
    },
)
# Versions as 1.7.0, 1.8.2, 1.9.0 and 2.0.2 sent them.
# Epochs are committed since 2.1, backoffs grow since 2.3 (KIP-580).
LIBRDKAFKA_1_9 = evolve(
    LIBRDKAFKA_2,
    name="librdkafka-1.9",
    title="librdkafka 1.7 to 2.0",
    versions=versions_of(
        join=5, sync=3, heartbeat=3, leave=1, commit=7, fetch=7, find=2, metadata=4, data=(11, 2, None)
    ),
    subscription_version=1,
    exponential_backoff=False,
    commits_epochs=False,
)
LIBRDKAFKA_1 = evolve(
    LIBRDKAFKA_2,
    name="librdkafka-1.x",
    title="librdkafka 1.0 to 1.6",
    defaults=defaults_of(10_000, 3_000, "range,roundrobin", max_poll_records=1, request_timeout_ms=60_000),
    versions=versions_of(
        join=5, sync=3, heartbeat=3, leave=1, commit=7, fetch=1, find=2, metadata=2, data=(11, 1, None)
    ),
    subscription_version=1,
    exponential_backoff=False,
)
