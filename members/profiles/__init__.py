"""Client libraries as data: what each of them does differently from the Java consumer of today.

A profile says how one library of one age behaves: its defaults, the request versions it speaks, where its heartbeats
are sent from, whether a poll limit exists, what it sends as rebalance timeout, whether it leaves on close, and single
rows of the reaction tables. A simulated consumer asks the profile and nothing else; no module tests for a name.

Where to read:

    java, librdkafka, python, others    the rows: what a profile has otherwise than the one it begins with
    versions                            the request versions of each
    profile, row_types, pace            what there is to say of a library
    reactions, exceptions               what it does about errors
    defects                             what single releases did wrong

Sources: user-needs reference, section 4.5 (defaults read in the libraries' sources); classic-protocol reference,
sections 4.1 and 5 (request versions); KIP-62 (heartbeats leave `poll`), KIP-394 (JoinGroup v4), KIP-345 (static
members, v5), KIP-800 (reasons, v8), KIP-814 (v9).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.profiles import java, librdkafka, others, python
from groupsim.members.profiles.defects import defects_of, version_of
from groupsim.members.profiles.profile import ClientProfile, RebalanceTimeout, SettingName
from groupsim.members.profiles.versions import VERSIONS

__all__ = ["PROFILES", "WITHOUT_DEFECTS", "ClientProfile", "RebalanceTimeout", "SettingName"]

_ROWS = {**java.ROWS, **librdkafka.ROWS, **python.ROWS, **others.ROWS}
_NEWEST_JAVA = ClientProfile(name="", title="", client_id="", defaults={}, versions={})
_ALIASES = {
    "java": "java-3.9",
    "java-3.x": "java-3.9",
    "java-2.x": "java-2.8",
    "librdkafka": "librdkafka-2.x",
    "kafka-python": "kafka-python-2.x",
}
#: The release that a profile by its own name is, where defects of its age are rows of `defects.py`.
_RELEASE_OF = {
    "java-0.9": "0.9.0.1",
    "java-0.10": "0.10.2.2",
    "java-0.11": "0.11.0.3",
    "java-2.0": "2.0.1",
    "java-2.2": "2.2.2",
    "java-2.3": "2.3.1",
    "java-2.4": "2.4.1",
    "librdkafka-1.x": "1.6.2",
    "librdkafka-1.9": "1.9.2",
    "sarama-1.33": "1.33.0",
}


def _made(name: str) -> ClientProfile:
    """The profile of a row, made from the one it begins with."""
    if not name:
        return _NEWEST_JAVA
    base, title, changes = _ROWS[name]
    return _made(base).but(name=name, title=title, versions=VERSIONS[name], **changes)


def _of_its_age(profile: ClientProfile) -> ClientProfile:
    release = _RELEASE_OF.get(profile.name)
    if release is None:
        return profile
    version = version_of(release)
    return profile.with_defects(defects_of(profile.name.rsplit("-", 1)[0], version, version))


#: Profiles as they are written, for releases that have defects of their own.
WITHOUT_DEFECTS: Mapping[str, ClientProfile] = {name: _made(name) for name in VERSIONS}
_BY_NAME = {name: _of_its_age(profile) for name, profile in WITHOUT_DEFECTS.items()}

#: Every profile by name and by alias (`java` is `java-3.9`, the default of a scenario).
PROFILES: Mapping[str, ClientProfile] = _BY_NAME | {alias: _BY_NAME[name] for alias, name in _ALIASES.items()}
