"""Values of a file: units, comparisons, shares, rates."""

from __future__ import annotations

from fractions import Fraction

import pytest

from groupsim.scenarios.language.values import (
    END,
    read_count_is,
    read_distribution,
    read_duration,
    read_moment,
    read_names,
    read_rate,
    read_share,
    read_span_is,
    read_version,
)


@pytest.mark.parametrize(("found", "us"), [("300ms", 300_000), ("10s", 10**7), ("1m30s", 90 * 10**6), (0, 0)])
def test_durations_have_units(found: object, us: int) -> None:
    """A duration is text with its unit; 0 needs none."""
    assert read_duration(found) == us


@pytest.mark.parametrize("found", [10, 1.5, True, None, "", "10", "ten", [1], {}])
def test_what_is_no_duration_is_refused(found: object) -> None:
    """Bare numbers, words and shapes."""
    with pytest.raises(ValueError, match=r"duration|unit"):
        read_duration(found)


@pytest.mark.parametrize("found", [-4, "-4s", -0.5])
def test_negative_durations_are_called_so(found: object) -> None:
    """With a unit or without, the sign is reported first."""
    with pytest.raises(ValueError, match="a duration is not negative"):
        read_duration(found)


def test_end_is_a_moment() -> None:
    """`end` is later than everything."""
    assert read_moment("end") == END > read_moment("1000h")


@pytest.mark.parametrize(
    ("found", "yes", "no"),
    [
        (3, [3], [2, 4]),
        ("<= 4", [0, 4], [5]),
        ("< 4", [3], [4]),
        (">= 2", [2, 99], [1]),
        ("> 2", [3], [2]),
        ("2..5", [2, 5], [1, 6]),
    ],
)
def test_counts_are_compared(found: object, yes: list[int], no: list[int]) -> None:
    """A number, a comparison or a range."""
    bounds = read_count_is(found)
    assert all(bounds.holds(number) for number in yes)
    assert not any(bounds.holds(number) for number in no)


@pytest.mark.parametrize("found", ["10s ± 5ms", "10s +- 5ms", "10s+/-5ms", "9.995s..10.005s"])
def test_spans_have_a_tolerance(found: str) -> None:
    """Around a centre, or between two ends: both ends are included."""
    bounds = read_span_is(found)
    assert bounds.holds(9_995_000)
    assert bounds.holds(10_005_000)
    assert not bounds.holds(9_994_999)
    assert not bounds.holds(10_005_001)


@pytest.mark.parametrize("found", [-1, "-1", "3..1", "about 3", "", None, 2.5, "<=", True])
def test_impossible_comparisons_are_refused(found: object) -> None:
    """Negative numbers, empty ranges, words."""
    with pytest.raises(ValueError):  # noqa: PT011 - the words differ, that it is refused matters
        read_count_is(found)


def test_shares_round_as_kubernetes_does() -> None:
    """25 % of 3: a surge of 1, none unavailable."""
    share = read_share("25%")
    assert (share.of(3, round_up=True), share.of(3, round_up=False), read_share(2).of(3, round_up=True)) == (1, 0, 2)


@pytest.mark.parametrize("found", ["101%", "-1", -1, "some", 1.5])
def test_impossible_shares_are_refused(found: object) -> None:
    """More than everything, or a negative number."""
    with pytest.raises(ValueError, match="percentage"):
        read_share(found)


@pytest.mark.parametrize(
    ("found", "rate"), [("10/s", 10), ("30/min", Fraction(1, 2)), ("0.5/s", Fraction(1, 2)), (0, 0)]
)
def test_rates_are_exact(found: object, rate: object) -> None:
    """Records per second, minute or hour, as a fraction."""
    assert read_rate(found).per_second == rate


def test_a_version_is_text() -> None:
    """An unquoted whole version is taken as written."""
    assert read_version(3) == "3"
    with pytest.raises(ValueError, match="version"):
        read_version(True)


def test_names_are_one_or_several() -> None:
    """A name alone stands for a list of one."""
    assert read_names("a") == ("a",)
    assert read_names(["a", "b"]) == ("a", "b")
    with pytest.raises(ValueError, match="name"):
        read_names([])


def test_a_distribution_may_be_a_plain_duration() -> None:
    """`5ms` is always 5 ms."""
    assert read_distribution("5ms").quantile(0) == 5_000
    with pytest.raises(ValueError, match="unit"):
        read_distribution(5)


def test_a_percentage_above_a_hundred_is_told_with_what_can_be_written() -> None:
    """`surge: 400%` is no misspelt percentage: the message states the limit, and that a number is allowed."""
    with pytest.raises(ValueError, match="is a percentage above 100%; write 100% or less, or a number"):
        read_share("400%")
