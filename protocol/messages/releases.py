"""The request versions that a broker of a given release takes, as data.

A release is written as its changes against the one before it, so the table reads as a history. A client and a broker
use the newest version that both know; `client_version` finds it. So a run with a release of 2019 has the requests of
2019.

The table has client requests only. AlterPartition, BrokerRegistration, BrokerHeartbeat and our MetadataLog pass between
brokers and controller, all of one release, on a listener without clients, and need no negotiation; nor do ZooKeeper's
messages. WriteTxnMarkers passes between brokers, too, but every broker lists it to every client.

Sources: classic-protocol reference, section 5, from 3.9 on; older releases, and the messages that move records or end
transactions, as their ApiVersions responses list them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import Api

_LATEST = 1 << 15  # above any part of a release number


class VersionRange(NamedTuple):
    """The oldest and the newest version of an API on one side of a connection."""

    oldest: int
    newest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.oldest <= version <= self.newest

    def __str__(self) -> str:
        return f"{self.oldest}-{self.newest}"


def _ranges(oldest: int = 0, /, **newest: int) -> Mapping[Api, VersionRange]:
    return {Api[name]: VersionRange(oldest, version) for name, version in newest.items()}


BASELINE = "4.4"

# Release → its changes against the release above it. 4.0.0 alone refused JoinGroup 0 and 1 (KIP-896; taken back by
# KAFKA-19444); it lists Produce from 0 on for old librdkafka but takes it from 3 on (KAFKA-18659). Topic ids in
# offset requests (version 10) became stable in 4.2.
RELEASES: tuple[tuple[str, Mapping[Api, VersionRange]], ...] = (
    (
        "0.9.0",
        {
            **_ranges(METADATA=0, OFFSET_COMMIT=2, OFFSET_FETCH=1, FIND_COORDINATOR=0, JOIN_GROUP=0, SYNC_GROUP=0),
            **_ranges(HEARTBEAT=0, LEAVE_GROUP=0, DESCRIBE_GROUPS=0, LIST_GROUPS=0),
            **_ranges(PRODUCE=1, FETCH=1, LIST_OFFSETS=0),
        },
    ),
    ("0.10.0", _ranges(METADATA=1, PRODUCE=2, FETCH=2, API_VERSIONS=0)),
    ("0.10.1", _ranges(METADATA=2, JOIN_GROUP=1, FETCH=3, LIST_OFFSETS=1, CREATE_TOPICS=0, DELETE_TOPICS=0)),
    ("0.10.2", _ranges(OFFSET_FETCH=2, CREATE_TOPICS=1)),
    (
        "0.11.0",
        {
            **_ranges(DELETE_RECORDS=0),
            **_ranges(METADATA=4, OFFSET_COMMIT=3, OFFSET_FETCH=3, FIND_COORDINATOR=1, JOIN_GROUP=2, SYNC_GROUP=1),
            **_ranges(HEARTBEAT=1, LEAVE_GROUP=1, DESCRIBE_GROUPS=1, LIST_GROUPS=1),
            **_ranges(PRODUCE=3, FETCH=5, LIST_OFFSETS=2, OFFSET_FOR_LEADER_EPOCH=0),
            **_ranges(INIT_PRODUCER_ID=0, ADD_PARTITIONS_TO_TXN=0, ADD_OFFSETS_TO_TXN=0, END_TXN=0),
            **_ranges(WRITE_TXN_MARKERS=0, TXN_OFFSET_COMMIT=0),
            **_ranges(API_VERSIONS=1, CREATE_TOPICS=2, DELETE_TOPICS=1, DESCRIBE_CONFIGS=0, ALTER_CONFIGS=0),
            **_ranges(DESCRIBE_ACLS=0, CREATE_ACLS=0, DELETE_ACLS=0),
        },
    ),
    ("1.0", {**_ranges(METADATA=5, PRODUCE=5, FETCH=6, CREATE_PARTITIONS=0), **_ranges(DESCRIBE_LOG_DIRS=0)}),
    ("1.1", _ranges(DELETE_GROUPS=0, FETCH=7, DESCRIBE_CONFIGS=1)),
    (
        "2.0",
        {
            **_ranges(DELETE_RECORDS=1, DESCRIBE_LOG_DIRS=1),
            **_ranges(METADATA=6, OFFSET_COMMIT=4, OFFSET_FETCH=4, FIND_COORDINATOR=2, JOIN_GROUP=3, SYNC_GROUP=2),
            **_ranges(HEARTBEAT=2, LEAVE_GROUP=2, DESCRIBE_GROUPS=2, LIST_GROUPS=2, DELETE_GROUPS=1),
            **_ranges(PRODUCE=6, FETCH=8, LIST_OFFSETS=3, OFFSET_FOR_LEADER_EPOCH=1),
            **_ranges(INIT_PRODUCER_ID=1, ADD_PARTITIONS_TO_TXN=1, ADD_OFFSETS_TO_TXN=1, END_TXN=1),
            **_ranges(TXN_OFFSET_COMMIT=1, API_VERSIONS=2, CREATE_TOPICS=3, DELETE_TOPICS=2, DESCRIBE_CONFIGS=2),
            **_ranges(ALTER_CONFIGS=1, CREATE_PARTITIONS=1, DESCRIBE_ACLS=1, CREATE_ACLS=1, DELETE_ACLS=1),
        },
    ),
    (
        "2.1",
        {
            **_ranges(METADATA=7, OFFSET_COMMIT=6, OFFSET_FETCH=5),
            **_ranges(PRODUCE=7, FETCH=10, LIST_OFFSETS=4, OFFSET_FOR_LEADER_EPOCH=2, TXN_OFFSET_COMMIT=2),
            **_ranges(DELETE_TOPICS=3),
        },
    ),
    ("2.2", {**_ranges(JOIN_GROUP=4, LIST_OFFSETS=5), **_ranges(ELECT_LEADERS=0)}),
    (
        "2.3",
        {
            **_ranges(METADATA=8, OFFSET_COMMIT=7, JOIN_GROUP=5, SYNC_GROUP=3, HEARTBEAT=3, DESCRIBE_GROUPS=3),
            **_ranges(FETCH=11, OFFSET_FOR_LEADER_EPOCH=3, INCREMENTAL_ALTER_CONFIGS=0),
        },
    ),
    (
        "2.4",
        {
            **_ranges(ELECT_LEADERS=2, ALTER_PARTITION_REASSIGNMENTS=0, LIST_PARTITION_REASSIGNMENTS=0),
            **_ranges(METADATA=9, OFFSET_COMMIT=8, OFFSET_FETCH=6, FIND_COORDINATOR=3, JOIN_GROUP=6, SYNC_GROUP=4),
            **_ranges(HEARTBEAT=4, LEAVE_GROUP=4, DESCRIBE_GROUPS=5, LIST_GROUPS=3, DELETE_GROUPS=2, OFFSET_DELETE=0),
            **_ranges(PRODUCE=8, INIT_PRODUCER_ID=2),
            **_ranges(API_VERSIONS=3, CREATE_TOPICS=5, DELETE_TOPICS=4, INCREMENTAL_ALTER_CONFIGS=1),
        },
    ),
    (
        "2.5",
        {
            **_ranges(OFFSET_FETCH=7, JOIN_GROUP=7, SYNC_GROUP=5, INIT_PRODUCER_ID=3, TXN_OFFSET_COMMIT=3),
            **_ranges(CREATE_PARTITIONS=2, DESCRIBE_ACLS=2, CREATE_ACLS=2, DELETE_ACLS=2),
        },
    ),
    ("2.6", {**_ranges(LIST_GROUPS=4, DESCRIBE_CONFIGS=3), **_ranges(DELETE_RECORDS=2, DESCRIBE_LOG_DIRS=2)}),
    (
        "2.7",
        {
            **_ranges(FETCH=12, INIT_PRODUCER_ID=4, ADD_PARTITIONS_TO_TXN=2, ADD_OFFSETS_TO_TXN=2, END_TXN=2),
            **_ranges(CREATE_TOPICS=6, DELETE_TOPICS=5, CREATE_PARTITIONS=3),
        },
    ),
    (
        "2.8",
        {
            **_ranges(DESCRIBE_PRODUCERS=0),
            **_ranges(METADATA=11, PRODUCE=9, LIST_OFFSETS=6, OFFSET_FOR_LEADER_EPOCH=4),
            **_ranges(ADD_PARTITIONS_TO_TXN=3, ADD_OFFSETS_TO_TXN=3, END_TXN=3, WRITE_TXN_MARKERS=1),
            **_ranges(CREATE_TOPICS=7, DELETE_TOPICS=6, DESCRIBE_CONFIGS=4, ALTER_CONFIGS=2, DESCRIBE_CLUSTER=0),
        },
    ),
    (
        "3.0",
        {
            **_ranges(OFFSET_FETCH=8, FIND_COORDINATOR=4, LIST_OFFSETS=7),
            **_ranges(DESCRIBE_TRANSACTIONS=0, LIST_TRANSACTIONS=0),
        },
    ),
    ("3.1", _ranges(METADATA=12, FETCH=13)),
    ("3.2", {**_ranges(JOIN_GROUP=9, LEAVE_GROUP=5), **_ranges(DESCRIBE_LOG_DIRS=3)}),
    ("3.3", {**_ranges(DESCRIBE_ACLS=3, CREATE_ACLS=3, DELETE_ACLS=3), **_ranges(DESCRIBE_LOG_DIRS=4)}),
    ("3.5", _ranges(FETCH=15, LIST_OFFSETS=8)),
    ("3.6", _ranges(ADD_PARTITIONS_TO_TXN=4)),
    (
        "3.7",
        {
            **_ranges(CONSUMER_GROUP_HEARTBEAT=0),
            **_ranges(OFFSET_COMMIT=9, OFFSET_FETCH=9, PRODUCE=10, FETCH=16, DESCRIBE_CLUSTER=1),
        },
    ),
    (
        "3.8",
        {
            **_ranges(LIST_TRANSACTIONS=1, CONSUMER_GROUP_DESCRIBE=0),
            **_ranges(FIND_COORDINATOR=5, LIST_GROUPS=5, PRODUCE=11, INIT_PRODUCER_ID=5),
            **_ranges(ADD_PARTITIONS_TO_TXN=5, ADD_OFFSETS_TO_TXN=4, END_TXN=4, TXN_OFFSET_COMMIT=4),
        },
    ),
    ("3.9", _ranges(FIND_COORDINATOR=6, FETCH=17, LIST_OFFSETS=9, API_VERSIONS=4)),
    (
        "4.0.0",
        {
            **_ranges(DESCRIBE_TOPIC_PARTITIONS=0, LIST_CONFIG_RESOURCES=0),
            **_ranges(CONSUMER_GROUP_HEARTBEAT=1, CONSUMER_GROUP_DESCRIBE=1),
            **_ranges(1, DESCRIBE_LOG_DIRS=4),
            **_ranges(METADATA=13, DESCRIBE_GROUPS=6, PRODUCE=12, END_TXN=5, TXN_OFFSET_COMMIT=5, DESCRIBE_CLUSTER=2),
            **_ranges(1, OFFSET_FETCH=9, LIST_OFFSETS=10, WRITE_TXN_MARKERS=1, DELETE_TOPICS=6, DESCRIBE_CONFIGS=4),
            **_ranges(1, DESCRIBE_ACLS=3, CREATE_ACLS=3, DELETE_ACLS=3),
            **_ranges(2, OFFSET_COMMIT=9, JOIN_GROUP=9, OFFSET_FOR_LEADER_EPOCH=4, CREATE_TOPICS=7),
            **_ranges(4, FETCH=17),
        },
    ),
    ("4.0.1", _ranges(JOIN_GROUP=9)),
    (
        "4.1",
        {
            **_ranges(LIST_TRANSACTIONS=2, ALTER_PARTITION_REASSIGNMENTS=1, LIST_CONFIG_RESOURCES=1),
            **_ranges(PRODUCE=13),
            **_ranges(4, FETCH=18),
        },
    ),
    (
        "4.2",
        {**_ranges(1, OFFSET_FETCH=10, LIST_OFFSETS=11, WRITE_TXN_MARKERS=2), **_ranges(2, OFFSET_COMMIT=10)},
    ),
    ("4.3", _ranges(1, DESCRIBE_LOG_DIRS=5)),
    ("4.4", _ranges(DELETE_GROUPS=3, TXN_OFFSET_COMMIT=6)),
)


@lru_cache(maxsize=64)
def broker_versions(release: str = BASELINE) -> Mapping[Api, VersionRange]:
    """Return the versions that a broker of this release takes; an API unknown to it is missing.

    A release without a patch number means its last patch ("4.0" is 4.0.1). Raises ValueError for a text that is no
    release number, and for brokers before 0.9, which have no group coordinator for consumers.
    """
    wanted = _release(release, pad=_LATEST)
    known: dict[Api, VersionRange] = {}
    for name, changes in RELEASES:
        if _release(name, pad=0) <= wanted:
            known.update(changes)
    if not known:
        raise ValueError(f"broker release {release!r}: consumer groups begin with {RELEASES[0][0]}")
    return known


def _release(name: str, pad: int) -> tuple[int, ...]:
    """Return a release number as a value that compares."""
    try:
        numbers = [int(part) for part in name.split(".")]
    except ValueError:
        raise ValueError(f"broker release {name!r}: write numbers with dots, such as {BASELINE}") from None
    return tuple([*numbers, *[pad] * 4][:4])


@lru_cache(maxsize=256)
def client_version(api: Api, client: VersionRange | int, release: str = BASELINE) -> int:
    """Return the version of a connection between a client and a broker: the newest that both know.

    `client` is the client's range; a bare number means everything up to it. Raises ProtocolError when the two
    no version in common; a real client reports UNSUPPORTED_VERSION then.
    """
    speaks = client if isinstance(client, VersionRange) else VersionRange(0, client)
    takes = broker_versions(release).get(api)
    if takes is None:
        raise ProtocolError(api.title, None, f"an API that a {release} broker has", "none")
    version = min(speaks.newest, takes.newest)
    if version < max(speaks.oldest, takes.oldest):
        raise ProtocolError(api.title, None, f"a version that a {release} broker takes ({takes})", str(speaks))
    return version
