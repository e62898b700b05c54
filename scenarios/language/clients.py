"""Find which client a configuration is for: a library, a range of versions, and the profile with its defaults.

`java-3.9` means one version, `librdkafka-2.x` any of a line, `kafkajs` any. A rule that depends on the version
reports only what holds for every version meant: no finding is better than a false one. A simulated member behaves as
the profile that covers the release; a few releases that the linter knows have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from groupsim.members.profiles import PROFILES, WITHOUT_DEFECTS, ClientProfile, RebalanceTimeout
from groupsim.members.profiles.defects import defects_of
from groupsim.members.zookeeper.kinds import CLIENTS
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.releases import RELEASES, Coverage, Row, row_of

Version = tuple[int, ...]
ANY = 9_999

#: The newest line of each library. A higher number is a mistake, or a release without a known profile.
_NEWEST: Mapping[str, int] = {
    "java": 4,
    "librdkafka": 2,
    "kafka-python": 3,
    "aiokafka": 0,
    "kafkajs": 2,
    "sarama": 1,
    "franz-go": 1,
    "brod": 4,
    "ruby-kafka": 1,
}
#: The last release of each closed line; a higher number is a mistake. An open line has no known last release.
_LAST: Mapping[str, Mapping[int, int]] = {
    "java": {0: 11, 1: 1, 2: 8, 3: 9},
    "librdkafka": {0: 11, 1: 9},
    "kafka-python": {1: 4, 2: 3},
}
#: Other names of a library; the bindings of librdkafka count as the library of their version.
_ALIASES = {
    "confluent-kafka-python": "librdkafka",
    "confluent-kafka-go": "librdkafka",
    "confluent-kafka-dotnet": "librdkafka",
    "confluent-kafka": "librdkafka",
    "node-rdkafka": "librdkafka",
    "rust-rdkafka": "librdkafka",
    "kafka-clients": "java",
    "spring-kafka": "java",
    "kgo": "franz-go",
}
#: Bindings whose version numbers are not librdkafka's.
_OWN_NUMBERS = ("node-rdkafka", "rust-rdkafka", "spring-kafka")
#: The releases that a profile's name covers, where they are more than the version in it.
_MEANT: Mapping[str, tuple[Version, Version]] = {
    "librdkafka-1.x": ((1,), (1, 6, ANY)),
    "librdkafka-1.9": ((1, 7), (2, 0, ANY)),
    "librdkafka-2.x": ((2, 1), (ANY,)),
    "librdkafka-2.12": ((2, 12), (2, 14, ANY)),
    "librdkafka-2.15": ((2, 15), (ANY,)),
    "java-0.9": ((0, 9), (0, 10, 0, ANY)),
    "java-0.10": ((0, 10, 1), (0, 10, ANY)),
    "java-3.3": ((3, 3), (3, 3, 1, ANY)),  # 3.3.2 reverted KAFKA-13891
    "kafka-python-2.x": ((1, 4, 7), (2, 2, ANY)),
    "kafka-python-1.4": ((1, 4), (1, 4, 6, ANY)),
    "java-2.4": ((2, 4), (2, 6, 0, ANY)),
}
#: Releases that no member can run as, and whose defaults the linter knows.
_LINTED: Mapping[tuple[str, str], ClientProfile] = {
    ("librdkafka", "0.11"): PROFILES["librdkafka-1.x"].but(
        name="librdkafka-0.11",
        defaults={**PROFILES["librdkafka-1.x"].defaults, "session.timeout.ms": 30_000, "heartbeat.interval.ms": 1_000},
        rebalance_timeout=RebalanceTimeout.SESSION,
        poll_limit={"enforced": False},
    ),
}


#: Every library by each of its names.
LIBRARIES = tuple(sorted((*RELEASES, *_ALIASES)))


@frozen
class Client:
    """A library and the versions meant, `low` to `high`, both included."""

    name: str
    library: str
    low: Version
    high: Version
    profile: ClientProfile
    row: Row
    #: The library's own name of the release, if a release was named.
    release: str = ""

    def before(self, *version: int) -> bool:
        """Return whether every version meant is older than this one."""
        return self.high < version

    def since(self, *version: int) -> bool:
        """Return whether every version meant is this one or newer."""
        return self.low >= version

    def is_(self, library: str, since: Version = (0,), before: Version = (ANY, ANY)) -> bool:
        """Return whether it is this library, every version meant at least `since` and older than `before`."""
        return self.library == library and self.since(*since) and self.before(*before)


def client_of(name: str) -> Client:
    """Find a client by name: `java-3.9`, `librdkafka-2.x`, `confluent-kafka-python-2.3.0`, `kafkajs`.

    Raises ValueError with the remedy for an unknown library, or a version older or newer than any known.
    """
    library, version = _split(name.strip().lower())
    if library not in RELEASES and library not in _ALIASES:
        raise ValueError(f"no client library `{name}`; {suggest(library, [*RELEASES, *_ALIASES], 'known')}")
    if library in _OWN_NUMBERS:
        version = ""
    library = _ALIASES.get(library, library)
    low, high = _MEANT.get(f"{library}-{version}") or _range(version)
    row = row_of(library, high) if version else RELEASES[library][-1]
    if row is None:
        raise ValueError(f"`{name}` is older than any version known; the oldest is {RELEASES[library][0].first}")
    if low[0] > _NEWEST[library]:
        near = f"{library}-{_NEWEST[library]}.x"
        raise ValueError(f"no release `{name}`: the newest line of {library} is {_NEWEST[library]}.x; write `{near}`")
    last = _LAST.get(library, {}).get(low[0])
    if last is not None and len(low) > 1 and low[1] > last:
        near = f"{library}-{low[0]}.{last}"
        raise ValueError(f"no release `{name}`: the last of {library} {low[0]}.x is {low[0]}.{last}; write `{near}`")
    release = f"{library}-{version}" if version else ""
    profile = _LINTED.get((library, row.first)) or (WITHOUT_DEFECTS if release else PROFILES)[row.profile]
    return Client(name, library, low, high, profile, row, release)


def simulated(name: str, defects: tuple[str, ...] = ()) -> ClientProfile:
    """Return the profile that a member of this client runs as: one by its own name, or the one that covers a release.

    A release has its own defects, and those in `defects`. Raises ValueError with the remedy
    (`problem; remedy`) for a client that cannot be simulated.
    """
    if not defects and is_profile(name):
        return CLIENTS[name.strip().lower()]
    return _with_defects(name, defects)


@lru_cache
def _with_defects(name: str, defects: tuple[str, ...]) -> ClientProfile:
    """Return the profile of a release, or one with `defects`; cached, so that equal members share one profile."""
    plain = name.strip().lower()
    if is_profile(name):
        return CLIENTS[plain].with_defects(defects)
    if _split(plain)[0] not in (*RELEASES, *_ALIASES):
        raise ValueError(f"no client profile `{name}`; {suggest(name, CLIENTS, 'profiles')}")
    client = client_of(name)
    if client.row.how is Coverage.DIFFERS:
        nearest = f"nearest: `{client.row.profile}`"
        raise ValueError(f"`{name}` behaves like no profile: {client.row.why}; {nearest}")
    return client.profile.with_defects((*_own_defects(client), *defects)).but(release=client.release)


def _own_defects(client: Client) -> tuple[str, ...]:
    """Return the defects of the releases meant that their profile does not have already."""
    if not client.release:
        return ()
    names = defects_of(client.library, client.low, client.high)
    return tuple(name for name in names if client.profile.with_defects((name,)) != client.profile)


def profile_note(name: str) -> str | None:
    """Describe the profile that runs a client, in one line; None for a profile by its own name."""
    if is_profile(name):
        return None
    client = client_of(name)
    own = _own_defects(client)
    defects = f" with {', '.join(own)}" if own else ""
    if client.row.how is Coverage.ALIKE:
        return f"no profile covers {name}, it runs as `{client.profile.name}`{defects}: {client.row.why}"
    return f"{name} behaves as the profile `{client.profile.name}`{defects}"


def is_profile(name: str) -> bool:
    """Return whether this names a profile, and not a release that a profile covers."""
    return name.strip().lower() in CLIENTS


def _split(name: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.+?)[-_ @]?v?(\d+(?:\.\d+|\.x)*)?", name)
    return (match[1], match[2] or "") if match else (name, "")


def _range(version: str) -> tuple[Version, Version]:
    """Return the versions that a text means: `3.9` every 3.9, `2.x` every 2, the empty text any version."""
    parts = tuple(int(part) for part in version.split(".") if part and part != "x")
    return parts or (0,), (*parts, ANY)
