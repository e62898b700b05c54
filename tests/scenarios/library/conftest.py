"""Tests of one scene of the library run together, so that its run is made once; another process repeats it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
CHECKOUT = FOLDER.parents[2]
HASH_SEED = "4711"

# Input: a scenario's canonical text and a number per line; output: the digest of that many lines of its trace.
ELSEWHERE = """
import json, sys
from tests.helpers.library_scenes import beginning
from groupsim.scenarios.loading.canonical import scenario_from_json
for line in sys.stdin:
    text, events = json.loads(line)
    print(beginning(scenario_from_json(text), events), flush=True)
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests of this folder by their scene; tests without a scene come first."""
    places = [place for place, item in enumerate(items) if item.path.parent == FOLDER]
    for place, item in zip(places, sorted((items[place] for place in places), key=_scene), strict=True):
        items[place] = item


def _scene(item: pytest.Item) -> str:
    call = getattr(item, "callspec", None)
    return str(call.params.get("name", "")) if call else ""


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[Callable[[str, int], str]]:
    """Run a scenario's canonical text in another process, with another order of its sets; return the trace's digest.

    The run ends there after so many events.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE],
        env={**os.environ, "PYTHONHASHSEED": HASH_SEED, "PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin as asked, process.stdout as reported:

        def digest(text: str, events: int) -> str:
            print(json.dumps((text, events)), file=asked, flush=True)
            return reported.readline().strip()

        yield digest
