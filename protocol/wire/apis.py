"""The served APIs and versions, and the table of ApiVersions, as data.

`protocol/messages/releases.py` holds the versions of a broker of a release; Kafka's schemas still describe the versions
that can be read here (KIP-896 dropped the oldest). The table of a release is the common part of both. Two traps of
real brokers belong to it. Produce is listed from version 0 although it is served from 3 on, because librdkafka
concludes from the absence of version 0 that the broker cannot compress (KAFKA-18659); old brokers listed 0, too. 4.0.0
alone has no JoinGroup 0 and 1 (KAFKA-19444); librdkafka before 2.11 then assumes a broker without consumer groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.releases import BASELINE, VersionRange, broker_versions
from groupsim.protocol.wire.headers import NEWEST
from groupsim.protocol.wire.registry import READERS
from groupsim.protocol.wire.schema import known_versions

RELEASES: Mapping[str, str] = {"2.8": "2.8", "3.9": "3.9", "4.0.0": "4.0.0", BASELINE: BASELINE, "4.x": BASELINE}
"""What names a release whose table is tested → its number; the number of any other from 2.0 on is a name, too."""

_OLDEST = (2, 0)


@lru_cache(maxsize=1)
def served() -> Mapping[Api, VersionRange]:
    """Return the versions of each API that the codec reads and writes, by API key."""
    return {api: known_versions(api) for api in sorted([*READERS, Api.API_VERSIONS])}


@lru_cache(maxsize=16)
def taken(release: str) -> Mapping[Api, VersionRange]:
    """Return the versions that a broker of this release takes here. Raises ValueError with the releases."""
    takes = _broker(release)
    both = ((api, takes[api], known) for api, known in served().items() if api in takes)
    common = ((api, max(a.oldest, b.oldest), min(a.newest, b.newest)) for api, a, b in both)
    return {api: VersionRange(oldest, newest) for api, oldest, newest in common if oldest <= newest}


@lru_cache(maxsize=16)
def api_table(release: str) -> Mapping[Api, VersionRange]:
    """Return the table of ApiVersions, by API key: the taken versions, and Produce from version 0.

    Raises ValueError with the releases.
    """
    table = dict(taken(release))
    if Api.PRODUCE in table:
        table[Api.PRODUCE] = table[Api.PRODUCE]._replace(oldest=0)
    return table


def release_of(release: str) -> tuple[int, ...]:
    """Return the numbers of a release. Raises ValueError for what names none."""
    return tuple(int(part) for part in RELEASES.get(release, release).split("."))


def _broker(release: str) -> Mapping[Api, VersionRange]:
    try:
        if _OLDEST <= release_of(release)[:2] <= NEWEST:  # other releases are not tested
            return broker_versions(RELEASES.get(release, release))
    except ValueError:
        pass  # it is no release at all
    among = f"write one of {', '.join(RELEASES)}, or another release from 2.0 to {BASELINE}"
    raise ValueError(f"API profile {release!r}: {among}")
