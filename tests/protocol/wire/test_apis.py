"""The table of APIs and versions, and the answer to ApiVersions."""

from __future__ import annotations

from typing import Any

import pytest
from kio.index import load_response_schema
from kio.serial import entity_reader
from versions_table import table

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.releases import VersionRange, broker_versions
from groupsim.protocol.wire import Unreadable, api_table, served
from groupsim.protocol.wire.apis import RELEASES, taken
from groupsim.protocol.wire.families.api_versions import finalized, read_api_versions
from groupsim.protocol.wire.headers import read_header
from tests.helpers.between_brokers import BETWEEN_BROKERS
from tests.helpers.wire_samples import frame, told, understood

BEAT = Api.CONSUMER_GROUP_HEARTBEAT
VALID = {"client_software_name": "tests", "client_software_version": "1.0-rc.1"}


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_told_is_what_a_broker_of_the_release_takes(release: str) -> None:
    """No version outside the release's own, none that cannot be read here, and nothing that passes between brokers."""
    takes = broker_versions(RELEASES[release])
    assert set(taken(release)) == {api for api in served() if api in takes}
    for api, versions in taken(release).items():
        assert api not in BETWEEN_BROKERS
        for version in (versions.oldest, versions.newest):
            assert version in takes[api]
            assert version in served()[api]


@pytest.mark.parametrize("release", RELEASES)
def test_produce_is_told_from_0_and_nothing_else_differs_from_what_is_taken(release: str) -> None:
    """Without Produce 0 librdkafka believes that a broker cannot compress (KAFKA-18659)."""
    table, takes = api_table(release), taken(release)
    assert {api for api in table if table[api] != takes[api]} <= {Api.PRODUCE}
    if Api.PRODUCE in table:
        assert (table[Api.PRODUCE].oldest, takes[Api.PRODUCE].oldest) == (0, 3)


def test_4_0_0_alone_refuses_old_joins() -> None:
    """KIP-896 took JoinGroup 0 and 1 away and KAFKA-19444 gave them back."""
    oldest = {release: api_table(release)[Api.JOIN_GROUP].oldest for release in RELEASES}
    assert oldest == {"2.8": 0, "3.9": 0, "4.0.0": 2, "4.4": 0, "4.x": 0}
    assert api_table("4.0.1")[Api.JOIN_GROUP].oldest == 0


@pytest.mark.parametrize("release", ["5.x", "5.0", "4.9", "4.5.0", "0.9.0", "1.1", "", "4", "-1.2", "four"])
def test_a_profile_there_is_not_names_those_there_are(release: str) -> None:
    """The error of a misspelt release lists them."""
    if release == "4":
        assert api_table(release) == api_table("4.x")
        return
    with pytest.raises(ValueError, match=r"2\.8, 3\.9, 4\.0\.0, 4\.4, 4\.x"):
        api_table(release)


def test_the_table_is_printed_with_a_row_for_each_api() -> None:
    """The documentation shows this table."""
    lines = table().splitlines()
    assert lines[0] == "| API | key | 2.8 | 3.9 | 4.0.0 | 4.4 |"
    assert "| JoinGroup | 11 | 0–7 | 0–9 | 2–9 | 0–9 |" in lines
    assert len(lines) == 2 + len(served())


def table_of(response: Any) -> dict[int, tuple[int, int]]:
    """What an ApiVersions response lists."""
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


def by_kio(version: int, response: bytes) -> Any:
    """An ApiVersions response as kio reads it: kafka-python takes every one with an error for version 0."""
    return entity_reader(load_response_schema(Api.API_VERSIONS, version))(response, 4)[0]


@pytest.mark.parametrize(
    ("release", "version"), [("2.8", 0), ("2.8", 3), ("4.x", 0), ("4.x", 1), ("4.x", 3), ("4.x", 4)]
)
def test_api_versions_tells_the_table_of_the_profile(release: str, version: int) -> None:
    """In every version, with the oldest response header, and without a question to the broker."""
    exchange = understood(frame("ApiVersions", version, **VALID), release).exchange
    assert exchange.requests == ()
    assert exchange.answered
    response = told("ApiVersions", version, exchange.response([]))
    assert response.header.correlation_id == 7
    assert response.error_code == 0
    assert table_of(response) == {int(api): tuple(versions) for api, versions in api_table(release).items()}
    assert list(table_of(response)) == sorted(table_of(response))


@pytest.mark.parametrize("release", RELEASES)
def test_only_the_consumer_protocol_is_finalized(release: str) -> None:
    """A finalized transaction.version 2 would have clients end transactions in the way of KIP-890."""
    names = {one.name for one in finalized(api_table(release))}
    assert names == ({"group.version"} if api_table(release).get(BEAT, VersionRange(0, 0)).newest >= 1 else set())


def features_of(version: int, beats: VersionRange | None) -> tuple[Any, Any, int]:
    """What kio reads of the features of a broker: supported and finalized ones, and their epoch."""
    table = dict(api_table("4.4"))
    table.pop(BEAT, None)
    if beats is not None:
        table[BEAT] = beats
    fields = VALID if version >= 3 else {}
    data = frame("ApiVersions", version, **fields)
    header, _ = read_header(data, Api.API_VERSIONS, version >= 3, (4, 4))
    response = by_kio(version, read_api_versions(dict(fields), header, table).response())
    supported = [(one.name, one.min_version, one.max_version) for one in response.supported_features]
    levels = [(one.name, one.min_version_level, one.max_version_level) for one in response.finalized_features]
    return supported, levels, response.finalized_features_epoch


