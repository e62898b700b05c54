"""Every table of client libraries has each library of the releases table, or an exception here.

docs/architecture.md, "A client profile, place by place", lists the same places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from groupsim.logs.clients.library_choice import LIBRARIES as LOGS
from groupsim.members.profiles import _RELEASE_OF, PROFILES
from groupsim.members.profiles.defects import CLIENT_DEFECTS, version_of
from groupsim.members.profiles.versions import VERSIONS
from groupsim.scenarios.language import clients
from groupsim.scenarios.language.releases import RELEASES, Coverage
from groupsim.scenarios.lint.rules import idle, names, values

_IGNORES = "it passes over a key that it does not know"
_UNCOMPARED = "its list of assignors was not compared, so the rule says nothing"
PLACES: Mapping[str, tuple[Collection[str], Mapping[str, str]]] = {
    "scenarios/language/clients.py `_NEWEST`": (clients._NEWEST, {}),
    "groupsim/logs/clients/library_choice.py": (
        {"java", "librdkafka", *(name for name, _ in LOGS)},
        {"ruby-kafka": "its log lines were not compared; it logs nothing by default"},
    ),
    "scenarios/lint/rules/idle.py `STATIC_SINCE`": (
        idle.STATIC_SINCE,
        {"brod": "since when it sends group.instance.id was not looked up, so the rule says nothing"},
    ),
    "scenarios/lint/rules/names.py `_REFUSALS`": (
        names._REFUSALS,
        dict.fromkeys(("java", "kafkajs", "brod", "ruby-kafka"), _IGNORES),
    ),
    "scenarios/lint/rules/values.py `SHIPPED`": (
        values.SHIPPED,
        dict.fromkeys(("kafkajs", "brod", "ruby-kafka"), _UNCOMPARED),
    ),
}
"""Tables of libraries: the names in each, and the libraries without a row, with the reason."""


@pytest.mark.parametrize("place", PLACES)
def test_each_library_stands_in_the_place_or_is_excepted(place: str) -> None:
    """A library of the releases table has a row, or an exception with its reason; no exception is unused."""
    found, excepted = PLACES[place]
    assert {library for library in RELEASES if library not in found} == set(excepted)


@pytest.mark.parametrize("library", RELEASES)
def test_the_profiles_of_a_library_exist_and_none_is_left_out(library: str) -> None:
    """The rows of a library name each profile that begins with the library's name, and no other."""
    named = {row.profile for row in RELEASES[library]}
    own = {name for name in VERSIONS if name == library or name.startswith(f"{library}-")}
    assert named == own
    assert named <= set(PROFILES)


def test_a_profile_of_an_old_age_has_the_release_whose_defects_it_shows() -> None:
    """`_RELEASE_OF` names profiles of libraries that have defects, and a release that the same profile covers."""
    for profile, release in _RELEASE_OF.items():
        library = profile.rsplit("-", 1)[0]
        assert any(one.library == library for defect in CLIENT_DEFECTS.values() for one in defect.affected)
        row = clients.row_of(library, version_of(release))
        assert row is not None
        assert (row.profile, row.how) == (profile, Coverage.COVERED)
