"""Errors of a run as a whole, and the reduction of several errors to one."""

from __future__ import annotations


class EventLoopError(RuntimeError):
    """A run cannot go on; the message gives the time, the tasks, and the remedy."""


class DeadlockError(EventLoopError):
    """No event is due and tasks still wait; the message names each of them."""


class StandstillError(EventLoopError):
    """Virtual time stood still for too many events; the message names the repeated callbacks."""


class SchedulingError(EventLoopError):
    """A trio primitive with an order of its own was used, so that the run would not be deterministic."""


def single(error: BaseException) -> BaseException:
    """Return the one error of a group: a KeyboardInterrupt if there is one, else the first Exception."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [single(part) for part in error.exceptions]
    for wanted in (KeyboardInterrupt, SystemExit, Exception):
        for leaf in leaves:
            if isinstance(leaf, wanted):
                return leaf
    return leaves[0]
