"""The real Java client, asked again, still does what was recorded of it."""

from __future__ import annotations

from collections.abc import Sequence

import kafka_jars
import pytest

from tests.helpers.unavailable import unavailable
from tests.twins.__main__ import TRIES, TooBusy, compared
from tests.twins.clients import JAVA, JAVA_CONSUMER, Client
from tests.twins.consumer.stories import ALL as CONSUMER
from tests.twins.stories import ALL
from tests.twins.story import Story

_SHORT_MS = 3_000


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_the_real_client_does_what_was_recorded_of_it_in_every_tenth_story() -> None:
    """What CI asks at every commit: some of each kind."""
    _asked([story for story in ALL if story.ends_ms <= _SHORT_MS][::10])


@pytest.mark.slow
@pytest.mark.interop
def test_the_real_client_does_what_was_recorded_of_it() -> None:
    """Every story is played with the real client; what differs, on a busy machine, is asked again."""
    _asked(ALL)


_NOT_STEADY = ("no coordinator is found at first",)
"""Stories recorded on a busy machine: on an idle one another heartbeat comes before their end."""


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.interop_short
def test_the_real_client_still_does_every_twentieth_story_of_the_consumer_protocol() -> None:
    """With group.protocol=consumer the real client is asked some stories of each kind at every commit."""
    some = [story for story in CONSUMER if story.ends_ms <= _SHORT_MS][::20]
    _asked([story for story in some if story.name not in _NOT_STEADY], JAVA_CONSUMER)


def _asked(stories: Sequence[Story], client: Client = JAVA) -> None:
    from tests.twins.__main__ import live

    try:
        assert compared(client, stories, live, TRIES) == {}
    except TooBusy as busy:
        pytest.skip(f"the machine was too busy to judge {busy}")
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
