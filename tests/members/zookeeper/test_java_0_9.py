"""Client profile java-0.9 with brokers of 0.9: the group coordinator as it began."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import Run, run_scenario

FILE = """
run-for: 60s
broker: {version: "0.9.0"}
topics:
  t: {partitions: 4, rate: 8/s}
groups:
  g:
    client: %(client)s
    properties: {session.timeout.ms: 6000, heartbeat.interval.ms: 2000, auto.offset.reset: earliest}
    members: {a: {start: 1s, processing: %(slow)s}, b: {start: 1s}}
"""


@pytest.fixture
def run() -> Callable[..., Run]:
    """Run the scenario with a client and a processing time of `a`'s records."""

    def ran(client: str = "java-0.9", slow: str = "1ms", broker: str = "0.9.0") -> Run:
        text = (FILE % {"client": client, "slow": slow}).replace('"0.9.0"', f'"{broker}"')
        return run_scenario(load_text(text))

    return ran


def of(run: Run, kind: str, **columns: Any) -> list[Any]:
    """Return events of a kind with these values."""
    return [e for e in run.events if e.kind.value == kind and all(getattr(e, k) == v for k, v in columns.items())]


def test_a_first_join_is_answered_with_a_member_id_at_once(run: Callable[..., Run]) -> None:
    """Without MEMBER_ID_REQUIRED and initial delay the first member is stable within milliseconds."""
    ran = run()
    assert not of(ran, "member.pending")
    assert not of(ran, "response.sent", error="MEMBER_ID_REQUIRED")
    first = of(ran, "group.state", to="Stable")[0]
    assert first.t_us < 1_100_000


def test_join_carries_no_rebalance_timeout(run: Callable[..., Run]) -> None:
    """With JoinGroup v0 the broker takes the session timeout as the rebalance timeout."""
    ran = run()
    sent = of(ran, "request.sent", api="JoinGroup")
    assert {e.payload["version"] for e in sent} == {0}
    assert {e.payload["rebalance_timeout_ms"] for e in of(ran, "member.added")} == {6_000}


def test_a_slow_handler_loses_its_session(run: Callable[..., Run]) -> None:
    """Heartbeats are sent from poll only: a batch longer than the session costs the membership."""
    removed = of(run(slow="8s"), "member.removed", reason="session-expired")
    assert removed
    assert not of(run("java-0.11", slow="8s", broker="0.11"), "member.removed", reason="session-expired")


def test_there_is_no_poll_limit(run: Callable[..., Run]) -> None:
    """Before KIP-62 there is no max.poll.interval.ms: no slow member leaves."""
    assert not of(run(slow="8s"), "poll.expired")
