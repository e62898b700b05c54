"""The simulated classic consumer does in a consumer group what the real Java client did there."""

from __future__ import annotations

import pytest

from tests.twins import facts
from tests.twins.__main__ import simulated
from tests.twins.clients import JAVA_MIXED
from tests.twins.mixed import ALL, CONVERTED, INTO
from tests.twins.story import Story


@pytest.mark.parametrize("story", [pytest.param(story, id=story.slug) for story in ALL])
def test_a_classic_consumer_does_in_a_consumer_group_what_the_real_one_did(story: Story) -> None:
    """The same JoinGroups, SyncGroups and heartbeats, after the same pauses; the same callbacks and exceptions."""
    told = simulated(JAVA_MIXED, [story])[story.name]
    assert facts.read(JAVA_MIXED.name, story).differences(told) == []


def test_every_fact_belongs_to_a_story_of_a_mixed_group() -> None:
    """Thirty stories or more, each with its fact, none with a fact of another one."""
    assert facts.kept(JAVA_MIXED.name) == sorted(story.slug for story in ALL)
    assert len(ALL) >= 30
    assert all(story.partner for story in INTO)


@pytest.mark.parametrize("story", CONVERTED, ids=lambda story: story.slug)
def test_a_conversion_is_seen_in_the_facts(story: Story) -> None:
    """The client of a group that is converted joins a second generation, in which it leads nothing."""
    way = facts.read(JAVA_MIXED.name, story).ways[0]
    assert any("generation 2, follows" in request or "generation 3, follows" in request for request in way.requests)
