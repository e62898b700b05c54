"""A command that is ended from outside: whatever it is at just then."""

from __future__ import annotations

import signal

import pytest

from groupsim.cli.exits import ended_as_by_ctrl_c
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.units import seconds
from groupsim.eventloop.virtual import VirtualLoop, run_virtual


def test_sigterm_between_two_events_unwinds_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """There it strikes in the midst of trio, which would take an exception for a defect of its own; main unwinds."""
    seen: list[str] = []
    turn = VirtualLoop._turn

    def shown(loop: VirtualLoop) -> None:
        if loop.now_us == seconds(1):
            signal.raise_signal(signal.SIGTERM)
        turn(loop)

    async def main(loop: EventLoop) -> None:
        try:
            await loop.sleep(seconds(1))
            await loop.sleep(seconds(3600))
        finally:
            seen.append("main")

    monkeypatch.setattr(VirtualLoop, "_turn", shown)
    with pytest.raises(KeyboardInterrupt), ended_as_by_ctrl_c():
        run_virtual(main)
    assert seen == ["main"]


def test_sigterm_where_ctrl_c_is_ignored_is_as_ctrl_c() -> None:
    """Under nohup, or in the background of a shell, SIGINT has no handler, and the command ends all the same."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), ended_as_by_ctrl_c():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
