"""Which client a configuration is for: a library, a range of versions, and the profile that knows its defaults.

`java-3.9` is one version, `librdkafka-2.x` any of a line, `kafkajs` any at all. A rule that depends on the version
fires only when it holds for every version meant: silence is better than a false alarm. A simulated member behaves as
the profile that covers the release does; a few releases that the linter knows have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve, frozen

from groupsim.members.ancestors.kinds import CLIENTS
from groupsim.members.profiles import PROFILES, ClientProfile, RebalanceTimeout
from groupsim.scenarios.problems import suggest

Version = tuple[int, ...]
ANY = 9_999

#: Library → (first version, profile) from the oldest on.
_AGES: Mapping[str, tuple[tuple[Version, str], ...]] = {
    "java": (
        ((0, 9), "java-0.9"),
        ((0, 10, 1), "java-0.11"),
        ((2,), "java-2.8"),
        ((3,), "java-3.1"),
        ((3, 2), "java-3.2"),
        ((3, 3), "java-3.3"),
        ((3, 3, 2), "java-3.2"),
        ((3, 4), "java-3.4"),
        ((3, 5), "java-3.5"),
        ((3, 7), "java-3.7"),
        ((3, 9), "java-3.9"),
        ((4,), "java-4.x"),
    ),
    "librdkafka": (((0, 11), "librdkafka-0.11"), ((1,), "librdkafka-1.x"), ((1, 7), "librdkafka-2.x")),
    "kafka-python": (
        ((1,), "kafka-python-1.3"),
        ((1, 4), "kafka-python-2.x"),
        ((2, 3), "kafka-python-2.3"),
        ((3,), "kafka-python-3.x"),
    ),
    "aiokafka": (((0,), "aiokafka"),),
    "kafkajs": (((0,), "kafkajs"),),
    "sarama": (((0,), "sarama"),),
    "franz-go": (((0,), "franz-go"),),
    "brod": (((0,), "brod"),),
    "ruby-kafka": (((0,), "ruby-kafka"),),
}
#: The newest line of each library that there is; a number above it is a mistake, or a release that nobody has judged.
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
#: The last release of lines that are closed; what is above it is a mistake. Of open lines nobody knows the last.
_LAST: Mapping[str, Mapping[int, int]] = {
    "java": {0: 11, 1: 1, 2: 8, 3: 9},
    "librdkafka": {0: 11, 1: 9},
    "kafka-python": {1: 4, 2: 3},
}
#: Other names people know a library by; the bindings of librdkafka count as the library of their version.
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
#: What a profile's name means, where it is more than the version in it.
_MEANT: Mapping[str, tuple[Version, Version]] = {
    "librdkafka-1.x": ((1,), (1, 6, ANY)),
    "librdkafka-2.x": ((1, 7), (ANY,)),
    "java-0.9": ((0, 9), (0, 10, 0, ANY)),
    "java-3.3": ((3, 3), (3, 3, 1, ANY)),  # 3.3.2 was mended
    "kafka-python-2.x": ((1, 4), (2, 2, ANY)),
}
_NOT_SIMULATED: Mapping[str, ClientProfile] = {
    "librdkafka-0.11": evolve(
        PROFILES["librdkafka-1.x"],
        name="librdkafka-0.11",
        defaults={**PROFILES["librdkafka-1.x"].defaults, "session.timeout.ms": 30_000, "heartbeat.interval.ms": 1_000},
        rebalance_timeout=RebalanceTimeout.SESSION,
        enforces_poll_limit=False,
    ),
}


#: Every library by every name people know it by.
LIBRARIES = tuple(sorted((*_AGES, *_ALIASES)))


@frozen
class Client:
    """A library and the versions meant, `low` to `high`, both included."""

    name: str
    library: str
    low: Version
    high: Version
    profile: ClientProfile

    def before(self, *version: int) -> bool:
        """Whether every version meant is older than this one."""
        return self.high < version

    def since(self, *version: int) -> bool:
        """Whether every version meant is this one or newer."""
        return self.low >= version

    def is_(self, library: str, since: Version = (0,), before: Version = (ANY, ANY)) -> bool:
        """Whether it is this library, every version meant from `since` on and older than `before`."""
        return self.library == library and self.since(*since) and self.before(*before)


def client_of(name: str) -> Client:
    """A client by name: `java-3.9`, `librdkafka-2.x`, `confluent-kafka-python-2.3.0`, `kafkajs`.

    Raises ValueError with the remedy for a library nobody knows, or a version older or newer than any known.
    """
    library, version = _split(name.strip().lower())
    if library not in _AGES and library not in _ALIASES:
        raise ValueError(f"no client library `{name}`; {suggest(library, [*_AGES, *_ALIASES], 'known')}")
    if library in _OWN_NUMBERS:
        version = ""
    library = _ALIASES.get(library, library)
    low, high = _MEANT.get(f"{library}-{version}") or _range(version)
    ages = [profile for first, profile in _AGES[library] if not version or first <= high]
    if not ages:
        raise ValueError(f"`{name}` is older than any version known; the oldest is {_shown(_AGES[library][0][0])}")
    if low[0] > _NEWEST[library]:
        near = f"{library}-{_NEWEST[library]}.x"
        raise ValueError(f"no release `{name}`: the newest known of {library} are {_NEWEST[library]}.x; write `{near}`")
    last = _LAST.get(library, {}).get(low[0])
    if last is not None and len(low) > 1 and low[1] > last:
        near = f"{library}-{low[0]}.{last}"
        raise ValueError(f"no release `{name}`: the last of {library} {low[0]}.x is {low[0]}.{last}; write `{near}`")
    return Client(name, library, low, high, _profile(ages[-1]))


def simulated(name: str) -> ClientProfile:
    """The profile a member of this client behaves as: one by its own name, or the one that covers a release.

    Raises ValueError with the remedy (`problem; remedy`) for a client that cannot be simulated.
    """
    plain = name.strip().lower()
    if is_profile(name):
        return CLIENTS[plain]
    if _split(plain)[0] not in (*_AGES, *_ALIASES):
        raise ValueError(f"no client profile `{name}`; {suggest(name, CLIENTS, 'profiles')}")
    client = client_of(name)
    if client.profile.name not in CLIENTS:
        near = ", ".join(f"`{one}`" for one in CLIENTS if one.startswith(f"{client.library}-"))
        raise ValueError(
            f"no member behaves as `{name}` does, only the linter knows that release; simulated are {near}"
        )
    return client.profile


def is_profile(name: str) -> bool:
    """Whether this is the name of a profile, or another name for one, and no release that a profile covers."""
    return name.strip().lower() in CLIENTS


def _split(name: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.+?)[-_ @]?v?(\d+(?:\.\d+|\.x)*)?", name)
    return (match[1], match[2] or "") if match else (name, "")


def _range(version: str) -> tuple[Version, Version]:
    """`3.9` is every 3.9, `2.x` every 2, nothing is any version."""
    parts = tuple(int(part) for part in version.split(".") if part and part != "x")
    return parts or (0,), (*parts, ANY)


def _profile(name: str) -> ClientProfile:
    return _NOT_SIMULATED.get(name) or PROFILES[name]


def _shown(version: Version) -> str:
    return ".".join(str(part) for part in version)
