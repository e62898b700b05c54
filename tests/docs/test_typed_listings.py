"""The listings of the test page under `mypy --strict`, with the types of their arguments written in."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTINGS = ROOT / ".build" / "listings"
TYPES = {
    "sim": "Simulation",
    "client": "ClientProfile",
    "name": "str",
    "instance": "str | None",
    "partitions": "int",
    "seed": "int",
    "ms": "int",
    "monkeypatch": "pytest.MonkeyPatch",
}
"""The types of the arguments that listings have; pages leave them out to be read more easily."""
HEAD = """
from typing import Any
import pytest
from hypothesis import given, settings, strategies as st
from groupsim import ClientProfile, ErrorCode, Simulation
from groupsim.assignors import RangeAssignor as MyAssignor
from groupsim.faults import *
from groupsim.requests import Api
from groupsim.testing import Bench
"""


def annotated(listing: str) -> str:
    """The listing with the types of arguments and results; lines that stand alone become the body of a test."""
    tree = ast.parse(listing)
    if not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body):
        return annotated("async def fragment(sim):\n" + textwrap.indent(listing, "    "))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for argument in node.args.args:
                if argument.arg != "self":
                    argument.annotation = ast.Name(TYPES[argument.arg])
            gives = any(isinstance(one, ast.Yield | ast.Return) for one in ast.walk(node))
            node.returns = ast.Name("Any" if gives else "None")
    return ast.unparse(tree)


def test_the_listings_of_the_test_page_are_typed() -> None:
    """Every listing of docs/writing-a-test.md passes mypy --strict as a test with annotations does."""
    text = (ROOT / "docs" / "writing-a-test.md").read_text(encoding="utf-8")
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE)]
    shown = [block for block in blocks if "def " in block or "sim." in block]
    assert len(shown) >= 9
    LISTINGS.mkdir(parents=True, exist_ok=True)
    for number, block in enumerate(shown):
        (LISTINGS / f"listing_{number}.py").write_text(HEAD + annotated(block), encoding="utf-8")
    subprocess.run([sys.executable, "tools/assemble.py", "--links", ".build/links"], cwd=ROOT, check=True)
    files = [str(LISTINGS / f"listing_{number}.py") for number in range(len(shown))]
    command = [sys.executable, "-m", "mypy", "--strict", "--disable-error-code=import-untyped"]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
