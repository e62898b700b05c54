"""One consumer, a scripted broker, virtual time: `on_bench` in every test of the room."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from groupsim.eventloop.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual


def _load(name: str, file: str) -> ModuleType:
    """Import a file of this folder by a name of its own: importmode=importlib does not put the folder on the path."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(file))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


Bench = _load("members_fakes", "fakes.py").Bench
PullBench = _load("members_log_fakes", "log_fakes.py").PullBench

Story = Callable[[Any], Awaitable[None]]


def _runner(bench: Callable[..., Any]) -> Callable[..., None]:
    def run(story: Story, *, level: Any = NORMAL, seed: int = 0, **options: Any) -> None:
        async def main(loop: Any) -> None:
            await story(bench(loop, **options))

        run_virtual(main, seed=seed, trace=Trace(level))

    return run


@pytest.fixture
def on_bench() -> Callable[..., None]:
    """Run an async story with a bench in virtual time: `on_bench(story, profile=…, properties=…)`."""
    return _runner(Bench)


@pytest.fixture
def on_pull_bench() -> Callable[..., None]:
    """As `on_bench`, with a consumer that pulls from brokers with logs."""
    return _runner(PullBench)
