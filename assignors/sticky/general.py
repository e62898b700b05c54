"""The sticky assignment when subscriptions differ: keep, give out, then move while a move helps.

1. Members keep their partitions, except of topics they no longer subscribe to and off their rack.
2. The rest is given out, topics with few subscribers first, each partition to the least loaded subscriber.
3. What cannot move is set aside: topics with one subscriber, members that hold nothing else.
4. Partitions move from more to less loaded members (`balance`), first the newly given ones alone, then all.
   If that did not improve the balance of an existing assignment, it is undone.

The result is Kafka's, choice by choice; the data structures are not (`balance` names the differences).

Source: `AbstractStickyAssignor.GeneralAssignmentBuilder` (KIP-54, KAFKA-12675); assignors reference, section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import groupby

from groupsim.assignors.base.common import in_line
from groupsim.assignors.base.racks import GroupRacks
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.sticky.balance import Balance, LiteralBalance, imbalance
from groupsim.assignors.sticky.claims import Claim, Owned, of_generation
from groupsim.assignors.sticky.state import State
from groupsim.assignors.sticky.unassigned_partitions import numbers_by_topic, unassigned
from groupsim.protocol.embedded.assignment import TopicMetadata
from groupsim.protocol.messages.group import TopicPartition

_BUILDER = "GeneralAssignmentBuilder"


class GeneralAssignment:
    """One run over one group; `claims` in hash map order, `newest` the highest generation the assignor has seen."""

    def __init__(
        self,
        known: Mapping[str, TopicMetadata],
        claims: Sequence[Claim],
        owned: Owned,
        racks: GroupRacks,
        newest: int,
        steps: Steps = NO_STEPS,
    ) -> None:
        self._steps = steps
        self._listened = bool(steps)
        self._claims = claims
        self._owned = owned
        self._racks = racks
        self._newest = newest
        self._state = State(known, claims)
        self._revocation_needed = False

    def run(self) -> dict[str, list[TopicPartition]]:
        """Return partitions by member id. Raises JavaFailure where Kafka throws NullPointerException."""
        state = self._state
        self._keep()
        left = self._unassigned()
        initializing = state.load.most == 0
        self._give_out(left)
        self._set_aside()
        self._balance([place for place in left if state.contested(state.topic_of[place])], initializing)
        partitions = state.partitions
        return {state.ids[m]: [partitions[place] for place in state.held[m]] for m in state.in_hash_order}

    # --- step 1: keep ------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        self._steps.stage(f"{_BUILDER}.assignOwnedPartitions")
        state, mismatch, off_rack = self._state, self._racks.mismatch, self._racks.used
        for claim in self._claims:
            member_id = claim.member.member_id
            member, topics = state.number[member_id], frozenset(claim.member.topics)
            owned = self._owned.by_member[member_id]
            kept = [tp for tp in owned if tp[0] in topics and not (off_rack and mismatch(member_id, tp))]
            self._revocation_needed |= len(kept) < len(owned)
            if self._listened:
                self._report_claimed(claim, owned, kept)
            state.held[member] = [state.place(tp) for tp in kept]
            for place in state.held[member]:
                state.owner[place] = member
        state.load.restore([len(held) for held in state.held])

    def _report_claimed(self, claim: Claim, owned: Sequence[TopicPartition], kept: Sequence[TopicPartition]) -> None:
        member, wanted = claim.member.member_id, claim.member.topics
        self._steps.keep(kept, member, f"claimed with {of_generation(claim.generation)}")
        lost = [tp for tp in owned if tp not in kept]
        self._steps.set_aside([tp for tp in lost if tp.topic not in wanted], f"{member} subscribes to it no longer")
        self._steps.set_aside([tp for tp in lost if tp.topic in wanted], f"no replica is on the rack of {member}")

    def _unassigned(self) -> list[int]:
        """Return the partitions that no member kept, in the order of their numbers."""
        state = self._state
        counts = {topic: state.size(number) for number, topic in enumerate(state.topics)}
        kept = numbers_by_topic((state.partitions[place] for held in state.held for place in held), counts)
        starts = zip(state.start, unassigned(counts, kept))
        return [start + number for start, (_, numbers) in starts for number in numbers]

    # --- step 2: give out --------------------------------------------------------------------------------------

    def _give_out(self, left: Sequence[int]) -> None:
        state, steps = self._state, self._steps
        if self._listened:
            steps.stage(f"{_BUILDER}.getUnassignedPartitions")
            order = ", given out in this order (topics with fewer subscribers first)" if left else ""
            steps.note(f"{len(left)} without an owner{order}", [state.partitions[place] for place in left])
        steps.stage(f"{_BUILDER}.maybeAssign")
        if self._racks.used:
            left = [place for place in left if not self._give_by_rack(place)]
        for topic, places in groupby(left, key=state.topic_of.__getitem__):
            self._give_topic(topic, places)

    def _give_by_rack(self, place: int) -> bool:
        """Give a partition to the least loaded subscriber that is not off its rack."""
        state = self._state
        partition, subscribers = state.partitions[place], state.subscriber_set[state.topic_of[place]]
        near = [m for m in subscribers if not self._racks.mismatch(state.ids[m], partition)]
        member = state.load.lightest(frozenset(near))
        if member is None:
            return False
        self._hold(place, member)
        if self._listened:
            self._report_given(place, member, state.load.count[member], "of those not off rack ")
        state.load.add(member, 1)
        return True

    def _give_topic(self, topic: int, places: Iterator[int]) -> None:
        """Give partitions of one topic to its subscribers, the least loaded first: only their counts change."""
        state = self._state
        count, members = state.load.count, len(state.ids)
        heap = [count[m] * members + m for m in state.subscriber_set[topic]]
        heapify(heap)
        taken = []
        for place in places:
            entry = heap[0]
            member = entry % members
            self._hold(place, member)
            if self._listened:
                self._report_given(place, member, entry // members, "")
            taken.append(member)
            heapreplace(heap, entry + members)
        state.load.add_all(taken)

    def _report_given(self, place: int, member: int, count: int, among: str) -> None:
        state = self._state
        subscribers = len(state.subscriber_set[state.topic_of[place]])
        fewest = f"of {subscribers} subscribers it has {among}the fewest, {count}"
        reason = fewest if subscribers > 1 else "its only subscriber"
        self._steps.give((state.partitions[place],), state.ids[member], reason)

    def _hold(self, place: int, member: int) -> None:
        self._state.held[member].append(place)
        self._state.owner[place] = member

    def _report_aside(self, member: int) -> None:
        state, held = self._state, self._state.held[member]
        name = state.ids[member]
        if held:
            reason = f"{name} holds all that it can, and no other member subscribes to any of it"
            self._steps.set_aside([state.partitions[place] for place in held], reason)
        else:
            self._steps.note(f"{name} takes no part: it subscribes to no topic that exists")

    # --- steps 3 and 4: set aside, balance -----------------------------------------------------------------------

    def _set_aside(self) -> None:
        """Members that hold all they can, none of it movable, leave the order."""
        state, steps = self._state, self._steps
        steps.stage(f"{_BUILDER}.canConsumerParticipateInReassignment")
        for member, held in enumerate(state.held):
            if len(held) >= state.most_possible(member):
                state.takes_part[member] = any(state.contested(state.topic_of[place]) for place in held)
                if self._listened and not state.takes_part[member]:
                    self._report_aside(member)
        if self._listened:
            fixed = [topic for number, topic in enumerate(state.topics) if not state.contested(number)]
            if fixed:
                steps.note(f"topics that cannot move, as one member alone subscribes to each: {in_line(fixed)}")
        state.load.drop(m for m, takes_part in enumerate(state.takes_part) if not takes_part)

    def _balance(self, newly_given: Sequence[int], initializing: bool) -> None:
        state = self._state
        if not len(state.load):
            self._steps.stop("no member takes part in reassignments")
            return
        held, owner, counts = [list(places) for places in state.held], list(state.owner), list(state.load.count)
        steps = self._steps
        balance = (LiteralBalance if state.has_phantoms else Balance)(state, self._previous_owners(), steps)
        if self._revocation_needed:
            steps.stage(f"{_BUILDER}.performReassignments")
            steps.note("the partitions given out are not looked at by themselves: a member has to give some up")
        else:
            steps.stage(f"{_BUILDER}.performReassignments, of what was given out")
            balance.reassign(newly_given)
        steps.stage(f"{_BUILDER}.performReassignments, of all that can move")
        first = next((t for t in range(len(state.topics)) if state.contested(t)), len(state.topics))
        moved = balance.reassign(range(state.start[first], state.total))
        if moved:
            after, before = self._score(state.load.count), self._score(counts)
            gained = initializing or after < before
            self._report_score(before, after, gained)
            if not gained:
                state.held, state.owner = held, owner
                state.load.restore(counts)

    def _report_score(self, before: int, after: int, gained: bool) -> None:
        steps = self._steps
        steps.stage(f"{_BUILDER}.getBalanceScore")
        steps.note(f"the differences between all pairs of counts add up to {before} before the moves, {after} after")
        if not gained:
            steps.undo("the sum did not fall")
        steps.stop("the moves stay" if gained else "the assignment is the one before the moves")

    def _score(self, counts: Sequence[int]) -> int:
        return imbalance(counts[m] for m, takes_part in enumerate(self._state.takes_part) if takes_part)

    def _previous_owners(self) -> dict[int, int]:
        """Return for each partition the newest claimant of an earlier generation, subscribed or not (10.2)."""
        self._steps.stage(f"{_BUILDER}.prepopulateCurrentAssignments")
        state = self._state
        found: dict[int, tuple[int, int]] = {}
        for claim in self._claims:
            if claim.generation >= self._newest:
                continue
            member = state.number[claim.member.member_id]
            for partition in claim.partitions:
                if partition.topic in state.topic_number:
                    place = state.place(partition)
                    if self._listened:
                        self._note_previous(partition, claim)
                    if place not in found or found[place][1] < claim.generation:
                        found[place] = (member, claim.generation)
        return {place: member for place, (member, _) in found.items()}

    def _note_previous(self, partition: TopicPartition, claim: Claim) -> None:
        member, since = claim.member.member_id, of_generation(claim.generation)
        self._steps.note(f"{member} is a previous owner, with {since}; the newest is {self._newest}", (partition,))
