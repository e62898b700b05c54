"""One peer for all cases of a run (of an xdist worker): the clients' cases have topics and groups of their own."""

from __future__ import annotations

from collections.abc import Iterator

import kafka_jars
import pytest

pytest.register_assert_rewrite(
    "tests.interop.cases", "tests.interop.cli_cases", "tests.interop.consumer_cases", "tests.interop.rolling_cases"
)  # they say what differs

from tests.helpers.unavailable import unavailable  # noqa: E402
from tests.interop.peers import Peer, chosen, started  # noqa: E402


@pytest.fixture(scope="session")
def peer() -> Iterator[Peer]:
    """`groupsim serve`, or what GROUPSIM_INTEROP_PEER names."""
    name = chosen()
    try:
        running = started(name)
        with running as one:
            yield one
    except kafka_jars.Unavailable as why:
        unavailable(why, name)
