"""`range` of the group coordinator: each topic cut into contiguous ranges, computed from scratch at every target.

Static members come first, by instance id, then dynamic ones by member id. Of n partitions over m subscribers of a
topic the first n mod m get one more. The present target does not matter: a join may move most partitions. Where all
members are taken to subscribe to the same topics, those of the first one count for all.

Source: `org.apache.kafka.coordinator.group.assignor.RangeAssignor`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors.server.interface import (
    ServerAssignor,
    ServerGroup,
    ServerMember,
    Target,
    Topics,
    partition_count,
)
from groupsim.assignors.server.topic_order import sized_order
from groupsim.protocol.javahash import java_string_key


class ServerRange(ServerAssignor):
    """Kafka's `range` for groups of the consumer protocol."""

    name = "range"

    def assign(self, group: ServerGroup, topics: Topics) -> Mapping[str, Target]:
        """Cut every topic among its subscribers."""
        members = sorted(group.members, key=_order)
        shared = members[0].topics if group.homogeneous and members else None
        wanted = [(member.member_id, member.topics if shared is None else shared) for member in members]
        # The map of a target has room for the topics that exist, or for all names of a subscription of its own.
        room = [
            len(topics) + (member.missing if shared is None else 0)
            for member, (_, topics) in zip(members, wanted, strict=True)
        ]
        subscribers: dict[str, int] = {}
        for _, subscribed in wanted:
            for topic in subscribed:
                subscribers[topic] = subscribers.get(topic, 0) + 1
        counts = {topic: partition_count(topics, topic) for topic in subscribers}
        following = dict.fromkeys(subscribers, 0)  # the number of subscribers that have their range
        targets: dict[str, Target] = {}
        for (member_id, subscribed), size in zip(wanted, room, strict=True):
            target = {}
            for topic in subscribed:
                at = following[topic]
                following[topic] = at + 1
                least, extra = divmod(counts[topic], subscribers[topic])
                begin = at * least + min(at, extra)
                end = begin + least + (at < extra)
                if begin < end:
                    target[topic] = tuple(range(begin, end))
            order = sized_order(target, size) if len(target) > 1 else target
            targets[member_id] = {topic: target[topic] for topic in order}
        return targets


def _order(member: ServerMember) -> tuple[bool, bytes]:
    named = member.instance_id
    return named is None, java_string_key(member.member_id if named is None else named)
