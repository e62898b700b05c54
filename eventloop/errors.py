"""What can go wrong with a run as a whole, and how several errors become one."""

from __future__ import annotations


class EventLoopError(RuntimeError):
    """A run cannot go on; the message says when, who, and what to do."""


class DeadlockError(EventLoopError):
    """No event is due and tasks still wait; the message names each of them."""


class StandstillError(EventLoopError):
    """Virtual time stood still for too many events; the message names the callbacks that go round."""


class SchedulingError(EventLoopError):
    """A trio primitive with an order of its own was used, so that the run would not be deterministic."""


def single(error: BaseException) -> BaseException:
    """The one error of a group: a KeyboardInterrupt if there is one, else the first that is an Exception."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [single(part) for part in error.exceptions]
    for wanted in (KeyboardInterrupt, SystemExit, Exception):
        for leaf in leaves:
            if isinstance(leaf, wanted):
                return leaf
    return leaves[0]
