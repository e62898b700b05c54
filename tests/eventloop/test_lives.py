"""Who keeps events of a host's life elsewhere than in the heap hears when it stops."""

from __future__ import annotations

from collections.abc import Callable

from groupsim.eventloop.heap import Life


def test_who_takes_it_back_is_told_no_more_and_all_others_are() -> None:
    """Whether one, two or three are told: one less, in any order, and the rest hear of a stop in theirs."""
    heard: list[str] = []
    first, second, third = (_who_notes(name, heard) for name in ("first", "second", "third"))
    life = Life("host")
    for told in (first, second, third):
        life.tell(told)
    for gone, left in ((second, ["first", "third"]), (first, ["third"]), (first, ["third"]), (third, [])):
        life.tell_no_more(gone)
        heard.clear()
        life.stop()
        assert heard == left


def _who_notes(name: str, heard: list[str]) -> Callable[[], None]:
    return lambda: heard.append(name)
