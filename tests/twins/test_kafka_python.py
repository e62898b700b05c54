"""The simulated kafka-python does what the real one did, release by release; the real one, asked again, still does."""

from __future__ import annotations

from typing import Any

import kafka_jars
import pytest

from groupsim.members.profiles import PROFILES
from tests.helpers.unavailable import unavailable
from tests.twins import facts
from tests.twins.__main__ import TRIES, TooBusy, compared, live
from tests.twins.clients import KAFKA_PYTHON_2_0, KAFKA_PYTHON_2_3, KAFKA_PYTHON_3, Client
from tests.twins.simulated import play_simulated
from tests.twins.stories import ALL
from tests.twins.story import Story

CLIENTS = (KAFKA_PYTHON_2_0, KAFKA_PYTHON_2_3, KAFKA_PYTHON_3)
_SHORT_MS = 2_500
# What the real one does in one of two ways, by what comes first: 3.x assigns with or without the new topic's metadata.
EITHER_WAY = {(KAFKA_PYTHON_3.name, "the-subscription-changes")}


def _kept(client: Client) -> list[Story]:
    fitted = [story for story in map(client.fitted, ALL) if story is not None]
    return [story for story in fitted if story.slug in facts.kept(client.name)]


def _each(*, differ: bool) -> list[Any]:
    return [
        pytest.param(client, story, id=f"{client.name}-{story.slug}")
        for client in CLIENTS
        for story in _kept(client)
        if bool(story.differs) is differ
    ]


def _differences(client: Client, story: Story) -> list[str]:
    told = facts.heard(play_simulated(story, PROFILES[client.profile], client.unseen), client.hears)
    return facts.read(client.name, story).differences(told)


@pytest.mark.parametrize(("client", "story"), _each(differ=False))
def test_a_simulated_kafka_python_does_what_the_real_one_did(client: Client, story: Story) -> None:
    """The same group requests after the same pauses, and the same callbacks."""
    assert _differences(client, story) == []


@pytest.mark.parametrize(("client", "story"), _each(differ=True))
def test_what_is_said_to_differ_of_kafka_python_does(client: Client, story: Story) -> None:
    """A difference stands in its list with a reason, as long as there is one."""
    assert _differences(client, story) != []


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_every_fact_of_kafka_python_belongs_to_a_story_that_it_plays(client: Client) -> None:
    """No file is left of a story that is not told any more, or that the release has not the means for."""
    assert facts.kept(client.name) == sorted(story.slug for story in _kept(client))


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_real_kafka_python_does_what_was_recorded_of_it_in_every_tenth_story(client: Client) -> None:
    """What CI asks at every commit: some of each kind."""
    _asked(client, [story for story in _kept(client) if story.ends_ms <= _SHORT_MS][::10])


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_real_kafka_python_does_what_was_recorded_of_it(client: Client) -> None:
    """Every story is played with the real client; what differs, on a busy machine, is asked again."""
    _asked(client, _kept(client))


def _asked(client: Client, stories: list[Story]) -> None:
    stories = [story for story in stories if (client.name, story.slug) not in EITHER_WAY]
    try:
        assert compared(client, stories, live, TRIES) == {}
    except TooBusy as busy:
        pytest.skip(f"the machine was too busy to judge {busy}")
    except kafka_jars.Unavailable as why:
        unavailable(why, "kafka-python")
