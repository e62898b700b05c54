"""Which APIs are served, in which versions, and what ApiVersions tells of that: data.

What a broker of a release takes is in `protocol.releases`; what can be read here is what Kafka's schemas still
describe (KIP-896 dropped the oldest). A profile is a release, and its table the common part of both. Two traps of real
brokers belong to it. Produce is told from version 0 although it is served from 3 on, because librdkafka takes the
absence of version 0 for a broker that cannot compress (KAFKA-18659); old brokers told 0, too. 4.0.0 alone has no
JoinGroup 0 and 1 (KAFKA-19444), which librdkafka before 2.11 takes for a broker without consumer groups.
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
    """The versions of each API that the codec reads and writes, by API key."""
    return {api: known_versions(api) for api in sorted([*READERS, Api.API_VERSIONS])}


@lru_cache(maxsize=16)
def taken(profile: str) -> Mapping[Api, VersionRange]:
    """The versions that a broker of this profile takes here. Raises ValueError naming the profiles."""
    takes = _broker(profile)
    both = ((api, takes[api], known) for api, known in served().items() if api in takes)
    common = ((api, max(a.oldest, b.oldest), min(a.newest, b.newest)) for api, a, b in both)
    return {api: VersionRange(oldest, newest) for api, oldest, newest in common if oldest <= newest}


@lru_cache(maxsize=16)
def api_table(profile: str) -> Mapping[Api, VersionRange]:
    """What ApiVersions tells, by API key: what is taken, and Produce from version 0.

    Raises ValueError naming the profiles.
    """
    table = dict(taken(profile))
    if Api.PRODUCE in table:
        table[Api.PRODUCE] = table[Api.PRODUCE]._replace(oldest=0)
    return table


def release_of(profile: str) -> tuple[int, ...]:
    """The numbers of a profile's release. Raises ValueError for what is neither a profile nor a release."""
    return tuple(int(part) for part in PROFILES.get(profile, profile).split("."))


def _broker(profile: str) -> Mapping[Api, VersionRange]:
    try:
        if _OLDEST <= release_of(profile)[:2] <= NEWEST:  # beyond it would be a guess
            return broker_versions(PROFILES.get(profile, profile))
    except ValueError:
        pass  # it is no release at all
    among = f"expected one of {', '.join(PROFILES)}, or another release from 2.0 to {BASELINE}"
    raise ValueError(f"API profile {profile!r}: {among}")
