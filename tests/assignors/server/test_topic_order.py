"""Targets have their topics in the order of Kafka's maps; expected are records that Apache Kafka 4.4.0 wrote."""

from __future__ import annotations

import pytest

from groupsim.assignors.server.interface import ServerGroup, ServerMember, Target
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.topic_order import CopiedTopics
from groupsim.assignors.server.uniform import ServerUniform

ONE_OF_SIX, ONE_OF_TWO = "RkiNmG3OQHWLvR45zYep6Q", "c7gmzfGcTpS47nV8DYEirQ"
CHAIN_A, CHAIN_B = "6beUQDcTRnODeB2aBPeoIw", "WqdFIBRISsuIv9GUPl6Hiw"
SOON_A, SOON_B = "FT7KXijHQBOVa9GWOPIQng", "d_M726rFTTaR2TbC2mYfKA"
THREE_A, THREE_B, THREE_C = "H0krDa6pTOKusWLOb44LZg", "iLPHQxHIS3OwtRK0Xy3qIQ", "QBZKWiZcTSGGUdrcsuHyEQ"
FIRST, LATER = "TUSkWPlnQ6KHWOVs2ojAVA", "pGonz3Z0SeqnZE2nnoylfg"


class Counts:
    """Topics by their numbers of partitions, without racks."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    def partitions(self, topic_id: str) -> int | None:
        return self._counts.get(topic_id)

    def racks(self, topic_id: str, partition: int) -> frozenset[str]:
        return frozenset()


@pytest.mark.parametrize(
    ("counts", "old", "expected"),
    [
        ({ONE_OF_SIX: 6, ONE_OF_TWO: 2}, {}, [ONE_OF_SIX, ONE_OF_TWO]),
        ({CHAIN_A: 3, CHAIN_B: 3}, {}, [CHAIN_A, CHAIN_B]),
        ({SOON_A: 1, SOON_B: 1}, {}, [SOON_B, SOON_A]),
        ({THREE_A: 3, THREE_B: 1, THREE_C: 4}, {}, [THREE_C, THREE_A, THREE_B]),
        ({FIRST: 1, LATER: 2}, {FIRST: (0,)}, [FIRST, LATER]),
    ],
)
def test_uniform_orders_topics_as_the_map_of_kafka(counts: dict[str, int], old: Target, expected: list[str]) -> None:
    """One member gets all partitions; the record of its target names the topics in this order."""
    member = ServerMember("a", tuple(counts), old)
    found = ServerUniform().assign(ServerGroup((member,), homogeneous=True), Counts(counts))
    assert list(found["a"]) == expected


def test_a_topic_that_lost_its_partitions_is_no_key_any_more() -> None:
    """A topic leaves the map with its last partition, and comes back as the newest one of its bucket."""
    topics = CopiedTopics({SOON_A: (0,), SOON_B: (0, 1)})
    topics.take(SOON_A)
    topics.take(SOON_B)
    assert topics.in_order() == [SOON_B]
    topics.grant(SOON_A)
    assert topics.in_order() == [SOON_A, SOON_B]


@pytest.mark.parametrize(
    ("missing", "homogeneous", "expected"),
    [(0, False, ["second", "first"]), (1, False, ["first", "second"]), (1, True, ["second", "first"])],
)
def test_range_makes_room_for_topics_that_do_not_exist(missing: int, homogeneous: bool, expected: list[str]) -> None:
    """Where subscriptions differ, the map of a target has room for all names, and else for the topics that exist."""
    first, second = "QVy1bhgMCw_XID1BCCXkVw", "uwHaq6BLJZroaucF3C0z1w"
    member = ServerMember("p", (second, first), {}, missing=missing)
    found = ServerRange().assign(ServerGroup((member,), homogeneous), Counts({first: 3, second: 2}))
    assert list(found["p"]) == [{"first": first, "second": second}[one] for one in expected]
