"""The simulated Java consumer does what the real one did: every recorded story, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.members.profiles import PROFILES
from tests.twins import facts
from tests.twins.clients import JAVA
from tests.twins.simulated import play_simulated
from tests.twins.stories import ALL
from tests.twins.story import Story


def _each(*, differs: bool) -> list[Any]:
    return [pytest.param(story, id=story.slug) for story in ALL if bool(story.differs) is differs]


def _differences(story: Story) -> list[str]:
    return facts.read(JAVA.name, story).differences(play_simulated(story, PROFILES[JAVA.profile]))


@pytest.mark.parametrize("story", _each(differs=False))
def test_a_simulated_consumer_does_what_the_real_one_did(story: Story) -> None:
    """The same group requests, with the same fields, after the same pauses; the same callbacks and exceptions."""
    assert _differences(story) == []


@pytest.mark.parametrize("story", _each(differs=True))
def test_what_is_said_to_differ_does(story: Story) -> None:
    """A difference that is known and left stands in the story with its reason, as long as there is one."""
    assert _differences(story) != []


def test_every_fact_belongs_to_a_story() -> None:
    """No file is left of a story that is not told any more, and no two stories share one."""
    slugs = [story.slug for story in ALL]
    assert facts.kept(JAVA.name) == sorted(slugs)
