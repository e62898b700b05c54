"""One producer, three brokers and virtual time: `on_producer` in every test of this folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.trace.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from tests.helpers.producer_fakes import ProducerBench

Body = Callable[[ProducerBench], Awaitable[None]]


@pytest.fixture
def on_producer() -> Callable[..., ProducerBench]:
    """Run an async test body with a bench in virtual time: `on_producer(body, loads=…, properties=…)`."""

    def run(body: Body, *, level: Any = NORMAL, seed: int = 0, **options: Any) -> ProducerBench:
        made: list[ProducerBench] = []

        async def main(loop: Any) -> None:
            made.append(ProducerBench(loop, **options))
            await body(made[0])

        run_virtual(main, seed=seed, trace=Trace(level))
        return made[0]

    return run
