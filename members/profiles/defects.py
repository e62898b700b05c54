"""Defects of old client releases: which releases have each, and its effect on client and group.

A release has the defects whose rows cover it (`simulated` in `scenarios/language/clients.py`); `defects:
[KAFKA-12983]` on a member adds one to any client. docs/defects.md lists them with their releases.

Sources: the fixing commits in the libraries' repositories. The affected releases of Java are those whose tags lack the
commit; those of other libraries are named in the changelog of the fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum

from attrs import field

from groupsim.members.profiles.reactions import FORGETS_ID, JAVA_3_3, Reaction, Table
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.protocol.values import frozen

Version = tuple[int, ...]


class Defect(StrEnum):
    """Defects that parts of a client check in its profile; all others are reactions."""

    #: The leader compares topics with those at the end of its rebalance, not with those it assigned by.
    KAFKA_3117 = "KAFKA-3117"
    KAFKA_5154 = "KAFKA-5154"  #: a broken connection under SyncGroup ends the rebalance as if it had succeeded
    KAFKA_6362 = "KAFKA-6362"  #: an auto-commit without a coordinator waits for one, but does not look it up
    KAFKA_7126 = "KAFKA-7126"  #: a pattern's topics are not matched again before a JoinGroup
    #: An assignment with unsubscribed topics is thrown from poll.
    KAFKA_7961 = "KAFKA-7961"
    #: A membership lost during a rebalance does not lose its partitions.
    KAFKA_12983 = "KAFKA-12983"
    KAFKA_12984 = "KAFKA-12984"  #: a cooperative-sticky subscription has no generation for its claims
    KAFKA_13214 = "KAFKA-13214"  #: a retriable failure of JoinGroup or SyncGroup resets the member id
    KAFKA_14024 = "KAFKA-14024"  #: each turn of poll restarts the commit before a rebalance; no answer ends it
    KAFKA_14196 = "KAFKA-14196"  #: records are returned while the commit before a rebalance is in flight
    KAFKA_20778 = "KAFKA-20778"  #: with client.rack, an offline replica counts as a lost rack, and rebalances
    #: An eager sticky member clears its partitions before it writes them into JoinGroup.
    FRANZ_GO_DCFCACB5 = "franz-go-dcfcacb5"
    KAFKAJS_1361 = "kafkajs-1361"  #: a member without partitions sends no heartbeats
    #: Assignors are offered in the library's order, not in the configured one.
    LIBRDKAFKA_3818 = "librdkafka-3818"
    SARAMA_1462 = "sarama-1462"  #: a leader does not notice new partitions of a topic
    #: Heartbeats end with the answer that announces a rebalance, not with the next JoinGroup.
    SARAMA_1608 = "sarama-1608"


@frozen
class Affected:
    """Releases of one library, from `first` to before `fixed`."""

    library: str
    first: str
    fixed: str

    def covers(self, low: Version, high: Version) -> bool:
        """Whether every release from `low` to `high` is affected."""
        return version_of(self.first) <= low and high < version_of(self.fixed)


def _affected(text: str) -> tuple[Affected, ...]:
    """Parse `java 2.4 until 2.7.2, java 2.8 until 2.8.1`."""
    words = (one.split() for one in text.split(", "))
    return tuple(Affected(library, first, fixed) for library, first, _, fixed in words)


@frozen
class ClientDefect:
    """A client defect: name, releases, effect in a sentence, and the reactions that it changes."""

    name: str
    affected: tuple[Affected, ...] = field(converter=_affected)
    effect: str
    reactions: Mapping[Api, Table] = {}


def version_of(text: str) -> Version:
    """Parse `2.8.1` into (2, 8, 1)."""
    return tuple(int(part) for part in text.split("."))


_COMMIT_FORGETS: Table = {ErrorCode.REBALANCE_IN_PROGRESS: Reaction.RESET_MEMBER}
_JOIN_THROWS: Table = {ErrorCode.REBALANCE_IN_PROGRESS: Reaction.THROW}
_OF_GENERATIONS = (Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT)

_ALL = (
    ClientDefect(
        "KAFKA-3117",
        "java 0.9 until 0.10.0",
        "A topic that grows while the leader waits for its SyncGroup is not noticed: new partitions have no owner.",
    ),
    ClientDefect(
        "KAFKA-5154",
        "java 0.9 until 0.11",
        "A consumer whose connection breaks under its SyncGroup takes the rebalance for done: it has no assignment, "
        "sends no heartbeats, and never joins again.",
    ),
    ClientDefect(
        "KAFKA-6362",
        "java 0.9 until 1.1",
        "Auto-commits of a consumer with partitions of its own choice stop when its coordinator moves.",
    ),
    ClientDefect(
        "KAFKA-7126",
        "java 0.9 until 2.0.1",
        "Members that subscribe by pattern see a new topic one after the other: up to a rebalance for each.",
    ),
    ClientDefect(
        "KAFKA-7961",
        "java 0.9 until 2.3",
        "An application that changes its subscription during a rebalance gets an exception out of poll.",
    ),
    ClientDefect(
        "KAFKA-8487",
        "java 0.10.1 until 2.4",
        "A commit during a rebalance costs the member its id, and the old id holds the rebalance up for a session.",
        {Api.OFFSET_COMMIT: _COMMIT_FORGETS},
    ),
    ClientDefect(
        "KAFKA-10870",
        "java 0.9 until 2.8",
        "REBALANCE_IN_PROGRESS in answer to JoinGroup is thrown at the application.",
        {Api.JOIN_GROUP: _JOIN_THROWS},
    ),
    ClientDefect(
        "KAFKA-12983",
        "java 2.4 until 2.7.2, java 2.8 until 2.8.1",
        "A cooperative member that loses its id in the middle of a rebalance goes on with what it owned: two owners.",
    ),
    ClientDefect(
        "KAFKA-12984",
        "java 2.4 until 2.8.1",
        "Members of cooperative-sticky claim partitions without a generation: an old claim counts like a new one.",
    ),
    ClientDefect(
        "KAFKA-13214",
        "java 2.6.1 until 2.7.2, java 2.8 until 2.8.1",
        "A JoinGroup or SyncGroup that fails with its coordinator costs the member its id, and the old id holds the "
        "rebalance up for a session.",
    ),
    ClientDefect(
        "KAFKA-13419",
        "java 0.10.1 until 3.2",
        "ILLEGAL_GENERATION costs the member its id as well as its generation.",
        dict.fromkeys(_OF_GENERATIONS, FORGETS_ID),
    ),
    ClientDefect(
        "KAFKA-13891",
        "java 3.3 until 3.3.2",
        "A cooperative member whose SyncGroup comes too late gives up all that it owns (KAFKA-14016).",
        JAVA_3_3,
    ),
    ClientDefect(
        "KAFKA-14024",
        "java 3.2 until 3.2.1",
        "Each turn of poll begins the commit before a rebalance again: a cooperative member that commits never joins, "
        "an eager one joins before its commit is answered.",
    ),
    ClientDefect(
        "KAFKA-14196",
        "java 3.2 until 3.2.3",
        "Records delivered while the commit before a rebalance is under way are delivered again by the next owner.",
    ),
    ClientDefect(
        "KAFKA-20778",
        "java 3.5 until 4.4",
        "With client.rack set, a broker that goes or comes back is a rebalance of every group.",
    ),
    ClientDefect(
        "franz-go-dcfcacb5",
        "franz-go 1.0 until 1.10",
        "The eager sticky assignor sees no previous owner, so that any rebalance may move any partition.",
    ),
    ClientDefect(
        "kafkajs-1361",
        "kafkajs 2.0 until 2.0.1",
        "A member without partitions sends no heartbeats: it falls out of the group, and never finds out.",
    ),
    ClientDefect(
        "librdkafka-3818",
        "librdkafka 1.0 until 1.9",
        "Assignors are offered in the library's order (range, roundrobin, cooperative-sticky), whatever the "
        "configuration prefers.",
    ),
    ClientDefect(
        "sarama-1462",
        "sarama 1.19 until 1.24.1",
        "New partitions of a topic have no owner until the next rebalance.",
    ),
    ClientDefect(
        "sarama-1608",
        "sarama 1.19 until 1.31.1",
        "Heartbeats end while the application gives its partitions up: if that takes a session, the member is evicted.",
    ),
)

#: Client defects by name.
CLIENT_DEFECTS: Mapping[str, ClientDefect] = {defect.name: defect for defect in _ALL}


def client_defect(name: str) -> ClientDefect:
    """Return a defect by name. Raises ValueError for an unknown name, with the nearest one."""
    found = CLIENT_DEFECTS.get(name)
    if found is None:
        near = get_close_matches(name.casefold(), [one.casefold() for one in CLIENT_DEFECTS], 1, 0.8)
        same = [one for one in CLIENT_DEFECTS if one.casefold() in near]
        hint = f"did you mean {same[0]}?" if same else f"known are {', '.join(CLIENT_DEFECTS)}"
        raise ValueError(f"no client has a defect {name!r}; {hint}")
    return found


def defects_of(library: str, low: Version, high: Version) -> tuple[str, ...]:
    """Return the defects that every release of a library from `low` to `high` has."""
    return tuple(
        defect.name
        for defect in _ALL
        if any(one.library == library and one.covers(low, high) for one in defect.affected)
    )
