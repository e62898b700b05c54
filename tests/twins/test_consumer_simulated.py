"""The simulated consumers do what real ones did with group.protocol=consumer, in virtual time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.twins import facts
from tests.twins.__main__ import simulated
from tests.twins.clients import (
    FRANZ_GO_CONSUMER,
    JAVA_CONSUMER,
    LIBRDKAFKA_CONSUMER,
    OLDER_JAVA_CONSUMERS,
    OLDER_LIBRDKAFKA_CONSUMERS,
    Client,
)
from tests.twins.consumer.differs import BEYOND_IT, DIFFERS, OF_OLDER_JAVA
from tests.twins.consumer.stories import ALL
from tests.twins.story import Story

_QUICK = 3
"""Every so many stories are compared with each change; all of them with `make slow`."""


#: Clients that were asked most stories.
LONG = (JAVA_CONSUMER, *OLDER_JAVA_CONSUMERS, LIBRDKAFKA_CONSUMER, *OLDER_LIBRDKAFKA_CONSUMERS)
CLIENTS = (*LONG, FRANZ_GO_CONSUMER)


def played(client: Client) -> list[Story]:
    """The stories that a real client has played, and its simulated twin has the means for."""
    kept = set(facts.kept(client.name))
    fitted = [story for story in map(client.fitted, ALL) if story is not None]
    return [story for story in fitted if story.slug in kept and story.name not in BEYOND_IT]


def _each(*, differs: bool) -> list[Any]:
    """Of each client every third story, of older ones every ninth; the others with `make slow`."""
    params = []
    for client in CLIENTS:
        stories = [story for story in played(client) if bool(story.differs) is differs]
        quick = _QUICK if client in (JAVA_CONSUMER, FRANZ_GO_CONSUMER) else _QUICK**2
        params += [
            pytest.param(
                client, story, id=f"{client.name}-{story.slug}", marks=pytest.mark.slow if number % quick else []
            )
            for number, story in enumerate(stories)
        ]
    return params


def _differences(client: Client, story: Story) -> list[str]:
    return facts.read(client.name, story).differences(simulated(client, [story])[story.name])


@pytest.mark.parametrize(("client", "story"), _each(differs=False))
def test_a_simulated_consumer_does_what_the_real_one_did(client: Client, story: Story) -> None:
    """The same requests, with the same fields, after the same pauses; the same callbacks and exceptions."""
    assert _differences(client, story) == []


@pytest.mark.parametrize(("client", "story"), _each(differs=True))
def test_what_is_listed_as_different_is(client: Client, story: Story) -> None:
    """A difference that is known and left stands in the list with its reason, as long as there is one."""
    assert _differences(client, story) != []


@pytest.mark.parametrize("client", LONG, ids=lambda client: client.name)
def test_seven_of_eight_stories_are_equal(client: Client) -> None:
    """A client is compared in 110 stories or more; at most one of eight has a reason why it differs."""
    stories = played(client)
    assert len(stories) >= 110
    assert sum(bool(story.differs) for story in stories) <= len(stories) / 8


def test_a_reason_names_kafkas_method() -> None:
    """A difference from Java's client is named with the class and the method that it comes from."""
    reasons = {*DIFFERS.values(), *(why for of_one in OF_OLDER_JAVA.values() for why in of_one.values())}
    nameless = [why for why in reasons if not re.search(r"[A-Z]\w+\.[a-z]\w+", why)]
    assert nameless == [why for why in nameless if why.startswith("recorded on a busy machine")]


def test_what_is_listed_are_stories() -> None:
    """No reason is left of a story that does not exist any more, and none has two."""
    names = {story.name for story in ALL}
    assert set(DIFFERS) <= names
    assert set(BEYOND_IT) <= names
    assert not set(DIFFERS) & set(BEYOND_IT)
    for client in OLDER_JAVA_CONSUMERS:
        assert set(OF_OLDER_JAVA[client.profile]) <= {story.name for story in played(client)}
