"""Kafka's own command-line tools in front of a coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.cases import Case
from tests.interop.cli_cases import CLI_CASES
from tests.interop.clients import TOOLS
from tests.interop.marks import each
from tests.interop.outcomes import play
from tests.interop.peers import Peer


@pytest.mark.parametrize("case", each(CLI_CASES))
def test_case(case: Case, peer: Peer, tmp_path: Path) -> None:
    """A command-line tool does what the case says."""
    play(case, TOOLS, peer, tmp_path)
