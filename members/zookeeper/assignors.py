"""Range and roundrobin of 0.8: each consumer computes its own share from the nodes it has read.

Shares of equal views are complete and disjoint. Shares of different views overlap or leave gaps: claims collide, or
partitions have no consumer until the next rebalance.

Source: Kafka 0.8.2, `PartitionAssignor`.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.protocol.javahash import java_string_hash
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen


@frozen
class View:
    """The nodes that one consumer has read: partitions by topic, and the sorted streams of each topic."""

    stream: str
    topics: tuple[str, ...]
    partitions: Mapping[str, tuple[int, ...]]
    streams: Mapping[str, tuple[str, ...]]


class CannotDecide(Exception):
    """The view allows no decision; the attempt has failed."""


def range_share(view: View) -> tuple[TopicPartition, ...]:
    """Return a range of each topic's partitions; the first streams get one more if the division has a remainder.

    Raises CannotDecide when the topic's streams lack this one.
    """
    share: list[TopicPartition] = []
    for topic in view.topics:
        streams, partitions = view.streams.get(topic, ()), view.partitions.get(topic, ())
        if view.stream not in streams:
            raise CannotDecide(f"{view.stream} does not find itself among the consumers of {topic}")
        each, more = divmod(len(partitions), len(streams))
        place = streams.index(view.stream)
        first = each * place + min(place, more)
        share += [TopicPartition(topic, p) for p in partitions[first : first + each + (place < more)]]
    return tuple(share)


def roundrobin_share(view: View) -> tuple[TopicPartition, ...]:
    """Return every n-th partition of all topics, in the order of Java's hash of their names.

    Raises CannotDecide when streams want different topics.
    """
    wanted = list(dict.fromkeys(view.streams.values()))
    if len(wanted) != 1:
        raise CannotDecide("round-robin is allowed only if all consumers of the group subscribe to the same topics")
    streams = wanted[0]
    dealt = sorted(
        (TopicPartition(topic, p) for topic in view.topics for p in view.partitions.get(topic, ())),
        key=lambda partition: java_string_hash(f"[{partition.topic},{partition.partition}]"),
    )
    return tuple(partition for i, partition in enumerate(dealt) if streams[i % len(streams)] == view.stream)


SHARES = {"range": range_share, "roundrobin": roundrobin_share}
