"""One consumer, a scripted broker, virtual time: `on_bench` in every test of the room."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual

if "members_fakes" not in sys.modules:  # importmode=importlib does not put this folder on the path
    _spec = importlib.util.spec_from_file_location("members_fakes", Path(__file__).with_name("fakes.py"))
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["members_fakes"] = _module
    _spec.loader.exec_module(_module)

from members_fakes import Bench

Story = Callable[[Bench], Awaitable[None]]


@pytest.fixture
def on_bench() -> Callable[..., None]:
    """Run an async story with a bench in virtual time: `on_bench(story, profile=…, properties=…)`."""

    def run(story: Story, *, level: Any = NORMAL, seed: int = 0, **options: Any) -> None:
        async def main(loop: Any) -> None:
            await story(Bench(loop, **options))

        run_virtual(main, seed=seed, trace=Trace(level))

    return run
