"""Defects of old client releases: what the real clients did, against the simulated ones of the same releases."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.members.profiles.defects import client_defect, version_of
from tests.helpers.unavailable import unavailable
from tests.twins import facts
from tests.twins.clients import Unavailable
from tests.twins.old_clients import TRIES, asked, fact_of, folder, play_model, play_real
from tests.twins.old_scenes import SCENES

ASKED = [(name, release) for name, releases in asked().items() for release in releases]

# The client with this defect sends commits without a pause, for seconds of CPU time.
LONG = "KAFKA-14024"


def _marked(*values: str) -> Any:
    """The arguments of a test in which the client with its defect plays."""
    return pytest.param(*values, marks=pytest.mark.slow if values[0] == LONG else ())


@pytest.mark.parametrize(("name", "release"), [_marked(*one) if one[1] == "3.2.0" else one for one in ASKED])
def test_the_simulated_client_does_what_the_real_one_of_its_release_did(name: str, release: str) -> None:
    """The same requests of the group and the same callbacks and exceptions, in the same order."""
    assert fact_of(SCENES[name], release).differences(play_model(SCENES[name], release)) == []


@pytest.mark.parametrize("name", SCENES)
def test_both_releases_of_a_scene_were_asked_and_differ(name: str) -> None:
    """The scene shows the defect: the real clients on the two sides of the fix do not do the same."""
    scene = SCENES[name]
    assert asked()[name] == scene.releases
    bad, good = (fact_of(scene, release).ways[0] for release in scene.releases)
    assert [bad.requests, bad.application] != [good.requests, good.application]


@pytest.mark.parametrize("name", [_marked(name) for name in SCENES])
def test_a_client_of_the_other_side_of_the_fix_does_not_do_the_same(name: str) -> None:
    """The comparison fails where the simulated client has the defect, and the real one its fix."""
    scene = SCENES[name]
    assert fact_of(scene, scene.good).differences(play_model(scene, scene.bad)) != []


@pytest.mark.parametrize("name", SCENES)
def test_the_two_releases_stand_on_both_sides_of_the_fix(name: str) -> None:
    """The release stated as bad is in the defect's range of releases, and the one stated as good is not."""
    scene = SCENES[name]
    ranges = [one for one in client_defect(scene.defect).affected if one.library == scene.library]
    bad, good = (version_of(release) for release in scene.releases)
    assert any(one.covers(bad, bad) for one in ranges)
    assert not any(one.covers(good, good) for one in ranges)


def test_every_fact_belongs_to_a_scene() -> None:
    """No file is left of a scene or a release that is not asked any more."""
    kept = {str(path.relative_to(facts.FOLDER)) for path in (facts.FOLDER / "old").glob("*/*")}
    scenes = [(scene, release) for scene in SCENES.values() for release in scene.releases]
    assert kept == {f"{folder(scene, release)}/{scene.story.slug}.txt" for scene, release in scenes}


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize(("name", "release"), ASKED)
def test_the_real_client_does_what_was_recorded_of_it(name: str, release: str) -> None:
    """Each real client plays its scene again; what differs, on a busy machine, is asked again."""
    differences: list[str] = []
    try:
        for _ in range(TRIES):
            told = play_real(SCENES[name], release)
            differences = ["it never began"] if told is None else fact_of(SCENES[name], release).differences(told)
            if not differences:
                break
    except Unavailable as why:
        unavailable(why, SCENES[name].library)
    assert differences == []
