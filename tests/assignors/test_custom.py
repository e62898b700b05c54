"""A user's own assignor: found by name, run, and when it misbehaves, traced to the user's file and line."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors import (
    Assignor,
    AssignorError,
    CooperativeStickyAssignor,
    JavaFailure,
    RackFirstAssignor,
    RebalanceProtocol,
    StickyAssignor,
    resolve,
    run_assignor,
)
from groupsim.assignors.base.error_location import locate_errors
from groupsim.assignors.registry import known_names
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from tests.helpers.assignor_groups import member, parts, problems, random_members, random_topics, shown, topics

MINE = """
from groupsim.assignors import Assignor
from groupsim.protocol.embedded.assignment import GroupAssignment

class Greedy(Assignor):
    name = "greedy"

    def assign(self, topics, members):
        return self.broken(topics) if len(members) > 1 else GroupAssignment({members[0].member_id: ()})

    def broken(self, topics):
        return topics["no such topic"]

class Nameless(Assignor):
    def assign(self, topics, members):
        return None

class Fussy(Greedy):
    def __init__(self):
        raise ValueError("needs a setting")

class Stranger:
    pass
"""
LINE_OF_ASSIGN, LINE_OF_ERROR = 8, 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the user's module, under a name that no other test imports."""
    module = f"mine_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(MINE)
    return tmp_path


def mine(folder: Path, name: str) -> str:
    """`module:Class` of a class in the user's module."""
    return f"{next(folder.glob('*.py')).stem}:{name}"


KAFKAS = ["range", "roundrobin", "sticky", "cooperative-sticky"]


@pytest.mark.parametrize("name", [*KAFKAS, "rack-first"])
def test_a_name_gives_a_new_object_each_time(name: str) -> None:
    """Each consumer has an assignor of its own."""
    first, second = resolve(name), resolve(name)
    assert first.name == name
    assert first is not second


def test_java_class_names_are_mapped() -> None:
    """Pasted properties name the class."""
    pasted = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    assert isinstance(resolve(pasted), CooperativeStickyAssignor)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    """A misspelt name is an error with a proposal and the list of what there is."""
    with pytest.raises(AssignorError, match=r"did you mean 'roundrobin'\? Known are range, .*module:Class"):
        resolve("round-robin")
    with pytest.raises(AssignorError, match="no such assignor; known are range, "):
        resolve("com.acme.Weighted")


def test_a_class_is_found_beside_the_file_that_names_it(folder: Path) -> None:
    """`module:Class` is looked for in the folder given, and Python's path is as before afterwards."""
    before = list(sys.path)
    assert resolve(mine(folder, "Greedy"), folder).name == "greedy"
    assert sys.path == before


def test_an_entry_point_is_found_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that registers one makes it known to `resolve` and to the list of names."""
    info = folder / "their_assignors-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-assignors\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[groupsim.assignors]\ntheirs = {mine(folder, 'Greedy')}\n")
    monkeypatch.syspath_prepend(str(folder))
    assert "theirs" in known_names()
    assert resolve("theirs").name == "greedy"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_such_module_here:X", "there is no module 'no_such_module_here'"),
        ("Gredy", "has no 'Gredy'; did you mean 'Greedy'?"),
        ("Stranger", "class Stranger is no assignor; inherit from"),
        ("Nameless", "needs a `name`"),
        ("Fussy", r"Fussy\(\) failed: ValueError: needs a setting"),
    ],
)
def test_what_cannot_be_used_is_said_at_once(folder: Path, name: str, text: str) -> None:
    """A missing module or class, a class that is no assignor, has no name or cannot be made: each its own sentence."""
    with pytest.raises(AssignorError, match=text.replace("?", r"\?")):
        resolve(name if ":" in name else mine(folder, name), folder)


def test_a_module_that_fails_to_import_names_its_line(tmp_path: Path) -> None:
    """An error at import time is the user's, with file and line."""
    (tmp_path / "mine_that_breaks.py").write_text("x = 1\ny = 1 / 0\n")
    with pytest.raises(AssignorError) as failure:
        resolve("mine_that_breaks:X", tmp_path)
    assert failure.value.where == f"{tmp_path / 'mine_that_breaks.py'}:2"


def test_what_it_raises_is_traced_to_the_users_innermost_line(folder: Path) -> None:
    """The line that failed in the user's own file, with the exception as the cause."""
    assignor = resolve(mine(folder, "Greedy"), folder)
    with pytest.raises(AssignorError, match="raised KeyError: 'no such topic'") as failure:
        run_assignor(assignor, topics(t=1), [member("a", "t"), member("b", "t")])
    assert failure.value.where == f"{next(folder.glob('*.py'))}:{LINE_OF_ERROR}"
    assert isinstance(failure.value.__cause__, KeyError)


def test_what_it_returns_is_traced_to_its_assign(folder: Path) -> None:
    """Nonsense has no traceback: the error points at the definition of `assign`."""
    assignor = resolve(mine(folder, "Greedy"), folder)
    assignor.broken = lambda topics: None  # type: ignore[attr-defined]
    with pytest.raises(AssignorError, match="returned None; return a GroupAssignment") as failure:
        run_assignor(assignor, topics(t=1), [member("a", "t"), member("b", "t")])
    assert failure.value.where == f"{next(folder.glob('*.py'))}:{LINE_OF_ASSIGN}"


