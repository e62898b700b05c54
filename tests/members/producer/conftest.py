"""One producer, three brokers, virtual time: `on_producer` in every test of this folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual

if "producer_fakes" not in sys.modules:  # importmode=importlib does not put this folder on the path
    _spec = importlib.util.spec_from_file_location("producer_fakes", Path(__file__).with_name("producer_fakes.py"))
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["producer_fakes"] = _module
    _spec.loader.exec_module(_module)

from producer_fakes import ProducerBench

Story = Callable[[ProducerBench], Awaitable[None]]


@pytest.fixture
def on_producer() -> Callable[..., ProducerBench]:
    """Run an async story with a bench in virtual time: `on_producer(story, loads=…, properties=…)`."""

    def run(story: Story, *, level: Any = NORMAL, seed: int = 0, **options: Any) -> ProducerBench:
        made: list[ProducerBench] = []

        async def main(loop: Any) -> None:
            made.append(ProducerBench(loop, **options))
            await story(made[0])

        run_virtual(main, seed=seed, trace=Trace(level))
        return made[0]

    return run
