"""Java's hashes and the order of its HashMap, against facts written down from Java itself."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groupsim.protocol.javahash import (
    JavaHashMap,
    java_abs_mod,
    java_copied_order,
    java_set_order,
    java_sorted,
    java_string_hash,
    topic_partition_hash,
)
from groupsim.protocol.messages.group import TopicPartition

HASHES = [
    ("", 0, 0),
    ("group-id", 506313513, 13),
    ("my-group", -1906497762, 12),
    ("test", 3556498, 48),
    ("foo", 101574, 24),
    ("polygenelubricants", -2147483648, 0),
]


@pytest.mark.parametrize(("text", "hashed", "partition"), HASHES)
def test_string_hash_and_offsets_partition_are_javas(text: str, hashed: int, partition: int) -> None:
    """The documented hash codes, and the partition of 50 they lead to, come out (the smallest integer gives 0)."""
    assert java_string_hash(text) == hashed
    assert java_abs_mod(text, 50) == partition


@given(st.text(st.characters(max_codepoint=127), max_size=600))
@example("z" * 255)
@example("z" * 256)
@example("z" * 257)
def test_string_hash_is_the_sum_that_java_documents(text: str) -> None:
    """Of ASCII strings of any length: s[0] * 31^(n-1) + s[1] * 31^(n-2) + ... + s[n-1], in 32 bits."""
    summed = sum(ord(unit) * 31**power for power, unit in enumerate(reversed(text)))
    assert java_string_hash(text) % 2**32 == summed % 2**32


def test_string_hash_goes_over_utf16_units() -> None:
    """A character beyond U+FFFF counts as its two surrogates."""
    assert java_string_hash("\U0001f600") == 31 * 0xD83D + 0xDE00


def test_topic_partition_hash_combines_topic_and_number() -> None:
    """31 * (31 + partition) + hash(topic), wrapped to 32 bits."""
    assert topic_partition_hash(TopicPartition("foo", 2)) == 31 * 33 + 101574
    wrapped = topic_partition_hash(TopicPartition("polygenelubricants", -100))
    assert wrapped == 2**31 + 31 * (31 - 100)


def test_strings_sort_by_utf16_unit() -> None:
    """A supplementary character sorts before U+FFFD, unlike in Python."""
    assert java_sorted(["\ufffd", "\U0001f600", "a"]) == ["a", "\U0001f600", "\ufffd"]
    assert java_sorted(["b", "B", "_", "-", "1"]) == ["-", "1", "B", "_", "b"]


def test_protocol_names_iterate_by_their_documented_buckets() -> None:
    """In a table of 16: sticky 8, range 9, roundrobin 10, cooperative-sticky 15."""
    names = ["cooperative-sticky", "roundrobin", "range", "sticky"]
    assert java_set_order(names) == ["sticky", "range", "roundrobin", "cooperative-sticky"]


def test_a_shared_bucket_keeps_insertion_order() -> None:
    """`default` and `compatible` share bucket 2, so the one that was added first comes first."""
    assert java_set_order(["default", "compatible"]) == ["default", "compatible"]
    assert java_set_order(["compatible", "default"]) == ["compatible", "default"]


def test_a_copy_of_twelve_has_room_for_more() -> None:
    """`new HashSet<>(twelve)` has 32 buckets, while twelve that were added one by one are in 16: as Java 17 has it."""
    twelve = [f"name-{7 * number}" for number in range(12)]
    order = [int(name[5:]) for name in java_copied_order(twelve)]
    assert order == [77, 56, 42, 21, 49, 35, 14, 7, 28, 0, 70, 63]
    assert java_set_order(twelve) != java_copied_order(twelve)


def test_removing_and_inserting_again_moves_to_the_end_of_the_bucket() -> None:
    """A key that left and came back follows its neighbours; a replaced value stays where it was."""
    votes = JavaHashMap({"default": 1, "compatible": 2})
    votes["default"] = 3
    assert list(votes.items()) == [("default", 3), ("compatible", 2)]
    del votes["default"]
    votes["default"] = 4
    assert list(votes.items()) == [("compatible", 2), ("default", 4)]


def test_the_table_doubles_past_three_quarters_and_never_shrinks() -> None:
    """12 entries fit 16 buckets, the 13th doubles them, and removals change nothing."""
    table: JavaHashMap[str, int] = JavaHashMap()
    for i in range(12):
        table[f"k{i * 7}"] = i
    assert table.capacity == 16
    table["one-more"] = 0
    assert table.capacity == 32
    table.clear()
    assert (len(table), table.capacity) == (0, 32)


def test_a_crowded_bucket_doubles_a_small_table_early() -> None:
    """The ninth entry of one bucket doubles a table below 64 buckets instead of making a tree."""
    same_bucket = [TopicPartition("", p) for p in range(1, 400, 1) if _bucket(p) == 0][:9]
    table = JavaHashMap(dict.fromkeys(same_bucket[:8]))
    assert table.capacity == 16
    table[same_bucket[8]] = None
    assert table.capacity == 32


def _bucket(partition: int) -> int:
    h = 31 * (31 + partition)
    return (h ^ (h >> 16)) & 15


def test_a_copy_is_independent_and_keeps_the_order() -> None:
    """Changing the copy leaves the original alone, and both iterate alike before that."""
    original = JavaHashMap({name: len(name) for name in ("a", "bb", "ccc")})
    twin = original.copy()
    assert list(twin) == list(original)
    del twin["a"]
    assert "a" in original
    assert "a" not in twin


class _LiteralHashMap:
    """Chained buckets with splitting on resize, written as Java's class works, to compare with."""

    def __init__(self) -> None:
        self.table: list[list[str]] = [[] for _ in range(16)]

    @staticmethod
    def spread(key: str) -> int:
        h = java_string_hash(key) & 0xFFFFFFFF
        return h ^ (h >> 16)

    def put(self, key: str) -> None:
        bucket = self.table[self.spread(key) % len(self.table)]
        if key in bucket:
            return
        bucket.append(key)
        if len(bucket) > 8 and len(self.table) < 64:
            self.resize()
        if sum(map(len, self.table)) > 0.75 * len(self.table):
            self.resize()

    def remove(self, key: str) -> None:
        self.table[self.spread(key) % len(self.table)].remove(key)

    def resize(self) -> None:
        bigger: list[list[str]] = [[] for _ in range(2 * len(self.table))]
        for bucket in self.table:
            for key in bucket:
                bigger[self.spread(key) % len(bigger)].append(key)
        self.table = bigger


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=3)), max_size=120))
def test_order_equals_a_literal_chained_table(steps: list[tuple[bool, str]]) -> None:
    """Whatever is inserted and removed, the order is that of a table with real buckets."""
    fast: JavaHashMap[str, None] = JavaHashMap()
    literal = _LiteralHashMap()
    for insert, key in steps:
        if insert:
            fast[key] = None
            literal.put(key)
        elif key in fast:
            del fast[key]
            literal.remove(key)
    assert list(fast) == [key for bucket in literal.table for key in bucket]
