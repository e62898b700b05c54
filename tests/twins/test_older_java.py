"""The simulated Java consumers of older ages do what real clients of those releases did, as far as that was seen.

Kept are the stories that a real client was seen to go through just so; docs/twins.md says what became of the others.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.unavailable import unavailable
from tests.twins import facts
from tests.twins.__main__ import TRIES, TooBusy, compared, live, simulated
from tests.twins.clients import OLDER_JAVA, Client, Unavailable
from tests.twins.stories import ALL
from tests.twins.story import Story

KEPT = [client for client in OLDER_JAVA if facts.kept(client.name)]


def _kept(client: Client) -> list[Story]:
    fitted = [story for story in map(client.fitted, ALL) if story is not None]
    return [story for story in fitted if story.slug in facts.kept(client.name)]


def _each() -> list[Any]:
    return [pytest.param(client, one, id=f"{client.name}-{one.slug}") for client in KEPT for one in _kept(client)]


@pytest.mark.parametrize(("client", "story"), _each())
def test_a_simulated_older_consumer_does_what_the_real_one_did(client: Client, story: Story) -> None:
    """The same group requests, in the versions of its release, after the same pauses; the same callbacks."""
    told = simulated(client, [story])[story.name]
    assert facts.read(client.name, story).differences(told) == []


@pytest.mark.parametrize("client", KEPT, ids=lambda client: client.name)
def test_every_fact_of_an_older_client_belongs_to_a_story_that_it_plays(client: Client) -> None:
    """No file is left of a story that is not told any more, or that the release has not the means for."""
    assert facts.kept(client.name) == sorted(story.slug for story in _kept(client))


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize("client", KEPT, ids=lambda client: client.name)
def test_a_real_older_client_does_what_was_recorded_of_it(client: Client) -> None:
    """Every story that is kept is played with the real client; what differs, on a busy machine, is asked again."""
    try:
        assert compared(client, _kept(client), live, TRIES) == {}
    except Unavailable as why:
        unavailable(why, "java")
    except TooBusy as busy:
        pytest.skip(f"the machine was too busy to judge {busy}")
