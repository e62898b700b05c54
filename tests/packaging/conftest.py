"""The checkout, and a wheel made of it without touching it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import assemble
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in an environment of its own besides PATH; output as text."""
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**path, **environment},
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built, offline, from a copy of the files that belong to it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "LICENSE", "README.md"):
        if (CHECKOUT / name).exists():
            shutil.copy2(CHECKOUT / name, source / name)
    for folder in assemble.rooms().values():
        shutil.copytree(folder, source / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index")
    done = run(*pip, "-q", "-w", target, source, cwd=target)
    assert done.returncode == 0, done.stderr
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed, without what it depends on."""
    target = tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q", "--target")
    done = run(*pip, target, wheel, cwd=target)
    assert done.returncode == 0, done.stderr
    return target
