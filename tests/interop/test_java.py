"""Kafka's own Java client in front of a coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.cases import CASES, Case
from tests.interop.clients import JAVA
from tests.interop.consumer_cases import CONSUMER_CASES
from tests.interop.marks import each
from tests.interop.outcomes import play
from tests.interop.peers import Peer
from tests.interop.rolling_cases import ROLLING_CASES


@pytest.mark.parametrize("case", each((*CASES, *CONSUMER_CASES, *ROLLING_CASES)))
def test_case(case: Case, peer: Peer, tmp_path: Path) -> None:
    """The Java client does what the case says."""
    play(case, JAVA, peer, tmp_path)
