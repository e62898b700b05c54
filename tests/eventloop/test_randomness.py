"""Named random streams: known answers, and that they are even."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from groupsim.eventloop.randomness import Stream

# Computed once; a change here changes every trace anybody has kept.
KNOWN = {
    (0, "latency", "", 0): [10156132288364261433, 8151000473805830243, 595559486199053307, 14179924169961223066],
    (1, "latency", "m1→b0", 0): [1989935328505908087, 14381058744994055287, 15906758486359380094, 10294479073836976205],
    (2**70, "ids", "ä", 3): [9021206048443146490, 17909676696226264654, 4228342364864884997, 7607079273954321498],
}


@pytest.mark.parametrize(("name", "words"), KNOWN.items(), ids=str)
def test_known_answers(name: tuple[int, str, str, int], words: list[int]) -> None:
    """The first words and the tenth of a stream never change."""
    stream = Stream(*name)
    drawn = [stream.word() for _ in range(10)]
    assert [*drawn[:3], drawn[9]] == words


def test_the_documented_construction() -> None:
    """The words are what the module says: blake2b over key and counter, the key over the parts of the name."""
    parts = b"".join(len(text).to_bytes(4, "little") + text for text in (b"5", b"purpose", b"x", b"2"))
    key = blake2b(b"groupsim.stream.1" + parts, digest_size=32).digest()
    digests = [blake2b(key + n.to_bytes(8, "little"), digest_size=64).digest() for n in range(3)]
    expected = [int.from_bytes(digest[at : at + 8], "little") for digest in digests for at in range(0, 64, 8)]
    stream = Stream(5, "purpose", "x", 2)
    assert [stream.word() for _ in range(24)] == expected


def test_every_part_of_the_name_counts() -> None:
    """Streams that differ in any part of their name differ, also where the parts join to the same text."""
    names = [(0, "ab", "c", 0), (0, "a", "bc", 0), (1, "ab", "c", 0), (0, "ab", "c", 1), (0, "ab", "", 0)]
    assert len({Stream(*name).word() for name in names}) == len(names)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 1_000_000, 2**63 + 1, 2**64])
def test_below_stays_below(bound: int) -> None:
    """`below(n)` lies in 0 … n - 1, for small and for the largest bounds."""
    stream = Stream(0, "below", str(bound))
    drawn = [stream.below(bound) for _ in range(200)]
    assert min(drawn) >= 0
    assert max(drawn) < bound
    assert len(set(drawn)) >= min(bound, 3)


@pytest.mark.parametrize("bound", [0, -1, 2**64 + 1])
def test_below_refuses_impossible_bounds(bound: int) -> None:
    """A bound that no word can serve is an error."""
    with pytest.raises(ValueError, match="bound"):
        Stream(0, "x").below(bound)


def test_below_is_even() -> None:
    """Each of six faces comes up in a sixth of 60,000 throws, within five standard deviations."""
    stream = Stream(0, "die")
    counts = [0] * 6
    for _ in range(60_000):
        counts[stream.below(6)] += 1
    assert all(abs(count - 10_000) < 5 * 91 for count in counts)


def test_below_draws_again_in_the_uneven_part() -> None:
    """Where multiplication would favour some values, the word is thrown away and another drawn."""
    stream = Stream(0, "x")
    words = iter([0, 5, 1 << 63])
    stream.word = lambda: next(words)
    # 2**64 mod 3 is 1, so only a product with low half 0 is uneven: the word 0.
    assert stream.below(3) == 0
    assert next(words) == 1 << 63


def test_chance_in_parts_per_million() -> None:
    """`chance(ppm)` never holds at 0, always at a million, and in a quarter of cases at 250,000."""
    stream = Stream(0, "chance")
    assert not any(stream.chance(0) for _ in range(1_000))
    assert all(stream.chance(1_000_000) for _ in range(1_000))
    assert 9_500 < sum(stream.chance(250_000) for _ in range(40_000)) < 10_500


def test_choice_and_shuffle() -> None:
    """`choice` takes each item now and then; `shuffle` keeps all items and changes their order, the same each time."""
    stream = Stream(0, "choice")
    assert {stream.choice("abc") for _ in range(100)} == set("abc")
    one, two = list(range(50)), list(range(50))
    Stream(0, "shuffle").shuffle(one)
    Stream(0, "shuffle").shuffle(two)
    assert one == two != list(range(50))
    assert sorted(one) == list(range(50))


def test_choice_of_nothing() -> None:
    """There is nothing to choose from an empty sequence."""
    with pytest.raises(ValueError, match="nothing to choose"):
        Stream(0, "x").choice([])
