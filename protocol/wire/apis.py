"""The served APIs and versions, and the table of ApiVersions, as data.

`protocol.messages.releases` holds the versions of a broker of a release; Kafka's schemas still describe the versions
that can be read here (KIP-896 dropped the oldest). A profile is a release, and its table the common part of both. Two
traps of real brokers belong to it. Produce is listed from version 0 although it is served from 3 on, because librdkafka
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

PROFILES: Mapping[str, str] = {"2.8": "2.8", "3.9": "3.9", "4.0.0": "4.0.0", BASELINE: BASELINE, "4.x": BASELINE}
"""The profiles that are tested, with their release; so is the number of any other release from 2.0 on."""

_OLDEST = (2, 0)


@lru_cache(maxsize=1)
def served() -> Mapping[Api, VersionRange]:
    """Return the versions of each API that the codec reads and writes, by API key."""
    return {api: known_versions(api) for api in sorted([*READERS, Api.API_VERSIONS])}


@lru_cache(maxsize=16)
def taken(profile: str) -> Mapping[Api, VersionRange]:
    """Return the versions that a broker of this profile takes here. Raises ValueError with the profiles."""
    takes = _broker(profile)
    both = ((api, takes[api], known) for api, known in served().items() if api in takes)
    common = ((api, max(a.oldest, b.oldest), min(a.newest, b.newest)) for api, a, b in both)
    return {api: VersionRange(oldest, newest) for api, oldest, newest in common if oldest <= newest}


@lru_cache(maxsize=16)
def api_table(profile: str) -> Mapping[Api, VersionRange]:
    """Return the table of ApiVersions, by API key: the taken versions, and Produce from version 0.

    Raises ValueError with the profiles.
    """
    table = dict(taken(profile))
    if Api.PRODUCE in table:
        table[Api.PRODUCE] = table[Api.PRODUCE]._replace(oldest=0)
    return table


def release_of(profile: str) -> tuple[int, ...]:
    """Return the numbers of a profile's release. Raises ValueError for neither a profile nor a release."""
    return tuple(int(part) for part in PROFILES.get(profile, profile).split("."))


def _broker(profile: str) -> Mapping[Api, VersionRange]:
    try:
        if _OLDEST <= release_of(profile)[:2] <= NEWEST:  # other releases are not tested
            return broker_versions(PROFILES.get(profile, profile))
    except ValueError:
        pass  # it is no release at all
    among = f"write one of {', '.join(PROFILES)}, or another release from 2.0 to {BASELINE}"
    raise ValueError(f"API profile {profile!r}: {among}")
