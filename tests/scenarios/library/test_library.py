"""The library: every scenario names its source, and is found by its name; the tests beside this run them."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.problems import WARNING, ScenarioError
from groupsim.scenarios.loading.catalogue import ALIASES, find, list_scenarios
from groupsim.scenarios.loading.load import load_file


@pytest.mark.parametrize("entry", list_scenarios(), ids=lambda entry: entry.name)
def test_a_scenario_says_what_it_shows_and_where_it_comes_from(entry: object) -> None:
    """Title, one sentence and a source; broker and client version are named."""
    scenario = load_file(getattr(entry, "path"))  # noqa: B009 - the fixture's type is the library's own
    assert scenario.title
    assert scenario.shows.strip()
    assert scenario.source
    assert scenario.broker.version
    assert [note for note in scenario.notes if note.severity == WARNING and "unknown" in note.message] == []


def test_incidents_are_many() -> None:
    """At least twelve scenarios replay a public thread (owner/repo#number)."""
    threads = {
        entry.source for entry in list_scenarios() if "#" in (entry.source or "") and "apache/" not in str(entry.source)
    }
    assert len(threads) >= 12


def test_names_are_found_and_strangers_get_the_nearest() -> None:
    """A library name, an alias, a path; a misspelt name gets the nearest one as remedy."""
    assert find("four-scenes").name == "four-scenes.yaml"
    assert find("demo").stem == ALIASES["demo"]
    assert str(find("./own.yaml")) == "own.yaml"
    with pytest.raises(ScenarioError, match="did you mean `four-scenes`"):
        find("four-scene")


def test_a_name_like_no_other_gets_three_and_where_all_are() -> None:
    """A name unlike all others gets three names and the command that lists all, not the whole library."""
    with pytest.raises(ScenarioError, match=r"nearest: \S+, \S+, \S+; `groupsim list` shows all$"):
        find("qqq-zzz")
