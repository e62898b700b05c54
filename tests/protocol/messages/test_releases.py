"""The versions that brokers take, against the reference and against another client's table."""

from __future__ import annotations

import pytest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.messages.group import Api
from groupsim.protocol.messages.releases import BASELINE, VersionRange, broker_versions, client_version
from tests.helpers.between_brokers import BETWEEN_BROKERS

# classic-protocol reference, section 5.
TABLE = """
JOIN_GROUP       0-9 0-9 0-9  0-9
SYNC_GROUP       0-5 0-5 0-5  0-5
HEARTBEAT        0-4 0-4 0-4  0-4
LEAVE_GROUP      0-5 0-5 0-5  0-5
OFFSET_COMMIT    0-9 2-9 2-9  2-10
OFFSET_FETCH     0-9 1-9 1-9  1-10
DESCRIBE_GROUPS  0-5 0-6 0-6  0-6
LIST_GROUPS      0-5 0-5 0-5  0-5
DELETE_GROUPS    0-2 0-2 0-2  0-3
OFFSET_DELETE    0-0 0-0 0-0  0-0
FIND_COORDINATOR 0-6 0-6 0-6  0-6
PRODUCE          0-11 0-12 0-13 0-13
FETCH            0-17 4-17 4-18 4-18
LIST_OFFSETS     0-9 1-10 1-10 1-11
TXN_OFFSET_COMMIT 0-4 0-5 0-5  0-6
API_VERSIONS     0-4 0-4 0-4  0-4
CREATE_TOPICS    0-7 2-7 2-7  2-7
DELETE_TOPICS    0-6 1-6 1-6  1-6
DESCRIBE_CONFIGS 0-4 1-4 1-4  1-4
CREATE_PARTITIONS 0-3 0-3 0-3  0-3
INCREMENTAL_ALTER_CONFIGS 0-1 0-1 0-1  0-1
DESCRIBE_CLUSTER 0-1 0-2 0-2  0-2
"""
RELEASES = ("3.9", "4.0", "4.1", "4.4")
ROWS = [
    (line.split()[0], release, span)
    for line in TABLE.strip().splitlines()
    for release, span in zip(RELEASES, line.split()[1:])
]
OTHERS = sorted(release for release in BROKER_API_VERSIONS if release >= (0, 9))


@pytest.mark.parametrize(("api", "release", "expected"), ROWS)
def test_a_broker_takes_the_versions_of_its_release(api: str, release: str, expected: str) -> None:
    """The ranges of the modelled releases are those of Kafka's schemas and of its ApiVersions answers."""
    assert str(broker_versions(release)[Api[api]]) == expected


@pytest.mark.parametrize("release", OTHERS, ids=lambda r: ".".join(map(str, r)))
def test_the_history_agrees_with_kafka_python(release: tuple[int, ...]) -> None:
    """Every release that kafka-python knows by its ApiVersions answers takes the same versions here."""
    name = ".".join(map(str, release))
    ours = broker_versions("4.0.0" if release == (4, 0) else name)
    shared = {int(api) for api in set(Api) - BETWEEN_BROKERS}
    theirs = {Api(key): VersionRange(*span) for key, span in BROKER_API_VERSIONS[release].items() if key in shared}
    assert ours == theirs


def test_no_client_negotiates_what_passes_between_brokers() -> None:
    """Registration, heartbeats, AlterPartition and the metadata log are in no release's table; all the rest is."""
    assert set(Api) - set(broker_versions()) == BETWEEN_BROKERS
    with pytest.raises(ProtocolError, match="AlterPartition"):
        client_version(Api.ALTER_PARTITION, 3)


def test_only_the_first_4_0_refused_the_oldest_joins() -> None:
    """JoinGroup 0 and 1 were gone in 4.0.0 and back in 4.0.1 (KAFKA-19444), which is what "4.0" means."""
    assert broker_versions("4.0.0")[Api.JOIN_GROUP] == (2, 9)
    assert broker_versions("4.0.1")[Api.JOIN_GROUP] == (0, 9)
    assert broker_versions("4.0") == broker_versions("4.0.1")


def test_a_release_between_two_rows_is_the_older_row() -> None:
    """3.4 changed nothing here, so it takes what 3.3 took; a release to come takes what the newest one takes."""
    assert broker_versions("3.4") == broker_versions("3.3")
    assert broker_versions("9.0") == broker_versions(BASELINE)


@pytest.mark.parametrize("release", ["0.8.2", "trunk", "", "4.x"])
def test_what_is_no_release_is_refused_by_name(release: str) -> None:
    """The error repeats what was asked for."""
    with pytest.raises(ValueError, match=f"broker release '{release}'"):
        broker_versions(release)


def test_client_and_broker_talk_in_the_newest_version_both_know() -> None:
    """An old broker holds a new client down, and the other way round."""
    assert client_version(Api.JOIN_GROUP, 9) == 9
    assert client_version(Api.JOIN_GROUP, 9, "0.10.1") == 1
    assert client_version(Api.JOIN_GROUP, VersionRange(0, 2), "4.4") == 2
    assert client_version(Api.OFFSET_COMMIT, 9, BASELINE) == 9


def test_no_common_version_is_an_error_that_names_both_sides() -> None:
    """OffsetCommit 1 is too old for a 4.0 broker, and OffsetDelete too new for 2.3."""
    with pytest.raises(
        ProtocolError, match=r"OffsetCommit: expected a version that a 4.0 broker takes \(2-9\), found 0-1"
    ):
        client_version(Api.OFFSET_COMMIT, 1, "4.0")
    with pytest.raises(ProtocolError, match=r"OffsetDelete: expected an API that a 2\.3 broker has"):
        client_version(Api.OFFSET_DELETE, 0, "2.3")


def test_version_ranges_say_what_they_contain() -> None:
    """Both ends belong to the range."""
    span = VersionRange(2, 9)
    assert 2 in span
    assert 9 in span
    assert 1 not in span
    assert 10 not in span