def test_brokers_with_the_consumer_protocol_finalize_it() -> None:
    """group.version 1 with ConsumerGroupHeartbeat 1 (4.0); without it, and with the preview of 3.7, no feature."""
    level = [("group.version", 1, 1)]
    assert features_of(4, VersionRange(0, 1)) == ([("group.version", 0, 1)], level, 1)
    assert features_of(3, VersionRange(0, 1)) == ([], level, 1)
    for without in (None, VersionRange(0, 0)):
        assert features_of(4, without) == ([], [], -1)


@pytest.mark.parametrize("version", [5, 6, 32_767, -1])
def test_a_version_that_nobody_speaks_is_answered_in_version_0(version: int) -> None:
    """With UNSUPPORTED_VERSION and the versions of ApiVersions, whatever stands in the body (KIP-511)."""
    data = bytearray(frame("ApiVersions", 4 if version > 0 else 0, **VALID) + b"who knows")
    data[2:4] = version.to_bytes(2, "big", signed=True)
    response = told("ApiVersions", 0, understood(bytes(data)).exchange.response([]))
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert table_of(response) == {18: (0, 4)}


def test_the_header_of_an_unknown_version_has_to_be_one() -> None:
    """A 4.4.0 broker closes the connection when the tagged fields are missing that versions above 2 have there."""
    data = bytearray(frame("ApiVersions", 0))
    data[3] = 9
    with pytest.raises(Unreadable, match="ApiVersions, header"):
        understood(bytes(data))


def test_version_4_is_too_new_for_a_2_8_broker() -> None:
    """Which version is too new depends on the release."""
    exchange = understood(frame("ApiVersions", 4, **VALID), "2.8").exchange
    assert table_of(told("ApiVersions", 0, exchange.response([]))) == {18: (0, 3)}


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "ü", "x\n"])
def test_software_names_have_to_be_plain_words(name: str) -> None:
    """Letters, digits, hyphens and dots, none of the latter two at an end; before version 3 there is no name."""
    for fields in (VALID | {"client_software_name": name}, VALID | {"client_software_version": name}):
        response = by_kio(3, understood(frame("ApiVersions", 3, **fields)).exchange.response([]))
        assert (response.error_code, table_of(response)) == (ErrorCode.INVALID_REQUEST, {})
        response = told("ApiVersions", 2, understood(frame("ApiVersions", 2, **fields)).exchange.response([]))
        assert response.error_code == 0


def test_a_refusal_says_its_error_without_a_table() -> None:
    """Faults may refuse ApiVersions, too."""
    exchange = understood(frame("ApiVersions", 3, **VALID)).exchange
    response = by_kio(3, exchange.refusal(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert (response.error_code, table_of(response)) == (-1, {})


@pytest.mark.parametrize(
    ("data", "release", "says"),
    [
        (b"", "4.x", "0 bytes: too short"),
        (b"\x00\x0c\x00", "4.x", "3 bytes: too short"),
        (b"\x03\xe8\x00\x00" + bytes(6), "4.x", "API key 1000"),
        (b"\xff\xff\x00\x00" + bytes(6), "4.x", "API key -1"),
        (b"\x00\x04\x00\x00" + bytes(6), "4.x", "API key 4"),
        (b"\x00\x0c\x00\x05" + bytes(8), "4.x", "Heartbeat 5: versions 0-4 are taken"),
        (b"\x00\x0c\xff\xff" + bytes(8), "4.x", "Heartbeat -1"),
        (b"\x00\x0b\x00\x01" + bytes(8), "4.0.0", "JoinGroup 1: versions 2-9 are taken"),
        (b"\x00\x0c\x00\x04" + bytes(4) + b"\x00\x09ab", "4.x", "Heartbeat, header"),
        (b"\x00\x0c\x00\x04" + bytes(4) + b"\x00\x02\xff\xff\x00", "4.x", "Heartbeat, header"),
        (b"\x00\x0c\x00\x04" + bytes(4) + b"\x00\x00\x01\x00\x30", "4.x", "tagged fields end after it"),
    ],
)
def test_what_no_broker_answers_is_unreadable_and_says_why(data: bytes, release: str, says: str) -> None:
    """Headers that cannot be read, APIs and versions that are not in the table."""
    with pytest.raises(Unreadable, match=says):
        understood(data, release)


def test_what_a_broker_does_not_offer_is_not_listed() -> None:
    """ApiVersions lists neither DescribeQuorum (55) nor UpdateFeatures (57), so that clients do not send them."""
    assert not {55, 57} & {int(api) for release in RELEASES for api in api_table(release)}


def test_tagged_fields_of_a_header_are_skipped() -> None:
    """No header knows any yet, a newer client's may (KIP-482)."""
    data = frame("Heartbeat", 4, group_id="g", generation_id=3, member_id="m")
    at = 10 + len("tests")
    assert data[at] == 0
    tagged = data[:at] + b"\x02\x00\x02xy\x07\x00" + data[at + 1 :]
    assert understood(tagged).exchange.requests == understood(data).exchange.requests


def test_bytes_after_a_request_are_left_alone() -> None:
    """As Kafka does; librdkafka's Metadata 13 has one too many."""
    data = frame("Heartbeat", 4, group_id="g", generation_id=3, member_id="m")
    assert understood(data + b"\x00\x01").exchange.requests == understood(data).exchange.requests
