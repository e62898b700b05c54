"""Packages that import from each other: none at run time, and a short list by types."""

from __future__ import annotations

from pathlib import Path

import pytest
import structure

#: Circles that come from imports under `if TYPE_CHECKING:` alone, with the reason.
BY_TYPES = [
    # A step and an expectation name what they are performed on and judged from; a run has its picture for a notebook.
    [
        "scenarios/expectations",
        "scenarios/language",
        "scenarios/pictures",
        "scenarios/plans",
        "scenarios/runtime",
        "scenarios/steps",
        "scenarios/story",
    ],
]


@pytest.fixture(scope="module")
def measured(checkout: Path) -> dict[str, dict[str, list[list[str]]]]:
    """What `tools/structure.py` counts in this checkout."""
    return structure.measure(checkout)


@pytest.mark.parametrize("nodes", ["boxes", "modules"])
def test_nothing_imports_in_a_circle_at_run_time(measured: dict[str, dict[str, list[list[str]]]], nodes: str) -> None:
    """Neither packages nor modules import each other, imports inside functions included."""
    assert measured[f"circles_of_{nodes}"]["run_time"] == []


def test_circles_by_types_are_those_of_the_list(measured: dict[str, dict[str, list[list[str]]]]) -> None:
    """A circle of packages through types is one of the list, or smaller; one that is gone leaves the list."""
    found = measured["circles_of_boxes"]["with_types"]
    allowed = [set(circle) for circle in BY_TYPES]
    assert [circle for circle in found if not any(set(circle) <= one for one in allowed)] == []
    assert len(found) == len(BY_TYPES)


#: Folders whose modules hold each other by types.
HOLDING_EACH_OTHER = (
    "cluster/network/",  # both ends of a connection, the network that they belong to, and what faults do to them
    "cluster/replica/",  # a partition, its leader, its followers
    "eventloop/",  # the loop, and what waits on it
    "scenarios/",  # a step, the run that it is performed on, and what the run is made of
)


def test_circles_of_modules_by_types_are_those_of_the_list(measured: dict[str, dict[str, list[list[str]]]]) -> None:
    """A circle of modules through types lies within one of the folders of the list."""
    found = measured["circles_of_modules"]["with_types"]
    assert [
        one for one in found if not any(all(name.startswith(folder) for name in one) for folder in HOLDING_EACH_OTHER)
    ] == []


def test_no_folder_has_more_than_twenty_modules(measured: dict[str, dict[str, dict[str, int]]]) -> None:
    """A folder that grows beyond twenty modules is two folders."""
    assert {folder: count for folder, count in measured["modules"]["by_folder"].items() if count > 20} == {}


def test_no_class_name_stands_twice_within_a_room(measured: dict[str, dict[str, dict[str, list[str]]]]) -> None:
    """A name in a traceback leads to one class of its room."""
    assert measured["class_names_used_twice"] == {}
