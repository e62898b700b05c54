"""Kafka's Java consumer by age, oldest first: the differences of each profile from its base.

The real clients 2.8.2, 3.1.2, 3.2.3, 3.3.1, 3.5.2, 3.7.2, 3.9.1 and 4.4.0 behaved the same (docs/twins.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.profiles.defects import Defect
from groupsim.members.profiles.pace import PollOnly
from groupsim.members.profiles.profile import (
    ParkedBase,
    ParkedTimeout,
    ProfileRow,
    RebalanceTimeout,
    defaults_of,
)
from groupsim.members.profiles.reactions import (
    JAVA_3_3,
    JAVA_UNTIL_0_10_0,
    JAVA_UNTIL_2_3,
    JAVA_UNTIL_3_1,
    JAVA_UNTIL_4_1,
)
from groupsim.protocol.messages.group import Api

_UNTIL_2 = "session.timeout.ms=10_000 heartbeat.interval.ms=3_000 partition.assignment.strategy=range"

ROWS: Final[Mapping[str, ProfileRow]] = {
    "java-0.9": (
        "java-0.11",
        "Apache Kafka Java consumer 0.9 to 0.10.0: heartbeats only from poll()",
        {
            "defaults": defaults_of(
                "session.timeout.ms=30_000 heartbeat.interval.ms=3_000 partition.assignment.strategy=range "
                "request.timeout.ms=40_000 max.poll.records=2_147_483_647"
            ),
            "pace": PollOnly(),
            "rebalance_timeout": RebalanceTimeout.UNSENT,
            "poll_limit": {"enforced": False},
            "subscription": {"taken_at_end": True},
            "leader": {"discards_outdated": True},
            "reactions": JAVA_UNTIL_0_10_0,
        },
    ),
    "java-0.10": ("java-0.11", "Apache Kafka Java consumer 0.10.1 and 0.10.2", {}),
    "java-0.11": (
        "java-2.8",
        "Apache Kafka Java consumer 0.11 to 1.x",
        {
            "client_id": "consumer-1",
            "defaults": defaults_of(f"{_UNTIL_2} request.timeout.ms=305_000"),
            "subscription": {"version": 0, "no_user_data": b""},
            "heartbeats": {"while_syncing": False, "restart_when_found": True},
            "callbacks": {"lost": False, "before_first_join": True, "on_leaving": False},
            "retries": {"joins_without_pause": False},
            "parked": {},  # JoinGroup has request.timeout.ms, 305 s, up to 1.x (KAFKA-7050)
            "reactions": JAVA_UNTIL_2_3,
        },
    ),
    "java-2.0": (
        "java-2.3",
        "Apache Kafka Java consumer 2.0 and 2.1: request.timeout.ms is 30 s (KIP-266)",
        {"heartbeats": {"restart_when_found": True}},  # 2.0 only; 2.1 restarts the session timer alone
    ),
    "java-2.2": (
        "java-2.3",
        "Apache Kafka Java consumer 2.2: is given its member id before it joins (KIP-394)",
        {},
    ),
    "java-2.3": (
        "java-0.11",
        "Apache Kafka Java consumer 2.3: static members, eager assignors only",
        {
            "defaults": defaults_of(f"{_UNTIL_2} request.timeout.ms=30_000"),
            "heartbeats": {
                "restart_when_found": False
            },  # FindCoordinatorResponseHandler: resetSessionTimeout since 2.1
            "parked": {Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000)},  # KAFKA-7050, since 2.0
        },
    ),
    "java-2.4": (
        "java-2.8",
        "Apache Kafka Java consumer 2.4 to 2.6.0: no heartbeats between JoinGroup and SyncGroup (before KAFKA-10134)",
        {"heartbeats": {"while_syncing": False}},
    ),
    "java-2.8": (
        "java-3.1",
        "Apache Kafka Java consumer 2.x (2.8)",
        {
            "defaults": defaults_of(
                "session.timeout.ms=10_000 heartbeat.interval.ms=3_000 partition.assignment.strategy=range"
            )
        },
    ),
    "java-3.1": (
        "java-3.2",
        "Apache Kafka Java consumer 3.0 and 3.1: gives no reasons, forgets its id with its generation",
        {
            "callbacks": {"by_number": False},
            "commits": {"retried_on_any_event": False},
            "reactions": JAVA_UNTIL_3_1,
        },
    ),
    "java-3.2": (
        "java-3.4",
        "Apache Kafka Java consumer 3.2: its subscription carries neither generation nor rack",
        {"subscription": {"version": 1}},
    ),
    "java-3.3": (
        "java-3.2",
        "Apache Kafka Java consumer 3.3: more is revoked after a sync that came too late (KAFKA-14016)",
        {"reactions": JAVA_3_3},
    ),
    "java-3.4": (
        "java-3.5",
        "Apache Kafka Java consumer 3.4: a join that failed is tried again at once (KAFKA-12639)",
        {"retries": {"joins_without_pause": True}},
    ),
    "java-3.5": (
        "java-3.9",
        "Apache Kafka Java consumer 3.5 and 3.6: every backoff has one length (before KIP-580)",
        {"retries": {"exponential": False, "given_id_is_failure": True}},
    ),
    "java-3.7": (
        "java-3.9",
        "Apache Kafka Java consumer 3.7 and 3.8: as 3.9, with older versions of its requests",
        {},
    ),
    "java-3.9": (
        "java-4.x",
        "Apache Kafka Java consumer 3.x (3.9), classic protocol",
        {
            "positions": {"reset_by_duration": False},
            "defects": frozenset({Defect.KAFKA_20778}),
            "protocols": ("classic",),
        },
    ),
    "java-4.0": (
        "java-4.1",
        "Apache Kafka Java consumer 4.0: requests all topics for a regular expression, and sends no rack",
        {"consumer_protocol": {"rack": False, "metadata_by_id": False}},
    ),
    "java-4.1": (
        "java-4.2",
        "Apache Kafka Java consumer 4.1: names topics in commits, and revokes without waiting for poll",
        {
            "consumer_protocol": {
                "offsets_by_id": False,
                "revokes_in_poll": False,
                "ends_when_out": True,
            },
            "reactions": JAVA_UNTIL_4_1,
        },
    ),
    "java-4.2": (
        "java-4.3",
        "Apache Kafka Java consumer 4.2: owns a target before its callback has run",
        {"consumer_protocol": {"poll_events": False}},
    ),
    "java-4.3": ("java-4.x", "Apache Kafka Java consumer 4.3: as 4.4", {}),
    "java-4.x": (
        "",
        "Apache Kafka Java consumer 4.x, classic protocol",
        {
            "client_id": "consumer-{group}-1",
            "defaults": defaults_of(
                "session.timeout.ms=45_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=range,cooperative-sticky"
            ),
            "positions": {"reset_by_duration": True},
            "commits": {"retried_on_any_event": True},
            "coordinator": {"refreshes_metadata": True},
            "protocols": ("classic", "consumer"),
        },
    ),
}
