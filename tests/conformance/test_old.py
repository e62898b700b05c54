"""Defects of old releases: what real brokers of them answered, against the core of the same release."""

from __future__ import annotations

import json

import pytest
from defects_table import affected_releases

from groupsim.coordinator.base.defects import BROKER_DEFECTS, broker_defect
from groupsim.coordinator.base.versions import parse_version
from tests.conformance.basics import ScriptFailed
from tests.conformance.old import DATA, FACTS, SETTINGS, load, own_settings, play_on_core
from tests.conformance.transcript import differences

ASKED = [(defect, release) for defect, fact in FACTS.items() for release in fact.releases]


@pytest.mark.parametrize(("defect", "release"), ASKED)
def test_the_core_answers_as_that_release_does(defect: str, release: str) -> None:
    """The core of a release answers every request of a defect's scene as the real broker of that release did."""
    recorded = load()[defect][release]
    assert differences(recorded, play_on_core(defect, release, recorded)) == []


@pytest.mark.parametrize("defect", BROKER_DEFECTS)
def test_the_two_releases_of_a_fact_stand_on_both_sides_of_the_fix(defect: str) -> None:
    """The release stated as bad is in the defect's range of releases, and the one stated as good is not."""
    ranges = [(parse_version(first), parse_version(fixed)) for first, fixed in affected_releases(broker_defect(defect))]

    def affected(release: str) -> bool:
        return any(first <= parse_version(release) < fixed for first, fixed in ranges)

    assert affected(FACTS[defect].bad)
    assert not affected(FACTS[defect].good)


@pytest.mark.parametrize("defect", FACTS)
def test_the_answers_of_the_two_releases_differ(defect: str) -> None:
    """The recorded scene shows the defect: the answers of the two releases are not the same."""
    recorded = load()[defect]
    assert differences(recorded[FACTS[defect].bad], recorded[FACTS[defect].good]) != []


def test_a_release_with_the_fix_does_not_play_the_scene_of_the_defect() -> None:
    """A core with the answers of another release is refused by the scene's own statements."""
    with pytest.raises(ScriptFailed, match="FENCED_INSTANCE_ID"):
        play_on_core("KAFKA-10284", FACTS["KAFKA-10284"].bad, version="4.4")


def test_the_data_was_recorded_with_the_settings_of_today() -> None:
    """The data names the settings with which the releases were asked."""
    told = json.loads(DATA.read_text("utf-8"))
    assert told["settings"] == SETTINGS
    assert told["own"] == own_settings()
