"""`rack-first` of the coordinator: an example of a user's own assignor. Kafka's assignors of the coordinator see racks,
but do not use them.

A partition goes to a member on a rack of one of its replicas, if a subscriber is on one. So a broker sends no records
between zones, at the price of balance: members on one rack share what can be read within it. Only a partition without
a subscriber near it goes to any subscriber.

Members keep what they have, so that a join moves its share and no more. docs/writing-an-assignor.md explains this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from groupsim.assignors.server.interface import ServerAssignor, ServerGroup, Target, Topics, partition_count

Partition: TypeAlias = tuple[str, int]
"""A topic id and a number."""


class ServerRackFirst(ServerAssignor):
    """Racks before balance, for groups of the consumer protocol."""

    name = "rack-first"

    def assign(self, group: ServerGroup, topics: Topics) -> Mapping[str, Target]:
        """Share each set of partitions evenly among the members that may have them; those with a rack first."""
        near: dict[tuple[str, ...], list[Partition]] = {}
        far: dict[tuple[str, ...], list[Partition]] = {}
        for partition, on_its_racks, subscribers in _partitions(group, topics):
            if on_its_racks:
                near.setdefault(on_its_racks, []).append(partition)
            else:
                far.setdefault(subscribers, []).append(partition)
        owners = {
            (topic, number): member.member_id
            for member in group.members
            for topic, numbers in member.target.items()
            for number in numbers
        }
        given: dict[str, list[Partition]] = {member.member_id: [] for member in group.members}
        for shares in (near, far):
            for takers, partitions in shares.items():
                _share(partitions, takers, owners, given)
        return {member_id: _by_topic(partitions) for member_id, partitions in given.items()}


def _partitions(group: ServerGroup, topics: Topics) -> Iterator[tuple[Partition, tuple[str, ...], tuple[str, ...]]]:
    """Yield each partition with its subscribers on a rack of its replicas, and with all its subscribers."""
    subscribers: dict[str, dict[str, str | None]] = {}
    for member in group.members:
        for topic in member.topics:
            subscribers.setdefault(topic, {})[member.member_id] = member.rack_id
    for topic, rack_of in subscribers.items():
        for number in range(partition_count(topics, topic)):
            racks = topics.racks(topic, number)
            yield (topic, number), tuple(one for one, rack in rack_of.items() if rack in racks), tuple(rack_of)


def _share(
    partitions: Sequence[Partition],
    takers: Sequence[str],
    owners: Mapping[Partition, str],
    given: Mapping[str, list[Partition]],
) -> None:
    """Share partitions evenly: owners keep theirs up to an even share, the rest goes to those with the fewest."""
    least, extras = divmod(len(partitions), len(takers))
    has = dict.fromkeys(takers, 0)
    free = []
    for partition in partitions:
        owner = owners.get(partition, "")
        if owner in has and has[owner] < least:
            has[owner] += 1
        elif owner in has and has[owner] == least and extras:
            has[owner] += 1
            extras -= 1
        else:
            free.append(partition)
            continue
        given[owner].append(partition)
    for partition in free:
        taker = min(takers, key=lambda one: (has[one], len(given[one]), one))
        has[taker] += 1
        given[taker].append(partition)


def _by_topic(partitions: Sequence[Partition]) -> Target:
    found: dict[str, tuple[int, ...]] = {}
    for topic, number in sorted(partitions):
        found[topic] = (*found.get(topic, ()), number)
    return found
