"""Exit codes of the commands, and errors with a message and a remedy (`error_report.py` prints them).

0  success   1  an expectation failed      2  bad input      3  the run failed      130  ctrl-C
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.text import Text

from groupsim.cli.terminal import Terminal

SUCCESS, EXPECTATION_FAILED, BAD_INPUT, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


class Trouble(Exception):
    """An error that ends a command: a message, a remedy and an exit code."""

    def __init__(self, message: str, remedy: str = "", code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP as ctrl-C in this block, so that no output is left half written."""

    def interrupt(_: int, frame: FrameType | None) -> None:
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(by_ctrl_c):
            by_ctrl_c(signal.SIGINT, frame)  # in a run this is trio's handler; an exception inside trio would break it
        else:  # under nohup, or in the background, SIGINT has no handler
            raise KeyboardInterrupt

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    mine = [one for one in signals if signal.getsignal(one) == signal.SIG_DFL]  # nohup ignores SIGHUP
    for one in mine:
        signal.signal(one, interrupt)
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)


def complain(message: str, remedy: str = "") -> None:
    """Print an error and its remedy on stderr."""
    console = Terminal(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("groupsim: ", "bold red"), message))
    if remedy:
        console.print(Text("    " + remedy, "yellow"))
