"""Where replicas go. Lists marked so are the expectations of Kafka's own tests, with the generator they draw from."""

from __future__ import annotations

from collections import Counter
from collections.abc import MutableSequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.cluster.controller.placement import Candidate, Refused, Striped, alternated, checked, rounds, striped
from groupsim.eventloop.randomness import Stream
from groupsim.protocol.errors import ErrorCode


class KafkasLuck:
    """The generator of Kafka's placement tests (`MockRandom`), under `Random.nextInt` and `Collections.shuffle`."""

    def __init__(self) -> None:
        self.state = 17

    def _bits(self, count: int) -> int:
        self.state = (self.state * 2862933555777941757 + 3037000493) & (1 << 64) - 1
        value = self.state >> (64 - count)
        return value - (1 << 32) if count == 32 and value >= 1 << 31 else value

    def below(self, bound: int) -> int:
        drawn = self._bits(31)
        if bound & (bound - 1) == 0:
            return (bound * drawn) >> 31
        while drawn - drawn % bound + bound - 1 >= 1 << 31:
            drawn = self._bits(31)
        return drawn % bound

    def shuffle(self, items: MutableSequence[Any]) -> None:
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def up(*nodes: int, rack: str | None = None) -> list[Candidate]:
    """Brokers that are up."""
    return [Candidate(node, rack) for node in nodes]


def fenced(*nodes: int, rack: str | None = None) -> list[Candidate]:
    """Brokers that are fenced."""
    return [Candidate(node, rack, fenced=True) for node in nodes]


def drawn(candidates: list[Candidate], *sizes: int) -> list[list[int]]:
    """Partitions of these sizes, placed with Kafka's random draws."""
    placer = Striped(candidates, KafkasLuck())
    return [list(placer.place(size)) for size in sizes]


def test_brokers_of_one_rack_are_gone_round_and_fenced_ones_left_out() -> None:
    """In one rack each partition begins one broker further; a fenced broker gets nothing while there are others.

    Kafka's expectation, shuffle after the first round included.
    """
    assert drawn(up(3) + fenced(1) + up(0, 4, 2), 4, 4, 4, 4, 4) == [
        [3, 4, 0, 2],
        [4, 0, 2, 3],
        [0, 2, 3, 4],
        [2, 3, 4, 0],
        [0, 4, 3, 2],
    ]


def test_a_fenced_broker_comes_last_when_it_is_needed() -> None:
    """With too few brokers up a fenced one gets the last replica, never the first (Kafka's expectation)."""
    assert drawn(up(3) + fenced(1) + up(2), 3, 3, 3, 3) == [[3, 2, 1], [2, 3, 1], [3, 2, 1], [2, 3, 1]]


def test_replicas_go_round_the_racks() -> None:
    """Each partition begins in the next rack and takes a broker of each in turn (Kafka's expectation)."""
    brokers = up(11, 10, rack="1") + up(30, 31, rack="3") + up(21, rack="2") + fenced(20, rack="2")
    assert drawn(brokers, 4, 4, 4) == [[11, 21, 31, 10], [21, 30, 10, 20], [31, 11, 21, 30]]


def test_racks_without_a_broker_that_is_up_lead_nothing() -> None:
    """The first replica comes from a rack with a broker that is up, wherever the round begins (Kafka's expectation)."""
    brokers = up(11, 10, rack="1") + fenced(30, 31, rack="3") + fenced(20, 21, rack="2")
    brokers += up(41, rack="4") + fenced(40, rack="4")
    assert drawn(brokers, 4, 4, 4) == [[41, 11, 21, 30], [10, 20, 31, 41], [41, 21, 30, 11]]


def test_a_topic_on_four_brokers_is_striped() -> None:
    """Five partitions of three replicas on four brokers, as Kafka's test expects them."""
    assert striped(up(0, 3, 2, 1), 5, 3, KafkasLuck()) == (
        (2, 3, 0),
        (3, 0, 1),
        (0, 1, 2),
        (1, 2, 3),
        (1, 0, 2),
    )


def test_many_partitions_are_spread_over_all_pairs() -> None:
    """Two hundred partitions of two replicas use every ordered pair of brokers, as often as in Kafka's test."""
    counts = Counter(striped(up(0, 1, 2, 3), 200, 2, KafkasLuck()))
    assert [counts[a, b] for a in range(4) for b in range(4) if a != b] == [
        *(14, 22, 14),
        *(17, 17, 16),
        *(13, 17, 20),
        *(20, 19, 11),
    ]


def test_one_broker_that_is_up_leads_everything() -> None:
    """All partitions of one replica go to the only broker that is up."""
    assert striped(up(0) + fenced(1), 3, 1, KafkasLuck()) == ((0,), (0,), (0,))


@pytest.mark.parametrize(
    ("candidates", "replication", "words"),
    [
        (fenced(10, 11), 1, "All brokers are currently fenced."),
        (
            up(10, 11),
            3,
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered or some "
            "brokers have all their log directories cordoned.",
        ),
        (up(10, 11), 0, "Invalid replication factor 0: the replication factor must be positive."),
    ],
)
def test_what_cannot_be_striped_is_refused_in_kafkas_words(
    candidates: list[Candidate], replication: int, words: str
) -> None:
    """No active broker, too few brokers or no replica: INVALID_REPLICATION_FACTOR, with Kafka's message."""
    with pytest.raises(Refused) as refused:
        striped(candidates, 1, replication, KafkasLuck())
    assert (refused.value.error, refused.value.message) == (ErrorCode.INVALID_REPLICATION_FACTOR, words)


