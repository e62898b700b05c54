"""The sticky assignment when all subscriptions are equal: quotas, no search.

P partitions over M members: everyone gets lo = P div M, and `want` = P mod M members get one more (hi). Members keep
what they own up to their quota; what is left goes first to members on the partition's rack, then around the table.
Three lists describe the state: *under* (fewer than lo), *exact* (lo, and may take one more), and `over`, how many hold
hi already. Which of several over-full members keeps its extra is decided by hash map order; the rest by member id.

The algorithm is `AbstractStickyAssignor.ConstrainedAssignmentBuilder` (KAFKA-9987, KIP-881); assignors reference,
section 4.2. Kafka walks the table partition by partition; here a run of full rounds is dealt in one slice per member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from groupsim.members.assignors.common import partitions_numbered, partitions_of
from groupsim.members.assignors.errors import JavaFailure
from groupsim.members.assignors.racks import GroupRacks
from groupsim.members.assignors.sticky_claims import Owned
from groupsim.members.assignors.sticky_left import left_over, numbers_by_topic
from groupsim.protocol.assignment import TopicMetadata
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages import TopicPartition

_NUMBER = itemgetter(1)


class UniformAssignment:
    """One run over one group. `assignment` is by member id; `transferring` maps partitions to who waits for them."""

    def __init__(self, known: Mapping[str, TopicMetadata], owned: Owned, racks: GroupRacks) -> None:
        self._known = known
        self._owned = owned
        self._racks = racks
        total = sum(topic.partitions for topic in known.values())
        self._lo, self._want = divmod(total, len(owned.by_member) or 1)
        self._hi = self._lo + (self._want > 0)
        self._place = {topic: place for place, topic in enumerate(java_sorted(known))}
        self._over = 0
        self._under: list[str] = []
        self._exact: list[str] = []
        self._given_up: dict[TopicPartition, str] = {}
        self.assignment: dict[str, list[TopicPartition]] = {}
        self.transferring: dict[TopicPartition, str] = {}

    def run(self) -> None:
        """Compute; raises JavaFailure where Kafka throws IllegalStateException (claims beyond a topic's partitions)."""
        for member, partitions in self._owned.by_member.items():
            self._keep(member, self._valid_claims(member, partitions))
        kept = {member: len(partitions) for member, partitions in self.assignment.items()}
        left = self._unassigned()
        self._under = java_sorted(self._under)
        self._exact = java_sorted(self._exact)
        if self._racks.used:
            left.sort(key=self._racks.members_near)
            left = self._fill_by_rack(left)
        self._fill(left)
        self._note_transfers(kept)

    # --- keeping -----------------------------------------------------------------------------------------------

    def _valid_claims(self, member: str, owned: Iterable[TopicPartition]) -> list[TopicPartition]:
        """What a member may keep, by number, then topic; what is off its rack it gives up."""
        if self._racks.used:
            mismatch = self._racks.mismatch
            off_rack = [partition for partition in owned if mismatch(member, partition)]
            self._given_up.update(dict.fromkeys(off_rack, member))
            owned = [partition for partition in owned if not mismatch(member, partition)]
        contested = self._owned.contested
        if contested:
            owned = [partition for partition in owned if partition not in contested]
        return self._by_number(owned)

    def _by_number(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        # Two stable sorts by a single field are faster than one sort by a pair, and a lone topic needs only one.
        found = list(partitions)
        if len(self._place) > 1:
            found.sort(key=lambda partition: self._place[partition[0]])
        found.sort(key=_NUMBER)
        return found

    def _keep(self, member: str, owned: list[TopicPartition]) -> None:
        """Keep what fits the quota and put the member on its list."""
        keep = len(owned)
        if keep < self._lo:
            self._under.append(member)
        elif keep >= self._hi and self._over < self._want:
            keep = self._hi
            self._over += 1
            if self._over == self._want:
                self._exact.clear()
        else:
            keep = self._lo
            if self._over < self._want:
                self._exact.append(member)
        self.assignment[member] = owned[:keep]
        self._given_up.update(dict.fromkeys(owned[keep:], member))

    def _unassigned(self) -> list[TopicPartition]:
        """What nobody kept, by topic, then number."""
        counts = {topic: self._known[topic].partitions for topic in self._place}
        kept = numbers_by_topic(chain.from_iterable(self.assignment.values()), counts)
        left: list[TopicPartition] = []
        for topic, numbers in left_over(counts, kept):
            if len(numbers) == counts[topic]:
                left.extend(partitions_of(topic, counts[topic]))
            else:
                left.extend(partitions_numbered(topic, numbers))
        return left

    # --- filling -----------------------------------------------------------------------------------------------

    def _fill_by_rack(self, left: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Give partitions to members on one of their racks while quotas last; returns those without a taker."""
        waiting = []
        cursor = 0
        for partition in left:
            found = self._near(self._under, cursor, partition)
            if found is not None:
                cursor = self._give_under(found, partition)
                continue
            found = self._near(self._exact, 0, partition)
            if found is None:
                waiting.append(partition)
            else:
                self._give_exact(found, partition)
        return waiting

    def _near(self, members: Sequence[str], start: int, partition: TopicPartition) -> int | None:
        """The first place, cyclically from `start`, of a member on one of the partition's racks."""
        racks = self._racks.of_partition(partition)
        if not racks:
            return None
        of_member = self._racks.of_member
        count = len(members)
        for step in range(count):
            place = (start + step) % count
            if of_member.get(members[place]) in racks:
                return place
        return None

    def _give_under(self, place: int, partition: TopicPartition) -> int:
        """Give to a member of *under*; returns where the search for the next one begins."""
        member = self._under[place]
        hand = self.assignment[member]
        hand.append(partition)
        step = 1
        if len(hand) >= self._lo:
            del self._under[place]
            step = 0
            if len(hand) < self._hi and self._over < self._want:
                self._exact.append(member)
        return (place + step) % len(self._under) if self._under else 0

    def _give_exact(self, place: int, partition: TopicPartition) -> None:
        """Give to a member of *exact*, which is full by that."""
        hand = self.assignment[self._exact[place]]
        hand.append(partition)
        if len(hand) == self._hi:
            del self._exact[place]
            self._over += 1
            if self._over == self._want:
                self._exact.clear()

    def _fill(self, left: Sequence[TopicPartition]) -> None:
        """Around the table, then one each to the members of *exact*."""
        at = 0
        while self._under and at < len(left):
            at = self._deal_rounds(left, at)
        if len(left) - at > len(self._exact):
            raise JavaFailure("java.lang.IllegalStateException", "No more unfilled consumers to be assigned.")
        for member, partition in zip(self._exact, left[at:]):
            self.assignment[member].append(partition)
        if self._under:
            raise JavaFailure("java.lang.IllegalStateException", "We haven't reached the expected number of members")

    def _deal_rounds(self, left: Sequence[TopicPartition], at: int) -> int:
        """As many rounds as nobody of *under* gets full in but the last; returns where the rest begins."""
        seats = len(self._under)
        rounds = min(self._lo - len(self.assignment[member]) for member in self._under)
        dealt = left[at : at + rounds * seats]
        for seat, member in enumerate(self._under):
            self.assignment[member].extend(dealt[seat::seats])
        self._exact += [member for member in self._under if len(self.assignment[member]) == self._lo]
        self._under = [member for member in self._under if len(self.assignment[member]) < self._lo]
        return at + len(dealt)

    def _note_transfers(self, kept: Mapping[str, int]) -> None:
        """Partitions that go to a member while another one gave them up, or that several claimed."""
        given_up, contested = self._given_up, self._owned.contested
        if not given_up and not contested:
            return
        for member, partitions in self.assignment.items():
            for partition in partitions[kept[member] :]:
                if given_up.get(partition, member) != member or partition in contested:
                    self.transferring[partition] = member
