"""One transaction coordinator, virtual time: `on_txn` in every test of this folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual

if "txn_fakes" not in sys.modules:  # importmode=importlib does not put this folder on the path
    for _name in ("txn_fakes", "txn_rig"):
        _spec = importlib.util.spec_from_file_location(_name, Path(__file__).with_name(f"{_name}.py"))
        assert _spec is not None
        assert _spec.loader is not None
        _module = importlib.util.module_from_spec(_spec)
        sys.modules[_name] = _module
        _spec.loader.exec_module(_module)

from txn_fakes import TxnBench

Story = Callable[[TxnBench], Awaitable[None]]


@pytest.fixture
def on_txn() -> Callable[..., TxnBench]:
    """Run an async story with a bench in virtual time: `on_txn(story, max_timeout_ms=…)`."""

    def run(story: Story, **config: Any) -> TxnBench:
        made: list[TxnBench] = []

        async def main(loop: Any) -> None:
            made.append(TxnBench(loop, **config))
            await story(made[0])

        run_virtual(main, trace=Trace(NORMAL))
        return made[0]

    return run
