"""The simulated aiokafka does what the real one did, story by story; the real one, asked again, still does."""

from __future__ import annotations

from typing import Any

import kafka_jars
import pytest

from tests.helpers.unavailable import unavailable
from tests.twins import facts
from tests.twins.__main__ import TRIES, TooBusy, compared, live, simulated
from tests.twins.aiokafka import DIFFERS
from tests.twins.clients import AIOKAFKA
from tests.twins.stories import ALL
from tests.twins.story import Story

_KEPT = facts.kept(AIOKAFKA.name)
FITTED = [story for story in map(AIOKAFKA.fitted, ALL) if story is not None and story.slug in _KEPT]
_SHORT_MS = 2_500


def _each(*, differ: bool) -> list[Any]:
    return [pytest.param(story, id=story.slug) for story in FITTED if bool(story.differs) is differ]


def _differences(story: Story) -> list[str]:
    return facts.read(AIOKAFKA.name, story).differences(simulated(AIOKAFKA, [story])[story.name])


@pytest.mark.parametrize("story", _each(differ=False))
def test_a_simulated_aiokafka_does_what_the_real_one_did(story: Story) -> None:
    """The same group requests after the same pauses, and the same callbacks."""
    assert _differences(story) == []


@pytest.mark.parametrize("story", _each(differ=True))
def test_what_is_said_to_differ_of_aiokafka_does(story: Story) -> None:
    """A difference stands in its list with a reason, as long as there is one."""
    assert _differences(story) != []


def test_every_fact_of_aiokafka_belongs_to_a_story_that_it_plays() -> None:
    """No file is left of a story that is not told any more, or that it has not the means for, and no reason either."""
    assert sorted(story.slug for story in FITTED) == _KEPT
    assert set(DIFFERS) <= {story.name for story in FITTED}


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_a_real_aiokafka_does_what_was_recorded_of_it_in_every_tenth_story() -> None:
    """What CI asks at every commit: some of each kind."""
    _asked([story for story in FITTED if story.ends_ms <= _SHORT_MS][::10])


@pytest.mark.slow
@pytest.mark.interop
def test_a_real_aiokafka_does_what_was_recorded_of_it() -> None:
    """Every story is played with the real client; what differs, on a busy machine, is asked again."""
    _asked(FITTED)


def _asked(stories: list[Story]) -> None:
    try:
        assert compared(AIOKAFKA, stories, live, TRIES) == {}
    except TooBusy as busy:
        pytest.skip(f"the machine was too busy to judge {busy}")
    except kafka_jars.Unavailable as why:
        unavailable(why, "aiokafka")
