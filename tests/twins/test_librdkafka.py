"""The simulated librdkafka does what the real one did, story by story; the real one, asked again, still does."""

from __future__ import annotations

from typing import Any

import kafka_jars
import pytest

from tests.helpers.unavailable import unavailable
from tests.twins import facts
from tests.twins.__main__ import TRIES, TooBusy, compared, live, simulated
from tests.twins.clients import LIBRDKAFKA
from tests.twins.librdkafka import BEYOND_IT, DIFFERS
from tests.twins.stories import ALL
from tests.twins.story import Story

FITTED = tuple(story for story in map(LIBRDKAFKA.fitted, ALL) if story is not None)
_SHORT_MS = 2_500


def _each(*, differ: bool) -> list[Any]:
    return [pytest.param(story, id=story.slug) for story in FITTED if bool(story.differs) is differ]


def _differences(story: Story) -> list[str]:
    told = simulated(LIBRDKAFKA, [story])[story.name]
    return facts.read(LIBRDKAFKA.name, story).differences(told)


@pytest.mark.parametrize("story", _each(differ=False))
def test_a_simulated_librdkafka_does_what_the_real_one_did(story: Story) -> None:
    """The same group requests, with the same fields, after the same pauses; the same callbacks and errors."""
    assert _differences(story) == []


@pytest.mark.parametrize("story", _each(differ=True))
def test_what_is_said_to_differ_of_librdkafka_does(story: Story) -> None:
    """A difference stands in the list with its reason, as long as there is one."""
    assert _differences(story) != []


def test_every_story_is_kept_or_there_is_a_reason() -> None:
    """Each is played, and its fact kept, or it is said why librdkafka cannot play it; no reason is left of old."""
    played = {story.name for story in FITTED}
    assert facts.kept(LIBRDKAFKA.name) == sorted(story.slug for story in FITTED)
    assert played | set(BEYOND_IT) == {story.name for story in ALL}
    assert not played & set(BEYOND_IT)
    assert set(DIFFERS) <= played


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_a_real_librdkafka_does_what_was_recorded_of_it_in_every_tenth_story() -> None:
    """What CI asks at every commit: some of each kind."""
    _asked([story for story in FITTED if story.ends_ms <= _SHORT_MS][::10])


@pytest.mark.slow
@pytest.mark.interop
def test_a_real_librdkafka_does_what_was_recorded_of_it() -> None:
    """Every story is played with the real client; what differs, on a busy machine, is asked again."""
    _asked(list(FITTED))


def _asked(stories: list[Story]) -> None:
    try:
        assert compared(LIBRDKAFKA, stories, live, TRIES) == {}
    except TooBusy as busy:
        pytest.skip(f"the machine was too busy to judge {busy}")
    except kafka_jars.Unavailable as why:
        unavailable(why, "confluent-kafka")
