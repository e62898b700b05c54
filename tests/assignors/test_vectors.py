"""Every recorded result of Kafka's own assignor classes, round by round."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from groupsim.cli.assign.documents import parse_document
from groupsim.cli.assign.results import run_document

FILE = Path(__file__).parent.parent / "data" / "vectors" / "client_assignors.jsonl"
VECTORS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
ROUND = tuple[Mapping[str, Any], Mapping[str, Any], str]

# The three texts that a computer cannot read, as what they say: who gets nothing but what it claims.
ONLY_CLAIMED = {
    "consumer1 and consumer2 get only partitions they claim": ("consumer1", "consumer2"),
    "consumer2 and consumer3 (the newest generation) get only partitions they claim": ("consumer2", "consumer3"),
}


def rounds(vector: Mapping[str, Any]) -> list[ROUND]:
    """Each round of a vector with what we gave for it."""
    result = run_document(vector)
    given = [result, *result.get("steps", ())]
    return [(one, ours, vector["assignor"]) for one, ours in zip([vector, *vector.get("steps", ())], given)]


def as_sets(assignment: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, list[Sequence[Any]]]:
    """An assignment without the order inside its lists."""
    return {member: sorted(held) for member, held in assignment.items()}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_every_round_equals_kafkas(vector: Mapping[str, Any]) -> None:
    """Kafka's result comes out in every round, order-dependent ones included: as a list where its order counts."""
    for one, ours, _ in rounds(vector):
        expect = one["expect"]
        if "error" in expect:
            assert ours["error"].startswith(expect["error"])
            continue
        theirs = expect["exact"] if "exact" in expect else expect["java"]
        assert as_sets(ours["assignment"]) == as_sets(theirs)
        if expect.get("compare") == "list":
            assert ours["assignment"] == theirs
        if "transferring" in expect:
            assert sorted(ours["transferring"]) == sorted(expect["transferring"])


PROPERTY_VECTORS = [
    vector for vector in VECTORS if any("exact" not in one["expect"] for one in [vector, *vector.get("steps", ())])
]


@pytest.mark.parametrize("vector", PROPERTY_VECTORS, ids=[vector["id"] for vector in PROPERTY_VECTORS])
def test_every_stated_property_holds(vector: Mapping[str, Any]) -> None:
    """What a vector promises beside an exact result (valid, balanced, sizes, sticky) is true of ours."""
    for one, ours, assignor in rounds(vector):
        for name, promised in one["expect"].items():
            if name in CHECKS:
                assert CHECKS[name](one, ours, promised, assignor), (name, promised)


def _valid(one: Mapping[str, Any], ours: Mapping[str, Any], promised: bool, assignor: str) -> bool:
    wanted = {member["id"]: member["topics"] for member in one["members"]}
    given = [(member, tuple(p)) for member, held in ours["assignment"].items() for p in held]
    every = {topic for topics in wanted.values() for topic in topics}
    total = sum(topic["partitions"] for name, topic in one["topics"].items() if name in every)
    cooperative = assignor == "cooperative-sticky"
    complete = len(given) == total or (cooperative and len(given) <= total)
    return complete and len({p for _, p in given}) == len(given) and all(p[0] in wanted[m] for m, p in given)


def _balanced(one: Mapping[str, Any], ours: Mapping[str, Any], promised: bool, assignor: str) -> bool:
    wanted = {member["id"]: member["topics"] for member in one["members"]}
    counts = ours["counts"]
    return all(
        counts[holder] - counts[member] < 2
        for holder, held in ours["assignment"].items()
        for topic, _ in held
        for member in wanted
        if topic in wanted[member]
    )


def _fully_balanced(one: Mapping[str, Any], ours: Mapping[str, Any], promised: bool, assignor: str) -> bool:
    return max(ours["counts"].values()) - min(ours["counts"].values()) <= 1


def _sticky(one: Mapping[str, Any], ours: Mapping[str, Any], promised: str, assignor: str) -> bool:
    claims = {member["id"]: member.get("owned", []) for member in one["members"]}
    if promised in ONLY_CLAIMED:
        return all(p in claims[member] for member in ONLY_CLAIMED[promised] for p in ours["assignment"][member])
    if promised == "owned partitions still subscribed are kept":
        wanted = {member["id"]: member["topics"] for member in one["members"]}
        return all(
            p in ours["assignment"][member] for member in claims for p in claims[member] if p[0] in wanted[member]
        )
    if promised.startswith("the new member gets exactly"):
        return all(p in ours["assignment"][member] for member in claims for p in claims[member])
    assert promised == "no two members exchange partitions of one topic"
    owner = {tuple(p): member for member, held in claims.items() for p in held}
    moves = {
        (p[0], owner[tuple(p)], member)
        for member, held in ours["assignment"].items()
        for p in held
        if owner.get(tuple(p), member) != member
    }
    return not any((topic, target, source) in moves for topic, source, target in moves)


def _exact_members(one: Mapping[str, Any], ours: Mapping[str, Any], promised: Any, assignor: str) -> bool:
    return all(sorted(ours["assignment"][member]) == sorted(held) for member, held in promised.items())


CHECKS = {
    "valid": _valid,
    "balanced": _balanced,
    "fully_balanced": _fully_balanced,
    "sticky": _sticky,
    "exact_members": _exact_members,
    "sizes": lambda one, ours, promised, _: promised.items() <= ours["counts"].items(),
    "size_range": lambda one, ours, promised, _: all(
        promised[0] <= count <= promised[1] for count in ours["counts"].values()
    ),
    "no_duplicates": lambda one, ours, promised, _: (
        len({tuple(p) for held in ours["assignment"].values() for p in held}) == sum(ours["counts"].values())
    ),
    "transferring_count": lambda one, ours, promised, _: len(ours["transferring"]) == promised,
}


def test_all_vectors_are_here() -> None:
    """The file holds the 292 cases, each readable as a document of `groupsim assign`."""
    assert len({vector["id"] for vector in VECTORS}) == 292
    assert sum(len(parse_document(vector).rounds) for vector in VECTORS) == 441
