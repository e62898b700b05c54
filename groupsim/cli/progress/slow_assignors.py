"""A message that names an assignor whose call takes long, since a run that waits for a user's code seems to hang.

The named place is the frame that SIGALRM interrupts.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.text import Text

from groupsim.assignors.base.error_location import locate_errors, place_in
from groupsim.cli.terminal import Terminal

PATIENCE_S = 5.0
"""Wall-clock time in seconds after which a call of an assignor is named."""


@contextmanager
def slow_assignors_named(patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Print a line on stderr for each call of an assignor that takes longer than `patience_s`, while the block runs.

    It has no effect on Windows, outside the main thread, and beside another handler of SIGALRM.
    """
    try:
        alone = signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        if alone:
            signal.signal(signal.SIGALRM, _Watch())
    except (AttributeError, ValueError):
        alone = False
    if not alone:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, patience_s, patience_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


class _Watch:
    """The handler of SIGALRM: a call that two signals interrupt has taken longer than their interval."""

    def __init__(self) -> None:
        self._seen: locate_errors | None = None
        self._named: locate_errors | None = None

    def __call__(self, _: int, frame: FrameType | None) -> None:
        call = locate_errors.computing[-1] if locate_errors.computing else None
        if call is not None and call is self._seen and call is not self._named:
            self._named = call
            where = place_in(frame, call.assignor)
            words = (
                f"assignor {call.assignor.name!r}{f' ({where})' if where else ''} is still computing; ctrl-C stops it"
            )
            Terminal(stderr=True, soft_wrap=True).print(Text(words, "yellow"))
        self._seen = call
