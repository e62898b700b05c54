"""Files with random mistakes always give a report, never a traceback."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from groupsim.eventloop.randomness import Stream
from groupsim.scenarios.language.document import Document, read_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.catalogue import find, names
from groupsim.scenarios.loading.load import scenario_of

STRANGE: list[Any] = [
    *(None, True, False, 0, -1, 3, 1.5, "", "x", "10s", "end", "nobody", "leader", "all", "<= 3", "coordinator", "t-0"),
    *([], ["x"], [1], {}, {"a": 1}, 10**30, "\x00", "[", "every Heartbeat of x", "the umpteenth Heartbeat of x"),
]
NAMES = ["x", "at", "do", "is", "for", "member", "group"]


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


def at(data: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path."""
    for key in path:
        data = data[key]
    return data


def mutate(data: Any, luck: Stream) -> None:
    """Set, delete, rename or copy one value."""
    every = list(paths(data))
    path, other = luck.choice(every), luck.choice(every)
    parent, key, way = at(data, path[:-1]), path[-1], luck.below(4)
    if way == 0:
        parent[key] = luck.choice(STRANGE)
    elif way == 1:
        del parent[key]
    elif way == 2 and isinstance(parent, dict):
        parent[luck.choice(NAMES)] = parent.pop(key)
    else:
        parent[key] = copy.deepcopy(at(data, other))


@pytest.mark.parametrize("batch", range(8))
def test_whatever_goes_wrong_is_reported(batch: int) -> None:
    """Library files with one to three random changes load, or end in a ScenarioError that names file and message."""
    luck = Stream(batch, "mutations")
    documents = [read_document(find(name)).data for name in names()]
    reports: list[ScenarioError] = []
    for _ in range(60):
        data = copy.deepcopy(luck.choice(documents))
        for _ in range(1 + luck.below(3)):
            mutate(data, luck)
        try:
            scenario_of(Document("f.yaml", data, {}, {}), "f")
        except ScenarioError as error:
            reports.append(error)
    problems = [problem for report in reports for problem in report.problems]
    assert len(reports) >= 20
    assert all(problem.message and str(problem).startswith("f.yaml") for problem in problems)
