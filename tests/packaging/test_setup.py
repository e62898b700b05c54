"""`make demo` and `make test` set themselves up, from pinned versions, and from no particular index."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

PYTHONS = ("3.11", "3.12", "3.13")


def pins(checkout: Path) -> dict[str, str]:
    """Distribution → version, as constraints.txt has them."""
    lines = (checkout / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def needed(python: str) -> set[str]:
    """Every distribution that `groupsim[dev,parquet]` leads to on a Linux machine with this Python."""
    found: set[str] = set()
    queue = [("groupsim", extra) for extra in ("", "dev", "parquet")]
    seen: set[tuple[str, str]] = set()
    while queue:
        name, extra = queue.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found.add(name)
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.0"}
            if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": extra}):
                target = canonicalize_name(requirement.name)
                queue += [(target, wanted) for wanted in ("", *sorted(requirement.extras))]
    return found - {"groupsim"}


def test_the_constraints_pin_and_do_nothing_else(checkout: Path) -> None:
    """Each line is `name==version` or a comment: no index, no address, no option."""
    for line in (checkout / "constraints.txt").read_text("utf-8").splitlines():
        assert re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line
        assert "://" not in line


@pytest.mark.parametrize("python", PYTHONS)
def test_everything_that_is_needed_is_pinned(checkout: Path, python: str) -> None:
    """Whatever the dependencies lead to on this Python has a pin, so two machines get the same versions."""
    assert sorted(needed(python) - set(pins(checkout))) == []


def test_no_pin_is_left_over(checkout: Path) -> None:
    """What nothing needs any more on any supported Python is not pinned either."""
    assert sorted(set(pins(checkout)) - {name for python in PYTHONS for name in needed(python)}) == []


@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_supports_the_python(checkout: Path, python: str) -> None:
    """No pinned version excludes a Python that the project supports."""
    for name in installed_pins(checkout):
        metadata = importlib.metadata.distribution(name).metadata
        assert SpecifierSet(metadata.get("Requires-Python") or "").contains(f"{python}.1"), name


def test_this_environment_has_the_pinned_versions(checkout: Path) -> None:
    """What the tests run with is what the constraints say."""
    pinned = pins(checkout)
    here = {name: importlib.metadata.version(name) for name in installed_pins(checkout)}
    assert here == {name: pinned[name] for name in here}


def installed_pins(checkout: Path) -> list[str]:
    """The pinned distributions that this Python needs, and so has."""
    running = ".".join(map(str, sys.version_info[:2]))
    return sorted(needed(running) & set(pins(checkout)))


def dry_run(checkout: Path, tmp_path: Path, target: str) -> str:
    """What `make` would do for a target on a clean clone."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy2(checkout / name, tmp_path / name)
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", target], cwd=tmp_path, text=True, capture_output=True, check=True
    )
    return done.stdout


def test_the_demo_installs_what_runs_and_nothing_more(checkout: Path, tmp_path: Path) -> None:
    """`make demo` makes a virtual environment, installs the package under the constraints, runs, sweeps and reports."""
    commands = dry_run(checkout, tmp_path, "demo")
    assert "-m venv .venv" in commands
    assert "-c constraints.txt -e '.[report,serve]'" in commands
    assert "[dev]" not in commands
    order = [
        "groupsim run demo",
        "groupsim sweep rolling-deploy-small --out .build/demo",
        "groupsim report .build/demo",
    ]
    places = [commands.index(part) for part in order]
    assert places == sorted(places)


def test_the_tests_set_themselves_up(checkout: Path, tmp_path: Path) -> None:
    """`make test` installs the tools, then lints, types, keeps the floors, and tests; `make coverage` measures."""
    commands = dry_run(checkout, tmp_path, "test")
    order = [
        "-m venv .venv",
        "[dev]",
        "ruff check",
        "house_rules.py",
        "mypy -p groupsim",
        "lint-imports",
        "-m pytest",
    ]
    places = [commands.index(part) for part in order]
    assert places == sorted(places)
    assert "--cov" in dry_run(checkout, tmp_path, "coverage")


def test_ci_runs_what_a_person_runs(checkout: Path) -> None:
    """`.ci/run` is executable and calls `make test`."""
    script = checkout / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text("utf-8")
