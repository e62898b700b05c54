"""Moving partitions until the group is balanced: the costly part of the general sticky algorithm.

A pass visits the partitions of a list in order and stops as soon as the group is *balanced*; passes repeat until one
moves nothing. With c the owner of the partition visited:

* its previous owner, when one is recorded and holds at least two fewer than c, gets it back;
* otherwise, if any subscriber of its topic holds at least two fewer than c, it goes to the least loaded subscriber.

*Balanced* means: no partition could move to a subscriber that has room and holds at least two fewer than its owner.

Kafka checks *balanced* before each visit and rebuilds a map of all partitions each time. Only a move can change the
result, and a visit without a move changes nothing, so here

* the result is stored until the next move, and "no" includes a topic that is out of balance, which is checked first the
  next time;
* for each topic we count how many of its partitions each member holds. The heaviest holder and the lightest
  subscriber decide whether a partition of the topic can move at all; if not, its partitions are skipped together.

With stale claims the moves can repeat in a cycle for ever, because a substitute (`moves`) may be taken from a member
other than c. Kafka's class then never returns (seen with kafka-clients 4.0.0); we detect the cycle and report it.

(Kafka also checks racks here, but only to choose between two ways to the same result; we do not.)

Sources: `GeneralAssignmentBuilder.performReassignments`, `isBalanced`, `reassignPartition`; assignors reference, 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from groupsim.assignors.base.errors import ENDLESS_LOOP, JavaFailure
from groupsim.assignors.base.steps import NO_STEPS, Steps
from groupsim.assignors.sticky.moves import Moves
from groupsim.assignors.sticky.state import State
from groupsim.protocol.messages.group import TopicPartition

# A reassignment ends after a handful of passes; only a longer one is checked for cycles.
_SUSPICIOUS_PASSES = 256


def imbalance(counts: Iterable[int]) -> int:
    """Return Kafka's balance score: the sum of the differences between all pairs of counts; 0 is perfect."""
    ordered = sorted(counts)
    return sum(count * (2 * place - len(ordered) + 1) for place, count in enumerate(ordered))


