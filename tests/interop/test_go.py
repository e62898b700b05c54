"""franz-go and sarama in front of a coordinator."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.interop.bench import Bench
from tests.interop.cases import CASES, Case
from tests.interop.clients import Client
from tests.interop.consumer_cases import CONSUMER_CASES
from tests.interop.go import build
from tests.interop.marks import each
from tests.interop.outcomes import play
from tests.interop.peers import Peer
from tests.interop.rolling_cases import ROLLING_CASES

FRANZ = Client("franz-go", build.version("github.com/twmb/franz-go"), build.command("franz"), needs="go")
SARAMA = Client("sarama", build.version("github.com/IBM/sarama"), build.command("sarama"), needs="go")
GO = (FRANZ, SARAMA)


@pytest.mark.parametrize("client", GO, ids=lambda client: client.name)
@pytest.mark.parametrize("case", each((*CASES, *CONSUMER_CASES, *ROLLING_CASES)))
def test_case(client: Client, case: Case, peer: Peer, tmp_path: Path) -> None:
    """A Go client does what the case says."""
    play(case, client, peer, tmp_path)


def test_go_modules_are_pinned() -> None:
    """Both clients' versions are written down, and what they depend on has checksums."""
    sums = (build.HERE / "go.sum").read_text("utf-8")
    for module, client in (("github.com/twmb/franz-go", FRANZ), ("github.com/IBM/sarama", SARAMA)):
        assert f"{module} v{client.version} h1:" in sums


@pytest.mark.slow
@pytest.mark.interop
def test_sarama_gives_up_a_parked_join_after_its_read_timeout(peer: Peer, tmp_path: Path) -> None:
    """A JoinGroup that waits for a dead member's session ends after Net.ReadTimeout each time; the next one follows at
    once with the same member id, and the group has one member in the end.
    """
    read_timeout_s = 1.5
    with Bench(SARAMA, peer, "read-timeout", tmp_path) as bench:
        topic = bench.topic()
        dead = bench.consumer(topic, session_timeout_ms=6_000)
        bench.stable(topic, [dead])
        dead.kill()
        joins = bench.consumer(topic, request_timeout_ms=int(read_timeout_s * 1_000))
        bench.stable(topic, [joins])
        given_up = [event["at"] for event in joins.events if "i/o timeout" in event.get("error", "")]
    assert len(given_up) >= 2
    for sooner, later in pairwise(given_up):
        assert read_timeout_s <= later - sooner < read_timeout_s + 0.7
