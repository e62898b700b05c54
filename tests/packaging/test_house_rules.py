"""The rules of the house find what they are for; that this house keeps them is a part of `make lint`."""

from __future__ import annotations

import pytest
from house_rules import (
    IDIOM,
    IDIOM_ALLOWED,
    PLAIN_ROOMS,
    ROOT,
    Source,
    check,
    sources,
)

HEAD = '"""A module."""\n'


def broken(path: str, code: str) -> list[str]:
    """What the rules say of a file with this code."""
    return [str(offence) for offence in check(Source(path, HEAD + code))]


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("import random", "imports random"),
        ("from random import choice", "imports random"),
        ("import time", "imports time"),
        ("import time as t", "imports time as t"),
        ("from uuid import uuid4", "imports uuid"),
        ("import threading", "imports threading"),
        ("import concurrent.futures", "imports concurrent.futures"),
        ("from concurrent.futures import ThreadPoolExecutor", "imports concurrent.futures"),
        ("import datetime\nnow = datetime.datetime.now()", "calls datetime.now()"),
        ("from datetime import datetime\nnow = datetime.now()", "calls datetime.now()"),
        ("import os\nx = os.urandom(4)", "calls os.urandom()"),
        ("import trio\ntrio.sleep(1)", "uses trio's sleep"),
        ("import trio\nx = trio.Event()", "uses trio's Event"),
        ("from trio import move_on_after", "uses trio's move_on_after"),
        ("import trio.testing", "uses trio's trio.testing"),
        ("import trio as t", "uses trio's trio as t"),
    ],
)
def test_what_could_tell_machines_apart_stays_in_the_event_loop(code: str, fault: str) -> None:
    """Clocks, randomness, threads and trio's primitives are found in any room, line included, save the event loop."""
    found = broken("members/x.py", code)
    assert any(line.startswith(f"members/x.py:{code.count(chr(10)) + 2}: {fault}: ") for line in found), found
    assert broken("eventloop/x.py", code) == []


@pytest.mark.parametrize(
    "code",
    [
        "import trio\nx = trio.CancelScope()",
        "from trio import CancelScope, Nursery",
        "import timeit_like_name",
        "from groupsim.eventloop import time",
        "from datetime import datetime\nx = datetime.fromisoformat('2020-01-01')",
        "def f(loop):\n    '''Now.'''\n    return loop.now()",
    ],
)
def test_what_only_looks_like_it_is_left_alone(code: str) -> None:
    """Nurseries, cancel scopes, parsing of dates and names that merely resemble a clock are fine."""
    assert broken("cluster/x.py", code) == []


def test_the_front_door_may_look_at_the_clock() -> None:
    """The command line may say how long a run took; it may not draw randomness."""
    assert broken("groupsim/x.py", "import time") == []
    assert broken("groupsim/x.py", "import random") != []


@pytest.mark.parametrize("room", ["eventloop", "protocol"])
@pytest.mark.parametrize(
    "code",
    [
        "x = hash('a')",
        "for x in {1, 2}:\n    pass",
        "for x in set('ab'):\n    pass",
        "x = [y for y in {1, 2} | {3}]",
        "x = {y: 1 for y in frozenset('ab')}",
        "x = list({1, 2})",
        "x = tuple(set('ab') - set('b'))",
    ],
)
def test_orders_that_differ_between_processes_are_found_everywhere(room: str, code: str) -> None:
    """`hash()` and the order of a set are banned in the event loop too."""
    assert len(broken(f"{room}/x.py", code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "x = sorted({1, 2})",
        "x = {y for y in {1, 2}}",
        "x = all(y for y in {1, 2})",
        "x = sorted(y for y in {1, 2})",
        "for x in sorted({1, 2}):\n    pass",
        "for x in dict.fromkeys('ab'):\n    pass",
    ],
)
def test_sets_whose_order_cannot_show_are_fine(code: str) -> None:
    """Sorting one, or asking something of all its elements, does not depend on the order."""
    assert broken("protocol/x.py", code) == []


def test_what_is_public_has_to_say_what_it_is() -> None:
    """Modules, classes and functions of rooms have docstrings; private ones and overloads need none."""
    assert [o.line for o in check(Source("members/x.py", "def f(): ...\nclass C: ...\n"))] == [1, 1, 2]
    assert broken("members/x.py", "def _f(): ...\n") == []
    assert broken("members/x.py", "from typing import overload\n@overload\ndef f(): ...\n") == []


def test_a_test_has_to_say_what_it_holds() -> None:
    """Functions named test_ have docstrings, async ones too; helpers need not."""
    assert "test_x has no docstring" in broken("tests/a/test_x.py", "async def test_x(): ...\n")[0]
    assert broken("tests/a/test_x.py", "def helper(): ...\n") == []


@pytest.mark.parametrize("word", [*IDIOM, "by_hand", "Whoever"])
def test_words_of_the_idiom_are_found_in_a_plain_room(word: str) -> None:
    """A docstring, a comment, a message and a name are refused, with the line; `ByHand` and `FailureTold` too."""
    name = word.replace(" ", "_")
    for code in (f"# It is {word}.\n", f"x = 'it is {word}'\n", f"a_{name} = 1\n", f"def _{name}_x(): ...\n"):
        assert broken("coordinator/x.py", code) == [
            f"coordinator/x.py:2: the word {word.replace('_', ' ').lower()!r}: write plainly: "
            f"{IDIOM[word.replace('_', ' ').lower()]}"
        ]
    assert broken("coordinator/x.py", "class FailureTold: ...\n") != []


def test_words_that_only_contain_one_are_fine() -> None:
    """Parts of other words pass."""
    assert broken("coordinator/x.py", "# The untold saidness of unsaid things: manewal.\n") == []


def test_words_of_pages_and_tools_are_checked() -> None:
    """A page and a tool are refused, with the line; a test is not."""
    for path in ("docs/x.md", "docs/guides/x.md", "README.md", "tools/x.py"):
        assert broken(path, "# It is told.\n") != [], path
    assert broken("tests/x.py", "# It is told.\n") == []
    assert {"README.md", "CONTRIBUTING.md", "docs/index.md", "docs/guides/index.md"} <= {one.path for one in sources()}


def test_the_rooms_are_all_listed_and_few_lines_are_allowed() -> None:
    """Each room of the product is in the table; at most 20 allowed lines, each of them still there."""
    product = {"assignors", "cluster", "coordinator", "eventloop", "groupsim", "members"}
    product |= {"pipeline", "protocol", "scenarios", "serving"}
    assert sorted(PLAIN_ROOMS) == sorted(product)
    assert sum(map(len, IDIOM_ALLOWED.values())) <= 20
    for path, texts in IDIOM_ALLOWED.items():
        for text in texts:
            assert text in (ROOT / path).read_text("utf-8"), (path, text)