class Balance:
    """Reassignment over a `State`; `previous` is the recorded previous owner of partitions."""

    def __init__(self, state: State, previous: Mapping[int, int], steps: Steps = NO_STEPS) -> None:
        self._steps = steps
        self._listened = bool(steps)
        self._state = state
        self._previous = previous
        self._moves = Moves()
        self._with_previous = {state.topic_of[place] for place in previous}
        self._witness: int | None = None
        self._known_balanced: bool | None = None
        self._earlier: tuple[object, object] | None = None
        self._most_possible = [state.most_possible(member) for member in range(len(state.ids))]
        self._holders: list[Counter[int]] = [
            Counter(state.owner[start:end]) for start, end in zip(state.start, state.start[1:])
        ]

    def reassign(self, places: Iterable[int]) -> bool:
        """Pass over the partitions until none moves; return whether any did."""
        runs = [(topic, list(run)) for topic, run in groupby(places, key=self._state.topic_of.__getitem__)]
        passes = 0
        while self._pass(runs):
            passes += 1
            if passes >= _SUSPICIOUS_PASSES:
                self._watch_for_circles(passes)
        if self._listened:
            self._steps.stop(self._why_over() if runs else "there is nothing to move")
        return passes > 0

    def _why_over(self) -> str:
        """Return the reason for the end of the passes, as a sentence."""
        if not self._known_balanced:
            return "a pass moved nothing"
        load = self._state.load
        if load.least >= load.most - 1:
            return f"balanced: members hold {load.least}{f' or {load.most}' if load.most > load.least else ''} each"
        return "balanced: no member can get a partition from one that holds two more"

    def _watch_for_circles(self, passes: int) -> None:
        """Raise when partitions move in a cycle: the owners and the stored moves are as they were before.

        One earlier state is stored for the comparison, and replaced each time the number of passes has doubled.
        """
        now = (tuple(self._state.owner), self._moves.snapshot())
        if now == self._earlier:
            reason = "partitions move in circles; a Java client never comes back from this rebalance"
            raise JavaFailure(ENDLESS_LOOP, reason)
        if passes & (passes - 1) == 0:
            self._earlier = now

    def _pass(self, runs: Sequence[tuple[int, Sequence[int]]]) -> bool:
        """Make one pass over the partitions, by topic; return whether any moved."""
        moved = False
        for topic, places in runs:
            if self.balanced():
                break
            moved |= self._visit(topic, places)
        return moved

    def balanced(self) -> bool:
        """Whether no partition can move to a subscriber that holds at least two fewer than its owner."""
        if self._known_balanced is None:
            self._known_balanced = self._is_balanced()
        return self._known_balanced

    def _visit(self, topic: int, places: Sequence[int]) -> bool:
        """Visit partitions of one topic until the group is balanced; return whether one moved."""
        if self._is_stuck(topic):
            return False
        moved = False
        limit = self._limit(topic)
        for place in places:
            to = self._better_owner(place, limit)
            if to is None:
                continue
            self._move(place, to)
            moved = True
            if self.balanced():
                break
            limit = self._limit(topic)
        return moved

    def _move(self, place: int, to: int) -> None:
        state = self._state
        wanted = state.partitions[place]
        partition = self._moves.instead_of(wanted, state.owner[place], to)
        if partition is not wanted:
            place = state.place(partition)
        if self._listened:
            self._report_move(place, to, wanted)
        giver = state.hand_over(place, to)
        self._moves.record(partition, giver, to)
        holders = self._holders[state.topic_of[place]]
        holders[to] += 1
        holders[giver] -= 1
        if not holders[giver]:
            del holders[giver]
        self._known_balanced = None

    def _report_move(self, place: int, to: int, wanted: TopicPartition) -> None:
        state, partition = self._state, self._state.partitions[place]
        giver, name = state.owner[place], state.ids[to]
        if partition != wanted:
            reason = f"in place of {wanted}: it had moved the other way, so it goes back"
        elif self._previous.get(place) == to:
            reason = f"{name} is its previous owner and holds at least two fewer"
        else:
            reason = f"{name} subscribes to {partition.topic} and has the fewest"
        self._steps.move(partition, state.ids[giver], name, reason, (state.load.count[giver], state.load.count[to]))

    # --- differences of the literal variant -------------------------------------------------------------------

    def _limit(self, topic: int) -> int:
        """Return the count above which an owner may give away a partition of the topic."""
        lightest = self._state.load.lightest(self._state.subscriber_set[topic])
        return self._state.count(-1 if lightest is None else lightest) + 1

    def _is_stuck(self, topic: int) -> bool:
        """Whether no partition of the topic can move now."""
        return topic not in self._with_previous and self._most_held(topic) <= self._limit(topic)

    def _most_held(self, topic: int) -> int:
        """Return the count of the most loaded holder of a partition of the topic."""
        load = self._state.load
        heaviest = load.heaviest(self._holders[topic])
        return 0 if heaviest is None else load.count[heaviest]

    def _better_owner(self, place: int, limit: int) -> int | None:
        """Return the member that should get a partition: its previous owner, the least loaded subscriber, or None."""
        state = self._state
        count = state.load.count[state.owner[place]]
        previous = self._previous.get(place)
        if previous is not None and count > state.count(previous) + 1:
            return previous
        return state.load.lightest(state.subscriber_set[state.topic_of[place]]) if count > limit else None

    def _is_balanced(self) -> bool:
        load = self._state.load
        if load.least >= load.most - 1:
            return True
        if self._witness is not None and self._witnesses(self._witness):
            return False
        self._witness = self._find_witness()
        return self._witness is None

    def _witnesses(self, topic: int) -> bool:
        """Whether the lightest subscriber could take a partition of the topic from its heaviest holder."""
        count = self._state.load.count
        lightest = self._state.load.lightest(self._state.subscriber_set[topic])
        if lightest is None or count[lightest] == self._most_possible[lightest]:
            return False  # another subscriber may still have room: the full search decides
        return self._most_held(topic) > count[lightest] + 1

    def _find_witness(self) -> int | None:
        """Return a topic with a partition that a member with room could take from an owner of two more."""
        load, wanted = self._state.load, self._state.wanted
        most_held: dict[int, int] = {}
        for member in load.ascending():
            limit = load.count[member] + 1
            if limit >= load.most:
                return None
            if load.count[member] == self._most_possible[member]:
                continue
            for topic in wanted[member]:
                if topic not in most_held:
                    most_held[topic] = self._most_held(topic)
                if most_held[topic] > limit:
                    return topic
        return None


class LiteralBalance(Balance):
    """The same, step by step as in Kafka: for groups that claim partitions which their topics do not have.

    There a partition can be held twice and a member can hold unknown partitions, and only the literal algorithm gives
    the same result (or the same NullPointerException).
    """

    def _limit(self, topic: int) -> int:
        return 0

    def _is_stuck(self, topic: int) -> bool:
        return False

    def _better_owner(self, place: int, limit: int) -> int | None:
        state = self._state
        count = state.count(state.owner[place])
        previous = self._previous.get(place)
        if previous is not None and count > state.count(previous) + 1:
            return previous
        topic = state.topic_of[place]
        if any(count > state.count(other) + 1 for other in state.subscribers[topic]):
            return state.load.lightest(state.subscriber_set[topic])
        return None

    def _is_balanced(self) -> bool:
        state, load = self._state, self._state.load
        if load.least >= load.most - 1:
            return True
        holder = {place: m for m in state.in_hash_order if state.takes_part[m] for place in state.held[m]}
        for member in load.ascending():
            held, count = set(state.held[member]), load.count[member]
            if count == self._most_possible[member]:
                continue
            for topic in state.wanted[member]:
                for place in range(state.start[topic], state.start[topic + 1]):
                    if place not in held and state.count(holder.get(place, -1)) > count + 1:
                        return False
        return True
