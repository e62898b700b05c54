"""franz-go and sarama in front of a coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.cases import CASES, Case
from tests.interop.clients import Client
from tests.interop.go import build
from tests.interop.marks import each
from tests.interop.outcomes import play
from tests.interop.peers import Peer

FRANZ = Client("franz-go", build.version("github.com/twmb/franz-go"), build.command("franz"), needs="go")
SARAMA = Client("sarama", build.version("github.com/IBM/sarama"), build.command("sarama"), needs="go")
GO = (FRANZ, SARAMA)


@pytest.mark.parametrize("client", GO, ids=lambda client: client.name)
@pytest.mark.parametrize("case", each(CASES))
def test_case(client: Client, case: Case, peer: Peer, tmp_path: Path) -> None:
    """A Go client does what the case says."""
    play(case, client, peer, tmp_path)


def test_go_modules_are_pinned() -> None:
    """Both clients' versions are written down, and what they depend on has checksums."""
    sums = (build.HERE / "go.sum").read_text("utf-8")
    for module, client in (("github.com/twmb/franz-go", FRANZ), ("github.com/IBM/sarama", SARAMA)):
        assert f"{module} v{client.version} h1:" in sums
