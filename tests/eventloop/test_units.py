"""Durations as people write them."""

from __future__ import annotations

import pytest

from groupsim.eventloop.units import ms, parse_duration, seconds, show_us


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("300ms", 300_000),
        ("45s", 45_000_000),
        (" 2m ", 120_000_000),
        ("1h", 3_600_000_000),
        ("7d", 604_800_000_000),
        ("1m30s", 90_000_000),
        ("1.5s", 1_500_000),
        ("0.1s", 100_000),
        ("10us", 10),
        ("1_000ms", 1_000_000),
        ("0", 0),
        (0, 0),
    ],
)
def test_durations(text: str | int, us: int) -> None:
    """Numbers with units become microseconds, exactly."""
    assert parse_duration(text) == us


@pytest.mark.parametrize("text", ["", "5", "5 parsecs", "-3s", "s", "1s,5", "3s!", 5, 1.5, None, True, "0.0000001s"])
def test_what_is_no_duration(text: object) -> None:
    """Anything else is a ValueError; what lacks a unit is told how to write one."""
    with pytest.raises(ValueError, match=r"not a duration|a duration is not negative|finer than a microsecond"):
        parse_duration(text)  # type: ignore[arg-type]


def test_a_negative_duration_is_called_so() -> None:
    """A sign before a duration is said to be what is wrong with it."""
    with pytest.raises(ValueError, match="a duration is not negative"):
        parse_duration("-3s")


def test_units_are_exact() -> None:
    """A tenth of a second is exactly 100,000 µs, though 0.1 is not exact in binary."""
    assert seconds(0.1) == 100_000
    assert seconds("2.5") == 2_500_000
    assert ms(3) == 3_000


@pytest.mark.parametrize(
    ("us", "shown"), [(3_000_000, "3.000 s"), (3_000_125, "3.000125 s"), (0, "0.000 s"), (-1_500, "-0.001500 s")]
)
def test_times_shown(us: int, shown: str) -> None:
    """Times are shown in seconds, with microseconds only where there are any."""
    assert show_us(us) == shown
