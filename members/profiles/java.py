"""Kafka's own Java consumer, from the oldest age to the newest: what each does otherwise than the one after it.

Versions of requests are the `validVersions` of the messages in the sources of 2.8.2, 3.1.2, 3.2.3, 3.3.2, 3.5.2, 3.7.1
and 4.4.0. Real clients of 2.8.2, 3.1.2, 3.3.1, 3.5.2, 3.7.2, 3.9.1 and 4.4.0 were asked the same (docs/twins.md).
"""

from __future__ import annotations

from attrs import evolve

from groupsim.members.profiles.pace import PollOnly
from groupsim.members.profiles.profile import (
    ClientProfile,
    ParkedBase,
    ParkedTimeout,
    RebalanceTimeout,
)
from groupsim.members.profiles.profile import defaults_of as _defaults
from groupsim.members.profiles.profile import versions_of as _versions
from groupsim.members.profiles.reactions import JAVA_3_3 as _OF_3_3
from groupsim.members.profiles.reactions import JAVA_UNTIL_0_10_0, JAVA_UNTIL_2_3, JAVA_UNTIL_3_1
from groupsim.protocol.messages.group import Api

_JAVA_ID = "consumer-{group}-1"

JAVA_4 = ClientProfile(
    name="java-4.x",
    title="Apache Kafka Java consumer 4.x, classic protocol",
    resets_by_duration=True,
    recommits_when_stirred=True,
    looks_up_with_new_metadata=True,
    client_id=_JAVA_ID,
    defaults=_defaults(45_000, 3_000, "range,cooperative-sticky"),
    versions=_versions(join=9, sync=5, heartbeat=4, leave=5, commit=9, fetch=9, find=6, metadata=13, data=(17, 10, 4)),
)
JAVA_3 = evolve(
    JAVA_4,
    name="java-3.9",
    title="Apache Kafka Java consumer 3.x (3.9), classic protocol",
    resets_by_duration=False,
    offline_racks_count=True,
    versions=_versions(join=9, sync=5, heartbeat=4, leave=5, commit=9, fetch=9, find=6, metadata=12, data=(17, 9, 4)),
)
JAVA_3_7 = evolve(
    JAVA_3,
    name="java-3.7",
    title="Apache Kafka Java consumer 3.7 and 3.8: as 3.9, with older versions of its requests",
    versions=_versions(join=9, sync=5, heartbeat=4, leave=5, commit=9, fetch=9, find=4, metadata=12, data=(16, 8, 4)),
)
JAVA_3_5 = evolve(
    JAVA_3,
    name="java-3.5",
    title="Apache Kafka Java consumer 3.5 and 3.6: every backoff has one length (before KIP-580)",
    versions=_versions(join=9, sync=5, heartbeat=4, leave=5, commit=8, fetch=8, find=4, metadata=12, data=(15, 8, 4)),
    exponential_backoff=False,
    given_id_is_failure=True,
)
JAVA_3_4 = evolve(
    JAVA_3_5,
    name="java-3.4",
    title="Apache Kafka Java consumer 3.4: a join that failed is tried again at once (KAFKA-12639)",
    versions=_versions(join=9, sync=5, heartbeat=4, leave=5, commit=8, fetch=8, find=4, metadata=12, data=(13, 7, 4)),
    rejoins_without_pause=True,
)
JAVA_3_2 = evolve(
    JAVA_3_4,
    name="java-3.2",
    title="Apache Kafka Java consumer 3.2: its subscription carries neither generation nor rack",
    subscription_version=1,
)
JAVA_3_3 = evolve(
    JAVA_3_2,
    name="java-3.3",
    title="Apache Kafka Java consumer 3.3: more is revoked after a sync that came too late (KAFKA-14016)",
    reactions=_OF_3_3,
)
JAVA_3_1 = evolve(
    JAVA_3_2,
    name="java-3.1",
    title="Apache Kafka Java consumer 3.0 and 3.1: gives no reasons, forgets its id with its generation",
    versions=_versions(join=7, sync=5, heartbeat=4, leave=4, commit=8, fetch=8, find=4, metadata=12, data=(13, 7, 4)),
    sorts_partitions=False,
    recommits_when_stirred=False,
    reactions=JAVA_UNTIL_3_1,
)
JAVA_2 = evolve(
    JAVA_3_1,
    name="java-2.8",
    title="Apache Kafka Java consumer 2.x (2.8)",
    defaults=_defaults(10_000, 3_000, "range"),
    versions=_versions(join=7, sync=5, heartbeat=4, leave=4, commit=8, fetch=7, find=3, metadata=11, data=(12, 6, 4)),
)
JAVA_2_4 = evolve(
    JAVA_2,
    name="java-2.4",
    title="Apache Kafka Java consumer 2.4 to 2.6.0: no heartbeats between JoinGroup and SyncGroup (before KAFKA-10134)",
    versions=_versions(join=6, sync=4, heartbeat=4, leave=4, commit=8, fetch=6, find=3, metadata=9, data=(11, 5, 3)),
    heartbeats_while_syncing=False,
)
JAVA_0_11 = evolve(
    JAVA_2,
    name="java-0.11",
    title="Apache Kafka Java consumer 0.11 to 1.x",
    client_id="consumer-1",
    defaults=_defaults(10_000, 3_000, "range", request_timeout_ms=305_000),
    versions=_versions(join=2, sync=1, heartbeat=1, leave=1, commit=3, fetch=3, find=1, metadata=4, data=(5, 2, None)),
    subscription_version=0,
    no_user_data=b"",
    heartbeats_while_syncing=False,
    tells_lost=False,
    revokes_nothing=True,
    revokes_on_leaving=False,
    restarts_when_found=True,
    rejoins_without_pause=False,
    parked={},  # JoinGroup waits for request.timeout.ms (KAFKA-7050)
    reactions=JAVA_UNTIL_2_3,
)
JAVA_2_3 = evolve(
    JAVA_0_11,
    name="java-2.3",
    title="Apache Kafka Java consumer 2.3: static members, eager assignors only",
    restarts_when_found=False,  # FindCoordinatorResponseHandler: resetSessionTimeout since 2.1
    parked={Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000)},  # KAFKA-7050, since 2.0
    defaults=_defaults(10_000, 3_000, "range", request_timeout_ms=30_000),
    versions=_versions(join=5, sync=3, heartbeat=3, leave=2, commit=7, fetch=5, find=2, metadata=8, data=(11, 5, 3)),
)
JAVA_2_2 = evolve(
    JAVA_2_3,
    name="java-2.2",
    title="Apache Kafka Java consumer 2.2: is given its member id before it joins (KIP-394)",
    versions=_versions(join=4, sync=2, heartbeat=2, leave=2, commit=6, fetch=5, find=2, metadata=7, data=(10, 5, 2)),
)
JAVA_2_0 = evolve(
    JAVA_2_3,
    name="java-2.0",
    title="Apache Kafka Java consumer 2.0 and 2.1: request.timeout.ms is 30 s (KIP-266)",
    restarts_when_found=True,  # 2.0 alone; 2.1 restarts the session alone
    versions=_versions(join=3, sync=2, heartbeat=2, leave=2, commit=4, fetch=4, find=2, metadata=6, data=(8, 3, 1)),
)
# JoinGroup and SyncGroup as 0.10.2.2 sent them (tests/twins/old_scenes.py), the others as its Protocol.java has them.
JAVA_0_10 = evolve(
    JAVA_0_11,
    name="java-0.10",
    title="Apache Kafka Java consumer 0.10.1 and 0.10.2",
    versions=_versions(join=1, sync=0, heartbeat=0, leave=0, commit=2, fetch=2, find=0, metadata=2, data=(3, 1, None)),
)
JAVA_0_9 = evolve(
    JAVA_0_11,
    name="java-0.9",
    title="Apache Kafka Java consumer 0.9 to 0.10.0: heartbeats only from poll()",
    defaults=_defaults(30_000, 3_000, "range", request_timeout_ms=40_000, max_poll_records=2_147_483_647),
    versions=_versions(join=0, sync=0, heartbeat=0, leave=0, commit=2, fetch=1, find=0, metadata=0, data=(1, 0, None)),
    pace=PollOnly(),
    rebalance_timeout=RebalanceTimeout.UNSENT,
    enforces_poll_limit=False,
    forgets_change_while_joining=True,
    discards_outdated=True,
    reactions=JAVA_UNTIL_0_10_0,
)
