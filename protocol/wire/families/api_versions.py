"""ApiVersions: what the broker speaks, answered from the table of a profile; no broker is asked.

A client asks before it knows anything, so a version above the broker's is no error of the connection: it is answered
in version 0, with UNSUPPORTED_VERSION and the versions of ApiVersions itself (KIP-511). From version 3 on a client
tells its software's name and version, which have to be plain words. Sources: `ApiVersionsRequest`,
`KafkaApis.handleApiVersionsRequest`.

No feature is told or finalized, where a 4.4.0 broker finalizes six: a client that sees `transaction.version` 2
finalized would end transactions in the way of KIP-890, and those here are of the time before it; `group.version` 1
would promise the groups of KIP-848.
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


class _Told:
    """An exchange without requests: its response is known already."""

    answered = True
    requests = ()

    def __init__(self, header: Header, table: Mapping[Api, VersionRange], error: ErrorCode) -> None:
        self._header = header
        self._table = table
        self._error = error

    def response(self, answers: object = ()) -> bytes:
        """The table, or the error."""
        return self._bytes(self._error)

    def refusal(self, error: ErrorCode) -> bytes:
        """The error without a table."""
        return self._bytes(error)

    def _bytes(self, error: ErrorCode) -> bytes:
        if error is ErrorCode.UNSUPPORTED_VERSION:
            told = {Api.API_VERSIONS: self._table[Api.API_VERSIONS]}
        else:
            told = {} if error else dict(self._table)
        keys = [
            {"api_key": int(api), "min_version": versions.oldest, "max_version": versions.newest}
            for api, versions in told.items()
        ]
        return encode_response(self._header, {"error_code": error, "api_keys": keys, "throttle_time": 0})


def read_api_versions(fields: Fields, header: Header, table: Mapping[Api, VersionRange]) -> Exchange:
    """The answer to an ApiVersions request in a version that is spoken."""
    names = (fields.get("client_software_name", "-"), fields.get("client_software_version", "-"))
    valid = header.version < 3 or all(_WORD.fullmatch(name) for name in names)
    return _Told(header, table, ErrorCode.NONE if valid else ErrorCode.INVALID_REQUEST)


def too_new(header: Header, table: Mapping[Api, VersionRange]) -> Exchange:
    """The answer to an ApiVersions request in a version that nobody here speaks: in version 0, body unread."""
    return _Told(evolve(header, version=0), table, ErrorCode.UNSUPPORTED_VERSION)
