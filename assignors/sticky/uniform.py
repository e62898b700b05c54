"""The sticky assignment when all subscriptions are equal: quotas, no search.

P partitions over M members: each member gets lo = P div M, and `want` = P mod M members get one more (hi). Members keep
their partitions up to their quota; the rest goes first to members on the partition's rack, then to members in turn.
Three lists describe the state: *under* (fewer than lo), *exact* (lo, and may take one more), and `over`, how many hold
hi already. Hash map order decides which over-full member keeps its extra; the member id decides the rest.

The algorithm is `AbstractStickyAssignor.ConstrainedAssignmentBuilder` (KAFKA-9987, KIP-881); assignors reference,
section 4.2. Kafka gives partition by partition; here a run of full rounds is one slice per member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, cycle
from operator import itemgetter

from groupsim.assignors.base.common import in_line, partitions_numbered, partitions_of
from groupsim.assignors.base.errors import JavaFailure
from groupsim.assignors.base.racks import GroupRacks
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.sticky.claims import NO_GENERATION, Owned, of_generation
from groupsim.assignors.sticky.unassigned_partitions import numbers_by_topic, unassigned
from groupsim.protocol.embedded.assignment import TopicMetadata
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.messages.group import TopicPartition

_NUMBER = itemgetter(1)
_BUILDER = "ConstrainedAssignmentBuilder"


class UniformAssignment:
    """One run over one group. `assignment` is by member id; `transferring` maps partitions to their new owners."""

    def __init__(
        self,
        known: Mapping[str, TopicMetadata],
        owned: Owned,
        racks: GroupRacks,
        generations: Mapping[str, int],
        steps: Steps = NO_STEPS,
    ) -> None:
        """`generations` by member id are read for the steps alone."""
        self._steps = steps
        self._listened = bool(steps)
        self._generations = generations
        self._known = known
        self._owned = owned
        self._racks = racks
        self._total = sum(topic.partitions for topic in known.values())
        self._lo, self._want = divmod(self._total, len(owned.by_member) or 1)
        self._hi = self._lo + (self._want > 0)
        self._place = {topic: place for place, topic in enumerate(java_sorted(known))}
        self._over = 0
        self._under: list[str] = []
        self._exact: list[str] = []
        self._given_up: dict[TopicPartition, str] = {}
        self.assignment: dict[str, list[TopicPartition]] = {}
        self.transferring: dict[TopicPartition, str] = {}

    def run(self) -> None:
        """Compute. Raises JavaFailure where Kafka throws IllegalStateException (claims beyond a topic's partitions)."""
        steps = self._steps
        steps.stage(f"{_BUILDER}.assignOwnedPartitions")
        if self._listened:
            self._note_quotas()
        for member, partitions in self._owned.by_member.items():
            self._keep(member, self._valid_claims(member, partitions))
        kept = {member: len(partitions) for member, partitions in self.assignment.items()}
        left = self._unassigned()
        self._under = java_sorted(self._under)
        self._exact = java_sorted(self._exact)
        if self._racks.used:
            left.sort(key=self._racks.members_near)
        if self._listened:
            steps.stage(f"{_BUILDER}.getUnassignedPartitions")
            self._note_left(left)
        if self._racks.used:
            steps.stage(f"{_BUILDER}.assignRackAwareRoundRobin")
            left = self._fill_by_rack(left)
        steps.stage(f"{_BUILDER}.assignRoundRobin")
        self._fill(left)
        self._record_transfers(kept)
        if self._listened:
            each = f"{self._lo} or {self._hi}" if self._want else str(self._lo)
            steps.stop(f"no partition is left, and every member holds {each}")

    # --- keeping -----------------------------------------------------------------------------------------------

    def _valid_claims(self, member: str, owned: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions that a member may keep, by number, then topic; it gives up those off its rack."""
        if self._racks.used:
            mismatch = self._racks.mismatch
            off_rack = [partition for partition in owned if mismatch(member, partition)]
            self._given_up.update(dict.fromkeys(off_rack, member))
            if self._listened:
                self._steps.set_aside(off_rack, f"no replica is on the rack of {member}, which gives up what is off it")
            owned = [partition for partition in owned if not mismatch(member, partition)]
        contested = self._owned.contested
        if contested:
            if self._listened:
                lost = [partition for partition in owned if partition in contested]
                self._steps.set_aside(lost, f"{member} claims what several others claimed before it")
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
        """Keep partitions within the quota and put the member on its list."""
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
        if self._listened:
            self._report_claimed(member, owned, keep)

    def _report_claimed(self, member: str, owned: Sequence[TopicPartition], keep: int) -> None:
        since = of_generation(self._generations.get(member, NO_GENERATION))
        self._steps.keep(owned[:keep], member, f"claimed with {since}; {keep} of at most {self._hi}")
        full = f", as {self._want} hold {self._hi} already" if keep < self._hi else ""
        self._steps.set_aside(owned[keep:], f"{member} owned {len(owned)} and keeps {keep}{full}: balance comes first")

    def _note_quotas(self) -> None:
        members = len(self._owned.by_member)
        more = f", and one more for {self._want} of them" if self._want else ""
        self._steps.note(f"{self._total} partitions for {members} members make {self._lo} each{more}")

    def _note_left(self, left: Sequence[TopicPartition]) -> None:
        """Report the partitions without an owner, in order, and the members with room."""
        self._steps.note(f"{len(left)} without an owner" + (", given out in this order" if left else ""), left)
        if self._under:
            below = [f"{member} ({len(self.assignment[member])})" for member in self._under]
            self._steps.note(f"below {self._lo}: {in_line(below)}")
        if self._exact and self._over < self._want:
            self._steps.note(f"with {self._lo}, and perhaps one more: {in_line(self._exact)}")

    def _unassigned(self) -> list[TopicPartition]:
        """Return the partitions that no member kept, by topic, then number."""
        counts = {topic: self._known[topic].partitions for topic in self._place}
        kept = numbers_by_topic(chain.from_iterable(self.assignment.values()), counts)
        left: list[TopicPartition] = []
        for topic, numbers in unassigned(counts, kept):
            if len(numbers) == counts[topic]:
                left.extend(partitions_of(topic, counts[topic]))
            else:
                left.extend(partitions_numbered(topic, numbers))
        return left

    # --- filling -----------------------------------------------------------------------------------------------

    def _fill_by_rack(self, left: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Give partitions to members on one of their racks while quotas last; return those without a taker."""
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
        if waiting:
            self._steps.note("no member on a rack of theirs has room", waiting)
        return waiting

    def _near(self, members: Sequence[str], start: int, partition: TopicPartition) -> int | None:
        """Return the first place, cyclically from `start`, of a member on one of the partition's racks."""
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
        """Give to a member of *under*; return the start of the next search."""
        member = self._under[place]
        if self._listened:
            self._report_near(partition, member, f"next of those below {self._lo}")
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
        """Give to a member of *exact*, which is then full."""
        if self._listened:
            self._report_near(partition, self._exact[place], f"first of those that may hold {self._hi}")
        hand = self.assignment[self._exact[place]]
        hand.append(partition)
        if len(hand) == self._hi:
            del self._exact[place]
            self._over += 1
            if self._over == self._want:
                self._exact.clear()

    def _report_near(self, partition: TopicPartition, member: str, why: str) -> None:
        self._steps.give((partition,), member, f"a replica is on its rack {self._racks.of_member[member]}; {why}")

    def _fill(self, left: Sequence[TopicPartition]) -> None:
        """Give to members in turn, then one each to the members of *exact*."""
        at = 0
        while self._under and at < len(left):
            at = self._deal_rounds(left, at)
        if len(left) - at > len(self._exact):
            raise JavaFailure("java.lang.IllegalStateException", "No more unfilled consumers to be assigned.")
        for member, partition in zip(self._exact, left[at:]):
            self.assignment[member].append(partition)
            if self._listened:
                self._steps.give((partition,), member, f"next of those with {self._lo}, and one more is left over")
        if self._under:
            raise JavaFailure("java.lang.IllegalStateException", "We haven't reached the expected number of members")

    def _deal_rounds(self, left: Sequence[TopicPartition], at: int) -> int:
        """Give rounds until a member of *under* would be full before the last; return the start of the rest."""
        seats = len(self._under)
        rounds = min(self._lo - len(self.assignment[member]) for member in self._under)
        dealt = left[at : at + rounds * seats]
        for seat, member in enumerate(self._under):
            self.assignment[member].extend(dealt[seat::seats])
        if self._listened:
            for partition, member in zip(dealt, cycle(self._under)):
                self._steps.give((partition,), member, f"next of those below {self._lo}")
        self._exact += [member for member in self._under if len(self.assignment[member]) == self._lo]
        self._under = [member for member in self._under if len(self.assignment[member]) < self._lo]
        return at + len(dealt)

    def _record_transfers(self, kept: Mapping[str, int]) -> None:
        """Return partitions that go to a member while another one gave them up, or that several claimed."""
        given_up, contested = self._given_up, self._owned.contested
        if not given_up and not contested:
            return
        for member, partitions in self.assignment.items():
            for partition in partitions[kept[member] :]:
                if given_up.get(partition, member) != member or partition in contested:
                    self.transferring[partition] = member
