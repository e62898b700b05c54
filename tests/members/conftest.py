"""One consumer, a scripted broker and virtual time: `on_bench` in every test of this folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.trace.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from tests.helpers.members_fakes import Bench
from tests.helpers.members_log_fakes import PullBench

Body = Callable[[Any], Awaitable[None]]


def _runner(bench: Callable[..., Any]) -> Callable[..., None]:
    def run(body: Body, *, level: Any = NORMAL, seed: int = 0, **options: Any) -> None:
        async def main(loop: Any) -> None:
            await body(bench(loop, **options))

        run_virtual(main, seed=seed, trace=Trace(level))

    return run


@pytest.fixture
def on_bench() -> Callable[..., None]:
    """Run an async test body with a bench in virtual time: `on_bench(body, profile=…, properties=…)`."""
    return _runner(Bench)


@pytest.fixture
def on_pull_bench() -> Callable[..., None]:
    """As `on_bench`, with a consumer that pulls from brokers with logs."""
    return _runner(PullBench)