@given(
    st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 30),
    st.data(),
)
def test_a_striped_partition_has_distinct_replicas_and_a_leader_that_is_up(
    brokers: list[tuple[str | None, bool]], partitions: int, data: Any
) -> None:
    """With any racks and fenced brokers replicas are distinct, as many as requested, and the first is active."""
    candidates = [Candidate(node, rack, down) for node, (rack, down) in enumerate(brokers)]
    alive = {candidate.node for candidate in candidates if not candidate.fenced}
    replication = data.draw(st.integers(1, len(brokers)))
    if not alive:
        with pytest.raises(Refused):
            striped(candidates, partitions, replication, Stream(1, "placement"))
        return
    for replicas in striped(candidates, partitions, replication, Stream(data.draw(st.integers(0, 99)), "placement")):
        assert len(set(replicas)) == len(replicas) == replication
        assert replicas[0] in alive


# --- rounds --------------------------------------------------------------------------------------------------------


def test_rounds_from_the_first_broker_lay_replica_j_of_partition_i_on_broker_i_plus_j() -> None:
    """With start and shift 0 partition i has its replicas on brokers i, i + 1 … mod n, until the round is over."""
    assert rounds(up(0, 1, 2, 3), 4, 3, None) == ((0, 1, 2), (1, 2, 3), (2, 3, 0), (3, 0, 1))


def test_the_shift_grows_with_every_round() -> None:
    """In the next round the second replica is one broker further away; the ten partitions are those Kafka documents."""
    assert rounds(up(0, 1, 2, 3, 4), 10, 3, None)[5:] == ((0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2))


def test_start_and_shift_are_drawn() -> None:
    """The first broker, then the shift, are drawn; the rest follows."""

    class Drawn:
        draws = iter((3, 1))

        def below(self, bound: int) -> int:
            assert bound == 4
            return next(self.draws)

        def shuffle(self, items: MutableSequence[Any]) -> None:
            raise AssertionError(items)

    assert rounds(up(0, 1, 2, 3), 3, 2, Drawn()) == ((3, 1), (0, 2), (1, 3))


RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_racks_alternate_in_the_list_that_is_gone_round() -> None:
    """The first of each rack, then the second of each; a rack that runs out is passed over (Kafka's expectation)."""
    assert alternated(RACKS) == [0, 3, 1, 5, 4, 2]
    assert alternated({node: rack for node, rack in RACKS.items() if node != 5}) == [0, 3, 1, 4, 2]


def test_rounds_with_racks_are_kafkas() -> None:
    """Seven partitions of three replicas on three racks of two, as Kafka's test expects them."""
    candidates = [Candidate(node, rack) for node, rack in RACKS.items()]
    assert rounds(candidates, 7, 3, None) == (
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    )


@given(st.integers(0, 99), st.integers(1, 6))
def test_rounds_with_racks_use_every_rack_before_one_twice(seed: int, replication: int) -> None:
    """Wherever it starts, a partition has as many racks as it can, and no broker twice."""
    candidates = [Candidate(node, rack) for node, rack in RACKS.items()]
    for replicas in rounds(candidates, 24, replication, Stream(seed, "placement")):
        assert len(set(replicas)) == replication
        assert len({RACKS[node] for node in replicas}) == min(3, replication)


@pytest.mark.parametrize(
    ("candidates", "partitions", "replication", "error", "words"),
    [
        (up(0), 0, 1, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (up(0), 1, 0, ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (up(0), 1, 2, ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor: 2 larger than available brokers: 1."),
        (
            up(0) + up(1, rack="a"),
            1,
            1,
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Not all brokers have rack information for replica rack aware assignment.",
        ),
    ],
)
def test_what_cannot_be_laid_in_rounds_is_refused_in_kafkas_words(
    candidates: list[Candidate], partitions: int, replication: int, error: ErrorCode, words: str
) -> None:
    """Numbers that make no sense, and racks of only some brokers, are refused with Kafka's text."""
    with pytest.raises(Refused) as refused:
        rounds(candidates, partitions, replication, None)
    assert (refused.value.error, refused.value.message) == (error, words)


# --- manual --------------------------------------------------------------------------------------------------------


def test_lists_by_hand_are_taken_as_they_are() -> None:
    """What is right is returned unchanged."""
    assert checked([[2, 0], [1, 2]], range(3)) == ((2, 0), (1, 2))


@pytest.mark.parametrize(
    ("assignment", "size", "words"),
    [
        ([[]], None, "an empty replica list."),
        ([[0, 7]], None, "broker 7, but no such broker is registered."),
        ([[1, 0, 1]], None, "the broker 1 more than once."),
        (
            [[0, 1], [2]],
            None,
            "a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 "
            "replica(s).",
        ),
        (
            [[0]],
            3,
            "a partition with 1 replica(s), but this is not consistent with previous partitions, which have 3 "
            "replica(s).",
        ),
    ],
)
def test_lists_by_hand_that_make_no_sense_are_refused(
    assignment: list[list[int]], size: int | None, words: str
) -> None:
    """An empty list, an unknown broker, one named twice, lists of unequal length: INVALID_REPLICA_ASSIGNMENT."""
    with pytest.raises(Refused) as refused:
        checked(assignment, range(3), size)
    assert refused.value.error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refused.value.message == "The manual partition assignment includes " + words
