"""One broker's side of the wire: requests decoded into exchanges."""

from __future__ import annotations

from groupsim.protocol.basics import Api
from groupsim.protocol.values import frozen
from groupsim.protocol.wire.apis import api_table, release_of, taken
from groupsim.protocol.wire.exchange import Directory, Exchange, Unreadable
from groupsim.protocol.wire.families.api_versions import read_api_versions, too_new
from groupsim.protocol.wire.headers import Header, read_header, read_kind
from groupsim.protocol.wire.registry import READERS
from groupsim.protocol.wire.schema import request_shape
from groupsim.protocol.wire.serial import MOST_ELEMENTS, Fields, ReadMessage, reader

_TAGGED_HEADER = 3  # from this version of ApiVersions on, known or not


@frozen
class Understood:
    """A decoded request: its header, and the exchange to execute. `client_id` is "" for null."""

    api: Api
    version: int
    correlation: int
    client_id: str
    exchange: Exchange


@frozen
class _Dialect:
    """The reader of one API in one version."""

    api: Api
    flexible: bool
    read: ReadMessage


class Codec:
    """Decodes the requests that a broker of a release takes, and encodes their responses.

    Raises ValueError for an unknown release.
    """

    def __init__(self, release: str, directory: Directory) -> None:
        self._directory = directory
        self._taken = taken(release)
        self._table = api_table(release)
        self._release = release_of(release)
        self._dialects: dict[tuple[int, int], _Dialect] = {}

    def understand(self, frame: bytes, most: int = MOST_ELEMENTS) -> Understood:
        """Decode the request in a frame (without its length), if its arrays have at most so many elements.

        Raises Lengthy if they have more. Raises Unreadable for a message that no broker answers: an unreadable header
        or body, an API or a version that is not in the table.
        """
        kind = read_kind(frame)
        dialect = self._dialects.get(kind)
        if dialect is None:
            if kind[0] == Api.API_VERSIONS and kind[1] not in self._taken[Api.API_VERSIONS]:
                return self._unspoken(frame, flexible=kind[1] >= _TAGGED_HEADER)
            dialect = self._dialects[kind] = self._dialect(*kind)
        header, at = read_header(frame, dialect.api, dialect.flexible, self._release)
        # bytes after the body are ignored, as in Kafka: librdkafka sends some
        fields, _ = dialect.read(frame, at, most)
        return _understood(header, self._exchange(header, fields))

    def _dialect(self, key: int, version: int) -> _Dialect:
        api = next((api for api in self._taken if api == key), None)
        if api is None:
            raise Unreadable(f"API key {key}: not in the table of ApiVersions")
        if version not in self._taken[api]:
            raise Unreadable(f"{api.title} {version}: versions {self._taken[api]} are taken")
        shape = request_shape(api, version)
        return _Dialect(api, shape.flexible, reader(shape))

    def _exchange(self, header: Header, fields: Fields) -> Exchange:
        if header.api is Api.API_VERSIONS:
            return read_api_versions(fields, header, self._table)
        return READERS[header.api](fields, header, self._directory)

    def _unspoken(self, frame: bytes, *, flexible: bool) -> Understood:
        header, _ = read_header(frame, Api.API_VERSIONS, flexible, self._release)
        return _understood(header, too_new(header, self._table))


def _understood(header: Header, exchange: Exchange) -> Understood:
    return Understood(header.api, header.version, header.correlation, header.client_id, exchange)
