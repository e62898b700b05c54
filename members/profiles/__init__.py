"""Client libraries as data: the differences of each from the newest Java consumer.

A profile describes one library of one age: defaults, request versions, how it sends heartbeats, its poll limit and
rebalance timeout, whether it leaves on close, and its own rows of the reaction tables. A simulated consumer reads the
profile only; no module tests for a library's name.

Where to read:

    java, librdkafka, python, others    the rows: differences of each profile from its base
    versions                            request versions
    profile, row_types, pace            the fields of a profile
    reactions, exceptions               reactions to errors; names of exceptions
    defects                             defects of single releases

Sources: user-needs reference, section 4.5 (defaults read in the libraries' sources); classic-protocol reference,
sections 4.1 and 5 (request versions); KIP-62 (heartbeats leave `poll`), KIP-394 (JoinGroup v4), KIP-345 (static
members, v5), KIP-800 (reasons, v8), KIP-814 (v9).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.profiles import java, librdkafka, others, python
from groupsim.members.profiles.defects import defects_of, version_of
from groupsim.members.profiles.pace import BACKGROUND_THREAD, MainThreadOfConsumer
from groupsim.members.profiles.profile import ClientProfile, RebalanceTimeout, SettingName
from groupsim.members.profiles.reactions import CONSUMER_PROTOCOL
from groupsim.members.profiles.row_types import AfterBreak
from groupsim.members.profiles.versions import VERSIONS
from groupsim.protocol.basics import Api

__all__ = ["PROFILES", "WITHOUT_DEFECTS", "ClientProfile", "RebalanceTimeout", "SettingName", "profile_under"]

_ROWS = {**java.ROWS, **librdkafka.ROWS, **python.ROWS, **others.ROWS}
_NEWEST_JAVA = ClientProfile(name="", title="", client_id="", defaults={}, versions={})
_ALIASES = {
    "java": "java-3.9",
    "java-3.x": "java-3.9",
    "java-2.x": "java-2.8",
    "librdkafka": "librdkafka-2.x",
    "kafka-python": "kafka-python-2.x",
}
#: The release that a profile stands for under its own name, where that has rows in `defects.py`.
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
    """Make the profile of a row from its base."""
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


#: Profiles without the defects of their releases.
WITHOUT_DEFECTS: Mapping[str, ClientProfile] = {name: _made(name) for name in VERSIONS}
_BY_NAME = {name: _of_its_age(profile) for name, profile in WITHOUT_DEFECTS.items()}

#: Profiles by name and by alias (`java` is `java-3.9`, the default of a scenario).
PROFILES: Mapping[str, ClientProfile] = _BY_NAME | {alias: _BY_NAME[name] for alias, name in _ALIASES.items()}


_TOPIC_IDS = 10  # the version of OffsetCommit and OffsetFetch with topic ids, which the classic consumer does not send
_UNDER_CONSUMER: dict[str, tuple[ClientProfile, ClientProfile]] = {}


def profile_under(profile: ClientProfile, protocol: str) -> ClientProfile:
    """Return a library's profile under a group protocol, "classic" or "consumer".

    Under the latter (KIP-848) its asynchronous consumer runs: a background thread, which looks the coordinator up by
    itself, waits for a connection to it, and does not give it up (`AsyncKafkaConsumer`, `CoordinatorRequestManager`).
    An auto-commit that failed is repeated after the interval: `CommitRequestManager.maybeResetTimerWithBackoff` expects
    an exception that the request never ends with. franz-go repeats it after its backoff.
    """
    if protocol == "classic":
        return profile
    kept = _UNDER_CONSUMER.get(profile.name)
    if kept is None or kept[0] is not profile:
        offsets = {Api.OFFSET_COMMIT: _TOPIC_IDS, Api.OFFSET_FETCH: _TOPIC_IDS}
        made = profile.but(
            pace=MainThreadOfConsumer() if profile.pace.keeps_coordinator else BACKGROUND_THREAD,
            versions={**profile.versions, **(offsets if profile.consumer_protocol.offsets_by_id else {})},
            commits={"in_turn": profile.consumer_protocol.commits_in_turn},
            leaving={"despite_callback": True, "static_on_unsubscribe": False},
            coordinator={
                "refreshes_metadata": False,
                "closes_lost": False,
                "after_break": AfterBreak.CONNECTS,
                "spaced": True,
                "reconnects": True,
            },
            reactions={
                **profile.reactions,
                **{api: {**table, **profile.reactions.get(api, {})} for api, table in CONSUMER_PROTOCOL.items()},
            },
        )
        kept = _UNDER_CONSUMER[profile.name] = (profile, made)
    return kept[1]
