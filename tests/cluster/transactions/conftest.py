"""One transaction coordinator, virtual time: `on_txn` in every test of this folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.trace.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from tests.helpers.txn_fakes import TxnBench

Story = Callable[[TxnBench], Awaitable[None]]


@pytest.fixture
def on_txn() -> Callable[..., TxnBench]:
    """Run an async function with a bench in virtual time: `on_txn(story, max_timeout_ms=…)`."""

    def run(story: Story, **config: Any) -> TxnBench:
        made: list[TxnBench] = []

        async def main(loop: Any) -> None:
            made.append(TxnBench(loop, **config))
            await story(made[0])

        run_virtual(main, trace=Trace(NORMAL))
        return made[0]

    return run
