"""The check that is always on: no pass of trio's scheduler may step two tasks, or their order would be random.

A pass steps every task that became runnable since the pass before. In a virtual run that is the task that the kernel
released, or else the one that the task of the pass before made runnable in its step (the last task of a nursery wakes
the one that waits for its end). So it is enough to count, per turn and per step. Trio's hooks before and after a pass
would give the same answer, but each hook costs more than the rest of the kernel's work for a wake-up, so there is one.
"""

from __future__ import annotations

from collections.abc import Callable

import trio


class OneTaskPerPass(trio.abc.Instrument):
    """Calls `complain` when a second task becomes runnable in one turn of the kernel, or in one step of a task."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self.scheduled: trio.lowlevel.Task | None = None
        self._by: trio.lowlevel.Task | None = None
        self._system: trio.Nursery | None = None
        self._main: trio.lowlevel.Task | None = None
        self._in_turn = False
        self._on = False

    def begin(self) -> None:
        """Start to check; called in the first step of the main task."""
        root = trio.lowlevel.current_root_task()
        self._main = trio.lowlevel.current_task()
        self._system = root.child_nurseries[0] if root is not None else None
        self.scheduled = None
        self._on = True

    def end(self) -> None:
        """Stop to check: the run is over."""
        self._on = False

    def begin_turn(self) -> None:
        """Begin a turn of the kernel: no task is runnable."""
        self.scheduled = self._by = None
        self._in_turn = True

    def end_turn(self) -> None:
        """End a turn: the kernel returns control to trio."""
        self._in_turn = False

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """Trio's hook: `task` became runnable."""
        if not self._in_turn:
            self._look_who()
        if self.scheduled is None:
            self.scheduled = task
        elif self._on:
            self._second(task)
        if task is self._by:
            self._by = None  # a checkpoint: the task continues in another step

    def _look_who(self) -> None:
        """Store the task of this step; another one than last time means another pass."""
        try:
            stepping = trio.lowlevel.current_task()
        except RuntimeError:  # between steps: trio's own deadlines and input, which belong to the same pass
            stepping = None
        if stepping is not None and stepping is not self._by:
            self._by = stepping
            self.scheduled = None

    def _second(self, task: trio.lowlevel.Task) -> None:
        first = self.scheduled
        if first is None or self._is_system(task):
            return
        self.scheduled = task
        if not self._is_system(first):
            self._complain(
                f"tasks {first.name!r} and {task.name!r} became runnable at once, in a random order; start "
                "tasks with a host's start_soon, and let them wait with the event loop's Event, Queue and sleep"
            )

    def _is_system(self, task: trio.lowlevel.Task) -> bool:
        """Trio's own tasks, which deliver ctrl-C, do not count."""
        return task.parent_nursery is self._system and task is not self._main
