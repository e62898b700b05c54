"""The simulated Java consumer does what the real one did with group.protocol=consumer, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.members.profiles import PROFILES
from tests.twins import facts
from tests.twins.clients import JAVA_CONSUMER
from tests.twins.consumer.differs import BEYOND_IT, DIFFERS
from tests.twins.consumer.stories import ALL
from tests.twins.simulated import play_simulated
from tests.twins.story import Story

_QUICK = 3
"""Every so many stories are compared with each change; all of them with `make slow`."""


def _each(*, differs: bool) -> list[Any]:
    stories = [story for story in ALL if bool(story.differs) is differs and story.name not in BEYOND_IT]
    slow = [pytest.mark.slow]
    return [
        pytest.param(story, id=story.slug, marks=slow if number % _QUICK else [])
        for number, story in enumerate(stories)
    ]


def _differences(story: Story) -> list[str]:
    return facts.read(JAVA_CONSUMER.name, story).differences(play_simulated(story, PROFILES[JAVA_CONSUMER.profile]))


@pytest.mark.parametrize("story", _each(differs=False))
def test_a_simulated_consumer_does_what_the_real_one_did(story: Story) -> None:
    """The same requests, with the same fields, after the same pauses; the same callbacks and exceptions."""
    assert _differences(story) == []


@pytest.mark.parametrize("story", _each(differs=True))
def test_what_is_listed_as_different_is(story: Story) -> None:
    """A difference that is known and left stands in the list with its reason, as long as there is one."""
    assert _differences(story) != []


def test_what_is_listed_are_stories() -> None:
    """No reason is left of a story that does not exist any more, and none has two."""
    names = {story.name for story in ALL}
    assert set(DIFFERS) <= names
    assert set(BEYOND_IT) <= names
    assert not set(DIFFERS) & set(BEYOND_IT)
