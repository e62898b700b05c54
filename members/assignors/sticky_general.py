"""The sticky assignment when subscriptions differ: keep, give out, then move while a move helps.

1. Members keep what they own, but for topics they no longer subscribe to and partitions off their rack.
2. The rest is given out, topics with few subscribers first, each partition to the least loaded subscriber.
3. What cannot move is set aside: topics with one subscriber, members that hold nothing else.
4. Partitions move from more to less loaded members (`sticky_balance`), first the newly given ones alone, then all.
   If that did not improve the balance of an existing assignment, it is undone.

The result is Kafka's, choice by choice; the data structures are not (`sticky_balance` says what replaced what).

Source: `AbstractStickyAssignor.GeneralAssignmentBuilder` (KIP-54, KAFKA-12675); assignors reference, section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import groupby

from groupsim.members.assignors.racks import GroupRacks
from groupsim.members.assignors.sticky_balance import Balance, LiteralBalance, imbalance
from groupsim.members.assignors.sticky_claims import Claim, Owned
from groupsim.members.assignors.sticky_left import left_over, numbers_by_topic
from groupsim.members.assignors.sticky_state import State
from groupsim.protocol.assignment import TopicMetadata
from groupsim.protocol.messages import TopicPartition


class GeneralAssignment:
    """One run over one group; `claims` in hash map order, `newest` the highest generation the assignor has seen."""

    def __init__(
        self,
        known: Mapping[str, TopicMetadata],
        claims: Sequence[Claim],
        owned: Owned,
        racks: GroupRacks,
        newest: int,
    ) -> None:
        self._claims = claims
        self._owned = owned
        self._racks = racks
        self._newest = newest
        self._state = State(known, claims)
        self._revocation_needed = False

    def run(self) -> dict[str, list[TopicPartition]]:
        """Partitions by member id. Raises JavaFailure where Kafka throws NullPointerException."""
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
        state, mismatch, off_rack = self._state, self._racks.mismatch, self._racks.used
        for claim in self._claims:
            member_id = claim.member.member_id
            member, topics = state.number[member_id], frozenset(claim.member.topics)
            owned = self._owned.by_member[member_id]
            kept = [tp for tp in owned if tp[0] in topics and not (off_rack and mismatch(member_id, tp))]
            self._revocation_needed |= len(kept) < len(owned)
            state.held[member] = [state.place(tp) for tp in kept]
            for place in state.held[member]:
                state.owner[place] = member
        state.load.restore([len(held) for held in state.held])

    def _unassigned(self) -> list[int]:
        """What nobody kept, in the order of the partitions' numbers."""
        state = self._state
        counts = {topic: state.size(number) for number, topic in enumerate(state.topics)}
        kept = numbers_by_topic((state.partitions[place] for held in state.held for place in held), counts)
        starts = zip(state.start, left_over(counts, kept))
        return [start + number for start, (_, numbers) in starts for number in numbers]

    # --- step 2: give out --------------------------------------------------------------------------------------

    def _give_out(self, left: Sequence[int]) -> None:
        if self._racks.used:
            left = [place for place in left if not self._give_by_rack(place)]
        for topic, places in groupby(left, key=self._state.topic_of.__getitem__):
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
            taken.append(member)
            heapreplace(heap, entry + members)
        state.load.add_all(taken)

    def _hold(self, place: int, member: int) -> None:
        self._state.held[member].append(place)
        self._state.owner[place] = member

    # --- steps 3 and 4: set aside, balance -----------------------------------------------------------------------

    def _set_aside(self) -> None:
        """Members that hold all they can, none of it movable, leave the order."""
        state = self._state
        for member, held in enumerate(state.held):
            if len(held) >= state.most_possible(member):
                state.takes_part[member] = any(state.contested(state.topic_of[place]) for place in held)
        state.load.drop(m for m, takes_part in enumerate(state.takes_part) if not takes_part)

    def _balance(self, newly_given: Sequence[int], initializing: bool) -> None:
        state = self._state
        if not len(state.load):
            return
        held, owner, counts = [list(places) for places in state.held], list(state.owner), list(state.load.count)
        balance = (LiteralBalance if state.has_phantoms else Balance)(state, self._previous_owners())
        if not self._revocation_needed:
            balance.reassign(newly_given)
        first = next((t for t in range(len(state.topics)) if state.contested(t)), len(state.topics))
        moved = balance.reassign(range(state.start[first], state.total))
        if moved and not initializing and self._score(state.load.count) >= self._score(counts):
            state.held, state.owner = held, owner
            state.load.restore(counts)

    def _score(self, counts: Sequence[int]) -> int:
        return imbalance(counts[m] for m, takes_part in enumerate(self._state.takes_part) if takes_part)

    def _previous_owners(self) -> dict[int, int]:
        """For each partition the newest of its claimants of an earlier generation, subscribed or not (10.2)."""
        state = self._state
        found: dict[int, tuple[int, int]] = {}
        for claim in self._claims:
            if claim.generation >= self._newest:
                continue
            member = state.number[claim.member.member_id]
            for partition in claim.partitions:
                if partition.topic in state.topic_number:
                    place = state.place(partition)
                    if place not in found or found[place][1] < claim.generation:
                        found[place] = (member, claim.generation)
        return {place: member for place, (member, _) in found.items()}
