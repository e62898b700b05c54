"""Report steps without effect: the target does not run (a rollout has replaced it), or runs already.

Such a step changes nothing. A warning in the trace and in the story reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupsim.scenarios.language.registry import StepAction
from groupsim.scenarios.runtime.process import Process
from groupsim.scenarios.steps.actions import (
    BlockHeartbeats,
    Crash,
    Pause,
    Rejoin,
    RollingRestart,
    Start,
    Stop,
)
from groupsim.scenarios.steps.describe_step import describe_action
from groupsim.scenarios.steps.stuck import StuckApplication

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

_NEED_A_RUNNING_PROCESS = (Stop, Crash, Pause, BlockHeartbeats, Rejoin, StuckApplication)
_MANY = 4


def no_target(action: StepAction, stage: Stage) -> str | None:
    """Return why a step that is about to run has no target; None if it has one."""
    if isinstance(action, RollingRestart):
        return _no_rollout(action, stage)
    targets = getattr(action, "member", None)
    if not isinstance(targets, tuple):
        return None
    found = stage.processes(targets)
    if not found:
        why = f"{_listed(targets)} is not a process at this time"
    elif isinstance(action, Start):
        why = f"{_named(found, 'runs', 'run')} already" if all(one.running for one in found) else ""
    else:
        why = "" if any(_has_effect(action, one) for one in found) else _named(found, "does not run", "do not run")
    if not why:
        return None
    running = [actor.name for actor in stage.actors_by_name.values() if actor.running]
    rest = "" if isinstance(action, Start) else f"; running: {_listed(running) or 'no member'}"
    return f"`{describe_action(action)}` has no target: {why}{rest}"


def _no_rollout(action: RollingRestart, stage: Stage) -> str | None:
    """Return why a rollout, which replaces running members, has no target."""
    group = stage.group_id(action.group)
    if any(actor.running for actor in stage.of_group(group)):
        return None
    return f"`{describe_action(action)}` has no target: no member of {group} runs"


def _has_effect(action: StepAction, process: Process) -> bool:
    """Return whether a step has an effect on this process, now or when it starts."""
    if action.FAULT:
        return process.running or not process.has_run
    return process.running or not isinstance(action, _NEED_A_RUNNING_PROCESS)


def _named(found: Sequence[Process], one: str, several: str) -> str:
    return f"{_listed([process.name for process in found])} {one if len(found) == 1 else several}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more
