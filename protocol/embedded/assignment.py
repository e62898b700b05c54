"""The input and the result of an assignor: the contract between the leader and any assignor.

Sources: `ConsumerPartitionAssignor` (GroupSubscription, GroupAssignment, Subscription, Cluster); assignors reference,
section 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.protocol.html_table import html_table, paragraph
from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen


@frozen
class MemberSubscription:
    """One member as an input of the assignor.

    `owned` and `generation` are the member's claims (`cooperative-sticky`: from the subscription's own fields,
    `sticky`: decoded from `user_data` by the assignor); `generation` None means absent (negative on the wire).
    """

    member_id: str
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    rack: str | None = None
    instance_id: str | None = None


@frozen
class TopicMetadata:
    """The leader's metadata of one topic; `racks[p]` are the racks of partition p's replicas."""

    name: str
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


@frozen
class GroupAssignment:
    """One round's result: for each member (input order) its partitions in the order the assignor listed them.

    A custom assignor returns a dict; `range` and `roundrobin` return a mapping that makes its tuples at the first read.
    """

    partitions: Mapping[str, tuple[TopicPartition, ...]]
    user_data: Mapping[str, bytes] = {}

    def _repr_html_(self) -> str:
        """What a notebook shows: how many partitions each member has, and which."""
        counts = [len(held) for held in self.partitions.values()]
        spread = f", {min(counts)} to {max(counts)} each" if counts else ""
        head = f"{sum(counts):,} partitions to {len(counts):,} members{spread}"
        rows = ((member, len(held), ranges(held)) for member, held in self.partitions.items())
        return paragraph(head, bold=True) + html_table(("member", "count", "partitions"), rows, len(counts), "members")


def ranges(partitions: Iterable[TopicPartition]) -> str:
    """Partitions by topic, those that follow each other as a range: `orders 0–3, 7`."""
    topics: dict[str, list[list[int]]] = {}
    for topic, number in sorted(partitions):
        runs = topics.setdefault(topic, [])
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return "; ".join(
        f"{topic} {', '.join(str(first) if first == last else f'{first}–{last}' for first, last in runs)}"
        for topic, runs in topics.items()
    )
