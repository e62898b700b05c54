"""Libraries in Erlang, JavaScript, Go and Ruby. The public threads named at each describe its behaviour.

A row: the base profile (empty: the newest Java consumer), its title, and the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.profiles.pace import AsyncTask, PollOnly
from groupsim.members.profiles.profile import (
    ErrorLoop,
    OnError,
    ParkedBase,
    ParkedTimeout,
    ProfileRow,
    RebalanceTimeout,
    defaults_of,
    setting_names,
)
from groupsim.members.profiles.reactions import FRANZ_GO, SARAMA, Reaction
from groupsim.members.profiles.row_types import AfterBreak, SessionCheck
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api

ROWS: Final[Mapping[str, ProfileRow]] = {
    # JoinGroup v0 until #465; heartbeats every 5 s; one second between attempts (kaffe #92, brod #379).
    "brod": (
        "",
        "brod (Erlang), before it sent a rebalance timeout (#465)",
        {
            "client_id": "brod",
            "defaults": defaults_of(
                "session.timeout.ms=30_000 heartbeat.interval.ms=5_000 partition.assignment.strategy=roundrobin "
                "request.timeout.ms=30_000 max.poll.records=1_000 fetch.min.bytes=0 fetch.max.wait.ms=10_000"
            ),
            "subscription": {"version": 0},
            "heartbeats": {"while_syncing": False, "session_check": SessionCheck.WHILE_UNANSWERED},
            "rebalance_timeout": RebalanceTimeout.UNSENT,
            "poll_limit": {"enforced": False},
            # brod_group_coordinator.erl: send_sync(Connection, JoinGroup, SessionTimeout), other requests 5 s
            "parked": {
                Api.JOIN_GROUP: ParkedTimeout(ParkedBase.SESSION),
                Api.SYNC_GROUP: ParkedTimeout(ParkedBase.NOTHING, 5_000),
            },
            "retries": {"exponential": False, "join_delay_ms": 1_000},
            "positions": {"empty_fetch_pause_ms": 1_000},
            "error_loop": ErrorLoop(
                OnError.RETRY_ALL, "joins again after `rejoin_delay_seconds`, in the coordinator process", 1_000
            ),
            "commits": {"unchanged": False},
            "reactions": {
                Api.SYNC_GROUP: {
                    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
                    ErrorCode.FENCED_INSTANCE_ID: Reaction.RESET_MEMBER,
                },
                Api.OFFSET_COMMIT: {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Reaction.THROW},
            },
            "setting_names": setting_names(
                "session_timeout_seconds=session.timeout.ms*1000 "
                "heartbeat_rate_seconds=heartbeat.interval.ms*1000 "
                "rebalance_timeout_seconds=rebalance.timeout.ms*1000 "
                "offset_commit_interval_seconds=auto.commit.interval.ms*1000 min_bytes=fetch.min.bytes "
                "max_bytes=max.partition.fetch.bytes max_wait_time=fetch.max.wait.ms"
            ),
        },
    ),
    "kafkajs": (
        "",
        "kafkajs 2.x: heartbeats between batches only, commits after each batch",
        {
            "client_id": "kafkajs",
            "defaults": defaults_of(
                "session.timeout.ms=30_000 heartbeat.interval.ms=3_000 partition.assignment.strategy=roundrobin "
                "rebalance.timeout.ms=60_000 request.timeout.ms=30_000 fetch.max.wait.ms=5_000 "
                "fetch.max.bytes=10_485_760 isolation.level=read_committed"
            ),
            "subscription": {"version": 0, "no_user_data": b""},
            "pace": PollOnly(between_batches=True),
            "heartbeats": {"while_syncing": False, "session_check": SessionCheck.NEVER},
            "rebalance_timeout": RebalanceTimeout.OWN,
            "poll_limit": {"enforced": False},
            # protocol/requests/joinGroup: NETWORK_DELAY
            "parked": {Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000)},
            "commits": {"unchanged": False, "after_batch": True},
            "setting_names": setting_names(
                "clientId=client.id groupId=group.id sessionTimeout=session.timeout.ms "
                "heartbeatInterval=heartbeat.interval.ms rebalanceTimeout=rebalance.timeout.ms "
                "metadataMaxAge=metadata.max.age.ms autoCommitInterval=auto.commit.interval.ms "
                "requestTimeout=request.timeout.ms rackId=client.rack minBytes=fetch.min.bytes "
                "maxBytes=fetch.max.bytes maxBytesPerPartition=max.partition.fetch.bytes "
                "maxWaitTimeInMs=fetch.max.wait.ms"
            ),
        },
    ),
    # No watch on new partitions before 1.24.1 (#1462).
    "sarama-1.33": (
        "sarama",
        "sarama 1.19 to 1.33 (Go): JoinGroup v1, no static members",
        {"subscription": {"version": 0}},
    ),
    "sarama": (
        "",
        "sarama 1.34 to 1.61 (Go)",
        {
            "client_id": "sarama",
            "defaults": defaults_of(
                "session.timeout.ms=10_000 heartbeat.interval.ms=3_000 partition.assignment.strategy=range "
                "rebalance.timeout.ms=60_000 auto.commit.interval.ms=1_000 request.timeout.ms=30_000 "
                "retry.backoff.ms=2_000 max.poll.records=1 fetch.max.bytes=104_857_600"
            ),
            "subscription": {"version": 1},
            "heartbeats": {"while_syncing": False, "at_start": True, "session_check": SessionCheck.NEVER},
            "positions": {"one_by_one": True},
            "rebalance_timeout": RebalanceTimeout.OWN,
            "poll_limit": {"enforced": False},
            "parked": {},  # broker.go: after Net.ReadTimeout without an answer the connection is closed
            "reports": {"unanswered": True},
            "error_loop": ErrorLoop(
                OnError.RETRY_ALL, "returns it from `Consume`, and the usual loop calls that again", 0, 0
            ),
            "coordinator": {"looks_up_at_once": False, "after_break": AfterBreak.CONNECTS},
            "retries": {"exponential": False},
            "commits": {"unchanged": False},
            "reactions": SARAMA,
            "setting_names": setting_names(
                "Consumer.Group.Session.Timeout=session.timeout.ms "
                "Consumer.Group.Heartbeat.Interval=heartbeat.interval.ms "
                "Consumer.Group.Rebalance.Timeout=rebalance.timeout.ms "
                "Consumer.Group.InstanceId=group.instance.id "
                "Consumer.Offsets.AutoCommit.Enable=enable.auto.commit "
                "Consumer.Offsets.AutoCommit.Interval=auto.commit.interval.ms "
                "Net.ReadTimeout=request.timeout.ms ClientID=client.id RackID=client.rack "
                "Consumer.Fetch.Min=fetch.min.bytes Consumer.Fetch.Default=max.partition.fetch.bytes "
                "Consumer.MaxWaitTime=fetch.max.wait.ms"
            ),
        },
    ),
    "franz-go": (
        "",
        "franz-go 1.x (Go)",
        {
            "client_id": "kgo",
            "defaults": defaults_of(
                "session.timeout.ms=45_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=cooperative-sticky rebalance.timeout.ms=60_000 "
                "request.timeout.ms=10_000 fetch.max.wait.ms=5_000"
            ),
            "pace": AsyncTask(),
            "heartbeats": {"session_check": SessionCheck.NEVER},
            "rebalance_timeout": RebalanceTimeout.OWN,
            "poll_limit": {"enforced": False},
            "error_loop": ErrorLoop(
                OnError.RETRY_ALL,
                "hands it out with the next poll and joins again after a backoff (`RetryBackoffFn`)",
                250,
                5_000,
            ),
            # client.go, connTimeouter: JoinGroup has RequestTimeoutOverhead (10 s) on top; SyncGroup the timeout of
            # the join
            "parked": {
                Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 10_000),
                Api.SYNC_GROUP: ParkedTimeout(ParkedBase.REBALANCE),
            },
            "commits": {"unchanged": False, "delivered_only": True},
            "reactions": FRANZ_GO,
            "protocols": ("classic", "consumer"),
            "consumer_protocol": {
                "in_full": True,
                "new_id_when_unknown": True,
                "leaves_when_fatal": True,
                "assignor": "uniform",
                "instance_always": False,
                "leaves_named": False,
                "leaves_in_full": False,
                "joins_after_backoff": True,
                "unreleased_retries": 3,
                "commits_in_turn": False,
                "poll_events": False,
            },
            "setting_names": setting_names(
                "SessionTimeout=session.timeout.ms HeartbeatInterval=heartbeat.interval.ms "
                "RebalanceTimeout=rebalance.timeout.ms InstanceID=group.instance.id "
                "AutoCommitInterval=auto.commit.interval.ms ClientID=client.id Rack=client.rack "
                "FetchMinBytes=fetch.min.bytes FetchMaxBytes=fetch.max.bytes "
                "FetchMaxPartitionBytes=max.partition.fetch.bytes FetchMaxWait=fetch.max.wait.ms"
            ),
        },
    ),
    # A socket timeout shorter than the broker parks JoinGroup: the client abandons it and joins again (ruby-kafka
    # #941). Heartbeats between batches only, so work after the join starves them (ruby-kafka #767).
    "ruby-kafka": (
        "",
        "ruby-kafka 0.7 to 1.5",
        {
            "client_id": "ruby-kafka",
            "defaults": defaults_of(
                "session.timeout.ms=30_000 heartbeat.interval.ms=10_000 "
                "partition.assignment.strategy=roundrobin rebalance.timeout.ms=60_000 request.timeout.ms=10_000 "
                "fetch.max.wait.ms=1_000 fetch.max.bytes=10_485_760"
            ),
            "subscription": {"version": 0},
            "pace": PollOnly(between_batches=True),
            "heartbeats": {"while_syncing": False, "session_check": SessionCheck.NEVER},
            "rebalance_timeout": RebalanceTimeout.OWN,
            "poll_limit": {"enforced": False},
            "parked": {},
            "retries": {"exponential": False},
            "commits": {"unchanged": False},
            "setting_names": setting_names(
                "session_timeout=session.timeout.ms*1000 heartbeat_interval=heartbeat.interval.ms*1000 "
                "rebalance_timeout=rebalance.timeout.ms*1000 socket_timeout=request.timeout.ms*1000 "
                "offset_commit_interval=auto.commit.interval.ms*1000 min_bytes=fetch.min.bytes "
                "max_wait_time=fetch.max.wait.ms*1000"
            ),
        },
    ),
}
