"""`groupsim.testing.mutant` and `caught`: bugs are put back for a block, or for a second run of a test."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from groupsim import Simulation
from groupsim.testing import Patcher, mutant, mutants
from groupsim.testing.patcher import Patches

pytest_plugins = ["pytester"]

SILENT = {"session.timeout.ms": 6_000, "max.poll.interval.ms": 10_000}


async def silent_leader(sim: Simulation) -> str:
    """The state of a group whose leader heartbeats and never sends its SyncGroup, after its rebalance timeout."""
    sim.topic("orders", 2)
    sim.member("c1", stuck="never-sync", properties=SILENT)
    await sim.in_state("CompletingRebalance")
    await sim.run_for("60s")
    return "removed" if sim.find("member.removed", reason="sync-timeout") else "kept"


def outcome() -> str:
    """What becomes of the silent leader in a simulation of its own."""
    result: str = Simulation(seed=1).run(silent_leader)
    return result


@pytest.mark.parametrize("bug", ["KAFKA-12890", "no_sync_deadline", mutants.no_sync_deadline])
def test_a_mutant_is_in_force_within_its_block(bug: Any) -> None:
    """It is found by its issue, its name or its function, and simulations after the block do not have it."""
    assert outcome() == "removed"
    with mutant(bug):
        assert outcome() == "kept"
    assert outcome() == "removed"


def test_a_mutant_is_taken_back_when_its_block_raises() -> None:
    """An error in the block does not leave the bug behind."""
    with pytest.raises(KeyError), mutant("KAFKA-12890"):
        raise KeyError
    assert outcome() == "removed"


def test_a_mutant_that_is_not_known_is_refused_with_the_nearest() -> None:
    """Nothing is put back then."""
    with pytest.raises(ValueError, match=r"no mutant or issue 'no_sync_dedline'; did you mean 'no_sync_deadline'\?"):
        mutant("KAFKA-8500", "no_sync_dedline").__enter__()
    with pytest.raises(ValueError, match=r"docs/regressions\.md lists them"), mutant("?"):
        pass
    with pytest.raises(AttributeError, match="has no mutant 'no_sync'"):
        _ = mutants.no_sync


class Recorder:
    """A patcher that remembers what each attribute and item was before it changed it."""

    def __init__(self, undo: ExitStack) -> None:
        self.patches = Patches(undo)
        self.before: list[tuple[dict[Any, Any], Any, Any]] = []

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """Note the attribute as it is stored, and set it."""
        self.before.append((vars(target), name, vars(target).get(name)))
        self.patches.setattr(target, name, value)

    def setitem(self, dic: Any, name: Any, value: Any) -> None:
        """Note the item, and set it."""
        self.before.append((dic, name, dic.get(name)))
        self.patches.setitem(dic, name, value)


@pytest.mark.parametrize("name", mutants.by_name())
def test_what_a_mutant_changes_is_as_before_after_it(name: str) -> None:
    """Each mutant changes something, and every attribute and item is the same object again."""
    with ExitStack() as undo:
        recorder = Recorder(undo)
        patcher: Patcher = recorder
        mutants.by_name()[name](patcher)
        assert any(where.get(key) is not was for where, key, was in recorder.before)
    assert [key for where, key, was in recorder.before if where.get(key) is not was] == []


def test_an_attribute_that_was_inherited_is_inherited_again() -> None:
    """A patch of a subclass leaves no copy behind; an attribute that does not exist is refused."""

    class Base:
        @property
        def name(self) -> str:
            return "base"

    class Derived(Base):
        pass

    with ExitStack() as undo:
        Patches(undo).setattr(Derived, "name", "derived")
        assert Derived().name == "derived"
        with pytest.raises(AttributeError):
            Patches(undo).setattr(Derived, "nothing", 1)
    assert "name" not in vars(Derived)
    assert Derived().name == "base"


def test_every_mutant_is_known_by_an_issue_of_its_own() -> None:
    """No issue names two mutants, and each mutant's docstring goes on with one sentence about the bug."""
    assert sorted(mutants.by_issue()) == sorted(
        one for bug in mutants.by_name().values() for one in mutants.issues(bug)
    )
    sentences = [(bug.__doc__ or "").partition(": ")[2] for bug in mutants.by_name().values()]
    assert [text for text in sentences if not text.endswith(".") or "\n" in text] == []


def test_a_test_is_run_with_and_without_the_bug(pytester: pytest.Pytester) -> None:
    """`caught`: a test that sees the bug is an expected failure with it; one that does not see it fails."""
    pytester.makepyfile(
        """
        from groupsim.testing import caught, mutants

        PROPERTIES = {"session.timeout.ms": 6_000, "max.poll.interval.ms": 10_000}

        async def silent(sim):
            sim.topic("orders", 2)
            sim.member("c1", stuck="never-sync", properties=PROPERTIES)
            await sim.in_state("CompletingRebalance")
            await sim.run_for("60s")

        @caught("KAFKA-12890", mutants.no_sync_deadline)
        async def test_sees_it(sim):
            await silent(sim)
            assert sim.find("member.removed", reason="sync-timeout")

        @caught("KAFKA-12890")
        async def test_does_not_see_it(sim):
            await silent(sim)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v")
    result.assert_outcomes(passed=2, xfailed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_does_not_see_it*with-no_sync_deadline*FAILED*"])
