"""The rooms that decide about groups run where trio cannot be imported (another event loop, a browser's Python)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BLOCKED = """\
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "trio":
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
"""
EVERY_MODULE = """\
for room in ("groupsim.protocol", "groupsim.assignors", "groupsim.coordinator", "groupsim.members.classic"):
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, f"{room}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            print(module.name)
"""
ONE_GENERATION = """\
from groupsim.coordinator.testing import Bench

bench = Bench()
first = bench.join("a")
bench.advance_ms(3_000)
print("generation", first.joined.generation_id)
"""
ONE_MEMBERSHIP = """\
from tests.helpers.membership_bench import MembershipBench

bench = MembershipBench()
bench.stable(0, 1)
print(bench.member.state, bench.owned)
"""


def run(checkout: Path, code: str) -> list[str]:
    """The lines that a program prints in a Python without trio."""
    command = [sys.executable, "-c", BLOCKED + code]
    return subprocess.run(command, cwd=checkout, text=True, capture_output=True, check=True).stdout.splitlines()


def test_every_module_of_these_rooms_is_imported(checkout: Path) -> None:
    """No module of protocol, assignors, coordinator and the classic membership imports trio, directly or not."""
    found = run(checkout, EVERY_MODULE)
    assert {name.split(".")[1] for name in found} == {"protocol", "assignors", "coordinator", "members"}
    assert len(found) > 100


def test_a_coordinator_runs_on_its_bench(checkout: Path) -> None:
    """A first member joins, and gets generation 1 when the initial rebalance delay is over."""
    assert run(checkout, ONE_GENERATION) == ["generation 1"]


def test_a_member_runs_on_its_bench(checkout: Path) -> None:
    """A member joins, syncs and owns two partitions."""
    assert run(checkout, ONE_MEMBERSHIP) == ["STABLE [0, 1]"]
