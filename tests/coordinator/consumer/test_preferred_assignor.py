"""The assignor of a group, with the order of Java's maps as the rule for ties."""

from __future__ import annotations

import pytest

from groupsim.coordinator.consumer.assignment.preferred_assignor import next_preferred_assignor, preferred_assignor
from groupsim.coordinator.consumer.assignment.timeline_order import timeline_order

SHOWN: list[tuple[dict[str, int], str | None]] = [
    ({}, None),
    ({"range": 1}, "range"),
    ({"range": 1, "uniform": 1}, "uniform"),
    ({"range": 2, "uniform": 1}, "range"),
    ({"range": 2, "uniform": 2}, "uniform"),
]


@pytest.mark.parametrize(("votes", "chosen"), SHOWN)
def test_the_assignor_with_most_votes_is_shown(votes: dict[str, int], chosen: str | None) -> None:
    """A tie between Kafka's two assignors goes to `uniform`."""
    assert preferred_assignor(votes) == chosen


NEXT: list[tuple[dict[str, int], str | None, str | None, str | None]] = [
    ({}, None, None, None),
    ({}, None, "range", "range"),
    ({"range": 1}, "range", "uniform", "uniform"),
    ({"range": 1}, "range", None, None),
    ({"range": 1}, None, "uniform", "uniform"),
    ({"uniform": 1}, None, "range", "range"),
    ({"range": 1, "uniform": 1}, "uniform", "uniform", "uniform"),
    ({"range": 1, "uniform": 1}, "range", "range", "range"),
    ({"range": 1, "uniform": 1}, None, None, "uniform"),
    ({"range": 2, "uniform": 2}, "uniform", "uniform", "uniform"),
    ({"range": 2, "uniform": 2}, "range", "range", "uniform"),
]


@pytest.mark.parametrize(("votes", "old", "new", "chosen"), NEXT)
def test_a_heartbeat_takes_its_vote_out_and_adds_it_again(
    votes: dict[str, int], old: str | None, new: str | None, chosen: str | None
) -> None:
    """With one vote for each, the choice is that of the member that asks; with two for each it is `uniform`."""
    assert next_preferred_assignor(votes, old, new) == chosen


def test_timeline_maps_yield_their_keys_in_kafkas_order() -> None:
    """The order of `TimelineHashMap` of Kafka 4.4.0 for ten and for thirty keys, put one by one."""
    assert "".join(timeline_order("abcdefghij", replaced=False)) == "fchejbgdia"
    numbers = [
        int(key.removeprefix("member-"))
        for key in timeline_order([f"member-{one}" for one in range(30)], replaced=False)
    ]
    assert numbers == [
        *(21, 13, 26, 3, 18, 23, 10, 8, 0, 28, 15, 20, 5, 25, 12),
        *(2, 17, 7, 22, 14, 27, 4, 19, 24, 11, 9, 1, 29, 16, 6),
    ]


def test_a_replaced_value_may_double_the_table() -> None:
    """Two keys of one slot come newest first, until a value is replaced and they get slots of their own."""
    assert timeline_order(["b", "a"], replaced=False) == ["a", "b"]
    assert timeline_order(["b", "a"]) == timeline_order(["a", "b"]) == ["b", "a"]
