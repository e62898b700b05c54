"""Defects of old client releases by name: what each changes in a profile, who had it, and what a group sees of it.

A release has the defects of the rows here that cover it (`clients.simulated`); `defects: [KAFKA-12983]` on a member
adds one by name to any client. docs/defects.md lists them with their releases.

Sources: the fixing commits in the libraries' repositories. Of Java, the affected releases are those whose tags lack
the commit; of the others, those that the changelog of the fix names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from attrs import evolve, frozen

from groupsim.members.profiles.profile import ClientProfile
from groupsim.members.profiles.reactions import FORGETS_ID, JAVA_3_3, Reaction, Table
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api

Version = tuple[int, ...]


@frozen
class Affected:
    """Releases of one library: from `first` on, older than `fixed`."""

    library: str
    first: str
    fixed: str

    def covers(self, low: Version, high: Version) -> bool:
        """Whether every release from `low` to `high` is one of them."""
        return version_of(self.first) <= low and high < version_of(self.fixed)


@frozen
class ClientDefect:
    """A defect of clients: flags of a profile that it sets, or rows of its reactions, and the effect in a sentence."""

    name: str
    affected: tuple[Affected, ...]
    effect: str
    flag: str = ""
    reactions: Mapping[Api, Table] = {}


def version_of(text: str) -> Version:
    """`2.8.1` as (2, 8, 1)."""
    return tuple(int(part) for part in text.split("."))


def _java(*ranges: tuple[str, str]) -> tuple[Affected, ...]:
    return tuple(Affected("java", first, fixed) for first, fixed in ranges)


_OF_GENERATIONS = (Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT)

_ALL = (
    ClientDefect(
        "KAFKA-3117",
        _java(("0.9", "0.10.0")),
        "A topic that grows while the leader waits for its SyncGroup is not noticed: new partitions have no owner.",
        flag="compares_from_end",
    ),
    ClientDefect(
        "KAFKA-5154",
        _java(("0.9", "0.11")),
        "A consumer whose connection breaks under its SyncGroup takes the rebalance for done: it has no assignment, "
        "sends no heartbeats, and never joins again.",
        flag="settles_at_join",
    ),
    ClientDefect(
        "KAFKA-6362",
        _java(("0.9", "1.1")),
        "Auto-commits of a consumer with partitions of its own choice stop when its coordinator moves.",
        flag="commits_without_lookup",
    ),
    ClientDefect(
        "KAFKA-7126",
        _java(("0.9", "2.0.1")),
        "Members that subscribe by pattern see a new topic one after the other: up to a rebalance for each.",
        flag="joins_with_old_topics",
    ),
    ClientDefect(
        "KAFKA-7961",
        _java(("0.9", "2.3")),
        "An application that changes its subscription during a rebalance gets an exception out of poll.",
        flag="throws_at_old_assignment",
    ),
    ClientDefect(
        "KAFKA-8487",
        _java(("0.10.1", "2.4")),
        "A commit during a rebalance costs the member its id, and the old id holds the rebalance up for a session.",
        reactions={Api.OFFSET_COMMIT: {ErrorCode.REBALANCE_IN_PROGRESS: Reaction.RESET_MEMBER}},
    ),
    ClientDefect(
        "KAFKA-10870",
        _java(("0.9", "2.8")),
        "REBALANCE_IN_PROGRESS in answer to JoinGroup is thrown at the application.",
        reactions={Api.JOIN_GROUP: {ErrorCode.REBALANCE_IN_PROGRESS: Reaction.THROW}},
    ),
    ClientDefect(
        "KAFKA-12983",
        _java(("2.4", "2.7.2"), ("2.8", "2.8.1")),
        "A cooperative member that loses its id in the middle of a rebalance goes on with what it owned: two owners.",
        flag="keeps_claims_after_reset",
    ),
    ClientDefect(
        "KAFKA-12984",
        _java(("2.4", "2.8.1")),
        "Members of cooperative-sticky claim partitions without a generation: an old claim counts like a new one.",
        flag="claims_without_generation",
    ),
    ClientDefect(
        "KAFKA-13214",
        _java(("2.6.1", "2.7.2"), ("2.8", "2.8.1")),
        "A JoinGroup or SyncGroup that fails with its coordinator costs the member its id, and the old id holds the "
        "rebalance up for a session.",
        flag="resets_after_retriable",
    ),
    ClientDefect(
        "KAFKA-13419",
        _java(("0.10.1", "3.2")),
        "ILLEGAL_GENERATION costs the member its id as well as its generation.",
        reactions=dict.fromkeys(_OF_GENERATIONS, FORGETS_ID),
    ),
    ClientDefect(
        "KAFKA-13891",
        _java(("3.3", "3.3.2")),
        "A cooperative member whose SyncGroup comes too late gives up all that it owns (KAFKA-14016).",
        reactions=JAVA_3_3,
    ),
    ClientDefect(
        "KAFKA-14024",
        _java(("3.2", "3.2.1")),
        "Each turn of poll begins the commit before a rebalance again: a cooperative member that commits never joins, "
        "an eager one joins before its commit is answered.",
        flag="restarts_commit",
    ),
    ClientDefect(
        "KAFKA-14196",
        _java(("3.2", "3.2.3")),
        "Records delivered while the commit before a rebalance is under way are delivered again by the next owner.",
        flag="delivers_while_committing",
    ),
    ClientDefect(
        "KAFKA-20778",
        _java(("3.5", "4.4")),
        "With client.rack set, a broker that goes or comes back is a rebalance of every group.",
        flag="offline_racks_count",
    ),
    ClientDefect(
        "franz-go-dcfcacb5",
        (Affected("franz-go", "1.0", "1.10"),),
        "The eager sticky assignor sees no previous owner, so that any rebalance may move any partition.",
        flag="joins_without_claims",
    ),
    ClientDefect(
        "kafkajs-1361",
        (Affected("kafkajs", "2.0", "2.0.1"),),
        "A member without partitions sends no heartbeats: it falls out of the group, and never finds out.",
        flag="idle_without_heartbeats",
    ),
    ClientDefect(
        "librdkafka-3818",
        (Affected("librdkafka", "1.0", "1.9"),),
        "Assignors are offered in the library's order (range, roundrobin, cooperative-sticky), whatever the "
        "configuration prefers.",
        flag="own_assignor_order",
    ),
    ClientDefect(
        "sarama-1462",
        (Affected("sarama", "1.19", "1.24.1"),),
        "New partitions of a topic have no owner until the next rebalance.",
        flag="ignores_new_partitions",
    ),
    ClientDefect(
        "sarama-1608",
        (Affected("sarama", "1.19", "1.31.1"),),
        "Heartbeats end while the application gives its partitions up: if that takes a session, the member is evicted.",
        flag="stops_heartbeats_early",
    ),
)

#: Every defect of clients by name.
CLIENT_DEFECTS: Mapping[str, ClientDefect] = {defect.name: defect for defect in _ALL}


def client_defect(name: str) -> ClientDefect:
    """Return a defect by name. Raises ValueError, naming the nearest, for a name that no client's defect has."""
    found = CLIENT_DEFECTS.get(name)
    if found is None:
        near = get_close_matches(name.casefold(), [one.casefold() for one in CLIENT_DEFECTS], 1, 0.8)
        same = [one for one in CLIENT_DEFECTS if one.casefold() in near]
        hint = f"did you mean {same[0]}?" if same else f"known are {', '.join(CLIENT_DEFECTS)}"
        raise ValueError(f"no client has a defect {name!r}; {hint}")
    return found


def defects_of(library: str, low: Version, high: Version) -> tuple[str, ...]:
    """The defects that every release of a library from `low` to `high` has."""
    return tuple(
        defect.name
        for defect in _ALL
        if any(one.library == library and one.covers(low, high) for one in defect.affected)
    )


def with_defects(profile: ClientProfile, names: Iterable[str]) -> ClientProfile:
    """The profile with these defects. Raises ValueError for a name that no client's defect has."""
    for name in names:
        profile = _with(profile, client_defect(name))
    return profile


def _with(profile: ClientProfile, defect: ClientDefect) -> ClientProfile:
    changes: dict[str, object] = {defect.flag: True} if defect.flag else {}
    if defect.reactions:
        merged = dict(profile.reactions)
        for api, table in defect.reactions.items():
            merged[api] = {**merged.get(api, {}), **table}
        changes["reactions"] = merged
    return evolve(profile, **changes)  # type: ignore[arg-type]
