"""The order of Scala's immutable HashMap, against what Scala 2.13.15 itself yields."""

from __future__ import annotations

import pytest

from groupsim.protocol.scalahash import scala_map_order

YIELDED = [
    (["sticky", "range", "roundrobin", "cooperative-sticky"], ["cooperative-sticky", "roundrobin", "range", "sticky"]),
    (["default", "compatible"], ["compatible", "default"]),
    (["sessioned", "eager", "v0", "v1", "v2"], ["eager", "v2", "v1", "v0", "sessioned"]),
]


@pytest.mark.parametrize(("keys", "order"), YIELDED)
def test_names_of_protocols_come_as_scala_yields_them(keys: list[str], order: list[str]) -> None:
    """Whatever the order was in which they came."""
    assert scala_map_order(keys) == order
    assert scala_map_order(keys[::-1]) == order


def test_keys_that_share_a_place_come_after_those_that_have_one() -> None:
    """With eighty names there are nodes below the root; these are the first and the last that Scala yields."""
    order = scala_map_order(f"name-{7 * number}" for number in range(80))
    assert [int(name[5:]) for name in (*order[:6], *order[-6:])] == [
        532,
        483,
        252,
        84,
        525,
        497,
        420,
        21,
        385,
        406,
        364,
        266,
    ]
