"""The controller's settings, under Kafka's names.

The defaults are those of KRaft at 4.4. `zookeeper_era` gives the controller of a cluster that kept its metadata in
ZooKeeper: a broker's session is then ZooKeeper's, placement is the older one, the leader epoch goes up when a replica
leaves the in-sync set, and nobody knows of eligible leader replicas.

KRaft itself has ages (`kraft`): until 3.4 a broker acts on metadata only when it has caught up; until 3.5 the leader
epoch goes up there, too; until 3.9 a session is over in the moment it has run out, a fenced broker's holds nobody up,
and leaders are balanced one interval after the first of them has moved away; until 4.0 nobody is eligible who is not in
sync, and a broker that was refused waits longer each time.

Sources: `KRaftConfigs`, `ReplicationConfigs`, `ZkConfigs`, `MetadataVersion` (3.6: no epoch for a shrink),
`EligibleLeaderReplicasVersion` (on for clusters made with 4.1 or later), `BrokerHeartbeatManager` of 3.9.1 and 4.0.0
(`BrokerHeartbeatTracker` and `PeriodicTaskControlManager` begin with the latter);
`QuorumController.maybeScheduleNextBalancePartitionLeaders` of 3.9, `KafkaController.scheduleAutoLeaderRebalanceTask`;
`BrokerServer` of 3.3 to 4.4, KAFKA-19294 (4.1: no growing wait).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from attrs import Factory, evolve, field, frozen, validators

Placement = Literal["striped", "zookeeper", "round-robin"]
Looks = Literal["periodic", "deferred", "scheduled"]
_FIRST_LOOK_US: Final = {"periodic": 0, "scheduled": 5_000_000}


@frozen
class ControllerConfig:
    """What a controller and the brokers' agents go by; `_ms` are Kafka's settings.

    `placement`: "striped" is KRaft's, "zookeeper" the older one with a seeded start and shift, "round-robin" the older
    one from broker 0, so that partition i has replica j on broker (i + j) mod n. `session_check_ms`: the controller
    looks for dead sessions only so often (KRaft: an eighth of the session timeout); 0 is at once. Sessions of
    fenced brokers count against a new incarnation from 4.0 on. `stale_metadata_us`: by node, how much later than the
    network's latency a broker hears of a change. `looks` says when the controller looks for leaders that are not the
    first replica, and for partitions without a leader: "periodic" at every multiple of the interval since its start,
    "deferred" one interval after there is something to find, "scheduled" as "periodic" but 5 s later.
    `publishes_when_caught_up`: a starting broker acts on its first image when the controller has told it that it has
    caught up, not as soon as it has read one. `retry_wait_grows`: a broker whose registration or heartbeat failed waits
    100 ms, then twice as long each time, not one heartbeat interval; and it gives an attempt up after half a session,
    not after that interval.
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
    looks: Looks = field(default="periodic", validator=validators.in_(("periodic", "deferred", "scheduled")))
    num_partitions: int = field(default=1, validator=validators.ge(1))
    default_replication_factor: int = field(default=1, validator=validators.ge(1))
    stale_metadata_us: Mapping[int, int] = field(factory=dict)
    publishes_when_caught_up: bool = False
    retry_wait_grows: bool = False

    @property
    def session_us(self) -> int:
        """How long a silent broker's session lasts."""
        return self.broker_session_timeout_ms * 1_000

    def next_look_us(self, now_us: int, every_us: int) -> int:
        """When the controller looks next, at this interval, for what is there to be mended now."""
        if self.looks == "deferred":
            return now_us + every_us
        first_us = _FIRST_LOOK_US[self.looks]
        return first_us + ((now_us - first_us) // every_us + 1) * every_us

    @property
    def attempt_us(self) -> int:
        """How long a broker waits for the answer to a registration or heartbeat."""
        return self.session_us // 2 if self.retry_wait_grows else self.broker_heartbeat_interval_ms * 1_000


def kraft(release: tuple[int, int]) -> ControllerConfig:
    """The controller of a cluster that was made with this release, 3.3 or later."""
    young = release >= (4, 0)
    made = ControllerConfig(
        fenced_sessions_count=young,
        eligible_leader_replicas=release >= (4, 1),
        epoch_for_shrink=release < (3, 6),
        publishes_when_caught_up=release < (3, 5),
        retry_wait_grows=release < (4, 1),
    )
    return made if young else evolve(made, session_check_ms=0, looks="deferred")


def zookeeper_era(release: tuple[int, int] = (3, 9)) -> ControllerConfig:
    """The controller of a cluster with ZooKeeper, of this release: sessions of 18 s from 2.5 on, of 6 s before.

    A ZooKeeper client pings three times in a session; the controller learns of a lost session at once; a broker's share
    of leaders elsewhere must pass 10 % before the balance is restored, which KRaft no longer asks.
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
        looks="scheduled",
        publishes_when_caught_up=True,
        retry_wait_grows=True,
    )
