"""The order of topics and partitions in the maps of a member: Java's `HashMap`, of which some are copies.

A partition is in the bucket of its lower bits, so the order is ascending as long as the table is larger than the
greatest one; a map that was copied from a small one has a small table. The order shows in the records of members and in
the responses to their heartbeats.

Source: `CurrentAssignmentBuilder`, `Utils.assignmentFromTopicPartitions`; `java.util.HashMap` of Java 17.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from groupsim.assignors.server.partition_sets import INITIAL_TABLE, copied_table, grown, ordered
from groupsim.coordinator.base.consumer_records import Partitions
from groupsim.protocol.topic_ids import topic_id_spread, topic_ids_set_order


def in_stored_order(assigned: Partitions) -> Partitions:
    """Return partitions as the map yields them that is collected from a record."""
    topics = topic_ids_set_order(assigned) if len(assigned) > 1 else assigned
    return {topic: _in_table(assigned[topic], grown(INITIAL_TABLE, len(assigned[topic]))) for topic in topics}


def without_topics(
    assigned: Partitions, pending: Partitions, dropped: Collection[str]
) -> tuple[Partitions, Partitions]:
    """Return the assigned partitions without some topics, and the pending ones with these.

    Both are copies of a map. Each dropped topic that was not pending comes first in its bucket, as `merge` puts it.
    """
    kept = [topic for topic in _topics_in_table(assigned, copied_table(len(assigned))) if topic not in dropped]
    new = [topic for topic in assigned if topic in dropped and topic not in pending]
    table, size = copied_table(len(pending)), len(pending)
    for _ in new:
        table *= 1 + (size > 3 * table // 4)
        size += 1
    both = {**pending, **{topic: assigned[topic] for topic in new}}
    for topic in dropped:
        if topic in pending:
            before, more = pending[topic], assigned[topic]
            both[topic] = _in_table({**before, **more}, grown(copied_table(len(before)), len(before) + len(more)))
    order = _topics_in_table([*reversed(new), *_topics_in_table(pending, copied_table(len(pending)))], table)
    return {topic: assigned[topic] for topic in kept}, {topic: both[topic] for topic in order}


def kept_and_revoked(assigned: Mapping[int, int], wanted: Collection[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the assigned partitions that are wanted, and the others; each is a copy of all without the rest."""
    stored = ordered(assigned, grown(INITIAL_TABLE, len(assigned)))
    order = ordered(stored, copied_table(len(stored)))
    kept = {one: assigned[one] for one in order if one in wanted}
    return kept, {one: assigned[one] for one in order if one not in kept}


def with_granted(
    assigned: Mapping[int, int], kept: Mapping[int, int], granted: Collection[int], epoch: int
) -> dict[int, int]:
    """Return the kept partitions with those that are granted at this epoch; `assigned` is what there was before.

    `granted` are in the order of the target.
    """
    table = copied_table(len(assigned)) if kept else INITIAL_TABLE
    order = ordered([*kept, *granted], grown(table, len(kept) + len(granted)))
    return {one: kept.get(one, epoch) for one in order}


def _topics_in_table(topics: Iterable[str], table: int) -> list[str]:
    return sorted(topics, key=lambda one: topic_id_spread(one) & (table - 1))


def _in_table(partitions: Mapping[int, int], table: int) -> Mapping[int, int]:
    if len(partitions) < 2:
        return partitions
    return {one: partitions[one] for one in ordered(partitions, table)}
