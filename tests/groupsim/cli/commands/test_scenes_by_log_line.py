"""`groupsim list` finds scenes by a line of a log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
import refresh_log_lines

from groupsim.logs import finding
from groupsim.scenarios.loading import catalogue
from tests.helpers.front_stage import call

SMALL = ("four-scenes", "bounced-member-holds-rebalance-open", "socket-timeout-below-the-hold")
REBALANCING = "Attempt to heartbeat failed since group is rebalancing"


def test_the_form_of_a_line_has_no_layout_and_a_star_for_each_name_number_and_id() -> None:
    """Two lines of one kind, of different groups and times, have one form."""
    message = "INFO [Consumer clientId={}, groupId={}] Found no committed offset for partition {} (a.b.C)"
    first = "[2026-01-01 00:00:04,006] " + message.format("c-1", "g1", "t-0")
    other = "[2026-02-03 10:20:30,123] " + message.format("app", "pay", "x-12")
    assert finding.form(first, ["c-1", "g1", "t"]) == finding.form(other, ["app", "pay", "x"])
    assert finding.form(first, ["c-1", "g1", "t"]) == (
        "[Consumer clientId=*, groupId=*] Found no committed offset for partition *"
    )


def test_a_phrase_finds_the_scenes_that_log_it() -> None:
    """A phrase without a layout is looked up inside the forms, whatever its case."""
    found = finding.scenes_that_log(REBALANCING.upper())
    assert "socket-timeout-below-the-hold" in found
    assert all(REBALANCING in form for forms in found.values() for form in forms)


def test_a_whole_line_of_another_system_finds_the_scenes_that_log_such_a_line() -> None:
    """A pasted line with its own layout, names and times finds what the phrase in it finds."""
    line = (
        "2024-05-03 11:22:33.123  INFO 1 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.ConsumerCoordinator : "
        f"[Consumer clientId=consumer-orders-3, groupId=orders] {REBALANCING}"
    )
    assert finding.scenes_that_log(line) == finding.scenes_that_log(REBALANCING)


@pytest.mark.parametrize("words", ["", "of", "the moon is made of green cheese and nothing else"])
def test_what_no_log_has_finds_nothing(words: str) -> None:
    """A text that no form has, and one too short to mean a line, find no scene."""
    assert finding.scenes_that_log(words) == {}


def test_list_shows_the_scenes_with_the_line() -> None:
    """`groupsim list PHRASE` prints the scenes and the form of the line; with --json under `logs`."""
    shown = call("list", REBALANCING)
    assert shown.exit_code == 0
    assert "socket-timeout-below-the-hold" in shown.stdout
    assert "logs: [Consumer clientId=*" in shown.stdout
    listed = json.loads(call("list", REBALANCING, "--json").stdout)["scenarios"]
    assert all(any(REBALANCING in line for line in one["logs"]) for one in listed)
    assert listed


def _differences(names: Iterable[str]) -> Iterator[str]:
    index = finding.index()
    for name in names:
        logged = {form for form, scenes in index.items() if name in scenes}
        if logged != set(refresh_log_lines.forms_of(name)):
            yield name


def test_the_index_has_what_small_scenes_log() -> None:
    """The index is current for three small scenes (`make slow`: all); tools/refresh_log_lines.py writes it."""
    assert list(_differences(SMALL)) == []


@pytest.mark.slow
def test_the_index_has_what_every_scene_logs() -> None:
    """The index is current for the whole library; tools/refresh_log_lines.py writes it."""
    assert list(_differences(catalogue.names())) == []
