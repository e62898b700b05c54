"""A resolution of regular expressions, in steps beside the coordinator."""

from __future__ import annotations

from typing import Any

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.consumer.assignment.resolution import STEP, Resolution, resolve
from groupsim.protocol.patterns import LARGEST, compile_pattern

NAMES = ("orders", "orders.eu", "bills", "Orders")


class Topics:
    """Topics with these names; `version` is the image's."""

    def __init__(self, *names: str, version: int = 7) -> None:
        self._names = names
        self.version = self.created_version = version

    def names(self) -> tuple[str, ...]:
        """The names of all topics."""
        return self._names

    def topic(self, name: str) -> TopicView | None:
        """One topic."""
        return TopicView(f"id-{name}", name, 1) if name in self._names else None

    def topic_by_id(self, topic_id: str) -> TopicView | None:
        """One topic."""
        return self.topic(topic_id.removeprefix("id-"))


def found(*regexes: str, names: tuple[str, ...] = NAMES, **more: Any) -> dict[str, tuple[str, ...]]:
    """The topics of each text."""
    return {regex: one.topics for regex, one in resolve(regexes, Topics(*names), 5_000, **more).items()}


def test_a_text_finds_the_topics_that_match_as_a_whole() -> None:
    """`orders` finds no `orders.eu`; a text that is no expression finds nothing."""
    assert found("orders", "orders.*", "(?i)orders", "[") == {
        "orders": ("orders",),
        "orders.*": ("orders", "orders.eu"),
        "(?i)orders": ("Orders", "orders"),
        "[": (),
    }
    result = resolve(["orders"], Topics("orders"), 5_999)["orders"]
    assert (result.version, result.time_us) == (7, 5_000)


def test_topics_that_the_sender_may_not_describe_do_not_count() -> None:
    """It is asked once, for all topics of all texts."""
    asked: list[set[str]] = []

    def describable(names: Any) -> list[str]:
        asked.append(set(names))
        return [name for name in names if name != "orders.eu"]

    assert found("orders.*", "b.*", describable=describable) == {"orders.*": ("orders",), "b.*": ("bills",)}
    assert asked == [{"orders", "orders.eu", "bills"}]


def test_many_topics_are_matched_in_steps() -> None:
    """Two texts and five thousand topics take five steps; the result is that of one."""
    names = tuple(f"t{number}" for number in range(5 * STEP // 2))
    resolution = Resolution(["t.*", "t1"], Topics(*names))
    steps = 1
    while not resolution.step():
        steps += 1
    assert steps == 6
    assert resolution.result(5_000) == resolve(["t.*", "t1"], Topics(*names), 5_000)


def test_a_large_pattern_matches_one_topic_in_a_step() -> None:
    """Its work is counted by its size, so that no step takes long."""
    large = "(?:a|b?){1000}" * 15
    assert LARGEST * 0.8 < compile_pattern(large).size <= LARGEST
    resolution = Resolution([large], Topics("a", "b", "c"))
    assert [resolution.step() for _ in range(4)] == [False, False, False, True]
    assert resolution.result(0)[large].topics == ("a", "b")
