"""The partitions without an owner, in the order in which a sticky assignor gives them out.

Kafka walks two sorted lists side by side, all partitions and the kept ones, and advances the second when both agree. A
kept partition that the topic does not have (it was recreated with fewer) is never reached: from there on every kept
partition counts as unassigned and is given out a second time, here too (assignors reference, 10.4).

Sources: `getUnassignedPartitions` of both builders in `AbstractStickyAssignor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from groupsim.protocol.messages.group import TopicPartition


def numbers_by_topic(partitions: Iterable[TopicPartition], topics: Iterable[str]) -> dict[str, set[int]]:
    """Return the numbers of partitions, by topic; every one of `topics` has an entry."""
    numbers: dict[str, set[int]] = {topic: set() for topic in topics}
    for topic, number in partitions:
        numbers[topic].add(number)
    return numbers


def unassigned(counts: Mapping[str, int], kept: Mapping[str, Set[int]]) -> Iterator[tuple[str, range | list[int]]]:
    """Return for each topic, in the order of `counts`, the numbers of its partitions that no member kept, ascending."""
    stuck = False
    for topic, count in counts.items():
        held = kept[topic]
        if stuck or not held:
            yield topic, range(count)
            continue
        left = set(range(count)).difference(held)
        if len(left) + len(held) != count:
            stuck = True
            phantom = min(number for number in held if not 0 <= number < count)
            left.update(range(max(0, phantom + 1), count))
        yield topic, sorted(left)
