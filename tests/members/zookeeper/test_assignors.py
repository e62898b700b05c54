"""Range and roundrobin of 0.8, as each member computes its share."""

from __future__ import annotations

import pytest

from groupsim.members.zookeeper.assignors import CannotDecide, View, range_share, roundrobin_share
from groupsim.members.zookeeper.paths import Registration, partitions_in, stream_of

STREAMS = ("g_a-0", "g_b-0", "g_c-0")


def view(
    stream: str, partitions: int = 7, streams: tuple[str, ...] = STREAMS, topics: tuple[str, ...] = ("t",)
) -> View:
    """Return the view of one member."""
    sizes = dict.fromkeys(topics, tuple(range(partitions)))
    return View(stream, topics, sizes, dict.fromkeys(topics, streams))


def test_range_gives_the_first_ones_more() -> None:
    """Seven partitions for three streams: 3, 2, 2, in ranges."""
    shares = [[p.partition for p in range_share(view(stream))] for stream in STREAMS]
    assert shares == [[0, 1, 2], [3, 4], [5, 6]]


def test_range_leaves_the_last_ones_without() -> None:
    """Two partitions for three streams: the last one gets none."""
    assert [len(range_share(view(stream, 2))) for stream in STREAMS] == [1, 1, 0]


def test_roundrobin_deals_everything_once() -> None:
    """Shares of equal views are complete and disjoint, and differ by one at most."""
    shares = [roundrobin_share(view(stream, 7, topics=("t", "u"))) for stream in STREAMS]
    assert len({partition for share in shares for partition in share}) == sum(map(len, shares)) == 14
    assert sorted(map(len, shares)) == [4, 5, 5]


def test_roundrobin_deals_in_the_order_of_javas_hashes() -> None:
    """`[t,10]` precedes `[t,0]`: topics are ordered by their hashes."""
    dealt = roundrobin_share(view("g_a-0", 12, ("g_a-0",)))
    assert [p.partition for p in dealt] == [10, 11, *range(10)]
    both = roundrobin_share(view("g_a-0", 2, ("g_a-0",), ("b", "a")))
    assert [str(p) for p in both] == ["a-0", "a-1", "b-0", "b-1"]


def test_roundrobin_wants_equal_subscriptions() -> None:
    """Streams that want different topics are refused."""
    mixed = View("g_a-0", ("t", "u"), {"t": (0,), "u": (0,)}, {"t": STREAMS, "u": STREAMS[:1]})
    with pytest.raises(CannotDecide, match="same topics"):
        roundrobin_share(mixed)


def test_who_does_not_find_itself_cannot_decide() -> None:
    """The own registration may be gone when the others are read."""
    with pytest.raises(CannotDecide, match="does not find itself"):
        range_share(view("g_z-0"))


def test_different_views_overlap() -> None:
    """A member that has not read a newcomer's node claims the newcomer's share: split brain."""
    old = range_share(view("g_b-0", 6, STREAMS[:2]))
    new = range_share(view("g_c-0", 6))
    assert [str(p) for p in old if p in new] == ["t-4", "t-5"]


def test_a_registration_reads_as_it_was_written() -> None:
    """A subscription resolves by names, or by a pattern that matches whole names."""
    for one in (Registration(("a", "b")), Registration(pattern="a.*")):
        assert Registration.read(one.written(5)) == one
    assert Registration(pattern="a.").resolved(("ab", "abc", "b")) == ("ab",)
    assert Registration(("x",)).resolved(()) == ("x",)


def test_claims_name_streams() -> None:
    """A stream is named after its consumer with a number; partitions are sorted by number."""
    assert stream_of("g_h-1-ab") == "g_h-1-ab-0"
    assert partitions_in('{"partitions": {"10": [0], "9": [1]}}') == (9, 10)
