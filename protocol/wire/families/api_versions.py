"""ApiVersions: the APIs of the broker, answered from the table of a release, without a broker.

A client sends it before it knows any version, so a version above the broker's does not end the connection: it is
answered in version 0, with UNSUPPORTED_VERSION and the versions of ApiVersions itself (KIP-511). From version 3 on a
client sends its software's name and version, which have to match a pattern. Sources: `ApiVersionsRequest`,
`KafkaApis.handleApiVersionsRequest`.

Of the six features that a 4.4.0 broker finalizes, the table here has those that brokers here keep: a broker finalizes
`group.version` 1 (KIP-848) when it takes ConsumerGroupHeartbeat 1, which brokers from 4.0 on do. A client that sees
`transaction.version` 2 finalized would end transactions as in KIP-890, and those here follow the older protocol. The
features of a cluster never change, so their epoch, in Kafka an offset of the metadata log, is always the same. Before
version 4 a supported feature whose lowest level is 0 is left out, because some clients cannot read it (KAFKA-17492).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.releases import VersionRange
from groupsim.protocol.values import frozen
from groupsim.protocol.wire.exchange import Exchange
from groupsim.protocol.wire.headers import Header, encode_response
from groupsim.protocol.wire.serial import Fields

_LEVEL_0 = 4  # from this version on a supported feature may have the lowest level 0
_FEATURES_EPOCH = 1


@frozen
class Feature:
    """A feature: its levels, and the version of an API whose brokers finalize the highest of them."""

    name: str
    lowest: int
    highest: int
    api: Api
    since: int


FEATURES = (Feature("group.version", 0, 1, Api.CONSUMER_GROUP_HEARTBEAT, 1),)
"""The features that brokers finalize."""


def finalized(table: Mapping[Api, VersionRange]) -> tuple[Feature, ...]:
    """Return the features that a broker with this table of APIs finalizes."""
    return tuple(one for one in FEATURES if one.api in table and table[one.api].newest >= one.since)


_WORD = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class _TableAnswer:
    """An exchange without requests: its response is known already."""

    answered = True
    requests = ()

    def __init__(self, header: Header, table: Mapping[Api, VersionRange], error: ErrorCode) -> None:
        self._header = header
        self._table = table
        self._error = error

    def response(self, answers: object = ()) -> bytes:
        """Return the table, or the error."""
        return self._bytes(self._error)

    def refusal(self, error: ErrorCode) -> bytes:
        """Return the error without a table."""
        return self._bytes(error)

    def _bytes(self, error: ErrorCode) -> bytes:
        if error is ErrorCode.UNSUPPORTED_VERSION:
            listed = {Api.API_VERSIONS: self._table[Api.API_VERSIONS]}
        else:
            listed = {} if error else dict(self._table)
        keys = [
            {"api_key": int(api), "min_version": versions.oldest, "max_version": versions.newest}
            for api, versions in listed.items()
        ]
        body = {"error_code": error, "api_keys": keys, "throttle_time": 0, **self._features(error)}
        return encode_response(self._header, body)

    def _features(self, error: ErrorCode) -> Fields:
        features = () if error else finalized(self._table)
        if not features:
            return {}
        supported = [one for one in features if one.lowest or self._header.version >= _LEVEL_0]
        return {
            "supported_features": [
                {"name": one.name, "min_version": one.lowest, "max_version": one.highest} for one in supported
            ],
            "finalized_features_epoch": _FEATURES_EPOCH,
            "finalized_features": [
                {"name": one.name, "min_version_level": one.highest, "max_version_level": one.highest}
                for one in features
            ],
        }


def read_api_versions(fields: Fields, header: Header, table: Mapping[Api, VersionRange]) -> Exchange:
    """Return the answer to an ApiVersions request in a supported version."""
    names = (fields.get("client_software_name", "-"), fields.get("client_software_version", "-"))
    valid = header.version < 3 or all(_WORD.fullmatch(name) for name in names)
    return _TableAnswer(header, table, ErrorCode.NONE if valid else ErrorCode.INVALID_REQUEST)


def too_new(header: Header, table: Mapping[Api, VersionRange]) -> Exchange:
    """Return the answer to an ApiVersions request in an unsupported version: in version 0, without reading the body."""
    return _TableAnswer(evolve(header, version=0), table, ErrorCode.UNSUPPORTED_VERSION)
