"""Only the event loop's room knows trio."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["protocol", "coordinator", "members", "cluster", "scenarios", "groupsim"]
# Sockets are input and output of trio itself.
ALLOWED = {"cluster/listener.py"}
BANNED = {"trio", "asyncio", "anyio", "threading", "random", "uuid", "concurrent"}


def _imports(path: Path) -> set[str]:
    """The first names of what a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).split(".")[0])
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_nothing_with_an_order_of_its_own(room: str) -> None:
    """No room imports trio, another scheduler, threads, or a source of luck that no seed governs."""
    modules = [path for path in sorted((ROOT / room).rglob("*.py")) if str(path.relative_to(ROOT)) not in ALLOWED]
    offenders = {str(path.relative_to(ROOT)): found for path in modules if (found := _imports(path) & BANNED)}
    assert modules
    assert offenders == {}