def test_blame_covers_the_other_methods_too(folder: Path) -> None:
    """Whatever is called inside `locate_errors` and raises becomes an AssignorError with a place."""
    assignor = resolve(mine(folder, "Greedy"), folder)
    with pytest.raises(AssignorError, match="raised AttributeError"), locate_errors(assignor):
        assignor.no_such_thing  # type: ignore[attr-defined] # noqa: B018


class Returns(Assignor):
    """An assignor that returns what the test wants it to."""

    name = "returns"
    protocols = frozenset({RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE})

    def __init__(self, result: object) -> None:
        self.result = result

    def assign(self, topics: Mapping[str, TopicMetadata], members: Sequence[MemberSubscription]) -> GroupAssignment:
        return self.result  # type: ignore[return-value]


def gives(**held: str) -> GroupAssignment:
    """An assignment from text."""
    return GroupAssignment({name: parts(text) for name, text in held.items()})


NONSENSE: list[tuple[object, str]] = [
    ({"a": ()}, "returned a dict; return a GroupAssignment"),
    (42, "returned an int; return a GroupAssignment"),
    (GroupAssignment([]), r"partitions is a list; it maps"),  # type: ignore[arg-type]
    (GroupAssignment({"a": None, "b": ()}), "gave member 'a' None; give a tuple"),  # type: ignore[dict-item]
    (GroupAssignment({"a": (("t", 0),), "b": ()}), r"a tuple \('t', 0\); give TopicPartition"),  # type: ignore[dict-item]
    (gives(a="t-0 t-0", b=""), "gave t-0 to member 'a', twice"),
    (gives(a="t-0", b="t-0"), "gave t-0 to member 'b', which it had already given to 'a'"),
    (gives(a="t-0", b="", c=""), "gave partitions to 'c', which is no member of the group"),
    (gives(a="u-0", b=""), r"gave u-0 to member 'a', which does not subscribe to that topic \(it does to gone, t\)"),
    (gives(a="", b="elsewhere-0"), r"gave elsewhere-0 to member 'b', which does not subscribe to that topic \(it does"),
    (gives(a="t-7", b=""), r"gave t-7 to member 'a', a partition that does not exist \(the topic has 2\)"),
    (gives(a="gone-0", b=""), "gave gone-0 to member 'a', a topic that is not in the metadata"),
    (gives(a="t-0 t-1"), "left out member 'b'; every member needs an entry"),
    (GroupAssignment({"a": (), "b": ()}, {"a": "text"}), "user_data of member 'a' is a str"),  # type: ignore[dict-item]
    (GroupAssignment({"a": (), "b": ()}, {"c": b""}), "gave user_data to 'c'"),
]


@pytest.mark.parametrize(("result", "text"), NONSENSE, ids=[text[:40] for _, text in NONSENSE])
def test_nonsense_is_named(result: object, text: str) -> None:
    """Wrong types, a partition twice, a stranger, an unsubscribed or unknown partition, a member left out."""
    members = [member("a", "t gone"), member("b", "t u")]
    with pytest.raises(AssignorError, match=text):
        run_assignor(Returns(result), topics(t=2, u=1), members)


def test_as_kafka_checks_only_types() -> None:
    """The Java client sends out what a custom eager assignor returns, a partition twice included."""
    members = [member("a", "t"), member("b", "t")]
    double = gives(a="t-0", b="t-0")
    assert run_assignor(Returns(double), topics(t=1), members, as_kafka=True) is double
    with pytest.raises(AssignorError, match="returned None"):
        run_assignor(Returns(None), topics(t=1), members, as_kafka=True)


def test_cooperative_must_not_move_in_one_round() -> None:
    """A partition taken from one member and given to another at once is an error under COOPERATIVE alone."""
    members = [member("a", "t", "t-0", 1), member("b", "t")]
    moved = Returns(gives(a="", b="t-0"))
    run_assignor(moved, topics(t=1), members, RebalanceProtocol.EAGER)
    with pytest.raises(AssignorError, match="moved t-0 from member 'a' to 'b' in one round"):
        run_assignor(moved, topics(t=1), members, RebalanceProtocol.COOPERATIVE)


def test_kafkas_own_are_not_judged() -> None:
    """Their defects are results: an invalid assignment passes, and a Java exception comes as JavaFailure."""
    full = [member("a", "t", "t-5", 1), member("b", "t", "t-6", 1)]
    with pytest.raises(JavaFailure):
        run_assignor(StickyAssignor(), topics(t=2), full)
    phantom = run_assignor(StickyAssignor(), topics(t=2), [member("a", "t", "t-5", 1), member("b", "t")])
    assert shown(phantom)["a"] == ["t-5"]


def test_rack_first_puts_racks_before_balance() -> None:
    """Every partition that can be read within its rack is; what nobody is near to evens the counts out."""
    known = {"t": TopicMetadata("t", 5, (("a",), ("a",), ("a", "b"), ("c",), ("c",)))}
    members = [member("m1", "t", rack="a"), member("m2", "t", rack="b")]
    assert shown(RackFirstAssignor().assign(known, members)) == {"m1": ["t-0", "t-1", "t-4"], "m2": ["t-2", "t-3"]}


@given(st.data(), st.booleans())
def test_rack_first_passes_the_checks(data: st.DataObject, racks: bool) -> None:
    """Whatever the group, the example is valid, and without racks it is balanced like a good neighbour."""
    known = data.draw(random_topics(racks=racks))
    members = data.draw(random_members(known, uniform=not racks, racks=racks))
    result = run_assignor(RackFirstAssignor(), known, members)
    assert problems(known, members, result) == []
    counts = [len(held) for held in result.partitions.values()]
    assert racks or max(counts) - min(counts) <= 1
