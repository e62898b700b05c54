"""How a command ends: exit codes, and errors as sentences (`error_report.py`) instead of tracebacks.

0  well      1  an expectation failed      2  bad input      3  the run failed      130  ctrl-C
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.text import Text

from groupsim.cli.terminal import Terminal

WELL, EXPECTATION_FAILED, BAD_INPUT, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


class Trouble(Exception):
    """An end with a message: what was wrong, and the remedy below it."""

    def __init__(self, message: str, remedy: str = "", code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """A batch system, a container, a closed terminal ends the command: as after ctrl-C nothing is left half done."""

    def interrupt(_: int, frame: FrameType | None) -> None:
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(by_ctrl_c):
            by_ctrl_c(signal.SIGINT, frame)  # in a run it is trio's own: what is raised in the midst of trio breaks it
        else:  # under nohup, or started in the background, there is none
            raise KeyboardInterrupt

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    mine = [one for one in signals if signal.getsignal(one) == signal.SIG_DFL]  # under nohup one is ignored
    for one in mine:
        signal.signal(one, interrupt)
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)


def complain(message: str, remedy: str = "") -> None:
    """Say on stderr what was wrong."""
    console = Terminal(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("groupsim: ", "bold red"), message))
    if remedy:
        console.print(Text("    " + remedy, "yellow"))
