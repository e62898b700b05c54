"""Client libraries as data: what each of them does differently from the Java consumer of today.

A profile says how one library of one age behaves: its defaults, the request versions it speaks, where its heartbeats
are sent from, whether a poll limit exists, what it sends as rebalance timeout, whether it leaves on close, and single
rows of the reaction tables. A simulated consumer asks the profile and nothing else; no module tests for a name.

Sources: user-needs reference, section 4.5 (defaults read in the libraries' sources); classic-protocol reference,
sections 4.1 and 5 (request versions); KIP-62 (heartbeats leave `poll`), KIP-394 (JoinGroup v4), KIP-345 (static
members, v5), KIP-800 (reasons, v8), KIP-814 (v9). Shapes of behaviour come from public incident threads, named at the
profile they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from groupsim.members.profiles.defects import defects_of, version_of, with_defects
from groupsim.members.profiles.java import (
    JAVA_0_9,
    JAVA_0_10,
    JAVA_0_11,
    JAVA_2,
    JAVA_2_0,
    JAVA_2_2,
    JAVA_2_3,
    JAVA_2_4,
    JAVA_3,
    JAVA_3_1,
    JAVA_3_2,
    JAVA_3_3,
    JAVA_3_4,
    JAVA_3_5,
    JAVA_3_7,
    JAVA_4,
)
from groupsim.members.profiles.librdkafka import LIBRDKAFKA_1, LIBRDKAFKA_1_9, LIBRDKAFKA_2
from groupsim.members.profiles.pace import AsyncTask, PollOnly
from groupsim.members.profiles.profile import (
    AfterBreak,
    ClientProfile,
    ErrorLoop,
    OnError,
    ParkedBase,
    ParkedTimeout,
    RebalanceTimeout,
    SessionCheck,
    SettingName,
)
from groupsim.members.profiles.profile import defaults_of as _defaults
from groupsim.members.profiles.profile import versions_of as _versions
from groupsim.members.profiles.python import (
    AIOKAFKA,
    KAFKA_PYTHON_1_3,
    KAFKA_PYTHON_1_4,
    KAFKA_PYTHON_2,
    KAFKA_PYTHON_2_3,
    KAFKA_PYTHON_3,
)
from groupsim.members.profiles.reactions import FRANZ_GO as FRANZ_GO_REACTIONS
from groupsim.members.profiles.reactions import SARAMA as SARAMA_REACTIONS
from groupsim.members.profiles.reactions import Reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api

__all__ = [
    "JAVA_0_9",
    "JAVA_3",
    "PROFILES",
    "WITHOUT_DEFECTS",
    "ClientProfile",
    "RebalanceTimeout",
    "SettingName",
]


# JoinGroup v0 until #465; heartbeats every 5 s; a second between attempts (kaffe #92, brod #379).
BROD = ClientProfile(
    name="brod",
    title="brod (Erlang), before it sent a rebalance timeout (#465)",
    client_id="brod",
    defaults=_defaults(
        30_000,
        5_000,
        "roundrobin",
        request_timeout_ms=30_000,
        max_poll_records=1_000,
        fetch_min_bytes=0,
        fetch_max_wait_ms=10_000,
    ),
    versions=_versions(join=0, sync=0, heartbeat=0, leave=0, commit=2, fetch=1, find=0, metadata=1, data=(11, 2, None)),
    subscription_version=0,
    heartbeats_while_syncing=False,
    session_check=SessionCheck.WHILE_UNANSWERED,
    rebalance_timeout=RebalanceTimeout.UNSENT,
    enforces_poll_limit=False,
    # brod_group_coordinator.erl: send_sync(Connection, JoinGroup, SessionTimeout), other requests 5 s
    parked={
        Api.JOIN_GROUP: ParkedTimeout(ParkedBase.SESSION),
        Api.SYNC_GROUP: ParkedTimeout(ParkedBase.NOTHING, 5_000),
    },
    exponential_backoff=False,
    rejoin_delay_ms=1_000,
    empty_fetch_pause_ms=1_000,
    error_loop=ErrorLoop(
        OnError.RETRY_ALL, "joins again after `rejoin_delay_seconds`, in the coordinator process", 1_000
    ),
    commits_unchanged=False,
    reactions={
        Api.SYNC_GROUP: {
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
            ErrorCode.FENCED_INSTANCE_ID: Reaction.RESET_MEMBER,
        },
        Api.OFFSET_COMMIT: {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Reaction.THROW},
    },
    setting_names={
        "session_timeout_seconds": SettingName("session.timeout.ms", 1_000),
        "heartbeat_rate_seconds": SettingName("heartbeat.interval.ms", 1_000),
        "rebalance_timeout_seconds": SettingName("rebalance.timeout.ms", 1_000),
        "offset_commit_interval_seconds": SettingName("auto.commit.interval.ms", 1_000),
        "min_bytes": SettingName("fetch.min.bytes"),
        "max_bytes": SettingName("max.partition.fetch.bytes"),
        "max_wait_time": SettingName("fetch.max.wait.ms"),
    },
)
KAFKAJS = ClientProfile(
    name="kafkajs",
    title="kafkajs 2.x: heartbeats between batches only, commits after each batch",
    client_id="kafkajs",
    defaults=_defaults(
        30_000,
        3_000,
        "roundrobin",
        rebalance_timeout_ms=60_000,
        request_timeout_ms=30_000,
        fetch_max_wait_ms=5_000,
        fetch_max_bytes=10_485_760,
        isolation_level="read_committed",
    ),
    versions=_versions(join=5, sync=3, heartbeat=3, leave=3, commit=5, fetch=4, find=2, metadata=6, data=(11, 3, None)),
    subscription_version=0,
    no_user_data=b"",
    pace=PollOnly(between_batches=True),
    heartbeats_while_syncing=False,
    session_check=SessionCheck.NEVER,
    rebalance_timeout=RebalanceTimeout.OWN,
    enforces_poll_limit=False,
    parked={Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000)},  # protocol/requests/joinGroup: NETWORK_DELAY
    exponential_backoff=True,
    commits_unchanged=False,
    commits_after_batch=True,
    setting_names={
        "clientId": SettingName("client.id"),
        "groupId": SettingName("group.id"),
        "sessionTimeout": SettingName("session.timeout.ms"),
        "heartbeatInterval": SettingName("heartbeat.interval.ms"),
        "rebalanceTimeout": SettingName("rebalance.timeout.ms"),
        "metadataMaxAge": SettingName("metadata.max.age.ms"),
        "autoCommitInterval": SettingName("auto.commit.interval.ms"),
        "requestTimeout": SettingName("request.timeout.ms"),
        "rackId": SettingName("client.rack"),
        "minBytes": SettingName("fetch.min.bytes"),
        "maxBytes": SettingName("fetch.max.bytes"),
        "maxBytesPerPartition": SettingName("max.partition.fetch.bytes"),
        "maxWaitTimeInMs": SettingName("fetch.max.wait.ms"),
    },
)
SARAMA = ClientProfile(
    name="sarama",
    title="sarama 1.34 to 1.61 (Go)",
    client_id="sarama",
    defaults=_defaults(
        10_000,
        3_000,
        "range",
        rebalance_timeout_ms=60_000,
        auto_commit_interval_ms=1_000,
        request_timeout_ms=30_000,
        retry_backoff_ms=2_000,
        max_poll_records=1,
        fetch_max_bytes=104_857_600,
    ),
    versions=_versions(
        join=5, sync=3, heartbeat=3, leave=3, commit=7, fetch=7, find=2, metadata=10, data=(11, 4, None)
    ),
    subscription_version=1,
    heartbeats_while_syncing=False,
    heartbeats_at_start=True,
    offsets_one_by_one=True,
    session_check=SessionCheck.NEVER,
    rebalance_timeout=RebalanceTimeout.OWN,
    enforces_poll_limit=False,
    parked={},  # broker.go: every answer has Net.ReadTimeout, a parked one too; then the connection is closed
    throws_unanswered=True,
    error_loop=ErrorLoop(OnError.RETRY_ALL, "returns it from `Consume`, and the usual loop calls that again", 0, 0),
    looks_up_at_once=False,
    after_break=AfterBreak.CONNECTS,
    exponential_backoff=False,
    commits_unchanged=False,
    reactions=SARAMA_REACTIONS,
    setting_names={
        "Consumer.Group.Session.Timeout": SettingName("session.timeout.ms"),
        "Consumer.Group.Heartbeat.Interval": SettingName("heartbeat.interval.ms"),
        "Consumer.Group.Rebalance.Timeout": SettingName("rebalance.timeout.ms"),
        "Consumer.Group.InstanceId": SettingName("group.instance.id"),
        "Consumer.Offsets.AutoCommit.Enable": SettingName("enable.auto.commit"),
        "Consumer.Offsets.AutoCommit.Interval": SettingName("auto.commit.interval.ms"),
        "Net.ReadTimeout": SettingName("request.timeout.ms"),
        "ClientID": SettingName("client.id"),
        "RackID": SettingName("client.rack"),
        "Consumer.Fetch.Min": SettingName("fetch.min.bytes"),
        "Consumer.Fetch.Default": SettingName("max.partition.fetch.bytes"),
        "Consumer.MaxWaitTime": SettingName("fetch.max.wait.ms"),
    },
)
# Versions of the requests, and no watch on partitions before 1.24.1: `consumer_group.go` and `offset_manager.go`.
SARAMA_1_33 = evolve(
    SARAMA,
    name="sarama-1.33",
    title="sarama 1.19 to 1.33 (Go): JoinGroup v1, no static members",
    versions=_versions(join=1, sync=0, heartbeat=0, leave=0, commit=2, fetch=1, find=0, metadata=5, data=(11, 1, None)),
    subscription_version=0,
)
FRANZ_GO = ClientProfile(
    name="franz-go",
    title="franz-go 1.x (Go)",
    client_id="kgo",
    defaults=_defaults(
        45_000,
        3_000,
        "cooperative-sticky",
        rebalance_timeout_ms=60_000,
        request_timeout_ms=10_000,
        fetch_max_wait_ms=5_000,
    ),
    versions=_versions(join=9, sync=5, heartbeat=4, leave=5, commit=9, fetch=9, find=6, metadata=12, data=(17, 10, 4)),
    pace=AsyncTask(),
    session_check=SessionCheck.NEVER,
    rebalance_timeout=RebalanceTimeout.OWN,
    enforces_poll_limit=False,
    error_loop=ErrorLoop(
        OnError.RETRY_ALL,
        "hands it out with the next poll and joins again after a backoff (`RetryBackoffFn`)",
        250,
        5_000,
    ),
    # client.go, connTimeouter: RequestTimeoutOverhead (10 s) on top of JoinGroup's; SyncGroup has the one of the join
    parked={
        Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 10_000),
        Api.SYNC_GROUP: ParkedTimeout(ParkedBase.REBALANCE),
    },
    commits_unchanged=False,
    reactions=FRANZ_GO_REACTIONS,
    setting_names={
        "SessionTimeout": SettingName("session.timeout.ms"),
        "HeartbeatInterval": SettingName("heartbeat.interval.ms"),
        "RebalanceTimeout": SettingName("rebalance.timeout.ms"),
        "InstanceID": SettingName("group.instance.id"),
        "AutoCommitInterval": SettingName("auto.commit.interval.ms"),
        "ClientID": SettingName("client.id"),
        "Rack": SettingName("client.rack"),
        "FetchMinBytes": SettingName("fetch.min.bytes"),
        "FetchMaxBytes": SettingName("fetch.max.bytes"),
        "FetchMaxPartitionBytes": SettingName("max.partition.fetch.bytes"),
        "FetchMaxWait": SettingName("fetch.max.wait.ms"),
    },
)
# A socket timeout shorter than the broker's hold: the client gives up its JoinGroup and starts again (ruby-kafka #941);
# heartbeats between batches, so work after the join starves them (ruby-kafka #767).
RUBY_KAFKA = ClientProfile(
    name="ruby-kafka",
    title="ruby-kafka 0.7 to 1.5",
    client_id="ruby-kafka",
    defaults=_defaults(
        30_000,
        10_000,
        "roundrobin",
        rebalance_timeout_ms=60_000,
        request_timeout_ms=10_000,
        fetch_max_wait_ms=1_000,
        fetch_max_bytes=10_485_760,
    ),
    versions=_versions(join=1, sync=0, heartbeat=0, leave=0, commit=2, fetch=1, find=0, metadata=1, data=(4, 1, None)),
    subscription_version=0,
    pace=PollOnly(between_batches=True),
    heartbeats_while_syncing=False,
    session_check=SessionCheck.NEVER,
    rebalance_timeout=RebalanceTimeout.OWN,
    enforces_poll_limit=False,
    parked={},
    exponential_backoff=False,
    commits_unchanged=False,
    setting_names={
        "session_timeout": SettingName("session.timeout.ms", 1_000),
        "heartbeat_interval": SettingName("heartbeat.interval.ms", 1_000),
        "rebalance_timeout": SettingName("rebalance.timeout.ms", 1_000),
        "socket_timeout": SettingName("request.timeout.ms", 1_000),
        "offset_commit_interval": SettingName("auto.commit.interval.ms", 1_000),
        "min_bytes": SettingName("fetch.min.bytes"),
        "max_wait_time": SettingName("fetch.max.wait.ms", 1_000),
    },
)

_ALL = (
    JAVA_0_9,
    JAVA_0_10,
    JAVA_0_11,
    JAVA_2_0,
    JAVA_2_2,
    JAVA_2_3,
    JAVA_2_4,
    JAVA_2,
    JAVA_3_1,
    JAVA_3_2,
    JAVA_3_3,
    JAVA_3_4,
    JAVA_3_5,
    JAVA_3_7,
    JAVA_3,
    JAVA_4,
    LIBRDKAFKA_1,
    LIBRDKAFKA_1_9,
    LIBRDKAFKA_2,
    BROD,
    KAFKA_PYTHON_1_3,
    KAFKA_PYTHON_1_4,
    KAFKA_PYTHON_2,
    KAFKA_PYTHON_2_3,
    KAFKA_PYTHON_3,
    KAFKAJS,
    SARAMA_1_33,
    SARAMA,
    FRANZ_GO,
    AIOKAFKA,
    RUBY_KAFKA,
)
_ALIASES = {
    "java": "java-3.9",
    "java-3.x": "java-3.9",
    "java-2.x": "java-2.8",
    "librdkafka": "librdkafka-2.x",
    "kafka-python": "kafka-python-2.x",
}

#: The release that a profile by its own name is, where defects of its age are rows of `defects.py`.
_RELEASE_OF = {
    "java-0.9": "0.9.0.1",
    "java-0.10": "0.10.2.2",
    "java-0.11": "0.11.0.3",
    "java-2.0": "2.0.1",
    "java-2.2": "2.2.2",
    "java-2.3": "2.3.1",
    "java-2.4": "2.4.1",
    "librdkafka-1.x": "1.6.2",
    "librdkafka-1.9": "1.9.2",
    "sarama-1.33": "1.33.0",
}


def _of_its_age(profile: ClientProfile) -> ClientProfile:
    release = _RELEASE_OF.get(profile.name)
    if release is None:
        return profile
    version = version_of(release)
    return with_defects(profile, defects_of(profile.name.rsplit("-", 1)[0], version, version))


#: Profiles as they are written, for releases that have defects of their own.
WITHOUT_DEFECTS: Mapping[str, ClientProfile] = {profile.name: profile for profile in _ALL}
_BY_NAME = {profile.name: _of_its_age(profile) for profile in _ALL}

#: Every profile by name and by alias (`java` is `java-3.9`, the default of a scenario).
PROFILES: Mapping[str, ClientProfile] = _BY_NAME | {alias: _BY_NAME[name] for alias, name in _ALIASES.items()}
