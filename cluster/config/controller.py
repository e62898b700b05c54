"""The controller's settings, under Kafka's names.

The defaults are those of KRaft at 4.4. `zookeeper_era` returns the controller of a cluster with ZooKeeper: a broker's
session is ZooKeeper's, placement is the older algorithm, the leader epoch goes up when a replica leaves the in-sync
set, and there are no eligible leader replicas.

KRaft changed with its releases (`kraft`). Up to 3.4 a broker applies metadata only when it has caught up. Up to 3.5 the
leader epoch goes up for a shrink. Up to 3.9 a session ends at its timeout, the session of a fenced broker delays no new
incarnation, and leaders are balanced one interval after the first of them has moved away. Up to 4.0 there are no
eligible leader replicas, and a refused broker doubles its wait each time.

Sources: `KRaftConfigs`, `ReplicationConfigs`, `ZkConfigs`, `MetadataVersion` (3.6: no epoch for a shrink),
`EligibleLeaderReplicasVersion` (on for clusters made with 4.1 or later), `BrokerHeartbeatManager` of 3.9.1 and 4.0.0
(`BrokerHeartbeatTracker` and `PeriodicTaskControlManager` begin with the latter);
`QuorumController.maybeScheduleNextBalancePartitionLeaders` of 3.9, `KafkaController.scheduleAutoLeaderRebalanceTask`;
`BrokerServer` of 3.3 to 4.4, KAFKA-19294 (4.1: no growing wait).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from attrs import Factory, evolve, field, validators

from groupsim.protocol.values import frozen

Placement = Literal["striped", "zookeeper", "round-robin"]
CheckSchedule = Literal["periodic", "deferred", "scheduled"]
_FIRST_CHECK_US: Final = {"periodic": 0, "scheduled": 5_000_000}


@frozen
class ControllerConfig:
    """Settings of the controller and of the brokers' agents; fields with `_ms` are Kafka's settings.

    `placement`: "striped" is KRaft's, "zookeeper" the older one with a seeded start and shift, "round-robin" the older
    one from broker 0, so that partition i has replica j on broker (i + j) mod n. `session_check_ms` is the interval of
    the controller's search for expired sessions (KRaft: an eighth of the session timeout); 0 means at once. From 4.0 on
    the session of a fenced broker delays a new incarnation (`fenced_sessions_count`). `stale_metadata_us`: by node, the
    delay of metadata beyond the network's latency. `check_schedule` times the checks for leaders that are not the first
    replica, and for partitions without a leader: "periodic" at every multiple of the interval since the start,
    "deferred" one interval after the first finding, "scheduled" like "periodic" but 5 s later.
    `publishes_when_caught_up`: a starting broker applies its first image when a heartbeat has confirmed that it has
    caught up, not at once. `retry_wait_grows`: a broker whose registration or heartbeat failed waits 100 ms, then twice
    as long each time, not one heartbeat interval; and it abandons an attempt after half a session, not after that
    interval.
    """

    broker_heartbeat_interval_ms: int = field(default=2_000, validator=validators.gt(0))
    broker_session_timeout_ms: int = field(default=9_000, validator=validators.gt(0))
    session_check_ms: int = field(
        default=Factory(lambda self: self.broker_session_timeout_ms // 8, takes_self=True), validator=validators.ge(0)
    )
    fenced_sessions_count: bool = True
    placement: Placement = field(default="striped", validator=validators.in_(("striped", "zookeeper", "round-robin")))
    min_insync_replicas: int = field(default=1, validator=validators.ge(1))
    unclean_leader_election_enable: bool = False
    unclean_leader_election_interval_ms: int = field(default=300_000, validator=validators.ge(0))
    eligible_leader_replicas: bool = True
    epoch_for_shrink: bool = False
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = field(default=300, validator=validators.gt(0))
    leader_imbalance_per_broker_percentage: int | None = None
    check_schedule: CheckSchedule = field(
        default="periodic", validator=validators.in_(("periodic", "deferred", "scheduled"))
    )
    num_partitions: int = field(default=1, validator=validators.ge(1))
    default_replication_factor: int = field(default=1, validator=validators.ge(1))
    stale_metadata_us: Mapping[int, int] = field(factory=dict)
    publishes_when_caught_up: bool = False
    retry_wait_grows: bool = False

    @property
    def session_us(self) -> int:
        """The duration of a broker's session without a heartbeat."""
        return self.broker_session_timeout_ms * 1_000

    def next_check_us(self, now_us: int, every_us: int) -> int:
        """Return the time of the next check at this interval, when there is work for it now."""
        if self.check_schedule == "deferred":
            return now_us + every_us
        first_us = _FIRST_CHECK_US[self.check_schedule]
        return first_us + ((now_us - first_us) // every_us + 1) * every_us

    @property
    def attempt_us(self) -> int:
        """The time that a broker waits for the answer to a registration or heartbeat."""
        return self.session_us // 2 if self.retry_wait_grows else self.broker_heartbeat_interval_ms * 1_000


def kraft(release: tuple[int, int]) -> ControllerConfig:
    """Return the controller of a cluster that was formatted with this release, 3.3 or later."""
    from_4_0 = release >= (4, 0)
    config = ControllerConfig(
        fenced_sessions_count=from_4_0,
        eligible_leader_replicas=release >= (4, 1),
        epoch_for_shrink=release < (3, 6),
        publishes_when_caught_up=release < (3, 5),
        retry_wait_grows=release < (4, 1),
    )
    return config if from_4_0 else evolve(config, session_check_ms=0, check_schedule="deferred")


def zookeeper_era(release: tuple[int, int] = (3, 9)) -> ControllerConfig:
    """Return the controller of a cluster with ZooKeeper, of this release: sessions of 18 s from 2.5 on, of 6 s before.

    A ZooKeeper client pings three times in a session, and the controller learns of an expired session at once. Leaders
    move back only when more than 10 % of a broker's are elsewhere, a condition that KRaft does not have.
    """
    session = 18_000 if release >= (2, 5) else 6_000
    return ControllerConfig(
        broker_heartbeat_interval_ms=session // 3,
        broker_session_timeout_ms=session,
        session_check_ms=0,
        fenced_sessions_count=False,
        placement="zookeeper",
        unclean_leader_election_interval_ms=0,
        eligible_leader_replicas=False,
        epoch_for_shrink=True,
        leader_imbalance_per_broker_percentage=10,
        check_schedule="scheduled",
        publishes_when_caught_up=True,
        retry_wait_grows=True,
    )
