"""The real Java client, asked again, still does what was recorded of it."""

from __future__ import annotations

import kafka_jars
import pytest

from tests.interop.outcomes import unavailable
from tests.twins.__main__ import TRIES, compared
from tests.twins.stories import ALL


@pytest.mark.slow
@pytest.mark.interop
def test_the_real_client_does_what_was_recorded_of_it() -> None:
    """Every story is played with the real client; what differs, on a busy machine, is asked again."""
    from tests.twins.live import play_live

    try:
        assert compared(ALL, play_live, TRIES) == {}
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")
