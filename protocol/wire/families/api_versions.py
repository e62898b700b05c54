"""ApiVersions: the APIs of the broker, answered from the table of a release, without a broker.

A client sends it before it knows any version, so a version above the broker's does not end the connection: it is
answered in version 0, with UNSUPPORTED_VERSION and the versions of ApiVersions itself (KIP-511). From version 3 on a
client sends its software's name and version, which have to match a pattern. Sources: `ApiVersionsRequest`,
`KafkaApis.handleApiVersionsRequest`.

No feature is listed or finalized, where a 4.4.0 broker finalizes six. A client that sees `transaction.version` 2
finalized would end transactions as in KIP-890, and those here follow the older protocol; `group.version` 1 would
promise the groups of KIP-848.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.releases import VersionRange
from groupsim.protocol.wire.exchange import Exchange
from groupsim.protocol.wire.headers import Header, encode_response
from groupsim.protocol.wire.serial import Fields

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
        return encode_response(self._header, {"error_code": error, "api_keys": keys, "throttle_time": 0})


def read_api_versions(fields: Fields, header: Header, table: Mapping[Api, VersionRange]) -> Exchange:
    """Return the answer to an ApiVersions request in a supported version."""
    names = (fields.get("client_software_name", "-"), fields.get("client_software_version", "-"))
    valid = header.version < 3 or all(_WORD.fullmatch(name) for name in names)
    return _TableAnswer(header, table, ErrorCode.NONE if valid else ErrorCode.INVALID_REQUEST)


def too_new(header: Header, table: Mapping[Api, VersionRange]) -> Exchange:
    """Return the answer to an ApiVersions request in an unsupported version: in version 0, without reading the body."""
    return _TableAnswer(evolve(header, version=0), table, ErrorCode.UNSUPPORTED_VERSION)
